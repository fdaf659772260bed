/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/piece_list.h"

#include "storage/value/rows.h"

#include <stdlib.h>

static void add_piece(void *context, const struct wp_piece *piece)
{
    struct wp_piece_list *list = context;
    if (wp_rows_grow(&list->rows, &list->room, list->count, sizeof(*list->rows))) {
        list->lost++;
        return;
    }
    list->rows[list->count++] = wp_piece_row_of(piece);
}

struct wp_sink wp_piece_list_sink(struct wp_piece_list *list)
{
    return (struct wp_sink){.piece = add_piece, .context = list};
}

void wp_piece_list_fini(struct wp_piece_list *list)
{
    free(list->rows);
    *list = (struct wp_piece_list){0};
}
