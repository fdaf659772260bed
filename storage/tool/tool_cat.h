/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_CAT_H
#define WP_STORAGE_TOOL_TOOL_CAT_H
/* wakepath-store cat. */
#include "storage/tool/tool.h"

/* Prints one value, or the sum that a reference names. -ENOENT: nothing there; -EBADMSG: the value is damaged. */
int wp_tool_cat(struct wp_tool *tool, struct wp_error *err);

#endif
