/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_RM_H
#define WP_STORAGE_TOOL_TOOL_RM_H
/* wakepath-store rm */
#include "storage/tool/tool.h"

/* Prints what is removed, or would be; JSON with WP_TOOL_JSON. -ENOENT: nothing has that name; -EBUSY: it is recorded
 * now, or kept by its metadata, and --force is not given; -WP_TOOL_MISUSE. */
int wp_tool_rm(struct wp_tool *tool, struct wp_error *err);

#endif
