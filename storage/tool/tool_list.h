/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_LIST_H
#define WP_STORAGE_TOOL_TOOL_LIST_H
/* wakepath-store ls. */
#include "storage/tool/tool.h"

/* The commands. 0, -errno with an error, or 1: failed and said so itself. */
int wp_tool_ls(struct wp_tool *tool, struct wp_error *err);

#endif
