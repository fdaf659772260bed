/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_CAT_H
#define WP_STORAGE_TOOL_TOOL_CAT_H
/* wakepath-store cat. */
#include "storage/tool/tool.h"

int wp_tool_cat(struct wp_tool *tool, struct wp_error *err);

#endif
