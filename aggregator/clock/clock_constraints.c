/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock/clock_constraints.h"

#include "common/array.h"
#include "common/clock.h"

#include <stdlib.h>

#define ENDS 16384u  /* connections that are asked; others get their clocks from these */
#define LEAVINGS 32u /* the collector reports one in 10 ms */
#define ARRIVALS 128u
#define SPACING_NS WP_NS_PER_MS /* arrivals closer than that to the last one kept are left out; so are sends */

struct mark {
    uint64_t time_ns;
    uint32_t position;
};

/* One end. */
struct wp_clock_constraint {
    uint32_t clock, peer;             /* peer: the other end, 0 unknown; of a free row the next free one */
    struct mark *leavings, *arrivals; /* rings, owned, made on first use */
    uint64_t left, met, arrived;      /* ordinals: leavings put in, leavings that need no arrival any more, arrivals */
    struct mark sent, newest;         /* the last send that has not arrived yet; the last arrival, kept or not */
    uint64_t sent_told_ns;            /* of the last send that became a constraint */
    bool is_sent;                     /* `sent` waits */
};

void wp_clock_constraints_init(struct wp_clock_constraints *constraints, struct wp_clocks *clocks)
{
    *constraints = (struct wp_clock_constraints){.clocks = clocks, .count = 1};
}

void wp_clock_constraints_fini(struct wp_clock_constraints *constraints)
{
    for (uint32_t i = 1; i < constraints->count; i++) {
        free(constraints->rows[i].leavings);
        free(constraints->rows[i].arrivals);
    }
    free(constraints->rows);
    *constraints = (struct wp_clock_constraints){0};
}

uint32_t wp_clock_constraints_open(struct wp_clock_constraints *constraints, uint32_t clock)
{
    uint32_t index = constraints->free;
    if (index) {
        constraints->free = constraints->rows[index].peer;
    } else {
        if (constraints->count > ENDS)
            return 0;
        if (WP_ARRAY_FIT(constraints->rows, constraints->room, constraints->count + 1))
            return 0;
        index = constraints->count++;
    }
    constraints->rows[index] = (struct wp_clock_constraint){.clock = clock};
    return index;
}

void wp_clock_constraints_part(struct wp_clock_constraints *constraints, uint32_t one)
{
    struct wp_clock_constraint *row = &constraints->rows[one];
    if (row->peer)
        constraints->rows[row->peer].peer = 0;
    row->peer = 0;
}

void wp_clock_constraints_close(struct wp_clock_constraints *constraints, uint32_t end)
{
    struct wp_clock_constraint *row = &constraints->rows[end];
    wp_clock_constraints_part(constraints, end);
    free(row->leavings);
    free(row->arrivals);
    *row = (struct wp_clock_constraint){.peer = constraints->free};
    constraints->free = end;
}

static bool is_at_or_after(uint32_t position, uint32_t other)
{
    return (int32_t)(position - other) >= 0;
}

/* The first arrival kept at `to` of the bytes before `position`. */
static const struct mark *arrival_of(const struct wp_clock_constraint *to, uint32_t position)
{
    uint64_t first = to->arrived > ARRIVALS ? to->arrived - ARRIVALS : 0;
    if (!to->arrived || !is_at_or_after(to->newest.position, position))
        return NULL;
    for (uint64_t i = first; i < to->arrived; i++)
        if (is_at_or_after(to->arrivals[i % ARRIVALS].position, position))
            return &to->arrivals[i % ARRIVALS];
    return &to->newest;
}

/* The leavings of `from` that have arrived need not wait any more. */
static void meet(
    struct wp_clock_constraints *constraints, struct wp_clock_constraint *from, const struct wp_clock_constraint *to)
{
    if (from->left > LEAVINGS && from->met < from->left - LEAVINGS)
        from->met = from->left - LEAVINGS;
    for (; from->met < from->left; from->met++) {
        const struct mark *leaving = &from->leavings[from->met % LEAVINGS];
        const struct mark *arrival = arrival_of(to, leaving->position);
        if (!arrival)
            return;
        wp_clocks_message(constraints->clocks, from->clock, leaving->time_ns, to->clock, arrival->time_ns);
    }
}

/* The send of `from` that waits, if its bytes have arrived. */
static void meet_sent(
    struct wp_clock_constraints *constraints, struct wp_clock_constraint *from, const struct mark *arrival, uint32_t to)
{
    if (!arrival)
        return;
    wp_clocks_message(constraints->clocks, from->clock, from->sent.time_ns, to, arrival->time_ns);
    from->sent_told_ns = from->sent.time_ns;
    from->is_sent = false;
}

void wp_clock_constraints_join(struct wp_clock_constraints *constraints, uint32_t one, uint32_t other)
{
    struct wp_clock_constraint *a = &constraints->rows[one], *b = &constraints->rows[other];
    wp_clock_constraints_part(constraints, one);
    wp_clock_constraints_part(constraints, other);
    a->peer = other;
    b->peer = one;
    a->met = b->met = 0; /* the other one's clock may be another than before: its shard was started again */
    meet(constraints, a, b);
    meet(constraints, b, a);
}

static struct mark *ring(struct mark **marks, uint32_t size)
{
    if (!*marks)
        *marks = calloc(size, sizeof(**marks));
    return *marks;
}

void wp_clock_constraints_left(
    struct wp_clock_constraints *constraints, uint32_t end, uint32_t position, uint64_t time_ns)
{
    struct wp_clock_constraint *row = &constraints->rows[end];
    if (!ring(&row->leavings, LEAVINGS))
        return;
    row->leavings[row->left++ % LEAVINGS] = (struct mark){time_ns, position};
    if (row->peer)
        meet(constraints, row, &constraints->rows[row->peer]);
}

void wp_clock_constraints_sent(
    struct wp_clock_constraints *constraints, uint32_t end, uint32_t position, uint64_t time_ns)
{
    struct wp_clock_constraint *row = &constraints->rows[end];
    if (time_ns - row->sent_told_ns < SPACING_NS)
        return;
    row->sent = (struct mark){time_ns, position};
    row->is_sent = true;
    if (!row->peer)
        return;
    const struct wp_clock_constraint *to = &constraints->rows[row->peer];
    meet_sent(constraints, row, arrival_of(to, position), to->clock);
}

void wp_clock_constraints_arrived(
    struct wp_clock_constraints *constraints, uint32_t end, uint32_t position, uint64_t time_ns)
{
    struct wp_clock_constraint *row = &constraints->rows[end], *from = &constraints->rows[row->peer];
    if (row->peer) {
        if (from->left > LEAVINGS && from->met < from->left - LEAVINGS)
            from->met = from->left - LEAVINGS;
        for (; from->met < from->left && is_at_or_after(position, from->leavings[from->met % LEAVINGS].position);
             from->met++)
            wp_clocks_message(
                constraints->clocks, from->clock, from->leavings[from->met % LEAVINGS].time_ns, row->clock, time_ns);
        if (from->is_sent && is_at_or_after(position, from->sent.position))
            meet_sent(constraints, from, &(struct mark){time_ns, position}, row->clock);
    }
    if (!ring(&row->arrivals, ARRIVALS))
        return;
    row->newest = (struct mark){time_ns, position};
    if (row->arrived && time_ns - row->arrivals[(row->arrived - 1) % ARRIVALS].time_ns < SPACING_NS)
        return;
    row->arrivals[row->arrived++ % ARRIVALS] = (struct mark){time_ns, position};
}
