/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_REPAIR_H
#define WP_STORAGE_TOOL_TOOL_REPAIR_H
/* wakepath-store repair. */
#include "storage/tool/tool.h"

int wp_tool_repair(struct wp_tool *tool, struct wp_error *err);

#endif
