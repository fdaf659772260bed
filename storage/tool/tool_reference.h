/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_REFERENCE_H
#define WP_STORAGE_TOOL_TOOL_REFERENCE_H
/* References (storage/upkeep/reference.h) in the arguments of a command. */
#include "storage/tool/tool.h"

struct wp_json;
struct wp_reference;

/* Replaces the reference in tool->location by what it means now, for a command that only reads also as the repository
 * of this folder knows it; after wp_store_open. -EINVAL: not a reference, or one with a key behind it; -ENOENT. */
int wp_tool_resolve(struct wp_tool *tool, struct wp_error *err);
/* For a command that changes the release: by its own id, and so many before it (storage/upkeep/ancestry.h, with this
 * folder's repository). As wp_reference_resolve_exact(). */
int wp_tool_resolve_exact(struct wp_reference *reference, struct wp_store *store, struct wp_error *err);
/* Writes the sum of all shards, and of all timeboxes unless one is given, as an object. Damaged reports are
 * complaints; -ENOENT: no report. */
int wp_tool_cat_reference(struct wp_tool *tool, struct wp_txn *txn, struct wp_json *json, struct wp_error *err);

#endif
