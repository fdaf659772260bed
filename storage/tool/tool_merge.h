/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_MERGE_H
#define WP_STORAGE_TOOL_TOOL_MERGE_H
/* wakepath-store merge. */
#include "storage/tool/tool.h"

/* Checks every argument before the first release is written. Errors as wp_merge_check; -EBUSY: another has the
 * upkeep of --into. */
int wp_tool_merge(struct wp_tool *tool, struct wp_error *err);

#endif
