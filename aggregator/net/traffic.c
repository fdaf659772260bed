/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/traffic.h"

#include "common/array.h"

#include <stdlib.h>

static struct wp_intkey key_of(uint32_t to, uint32_t from)
{
    return (struct wp_intkey){(uint64_t)to << 32 | from, 0};
}

struct wp_traffic *wp_traffics_row(struct wp_traffics *traffics, uint32_t to, uint32_t from)
{
    uint32_t row;
    if (wp_intmap_get(&traffics->index, key_of(to, from), &row))
        return &traffics->rows[row];
    row = traffics->count;
    if (WP_ARRAY_FIT(traffics->rows, traffics->room, row + 1))
        return NULL;
    if (wp_intmap_put(&traffics->index, key_of(to, from), row))
        return NULL;
    traffics->rows[traffics->count++] = (struct wp_traffic){.to = to, .from = from};
    return &traffics->rows[row];
}

void wp_traffics_move(struct wp_traffics *traffics, uint32_t to, uint32_t from, struct wp_traffic_alone *alone)
{
    struct wp_traffic *nobody = alone->messages ? wp_traffics_row(traffics, to, UINT32_MAX) : NULL;
    if (nobody) {
        nobody->messages -= alone->messages;
        nobody->bytes -= alone->bytes;
        nobody->ambiguous -= alone->ambiguous;
        nobody->ambiguous_bytes -= alone->ambiguous_bytes;
    }
    struct wp_traffic *traffic = nobody && from != to ? wp_traffics_row(traffics, to, from) : NULL;
    if (traffic) {
        traffic->messages += alone->messages;
        traffic->bytes += alone->bytes;
    }
    *alone = (struct wp_traffic_alone){0};
}

void wp_traffics_forget(struct wp_traffics *traffics, uint32_t host)
{
    struct wp_traffic *rows = traffics->rows;
    for (uint32_t i = 0; i < traffics->count;) {
        if (rows[i].to != host && rows[i].from != host) {
            i++;
            continue;
        }
        wp_intmap_remove(&traffics->index, key_of(rows[i].to, rows[i].from));
        rows[i] = rows[--traffics->count];
        if (i < traffics->count)
            wp_intmap_put(&traffics->index, key_of(rows[i].to, rows[i].from), i); /* replaces */
    }
}

void wp_traffics_fini(struct wp_traffics *traffics)
{
    wp_intmap_fini(&traffics->index);
    free(traffics->rows);
    *traffics = (struct wp_traffics){0};
}
