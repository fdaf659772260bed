/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_COMPACT_H
#define WP_STORAGE_TOOL_TOOL_COMPACT_H
/* wakepath-store compact. */
#include "storage/tool/tool.h"

/* Sums up the deltas of each release that is meant, with --roll-up also hours and days. Takes the root's upkeep
 * (-EBUSY). */
int wp_tool_compact(struct wp_tool *tool, struct wp_error *err);

#endif
