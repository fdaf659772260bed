/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/tree.h"

#include "storage/value/rows.h"

#include <errno.h>

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
