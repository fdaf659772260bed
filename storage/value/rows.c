/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_rows_grow(void *rows, uint32_t *room, uint32_t count, size_t row_size)
{
    if (count < *room)
        return 0;
    if (count >= WP_ROWS_LIMIT)
        return -ENOMEM;
    void *old;
    memcpy(&old, rows, sizeof(old));
    uint32_t wanted = *room ? *room * 2 : 16;
    void *grown = reallocarray(old, wanted, row_size);
    if (!grown)
        return -ENOMEM;
    memcpy(rows, &grown, sizeof(grown));
    *room = wanted;
    return 0;
}

int wp_rows_compare_texts(const struct wp_intern *strings, uint32_t a, uint32_t b)
{
    size_t a_size = wp_intern_size(strings, a), b_size = wp_intern_size(strings, b);
    int rc = a == b ? 0 : memcmp(wp_intern_text(strings, a), wp_intern_text(strings, b), a_size < b_size ? a_size : b_size);
    return rc ? rc : a_size < b_size ? -1 : a_size > b_size;
}

uint32_t wp_rows_string(struct wp_intern *strings, const char *text)
{
    return text && *text ? wp_intern_id(strings, text, strnlen(text, WP_TEXT_LIMIT)) : 0;
}

uint32_t wp_tree_frame(const struct wp_tree_rows *tree, struct wp_frame_info info)
{
    struct wp_intkey key = {info.style, wp_pair(info.name, info.object)};
    uint32_t id = *tree->frame_count;
    if (wp_intmap_get(&tree->index->frames, key, &id))
        return id;
    if (wp_rows_grow(tree->frames, tree->frame_room, id, sizeof(**tree->frames)) ||
            wp_intmap_put(&tree->index->frames, key, id))
        return UINT32_MAX;
    (*tree->frames)[id] = info;
    *tree->frame_count = id + 1;
    return id;
}

uint32_t wp_tree_child(const struct wp_tree_rows *tree, uint32_t parent, uint32_t frame)
{
    struct wp_intkey key = {parent, frame};
    uint32_t id = *tree->node_count;
    if (wp_intmap_get(&tree->index->children, key, &id))
        return id;
    if (parent >= id || !frame || frame >= *tree->frame_count)
        return UINT32_MAX;
    if (wp_rows_grow(tree->nodes, tree->node_room, id, sizeof(**tree->nodes)) ||
            wp_intmap_put(&tree->index->children, key, id))
        return UINT32_MAX;
    (*tree->nodes)[id] = (struct wp_node){parent, frame};
    *tree->node_count = id + 1;
    return id;
}

int wp_tree_start(const struct wp_tree_rows *tree)
{
    if (wp_rows_grow(tree->frames, tree->frame_room, 0, sizeof(**tree->frames)) ||
            wp_rows_grow(tree->nodes, tree->node_room, 0, sizeof(**tree->nodes)))
        return -ENOMEM;
    (*tree->frames)[0] = (struct wp_frame_info){0};
    (*tree->nodes)[0] = (struct wp_node){0};
    *tree->frame_count = *tree->node_count = 1;
    return 0;
}
