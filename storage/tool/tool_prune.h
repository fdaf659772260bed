/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_PRUNE_H
#define WP_STORAGE_TOOL_TOOL_PRUNE_H
/* wakepath-store prune. */
#include "storage/tool/tool.h"

/* Deletes or rolls up, then gives space back. Takes the upkeep (-EBUSY) unless --dry-run, which changes nothing. A
 * quota that is not reached, or a file that does not shrink, is a complaint. */
int wp_tool_prune(struct wp_tool *tool, struct wp_error *err);

#endif
