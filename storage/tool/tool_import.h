/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_IMPORT_H
#define WP_STORAGE_TOOL_TOOL_IMPORT_H
/* wakepath-store import. */
#include "storage/tool/tool.h"

/* Takes captures and stores into --into in the order of the arguments, and stops at the first error: those before it
 * stay. Captures are replayed by processes of their own. */
int wp_tool_import(struct wp_tool *tool, struct wp_error *err);

#endif
