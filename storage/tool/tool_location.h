/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_LOCATION_H
#define WP_STORAGE_TOOL_TOOL_LOCATION_H
/* The place in a store that arguments name. */
#include "storage/tool/tool.h"

/* "ROOT", "ROOT RELEASE", "ROOT/RELEASE/KEY" ...: any way to part it. */
int wp_tool_location_of(
    struct wp_tool_location *location, const char *const arguments[WP_TOOL_ARGUMENTS], struct wp_error *err);

#endif
