/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_SOURCE_H
#define WP_STORAGE_TOOL_TOOL_SOURCE_H
/* wakepath-store source. */
#include "storage/tool/tool.h"

/* arguments[0] is add, which stores the text of files in a release that is there (-ENOENT), or ls. */
int wp_tool_source(struct wp_tool *tool, struct wp_error *err);

#endif
