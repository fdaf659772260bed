/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/pathtree.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_pathtree_init(struct wp_pathtree *tree)
{
    *tree = (struct wp_pathtree){.frame_count = 1, .node_count = 1, .frame_room = 64, .node_room = 64};
    tree->strings = wp_intern_create();
    tree->frames = calloc(tree->frame_room, sizeof(*tree->frames));
    tree->nodes = calloc(tree->node_room, sizeof(*tree->nodes));
    tree->recent = calloc(tree->node_room, sizeof(*tree->recent));
    if (tree->strings && tree->frames && tree->nodes && tree->recent)
        return 0;
    wp_pathtree_fini(tree);
    return -ENOMEM;
}

void wp_pathtree_fini(struct wp_pathtree *tree)
{
    wp_intern_destroy(tree->strings);
    free(tree->frames);
    free(tree->nodes);
    free(tree->recent);
    wp_intmap_fini(&tree->frame_index);
    wp_intmap_fini(&tree->line_index);
    wp_intmap_fini(&tree->node_index);
    *tree = (struct wp_pathtree){0};
}

static uint32_t new_frame(
    struct wp_pathtree *tree, struct wp_intmap *index, struct wp_intkey key, struct wp_path_frame frame)
{
    if (WP_ARRAY_FIT(tree->frames, tree->frame_room, tree->frame_count + (size_t)1) ||
        wp_intmap_put(index, key, tree->frame_count))
        return UINT32_MAX;
    tree->frames[tree->frame_count] = frame;
    return tree->frame_count++;
}

uint32_t wp_pathtree_frame(struct wp_pathtree *tree, enum wp_frame_style style, const char *name, const char *object)
{
    uint32_t name_id = wp_intern_str(tree->strings, name),
             object_id = wp_intern_str(tree->strings, object ? object : "");
    struct wp_intkey key = {(uint64_t)name_id << 32 | object_id, style};
    uint32_t frame;
    if (wp_intmap_get(&tree->frame_index, key, &frame))
        return frame;
    if (name_id == UINT32_MAX || object_id == UINT32_MAX)
        return UINT32_MAX;
    return new_frame(tree, &tree->frame_index, key,
        (struct wp_path_frame){.style = (uint32_t)style, .name = name_id, .object = object_id});
}

uint32_t wp_pathtree_at_line(struct wp_pathtree *tree, uint32_t frame, const char *file, uint32_t line, bool is_inlined)
{
    if (frame == UINT32_MAX || tree->leaves_lines_out || (!*file && !is_inlined))
        return frame;
    struct wp_path_frame made = tree->frames[frame];
    made.file = wp_intern_str(tree->strings, file);
    made.line = made.file ? line : 0;
    made.is_inlined = is_inlined;
    struct wp_intkey key = {(uint64_t)made.file << 32 | made.line, (uint64_t)frame << 1 | is_inlined};
    uint32_t found;
    if (wp_intmap_get(&tree->line_index, key, &found))
        return found;
    tree->has_lines |= made.file != 0;
    return made.file == UINT32_MAX ? UINT32_MAX : new_frame(tree, &tree->line_index, key, made);
}

static int grow_nodes(struct wp_pathtree *tree)
{
    uint32_t room = tree->node_room, recent_room = tree->node_room; /* of arrays as long as each other */
    if (WP_ARRAY_FIT(tree->nodes, room, tree->node_count + (size_t)1) ||
        WP_ARRAY_FIT_ZERO(tree->recent, recent_room, room))
        return -ENOMEM;
    tree->node_room = room;
    return 0;
}

uint32_t wp_pathtree_child(struct wp_pathtree *tree, uint32_t parent, uint32_t frame)
{
    if (parent == UINT32_MAX || frame == UINT32_MAX)
        return UINT32_MAX;
    struct wp_intkey key = {parent, frame};
    uint32_t node = tree->recent[parent];
    if (node && tree->nodes[node].frame == frame)
        return node;
    if (wp_intmap_get(&tree->node_index, key, &node))
        return tree->recent[parent] = node;
    if ((tree->node_count == tree->node_room && grow_nodes(tree)) ||
        wp_intmap_put(&tree->node_index, key, tree->node_count))
        return UINT32_MAX;
    tree->nodes[tree->node_count] = (struct wp_node){parent, frame};
    return tree->recent[parent] = tree->node_count++;
}
