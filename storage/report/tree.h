/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_TREE_H
#define WP_STORAGE_REPORT_TREE_H
/* The tree of pseudo-stacks that reports and traces have: frames, and nodes that put one frame on another. */
#include "common/intmap.h"

#include <stdint.h>

enum wp_frame_style {
    WP_STYLE_PROCESS = 1, /* "[comm]": a layer of the pseudo-stack starts */
    WP_STYLE_USER,        /* a function */
    WP_STYLE_KERNEL,      /* a kernel function */
    WP_STYLE_SLEEP,       /* "sleep:SYSCALL": the layer sleeps, what stands above is what it waits for */
    WP_STYLE_IO,          /* "io:..." a block operation */
    WP_STYLE_NET,         /* "tcp:..." or "udp:...": a message, or a peer nobody records */
    WP_STYLE_SCHED,       /* "sched:..." runnable or preempted */
    WP_STYLE_WAIT,        /* "timer:...", "irq:...", "kernel:...", "path:..." and other ends of an explanation */
    WP_STYLES
};

/* A frame: what a node shows. */
struct wp_frame_info {
    uint32_t style;  /* enum wp_frame_style */
    uint32_t name;   /* string id */
    uint32_t object; /* string id: file of a function; of a thread that names itself its process; 0 none */
};

/* A frame on top of a parent: the end of one pseudo-stack. */
struct wp_node {
    uint32_t parent; /* node id; 0 is the root, and its own parent */
    uint32_t frame;  /* frame id */
};

/* Frames and nodes by content. */
struct wp_tree_index {
    struct wp_intmap frames, children;
};

struct wp_tree_rows { /* borrows the owner's arrays */
    struct wp_tree_index *index;
    struct wp_frame_info **frames;
    struct wp_node **nodes;
    uint32_t *frame_count, *frame_room, *node_count, *node_room;
};

/* Ids of the frame or node, made if new; UINT32_MAX when out of memory or for a parent or frame that is not there. */
uint32_t wp_tree_frame(const struct wp_tree_rows *tree, struct wp_frame_info info);
/* `parent` 0 is the root; `frame` 0 stands for none and is refused. */
uint32_t wp_tree_child(const struct wp_tree_rows *tree, uint32_t parent, uint32_t frame);
/* Makes frame 0 and the root. -ENOMEM. */
int wp_tree_start(const struct wp_tree_rows *tree);

#endif
