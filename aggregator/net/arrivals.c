/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/arrivals.h"

#include <stdlib.h>

void wp_arrivals_fini(struct wp_arrivals *arrivals)
{
    free(arrivals->rows);
    *arrivals = (struct wp_arrivals){0};
}

/* The i-th from the end, counted from 1. */
static struct wp_arrival *last(const struct wp_arrivals *arrivals, uint32_t i)
{
    return &arrivals->rows[(arrivals->count - i) & (arrivals->room - 1)];
}

/* For one more, in place of the oldest when they are as many as are remembered. */
static bool has_room(struct wp_arrivals *arrivals)
{
    uint32_t room = arrivals->room ? arrivals->room * 2 : 1;
    if (arrivals->count < arrivals->room || room > WP_ARRIVALS)
        return true;
    struct wp_arrival *rows = realloc(arrivals->rows, room * sizeof(*rows)); /* it has not gone round yet */
    if (!rows)
        return false;
    arrivals->rows = rows;
    arrivals->room = room;
    return true;
}

void wp_arrivals_add(struct wp_arrivals *arrivals, const struct wp_arrival *arrival)
{
    if (arrivals->count && (int32_t)(arrival->end - last(arrivals, 1)->end) <= 0)
        return;
    if (has_room(arrivals))
        arrivals->rows[arrivals->count++ & (arrivals->room - 1)] = *arrival;
}

uint64_t wp_arrivals_of(const struct wp_arrivals *arrivals, uint32_t end)
{
    uint64_t found = 0;
    for (uint32_t i = 1; i <= arrivals->room && i <= arrivals->count; i++) {
        const struct wp_arrival *arrival = last(arrivals, i);
        if ((int32_t)(arrival->end - end) < 0)
            return found;
        found = arrival->time_ns;
    }
    return arrivals->count < WP_ARRIVALS ? found : 0;
}

bool wp_arrivals_are_read(const struct wp_arrivals *arrivals, uint32_t end)
{
    return !arrivals->count || (int32_t)(last(arrivals, 1)->end - end) <= 0;
}
