/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_TOOL_UNDO_H
#define WP_STORAGE_TOOL_TOOL_UNDO_H
/* What a command has begun in a store and could not finish goes again, so that a full disk changes nothing. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What there is of a store before a command writes to it. wp_tool_undo_note, then wp_tool_undo_end once. */
struct wp_tool_undo {
    char root[PATH_MAX];
    char **names; /* in the root; owned */
    size_t count;
    bool is_new; /* there is no root yet */
};

/* A root that cannot be listed is taken for one that is there, and nothing of it will be undone. */
void wp_tool_undo_note(struct wp_tool_undo *undo, const char *root);
/* With `failed`: releases that were not there and hold nothing go, and the root, if it was not there and has nothing
 * but locks now. The caller has no handle of the store open. Frees what was noted. */
void wp_tool_undo_end(struct wp_tool_undo *undo, bool failed);

#endif
