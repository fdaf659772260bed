/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/tool/gone_list.h"

#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/value/rows.h"

#include <stdlib.h>
#include <string.h>

void wp_gone_add(struct wp_gone_list *list, const char *key, uint64_t bytes, const char *why)
{
    if (wp_rows_grow(&list->rows, &list->room, list->count, sizeof(*list->rows))) {
        list->has_failed = true;
        return;
    }
    struct wp_gone *gone = &list->rows[list->count++];
    *gone = (struct wp_gone){strdup(key), strdup(why), bytes};
    list->has_failed |= !gone->key || !gone->why;
}

void wp_gone_cut(struct wp_gone_list *list, uint32_t count)
{
    while (list->count > count) {
        struct wp_gone *gone = &list->rows[--list->count];
        free(gone->key);
        free(gone->why);
    }
}

void wp_gone_fini(struct wp_gone_list *list)
{
    wp_gone_cut(list, 0);
    free(list->rows);
    *list = (struct wp_gone_list){0};
}

void wp_gone_print(const struct wp_gone_list *list, const char *release, bool is_dry, struct wp_buffer *out)
{
    char bytes[32];
    for (uint32_t i = 0; i < list->count; i++) {
        const struct wp_gone *gone = &list->rows[i];
        wp_buffer_printf(out, "%s%s %10s  %s/%s  (%s)\n", is_dry ? "would be " : "", gone->bytes ? "gone" : "changed",
            gone->bytes ? wp_tool_size(gone->bytes, bytes, sizeof(bytes)) : "", release, gone->key, gone->why);
    }
}

void wp_gone_json(const struct wp_gone_list *list, struct json_object *object)
{
    struct json_object *rows = wp_json_put_rows(object, "gone");
    for (uint32_t i = 0; i < list->count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "key", list->rows[i].key);
        wp_json_put_number(row, "bytes", list->rows[i].bytes);
        wp_json_put_text(row, "why", list->rows[i].why);
    }
}
