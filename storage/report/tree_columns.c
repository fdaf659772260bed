/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/tree_columns.h"

#include "common/intern.h"

#include <errno.h>

int wp_id_columns_check(const struct wp_id_column *columns, size_t count, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = wp_ids_check(columns[i].ids, columns[i].count, columns[i].limit, columns[i].what, err);
    return rc;
}

int wp_tree_columns_check(const struct wp_tree_columns *columns, const char *what, struct wp_error *err)
{
    const struct wp_id_column ids[] = {
        {columns->frame_name, columns->n_frame_name, columns->n_strings, "name of a frame"},
        {columns->frame_object, columns->n_frame_object, columns->n_strings, "object of a frame"},
        {columns->node_frame, columns->n_node_frame, columns->n_frame_name, "frame of a node"},
    };
    int rc = WP_LENGTHS("frames", err, columns->frame_style.len, columns->n_frame_name, columns->n_frame_object);
    if (!rc)
        rc = WP_LENGTHS("nodes", err, columns->n_node_up, columns->n_node_frame);
    if (!rc)
        rc = wp_texts_check(columns->strings, columns->n_strings, what, err);
    if (!rc)
        rc = wp_id_columns_check(ids, sizeof(ids) / sizeof(*ids), err);
    return rc ? rc : wp_bytes_check(columns->frame_style, 1, WP_STYLES - 1, "style of a frame", err);
}

/* No id: there was no memory for one. */
static int refuse(uint32_t id, struct wp_error *err, const char *twice, size_t number)
{
    return id == UINT32_MAX ? wp_error_set(err, -ENOMEM, "out of memory for a tree")
                            : wp_error_set(err, -EBADMSG, twice, number);
}

int wp_tree_columns_take(const struct wp_tree_columns *columns, struct wp_intern *strings,
    const struct wp_tree_rows *tree, uint32_t (*child)(void *context, uint32_t parent, uint32_t frame), void *context,
    struct wp_error *err)
{
    for (size_t i = 0; i < columns->n_strings; i++) {
        uint32_t id = wp_intern_id(strings, (const char *)columns->strings[i].data, columns->strings[i].len);
        if (id != i + 1)
            return refuse(id, err, "string %zu is there twice", i + 1);
    }
    for (size_t i = 0; i < columns->n_frame_name; i++) {
        struct wp_frame_info info = {columns->frame_style.data[i], columns->frame_name[i], columns->frame_object[i]};
        uint32_t id = wp_tree_frame(tree, info);
        if (id != i + 1)
            return refuse(id, err, "frame %zu is there twice", i + 1);
    }
    for (size_t i = 0; i < columns->n_node_up; i++) {
        if (!columns->node_up[i] || columns->node_up[i] > i + 1)
            return wp_error_set(err, -EBADMSG, "node %zu does not come after its parent", i + 1);
        if (!columns->node_frame[i])
            return wp_error_set(err, -EBADMSG, "node %zu has no frame", i + 1);
        uint32_t id = child(context, (uint32_t)(i + 1 - columns->node_up[i]), columns->node_frame[i]);
        if (id != i + 1)
            return refuse(id, err, "node %zu is there twice", i + 1);
    }
    return 0;
}
