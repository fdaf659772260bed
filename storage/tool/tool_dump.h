/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_DUMP_H
#define WP_STORAGE_TOOL_TOOL_DUMP_H
/* wakepath-store dump, load and backup. */
#include "storage/tool/tool.h"

int wp_tool_dump(struct wp_tool *tool, struct wp_error *err);
int wp_tool_load(struct wp_tool *tool, struct wp_error *err);
int wp_tool_backup(struct wp_tool *tool, struct wp_error *err);

#endif
