/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_METADATA_H
#define WP_STORAGE_TOOL_TOOL_METADATA_H
/* wakepath-store metadata. */
#include "storage/tool/tool.h"

int wp_tool_metadata(struct wp_tool *tool, struct wp_error *err);

#endif
