/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_DUMP_H
#define WP_STORAGE_TOOL_TOOL_DUMP_H
/* wakepath-store dump, load and backup. */
#include "storage/tool/tool.h"

/* Writes to standard output while it reads: after an error, or for a damaged release of several, a part is out. */
int wp_tool_dump(struct wp_tool *tool, struct wp_error *err);
/* From a file or standard input; makes the root and takes its upkeep. -EEXIST: a release holds something; -EBADMSG:
 * not a dump. Releases before the failing one stay loaded. */
int wp_tool_load(struct wp_tool *tool, struct wp_error *err);
/* Copies each release as a whole to --into while writers go on. -EEXIST: one is there already. */
int wp_tool_backup(struct wp_tool *tool, struct wp_error *err);

#endif
