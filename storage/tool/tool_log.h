/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_LOG_H
#define WP_STORAGE_TOOL_TOOL_LOG_H
/* wakepath-store log */
#include "storage/tool/tool.h"

/* The releases by their newest activity, with the commits that their metadata says; JSON with WP_TOOL_JSON. Damaged
 * ones are passed over with a complaint. */
int wp_tool_log(struct wp_tool *tool, struct wp_error *err);

#endif
