/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock/clocks.h"

#include "aggregator/clock/clock_pair.h"
#include "aggregator/clock/clock_view.h"
#include "common/array.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>

#define OFFSET_LIMIT_NS (INT64_MAX / 4) /* 73 years: sums of a few stay representable */
#define BETWEEN_LIMIT 8u                /* hosts between two that are tried, of those that talk with both */
#define HOPS 4u
#define TRIED_LIMIT 256u /* pairs asked for one way of more than two hops */

struct clock_node {
    struct wp_clock_steps steps;
    uint32_t *pairs;                               /* owned, ids */
    uint32_t pair_count, pair_room, two_way_count; /* pairs; those that talk both ways */
    uint32_t search, hops;                         /* of a search: its number, hops to the goal */
    struct wp_clock_health counts;
    bool is_there;
};

struct wp_clocks {
    struct clock_node *nodes; /* owned */
    uint32_t node_count, node_room;
    struct wp_clock_pair **pairs;              /* by id, owned; NULL: free */
    uint32_t pair_count, pair_room, free_pair; /* free_pair: the lowest that may be free */
    struct wp_intmap pair_index;               /* (first, second) -> id; first < second */
    uint32_t *queue;                           /* of a search, room for all nodes */
    uint32_t search;
};

int wp_clocks_create(struct wp_clocks **clocks)
{
    *clocks = calloc(1, sizeof(**clocks));
    return *clocks ? 0 : -ENOMEM;
}

void wp_clocks_destroy(struct wp_clocks *clocks)
{
    if (!clocks)
        return;
    for (uint32_t i = 0; i < clocks->pair_count; i++) {
        if (clocks->pairs[i])
            wp_clock_pair_fini(clocks->pairs[i]);
        free(clocks->pairs[i]);
    }
    for (uint32_t i = 0; i < clocks->node_count; i++)
        free(clocks->nodes[i].pairs);
    wp_intmap_fini(&clocks->pair_index);
    free(clocks->pairs);
    free(clocks->nodes);
    free(clocks->queue);
    free(clocks);
}

int wp_clocks_add(struct wp_clocks *clocks, uint32_t *node)
{
    uint32_t room = clocks->node_room; /* of both arrays */
    if (WP_ARRAY_FIT(clocks->nodes, room, clocks->node_count + 1) ||
        WP_ARRAY_FIT(clocks->queue, clocks->node_room, clocks->node_count + 1))
        return -ENOMEM;
    clocks->nodes[clocks->node_count] = (struct clock_node){.is_there = true};
    *node = clocks->node_count++;
    return 0;
}

static struct clock_node *node_at(const struct wp_clocks *clocks, uint32_t node)
{
    return node < clocks->node_count && clocks->nodes[node].is_there ? &clocks->nodes[node] : NULL;
}

static struct wp_intkey key_of(uint32_t a, uint32_t b)
{
    return a < b ? (struct wp_intkey){a, b} : (struct wp_intkey){b, a};
}

static struct wp_clock_pair *pair_of(const struct wp_clocks *clocks, uint32_t a, uint32_t b)
{
    uint32_t id;
    return wp_intmap_get(&clocks->pair_index, key_of(a, b), &id) ? clocks->pairs[id] : NULL;
}

static bool add_peer(struct clock_node *node, uint32_t id)
{
    if (WP_ARRAY_FIT(node->pairs, node->pair_room, node->pair_count + 1))
        return false;
    node->pairs[node->pair_count++] = id;
    return true;
}

static void remove_peer(struct clock_node *node, uint32_t id)
{
    for (uint32_t i = 0; i < node->pair_count; i++)
        if (node->pairs[i] == id) {
            node->pairs[i] = node->pairs[--node->pair_count];
            return;
        }
}

static bool free_id(struct wp_clocks *clocks, uint32_t *id)
{
    while (clocks->free_pair < clocks->pair_count && clocks->pairs[clocks->free_pair])
        clocks->free_pair++;
    if (WP_ARRAY_FIT(clocks->pairs, clocks->pair_room, clocks->free_pair + 1))
        return false;
    *id = clocks->free_pair;
    if (*id == clocks->pair_count)
        clocks->pairs[clocks->pair_count++] = NULL;
    return true;
}

