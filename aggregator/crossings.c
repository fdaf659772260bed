/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/crossings.h"

#include <stdlib.h>
#include <string.h>

#define CROSSINGS 16384u    /* connections that are asked; others get their clocks from these */
#define LEAVINGS 32u        /* the collector tells of one in 10 ms */
#define ARRIVALS 128u
#define SPACING_NS 1000000u /* arrivals closer than that to the last one kept are left out */

struct mark {
    uint64_t time_ns;
    uint32_t position;
};

/* From one end to the other. */
struct way {
    struct mark *leavings, *arrivals; /* rings, owned, made on first use */
    uint64_t left, met, arrived;      /* ordinals: leavings put in, leavings that need no arrival any more, arrivals */
};

struct wp_crossing {
    uint32_t clocks[2];
    struct way ways[2];               /* [i]: what leaves end i */
    uint32_t next_free;
};

void wp_crossings_init(struct wp_crossings *crossings, struct wp_clocks *clocks)
{
    *crossings = (struct wp_crossings){.clocks = clocks, .count = 1};
}

static void free_ways(struct wp_crossing *row)
{
    for (int i = 0; i < 2; i++) {
        free(row->ways[i].leavings);
        free(row->ways[i].arrivals);
    }
    memset(row->ways, 0, sizeof(row->ways));
}

void wp_crossings_fini(struct wp_crossings *crossings)
{
    for (uint32_t i = 1; i < crossings->count; i++)
        free_ways(&crossings->rows[i]);
    free(crossings->rows);
    *crossings = (struct wp_crossings){0};
}

uint32_t wp_crossings_open(struct wp_crossings *crossings, uint32_t clock0, uint32_t clock1)
{
    uint32_t index = crossings->free;
    if (index) {
        crossings->free = crossings->rows[index].next_free;
    } else {
        if (crossings->count > CROSSINGS)
            return 0;
        if (crossings->count >= crossings->room) {
            uint32_t room = crossings->room ? crossings->room * 2 : 64;
            struct wp_crossing *rows = realloc(crossings->rows, room * sizeof(*rows));
            if (!rows)
                return 0;
            crossings->rows = rows;
            crossings->room = room;
        }
        index = crossings->count++;
    }
    crossings->rows[index] = (struct wp_crossing){.clocks = {clock0, clock1}};
    return index;
}

void wp_crossings_close(struct wp_crossings *crossings, uint32_t crossing)
{
    free_ways(&crossings->rows[crossing]);
    crossings->rows[crossing].next_free = crossings->free;
    crossings->free = crossing;
}

static bool is_at_or_after(uint32_t position, uint32_t other)
{
    return (int32_t)(position - other) >= 0;
}

static struct mark *ring(struct mark **marks, uint32_t size)
{
    if (!*marks)
        *marks = calloc(size, sizeof(**marks));
    return *marks;
}

void wp_crossings_left(struct wp_crossings *crossings, uint32_t crossing, uint32_t end, uint32_t position, uint64_t time_ns)
{
    struct wp_crossing *row = &crossings->rows[crossing];
    struct way *way = &row->ways[end];
    uint64_t first = way->arrived > ARRIVALS ? way->arrived - ARRIVALS : 0;
    for (uint64_t i = first; way->arrivals && i < way->arrived; i++) {
        const struct mark *arrival = &way->arrivals[i % ARRIVALS];
        if (is_at_or_after(arrival->position, position)) {
            wp_clocks_message(crossings->clocks, row->clocks[end], time_ns, row->clocks[!end], arrival->time_ns);
            return;
        }
    }
    if (!ring(&way->leavings, LEAVINGS))
        return;
    way->leavings[way->left++ % LEAVINGS] = (struct mark){time_ns, position};
}

void wp_crossings_arrived(struct wp_crossings *crossings, uint32_t crossing, uint32_t end, uint32_t position,
    uint64_t time_ns)
{
    struct wp_crossing *row = &crossings->rows[crossing];
    struct way *way = &row->ways[!end];
    if (way->left > LEAVINGS && way->met < way->left - LEAVINGS)
        way->met = way->left - LEAVINGS;
    while (way->met < way->left && is_at_or_after(position, way->leavings[way->met % LEAVINGS].position))
        wp_clocks_message(crossings->clocks, row->clocks[!end], way->leavings[way->met++ % LEAVINGS].time_ns,
            row->clocks[end], time_ns);
    if (!ring(&way->arrivals, ARRIVALS))
        return;
    if (way->arrived && time_ns - way->arrivals[(way->arrived - 1) % ARRIVALS].time_ns < SPACING_NS)
        return;
    way->arrivals[way->arrived++ % ARRIVALS] = (struct mark){time_ns, position};
}
