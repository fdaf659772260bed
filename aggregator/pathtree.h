/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PATHTREE_H
#define WP_AGGREGATOR_PATHTREE_H
/*
 * The tree of pseudo-stacks that an aggregate has seen: frames (style, name, object file) and nodes (parent, frame), both
 * found by hash. It outlives the epochs, so that a known pseudo-stack costs one look-up; reports and traces copy the nodes
 * that they use. Node 0 is the root. Ids are UINT32_MAX when out of memory.
 */
#include "common/intern.h"
#include "common/intmap.h"
#include "storage/report.h"

struct wp_pathtree {
    struct wp_intern *strings;
    struct wp_frame_info *frames; /* [0] unused */
    struct wp_node *nodes;        /* [0] the root */
    uint32_t *recent;             /* a node's child that was asked for last, 0 none: mostly the next one, too */
    uint32_t frame_count, frame_room, node_count, node_room;
    struct wp_intmap frame_index, node_index;
};

int wp_pathtree_init(struct wp_pathtree *tree);
void wp_pathtree_fini(struct wp_pathtree *tree);
uint32_t wp_pathtree_frame(struct wp_pathtree *tree, enum wp_frame_style style, const char *name, const char *object);
uint32_t wp_pathtree_child(struct wp_pathtree *tree, uint32_t parent, uint32_t frame);
const char *wp_pathtree_name(const struct wp_pathtree *tree, uint32_t node);

#endif