static struct wp_clock_pair *add_pair(struct wp_clocks *clocks, uint32_t a, uint32_t b)
{
    struct wp_intkey key = key_of(a, b);
    struct wp_clock_pair *pair = calloc(1, sizeof(*pair));
    uint32_t id;
    if (!pair || !free_id(clocks, &id))
        goto out;
    pair->nodes[0] = (uint32_t)key.a;
    pair->nodes[1] = (uint32_t)key.b;
    if (!add_peer(&clocks->nodes[a], id))
        goto out;
    if (!add_peer(&clocks->nodes[b], id) || wp_intmap_put(&clocks->pair_index, key, id)) {
        remove_peer(&clocks->nodes[a], id);
        remove_peer(&clocks->nodes[b], id);
        goto out;
    }
    return clocks->pairs[id] = pair;
out:
    free(pair);
    return NULL;
}

void wp_clocks_remove(struct wp_clocks *clocks, uint32_t node)
{
    struct clock_node *gone = node_at(clocks, node);
    if (!gone)
        return;
    for (uint32_t i = 0; i < gone->pair_count; i++) {
        uint32_t id = gone->pairs[i];
        struct wp_clock_pair *pair = clocks->pairs[id];
        struct clock_node *peer = &clocks->nodes[pair->nodes[pair->nodes[0] == node]];
        remove_peer(peer, id);
        peer->counts.condemned_peers -= pair->is_condemned;
        peer->two_way_count -= pair->is_two_way;
        wp_intmap_remove(&clocks->pair_index, key_of(pair->nodes[0], pair->nodes[1]));
        wp_clock_pair_fini(pair);
        free(pair);
        clocks->pairs[id] = NULL;
        if (id < clocks->free_pair)
            clocks->free_pair = id;
    }
    free(gone->pairs);
    *gone = (struct clock_node){0};
}

/* --- constraints --- */

static void steps_of(
    const struct wp_clocks *clocks, const struct wp_clock_pair *pair, const struct wp_clock_steps *steps[2])
{
    steps[0] = &clocks->nodes[pair->nodes[0]].steps;
    steps[1] = &clocks->nodes[pair->nodes[1]].steps;
}

static void take_in(
    struct wp_clocks *clocks, struct wp_clock_pair *pair, enum wp_clock_side side, struct wp_clock_point point)
{
    const struct wp_clock_steps *steps[2];
    struct wp_clock_health *counts[2];
    steps_of(clocks, pair, steps);
    bool was_condemned = pair->is_condemned, was_two_way = pair->is_two_way;
    enum wp_clock_news news = wp_clock_pair_add(pair, side, point, steps);
    for (int i = 0; i < 2; i++) {
        counts[i] = &clocks->nodes[pair->nodes[i]].counts;
        counts[i]->messages++;
        counts[i]->late += news == WP_CLOCK_LATE;
        counts[i]->contradictions += news == WP_CLOCK_CONTRADICTION;
        counts[i]->condemned_peers += pair->is_condemned;
        counts[i]->condemned_peers -= was_condemned;
        clocks->nodes[pair->nodes[i]].two_way_count += pair->is_two_way - was_two_way;
    }
}

void wp_clocks_message(struct wp_clocks *clocks, uint32_t from, uint64_t sent_ns, uint32_t to, uint64_t received_ns)
{
    struct clock_node *sender = node_at(clocks, from), *receiver = node_at(clocks, to);
    if (!sender || !receiver)
        return;
    __int128 apart = (__int128)received_ns - sent_ns;
    if (from == to || apart > OFFSET_LIMIT_NS || apart < -OFFSET_LIMIT_NS) {
        sender->counts.refused++;
        receiver->counts.refused += from != to;
        return;
    }
    struct wp_clock_pair *pair = pair_of(clocks, from, to);
    if (!pair && !(pair = add_pair(clocks, from, to)))
        return;
    /* When the sender's clock showed sent_ns the receiver's showed received_ns or less; when the receiver's showed
     * received_ns the sender's showed sent_ns or more. */
    if (from < to)
        take_in(clocks, pair, WP_UPPER, (struct wp_clock_point){sent_ns, (int64_t)apart});
    else
        take_in(clocks, pair, WP_LOWER, (struct wp_clock_point){received_ns, -(int64_t)apart});
}

