/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/piece_list.h"

#include "common/array.h"

#include <stdlib.h>

static void add_piece(void *context, const struct wp_piece *piece)
{
    struct wp_piece_list *list = context;
    if (WP_ARRAY_FIT(list->rows, list->room, list->count + (size_t)1)) {
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
