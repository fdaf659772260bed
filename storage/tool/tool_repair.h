/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_REPAIR_H
#define WP_STORAGE_TOOL_TOOL_REPAIR_H
/* wakepath-store repair. */
#include "storage/tool/tool.h"

/* Wants --drop-damaged, or --dry-run, which changes nothing and takes no upkeep. Of several releases one whose pages
 * are ruined is passed over as a complaint. */
int wp_tool_repair(struct wp_tool *tool, struct wp_error *err);

#endif