void wp_clocks_step(struct wp_clocks *clocks, uint32_t node, uint64_t at_ns)
{
    struct clock_node *stepped = node_at(clocks, node);
    if (!stepped)
        return;
    wp_clock_steps_add(&stepped->steps, at_ns);
    stepped->counts.steps++;
}

static bool is_usable(const struct clock_node *node)
{
    return node && (!node->counts.condemned_peers || node->counts.condemned_peers < node->two_way_count);
}

bool wp_clocks_health(const struct wp_clocks *clocks, uint32_t node, struct wp_clock_health *health)
{
    const struct clock_node *asked = node_at(clocks, node);
    if (!asked)
        return false;
    *health = asked->counts;
    health->peers = asked->pair_count;
    health->is_usable = is_usable(asked);
    return true;
}

/* False: there is no model of them, or none that is to be believed. */
static bool look_from(struct wp_clocks *clocks, uint32_t from, uint32_t to, struct wp_clock_sight *sight)
{
    struct wp_clock_pair *pair = pair_of(clocks, from, to);
    if (!pair || pair->is_condemned)
        return false;
    *sight = (struct wp_clock_sight){.pair = pair, .from = from > to};
    steps_of(clocks, pair, sight->steps);
    return true;
}

size_t wp_clocks_spans(
    struct wp_clocks *clocks, const struct wp_clock_range *range, struct wp_clock_span *spans, size_t room)
{
    struct wp_clock_sight sight;
    if (!look_from(clocks, range->node, range->reference, &sight))
        return 0;
    return wp_clock_spans_make(&sight, range->from_ns, range->to_ns, spans, room);
}

/* --- the way from one to the other --- */

struct way {        /* from where the question was asked to here */
    uint64_t at_ns; /* here, about */
    int64_t offset_ns;
    uint64_t bound_ns;
    bool is_settled;
};

/* One hop farther. What is not sure so far makes the moment unsure at which the next clocks are compared. */
static bool hop(struct wp_clocks *clocks, uint32_t from, uint32_t to, const struct way *way, struct way *farther)
{
    struct wp_clock_sight sight;
    struct wp_clock_interval interval;
    bool is_settled;
    if (!look_from(clocks, from, to, &sight) ||
        !wp_clock_view_map(&sight, way->at_ns, way->bound_ns, &interval, &is_settled))
        return false;
    uint64_t width_ns = (uint64_t)interval.high_ns - (uint64_t)interval.low_ns;
    int64_t middle_ns = interval.low_ns + (int64_t)(width_ns / 2);
    farther->bound_ns = way->bound_ns + width_ns - width_ns / 2;
    farther->is_settled = way->is_settled && is_settled;
    farther->at_ns = way->at_ns + (uint64_t)middle_ns;
    return !__builtin_add_overflow(way->offset_ns, middle_ns, &farther->offset_ns);
}

/* A settled one counts before one that is not, then the tighter. Two that exclude each other: a clock did what is not
 * allowed for, and one of them does not know; then it is either. */
static void choose(struct way *best, const struct way *way, bool *is_found)
{
    bool is_below = way->offset_ns < best->offset_ns;
    const struct way *low = is_below ? way : best, *high = is_below ? best : way;
    uint64_t apart_ns = (uint64_t)high->offset_ns - (uint64_t)low->offset_ns;
    if (!*is_found || way->is_settled > best->is_settled) {
        *best = *way;
    } else if (way->is_settled == best->is_settled && apart_ns > best->bound_ns + way->bound_ns) {
        uint64_t width_ns = low->bound_ns + apart_ns + high->bound_ns;
        int64_t middle_ns = low->offset_ns + (int64_t)(width_ns / 2 - low->bound_ns);
        best->offset_ns = middle_ns;
        best->bound_ns = width_ns - width_ns / 2;
    } else if (way->is_settled == best->is_settled && way->bound_ns < best->bound_ns) {
        *best = *way;
    }
    *is_found = true;
}

