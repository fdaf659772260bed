/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_STAT_H
#define WP_STORAGE_TOOL_TOOL_STAT_H
/* wakepath-store stat and releases. */
#include "storage/tool/tool.h"

/* Counts and sizes by kind of value and by aggregate; of several releases a damaged one is a complaint. */
int wp_tool_stat(struct wp_tool *tool, struct wp_error *err);
/* The same sums, one line a release. */
int wp_tool_releases_list(struct wp_tool *tool, struct wp_error *err);

#endif
