/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TREE_COLUMNS_H
#define WP_STORAGE_TREE_COLUMNS_H
/* Strings, frames and the tree of nodes as reports and traces bring them: columns whose ids have been checked. */
#include "common/error.h"
#include "common/intern.h"
#include "storage/rows.h"

#include <protobuf-c/protobuf-c.h>

struct wp_tree_columns {
    const ProtobufCBinaryData *strings;
    const uint8_t *frame_style;
    const uint32_t *frame_name, *frame_object, *node_up, *node_frame;
    size_t string_count, frame_count, node_count;
};

/* Into an empty tree, whose ids are then those of the columns. -EBADMSG: something is there twice or before its parent. */
int wp_tree_columns_take(const struct wp_tree_columns *columns, const struct wp_tree_rows *tree, struct wp_intern *strings,
    struct wp_error *err);
/* The columns of a message of either kind. */
#define WP_TREE_COLUMNS(m) ((struct wp_tree_columns){(m)->strings, (m)->frame_style.data, (m)->frame_name, (m)->frame_object, \
    (m)->node_up, (m)->node_frame, (m)->n_strings, (m)->n_frame_name, (m)->n_node_up})

#endif
