/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_PATHTREE_H
#define WP_AGGREGATOR_EXPLAIN_PATHTREE_H
/*
 * The tree of pseudo-stacks that an aggregate has seen: frames (style, name, object file; of a function whose line is
 * known one for each) and nodes (parent, frame), both found by hash. It outlives the epochs, so that a known
 * pseudo-stack costs one look-up; reports and traces copy the nodes that they use. Node 0 is the root. Ids are
 * UINT32_MAX when out of memory.
 */
#include "common/intern.h"
#include "common/intmap.h"
#include "storage/report/report.h"

#include <stdbool.h>

/* One frame, by ids of the tree's strings. */
struct wp_path_frame {
    uint32_t style;        /* enum wp_frame_style */
    uint32_t name, object; /* string ids */
    uint32_t file, line;   /* string id of the source file, 0 unknown, and where in it */
    bool is_inlined;       /* into the frame below */
};

/* Grows only, until wp_pathtree_fini(). Not thread safe. */
struct wp_pathtree {
    struct wp_intern *strings;
    struct wp_path_frame *frames; /* [0] unused */
    struct wp_node *nodes;        /* [0] the root */
    uint32_t *recent;             /* a node's child that was asked for last, 0 none: mostly the next one, too */
    uint32_t frame_count, frame_room, node_count, node_room;
    struct wp_intmap frame_index, line_index, node_index;
    bool has_lines;        /* a frame has one */
    bool leaves_lines_out; /* frames with another line are the same; set before the first */
};

/* -ENOMEM: nothing is left to free. */
int wp_pathtree_init(struct wp_pathtree *tree);
/* Frees strings, frames and nodes, and zeroes the tree; zeroed is allowed. */
void wp_pathtree_fini(struct wp_pathtree *tree);
/* The frame's id, made when new, with no line. The strings are copied; `object` NULL is "". */
uint32_t wp_pathtree_frame(struct wp_pathtree *tree, enum wp_frame_style style, const char *name, const char *object);
/* The same frame at a line of a source file (""; 0: not known), inlined or not. */
uint32_t wp_pathtree_at_line(
    struct wp_pathtree *tree, uint32_t frame, const char *file, uint32_t line, bool is_inlined);
/* The node's id, made when new; UINT32_MAX also if `parent` or `frame` is that. The arrays of the tree may move. */
uint32_t wp_pathtree_child(struct wp_pathtree *tree, uint32_t parent, uint32_t frame);

#endif
