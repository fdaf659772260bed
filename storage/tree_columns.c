/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/tree_columns.h"

#include <errno.h>

int wp_tree_columns_take(const struct wp_tree_columns *columns, const struct wp_tree_rows *tree, struct wp_intern *strings,
    struct wp_error *err)
{
    for (size_t i = 0; i < columns->string_count; i++)
        if (wp_intern_id(strings, (const char *)columns->strings[i].data, columns->strings[i].len) != i + 1)
            return wp_error_set(err, -EBADMSG, "string %zu is there twice", i + 1);
    for (size_t i = 0; i < columns->frame_count; i++) {
        struct wp_frame_info info = {columns->frame_style[i], columns->frame_name[i], columns->frame_object[i]};
        if (wp_tree_frame(tree, info) != i + 1)
            return wp_error_set(err, -EBADMSG, "frame %zu is there twice", i + 1);
    }
    for (size_t i = 0; i < columns->node_count; i++) {
        uint32_t up = columns->node_up[i];
        if (!up || up > i + 1)
            return wp_error_set(err, -EBADMSG, "node %zu does not come after its parent", i + 1);
        if (wp_tree_child(tree, (uint32_t)(i + 1 - up), columns->node_frame[i]) != i + 1)
            return wp_error_set(err, -EBADMSG, "node %zu has no frame or is there twice", i + 1);
    }
    return 0;
}
