/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_METADATA_H
#define WP_STORAGE_TOOL_TOOL_METADATA_H
/* wakepath-store metadata. */
#include "storage/tool/tool.h"

/* arguments[0] is get, set, rm or ls. -ENOENT: no such release or key; -E2BIG: a value over WP_TEXT_LIMIT bytes. */
int wp_tool_metadata(struct wp_tool *tool, struct wp_error *err);

#endif