static void try_between(
    struct wp_clocks *clocks, uint32_t from, uint32_t to, const struct way *start, struct way *best, bool *is_found)
{
    bool is_fewer = clocks->nodes[from].pair_count <= clocks->nodes[to].pair_count;
    uint32_t near = is_fewer ? from : to, far = is_fewer ? to : from;
    const struct clock_node *end = &clocks->nodes[near];
    for (uint32_t i = 0, tried = 0; i < end->pair_count && tried < BETWEEN_LIMIT; i++) {
        const struct wp_clock_pair *pair = clocks->pairs[end->pairs[i]];
        uint32_t between = pair->nodes[pair->nodes[0] == near];
        struct way first, second;
        if (between == far || !is_usable(&clocks->nodes[between]) || !pair_of(clocks, between, far))
            continue;
        tried++;
        if (hop(clocks, from, between, start, &first) &&
            (!*is_found || first.is_settled > best->is_settled || first.bound_ns < best->bound_ns) &&
            hop(clocks, between, to, &first, &second))
            choose(best, &second, is_found);
    }
}

/* Hops to the goal for all nodes near enough to it, over usable nodes. */
static void measure(struct wp_clocks *clocks, uint32_t goal)
{
    uint32_t first = 0, end = 0;
    clocks->search++;
    clocks->queue[end++] = goal;
    clocks->nodes[goal].search = clocks->search;
    clocks->nodes[goal].hops = 0;
    while (first < end) {
        uint32_t at = clocks->queue[first++];
        const struct clock_node *node = &clocks->nodes[at];
        for (uint32_t i = 0; i < node->pair_count && node->hops < HOPS; i++) {
            const struct wp_clock_pair *pair = clocks->pairs[node->pairs[i]];
            uint32_t next = pair->nodes[pair->nodes[0] == at];
            struct clock_node *peer = &clocks->nodes[next];
            if (pair->is_condemned || peer->search == clocks->search || !is_usable(peer))
                continue;
            peer->search = clocks->search;
            peer->hops = node->hops + 1;
            clocks->queue[end++] = next;
        }
    }
}

struct search {
    uint32_t goal, tried;
    struct way best;
    bool is_found;
};

static void explore(struct wp_clocks *clocks, struct search *search, uint32_t at, const struct way *way, uint32_t hops)
{
    const struct clock_node *node = &clocks->nodes[at];
    if (at == search->goal) {
        choose(&search->best, way, &search->is_found);
        return;
    }
    for (uint32_t i = 0; i < node->pair_count; i++) {
        const struct wp_clock_pair *pair = clocks->pairs[node->pairs[i]];
        uint32_t next = pair->nodes[pair->nodes[0] == at];
        const struct clock_node *peer = &clocks->nodes[next];
        struct way farther;
        if (peer->search != clocks->search || peer->hops >= hops || search->tried++ >= TRIED_LIMIT)
            continue;
        if (hop(clocks, at, next, way, &farther) &&
            (!search->is_found || farther.is_settled > search->best.is_settled ||
                farther.bound_ns < search->best.bound_ns))
            explore(clocks, search, next, &farther, hops - 1);
    }
}

bool wp_clocks_map(struct wp_clocks *clocks, uint32_t from, uint64_t at_ns, uint32_t to, struct wp_offset *offset)
{
    struct way start = {.at_ns = at_ns, .is_settled = true};
    struct search search = {.goal = to};
    if (!is_usable(node_at(clocks, from)) || !is_usable(node_at(clocks, to)))
        return false;
    *offset = (struct wp_offset){.is_settled = true};
    if (from == to)
        return true;
    search.is_found = hop(clocks, from, to, &start, &search.best);
    try_between(clocks, from, to, &start, &search.best, &search.is_found);
    if (!search.is_found) {
        measure(clocks, to);
        if (clocks->nodes[from].search == clocks->search)
            explore(clocks, &search, from, &start, HOPS);
    }
    if (!search.is_found)
        return false;
    *offset = (struct wp_offset){search.best.offset_ns, search.best.bound_ns, search.best.is_settled};
    return true;
}
