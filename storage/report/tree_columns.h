/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_TREE_COLUMNS_H
#define WP_STORAGE_REPORT_TREE_COLUMNS_H
/* The tree of a report's or a trace's message: texts, frames made of them, and nodes, each so many rows after its
 * parent. */
#include "common/intern.h"
#include "storage/report/tree.h"
#include "storage/value/columns.h"

struct wp_tree_columns { /* borrows the message's arrays */
    const ProtobufCBinaryData *strings;
    size_t n_strings;
    ProtobufCBinaryData frame_style;
    const uint32_t *frame_name, *frame_object;
    size_t n_frame_name, n_frame_object;
    const uint32_t *node_up, *node_frame;
    size_t n_node_up, n_node_frame;
};

#define WP_TREE_COLUMNS(m)                                                                                             \
    ((struct wp_tree_columns){(m)->strings, (m)->n_strings, (m)->frame_style, (m)->frame_name, (m)->frame_object,      \
        (m)->n_frame_name, (m)->n_frame_object, (m)->node_up, (m)->node_frame, (m)->n_node_up, (m)->n_node_frame})

/* An id that may be 0 (none) or up to `limit`. */
struct wp_id_column {
    const uint32_t *ids;
    size_t count;
    uint64_t limit;
    const char *what;
};

/* Fails unless lengths, texts and ids fit; `what` is the message. */
int wp_tree_columns_check(const struct wp_tree_columns *columns, const char *what, struct wp_error *err);
/* -EBADMSG, with the name of the first column that has an id over its limit. */
int wp_id_columns_check(const struct wp_id_column *columns, size_t count, struct wp_error *err);
/* Numbers texts and frames as the message does, then child(context, parent, frame) makes each node and returns its
 * number. What is there twice, or a node before its parent, is refused. */
int wp_tree_columns_take(const struct wp_tree_columns *columns, struct wp_intern *strings,
    const struct wp_tree_rows *tree, uint32_t (*child)(void *context, uint32_t parent, uint32_t frame), void *context,
    struct wp_error *err);

#endif
