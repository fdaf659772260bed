/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_GONE_LIST_H
#define WP_STORAGE_TOOL_GONE_LIST_H
/* What a command deletes of a release, or would: keys, sizes and reasons, as text and as JSON. */
#include "common/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* A value that goes, or is made smaller (bytes 0). */
struct wp_gone {
    char *key, *why; /* owned */
    uint64_t bytes;
};

/* {0} is an empty one. */
struct wp_gone_list {
    struct wp_gone *rows; /* owned */
    uint32_t count, room;
    bool has_failed; /* no memory for a row */
};

/* Adds a row; its texts are copied. Out of memory: has_failed is set. */
void wp_gone_add(struct wp_gone_list *list, const char *key, uint64_t bytes, const char *why);
/* Forgets the rows from `count` on. */
void wp_gone_cut(struct wp_gone_list *list, uint32_t count);
/* Frees all rows; a zeroed list is allowed. */
void wp_gone_fini(struct wp_gone_list *list);
/* A line a row: "gone   1.5 MiB  v1/KEY  (WHY)", with "would be " before it in a dry run. */
void wp_gone_print(const struct wp_gone_list *list, const char *release, bool is_dry, struct wp_buffer *out);
/* Puts the array "gone" into the object. */
void wp_gone_json(const struct wp_gone_list *list, struct json_object *object);

#endif
