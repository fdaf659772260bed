/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_VERIFY_H
#define WP_STORAGE_TOOL_TOOL_VERIFY_H
/* wakepath-store verify. */
#include "storage/tool/tool.h"

/* Reads each release in a child process, which damage may kill. 1: there are faults, and they are printed; -EIO: a
 * child ended for another reason than damage. */
int wp_tool_verify(struct wp_tool *tool, struct wp_error *err);

#endif
