/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/waker_trace.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/intmap.h"
#include "common/lock_call.h"

#include <stdlib.h>
#include <string.h>

#define SLACK_NS ((uint64_t)WP_NS_PER_US)
#define DEPTH 8u         /* of threads that wait for the same, one behind the other */
#define STEPS (1u << 20) /* pieces that are looked at */
#define LOCKS "\x01lock" /* as a place's sleep: wherever threads wait for locks */

/* Of a node of the window: the layer that its control path begins with. */
struct at_node {
    uint32_t location, sleep; /* frames */
    unsigned rank;            /* of the location */
    bool has_layer, is_over;
    bool is_lock; /* the sleep is for one */
};

/* A piece of a path. */
struct span {
    uint64_t start_ns, end_ns;
    uint32_t node;
    bool is_other; /* it waits on another control path */
};

struct waking {
    uint32_t thread, by;
    uint64_t at_ns;
};

/* What threads did, by where they were. */
struct sum {
    uint32_t location, sleep;
    bool is_waiting;
    uint64_t ns;
};

struct window {
    const struct wp_trace *trace;
    struct at_node *at;
    struct span *spans;     /* by thread, and then by time */
    uint32_t *first;        /* by thread: its first span; one more at the end */
    struct waking *wakings; /* by thread, and then by time */
    uint32_t waking_count;
    struct sum *sums;
    uint64_t *ended_ns;      /* by thread: of waits that it ended */
    struct wp_intmap sum_of; /* (location, sleep) -> sum */
    uint32_t steps;
    bool failed;
    const struct wp_trace_place *waits; /* what is looked for */
};

static const char *text_of(const struct wp_trace *trace, uint32_t frame)
{
    return frame ? wp_intern_text(trace->strings, trace->frames[frame].name) : "";
}

/* Whether that sleep is for a lock: none that a thread's end or work is waited for with. */
static bool is_lock(const struct wp_trace *trace, uint32_t sleep)
{
    enum wp_lock_call found = WP_LOCK_CALL_UNKNOWN;
    const char *name = text_of(trace, trace->nodes[sleep].frame);
    bool is_known = strncmp(name, "sleep:futex", 11) != 0;
    for (uint32_t at = is_known ? 0 : trace->nodes[sleep].parent; at && !is_known; at = trace->nodes[at].parent) {
        const struct wp_frame_info *info = &trace->frames[trace->nodes[at].frame];
        if (info->style == WP_STYLE_PROCESS)
            break;
        if (info->style == WP_STYLE_USER)
            is_known = wp_lock_call_add(&found, text_of(trace, trace->nodes[at].frame));
    }
    return wp_lock_call_is_held(found) || !strncmp(name, "sleep:flock", 11) || strstr(name, WP_KERNEL_LOCK);
}

/* The places as wp_code_locations_build has them. */
static void look_at_nodes(struct window *w)
{
    const struct wp_trace *trace = w->trace;
    for (uint32_t i = 1; i < trace->node_count; i++) {
        uint32_t frame = trace->nodes[i].frame;
        const struct wp_frame_info *info = &trace->frames[frame];
        struct at_node *at = &w->at[i];
        *at = w->at[trace->nodes[i].parent];
        if (info->style == WP_STYLE_PROCESS) {
            at->is_over = at->has_layer;
            at->has_layer = true;
        }
        if (at->is_over || info->style == WP_STYLE_PROCESS)
            continue;
        if (info->style == WP_STYLE_SLEEP) {
            at->sleep = frame;
            at->is_lock = is_lock(trace, i);
        }
        unsigned rank =
            wp_code_location_rank(info->style, text_of(trace, frame), wp_intern_text(trace->strings, info->object));
        if (rank < 2 || rank < at->rank)
            continue;
        at->rank = rank;
        at->location = frame;
    }
}

static bool is_of(const struct wp_trace *trace, const struct wp_trace_piece *piece)
{
    return piece->path < trace->path_count && piece->node < trace->node_count && trace->paths[piece->path].is_base &&
        trace->paths[piece->path].thread < trace->thread_count;
}

static int by_time(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_thread(const void *left, const void *right)
{
    const struct waking *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void sort_spans(struct window *w)
{
    const struct wp_trace *trace = w->trace;
    for (uint32_t i = 0; i < trace->piece_count; i++)
        if (is_of(trace, &trace->pieces[i]))
            w->first[trace->paths[trace->pieces[i].path].thread + 1]++;
    for (uint32_t i = 0; i < trace->thread_count; i++)
        w->first[i + 1] += w->first[i];
    for (uint32_t i = trace->piece_count; i-- > 0;) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        if (!is_of(trace, piece))
            continue;
        uint32_t thread = trace->paths[piece->path].thread;
        uint64_t end_ns = piece->start_ns + piece->length_ns;
        w->spans[--w->first[thread + 1]] = (struct span){piece->start_ns,
            end_ns > piece->start_ns ? end_ns : piece->start_ns, piece->node, piece->category == WP_OTHER_PATH};
    }
    /* Each thread's end has become its beginning. */
    memmove(w->first, w->first + 1, trace->thread_count * sizeof(*w->first));
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->piece_count; i++)
        count += is_of(trace, &trace->pieces[i]);
    w->first[trace->thread_count] = count;
    for (uint32_t i = 0; i < trace->thread_count; i++)
        qsort(w->spans + w->first[i], w->first[i + 1] - w->first[i], sizeof(*w->spans), by_time);
}

static void sort_wakings(struct window *w)
{
    const struct wp_trace *trace = w->trace;
    for (uint32_t i = 0; i < trace->link_count; i++) {
        const struct wp_trace_link *link = &trace->links[i];
        if (link->kind == WP_LINK_WAKING && link->from_thread < trace->thread_count &&
            link->to_thread < trace->thread_count)
            w->wakings[w->waking_count++] = (struct waking){link->to_thread, link->from_thread, link->from_ns};
    }
    qsort(w->wakings, w->waking_count, sizeof(*w->wakings), by_thread);
}

static void fini(struct window *w)
{
    free(w->at);
    free(w->spans);
    free(w->first);
    free(w->wakings);
    free(w->sums);
    free(w->ended_ns);
    wp_intmap_fini(&w->sum_of);
}

/* False: there is none, or no memory. */
static bool init(struct window *w, struct wp_facts *facts, const struct wp_trace_place *waits)
{
    const struct wp_trace *trace = facts->by_threads;
    *w = (struct window){.trace = trace, .waits = waits};
    if (!trace || !trace->link_count)
        return false;
    w->at = calloc(trace->node_count + 1u, sizeof(*w->at));
    w->spans = calloc(trace->piece_count + 1u, sizeof(*w->spans));
    w->first = calloc(trace->thread_count + 2u, sizeof(*w->first));
    w->wakings = calloc(trace->link_count, sizeof(*w->wakings));
    w->sums = calloc(2 * (size_t)trace->node_count + 2, sizeof(*w->sums)); /* waiting there or not */
    w->ended_ns = calloc(trace->thread_count + 1u, sizeof(*w->ended_ns));
    if (!w->at || !w->spans || !w->first || !w->wakings || !w->sums || !w->ended_ns) {
        facts->pool.failed = true;
        fini(w);
        return false;
    }
    look_at_nodes(w);
    sort_spans(w);
    sort_wakings(w);
    return true;
}

static bool is_at(const struct window *w, uint32_t node, const struct wp_trace_place *place)
{
    const struct at_node *at = &w->at[node];
    return !strcmp(text_of(w->trace, at->sleep), place->sleep) &&
        !strcmp(text_of(w->trace, at->location), place->location);
}

static bool is_wait(const struct window *w, const struct span *span)
{
    if (!strcmp(w->waits->sleep, LOCKS))
        return span->is_other && w->at[span->node].is_lock;
    return span->is_other && is_at(w, span->node, w->waits);
}

/* The end of the sleep that the piece is of: it may be in several. */
static uint64_t end_of(const struct window *w, uint32_t thread, const struct span *span)
{
    const struct at_node *at = &w->at[span->node];
    uint64_t end_ns = span->end_ns;
    for (const struct span *next = span + 1; next < w->spans + w->first[thread + 1]; next++) {
        const struct at_node *other = &w->at[next->node];
        if (next->start_ns > end_ns || other->sleep != at->sleep || other->location != at->location)
            break;
        end_ns = next->end_ns;
    }
    return end_ns;
}

/* Who ended the sleep that the piece is of; UINT32_MAX: not known, or no thread. */
static uint32_t waker_of(const struct window *w, uint32_t thread, const struct span *span)
{
    uint64_t end_ns = end_of(w, thread, span), from_ns = span->end_ns > SLACK_NS ? span->end_ns - SLACK_NS : 0;
    uint32_t at = WP_LOWER_BOUND(middle, 0, w->waking_count,
        w->wakings[middle].thread < thread ||
            (w->wakings[middle].thread == thread && w->wakings[middle].at_ns < from_ns));
    bool is_its = at < w->waking_count && w->wakings[at].thread == thread && w->wakings[at].at_ns <= end_ns + SLACK_NS;
    return is_its ? w->wakings[at].by : UINT32_MAX;
}

static void add_sum(struct window *w, const struct span *span, uint64_t ns)
{
    const struct at_node *at = &w->at[span->node];
    struct wp_intkey key = {at->location, (uint64_t)at->sleep << 1 | span->is_other};
    uint32_t i = w->sum_of.count;
    if (!wp_intmap_get(&w->sum_of, key, &i) && wp_intmap_put(&w->sum_of, key, i)) {
        w->failed = true;
        return;
    }
    w->sums[i] = (struct sum){at->location, at->sleep, span->is_other, w->sums[i].ns + ns};
}

static void add_doing(struct window *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns, unsigned depth)
{
    uint32_t begin = w->first[thread], end = w->first[thread + 1];
    uint32_t at = WP_LOWER_BOUND(middle, begin, end, w->spans[middle].end_ns <= from_ns);
    for (; at < end && w->spans[at].start_ns < to_ns && w->steps < STEPS; at++, w->steps++) {
        const struct span *span = &w->spans[at];
        uint64_t from = span->start_ns > from_ns ? span->start_ns : from_ns;
        uint64_t to = span->end_ns < to_ns ? span->end_ns : to_ns;
        uint32_t waker = is_wait(w, span) ? waker_of(w, thread, span) : UINT32_MAX;
        if (waker != UINT32_MAX && depth)
            add_doing(w, waker, from, to, depth - 1);
        else if (!is_wait(w, span) && from < to)
            add_sum(w, span, to - from);
    }
}

/* What is done in all waits; returns how long they are. */
static uint64_t add_waits(struct window *w)
{
    uint64_t ns = 0;
    for (uint32_t thread = 0; thread < w->trace->thread_count; thread++)
        for (uint32_t i = w->first[thread]; i < w->first[thread + 1]; i++) {
            const struct span *span = &w->spans[i];
            uint32_t waker = is_wait(w, span) ? waker_of(w, thread, span) : UINT32_MAX;
            if (waker == UINT32_MAX)
                continue;
            ns += span->end_ns - span->start_ns;
            w->ended_ns[waker] += span->end_ns - span->start_ns;
            add_doing(w, waker, span->start_ns, span->end_ns, DEPTH);
        }
    return ns;
}

struct wp_waker_doing wp_waker_trace_doing(
    struct wp_facts *facts, const struct wp_trace_place *waits, uint64_t *waited_ns)
{
    struct window w;
    struct wp_waker_doing doing = {.place = {"", "", false}};
    *waited_ns = 0;
    if (!init(&w, facts, waits))
        return doing;
    *waited_ns = add_waits(&w);
    for (uint32_t i = 0; i < w.sum_of.count; i++)
        if (w.sums[i].location && w.sums[i].ns > doing.ns)
            doing = (struct wp_waker_doing){.place = {text_of(w.trace, w.sums[i].sleep),
                                                text_of(w.trace, w.sums[i].location), w.sums[i].is_waiting},
                .ns = w.sums[i].ns};
    for (uint32_t i = 0; i < w.trace->thread_count; i++)
        if (w.ended_ns[i] > doing.thread_ns) {
            doing.thread = i + 1;
            doing.thread_ns = w.ended_ns[i];
        }
    facts->pool.failed |= w.failed;
    fini(&w);
    return doing;
}

/* Of threads: they sleep so, and they end such sleeps. */
#define SLEEPS 1u
#define ENDS 2u

bool wp_waker_trace_is_returned(struct wp_facts *facts, const char *sleep, uint64_t *wakings)
{
    const struct wp_trace_place waits = {sleep, "", true};
    struct window w;
    bool is_returned = false;
    *wakings = 0;
    if (!init(&w, facts, &waits))
        return false;
    unsigned char *does = calloc(w.trace->thread_count + 1u, sizeof(*does));
    facts->pool.failed |= !does;
    for (uint32_t thread = 0; does && thread < w.trace->thread_count; thread++)
        for (uint32_t i = w.first[thread]; i < w.first[thread + 1]; i++) {
            const struct span *span = &w.spans[i];
            if (!span->is_other || strcmp(text_of(w.trace, w.at[span->node].sleep), sleep) != 0)
                continue;
            uint32_t waker = waker_of(&w, thread, span);
            does[thread] |= SLEEPS;
            *wakings += waker < w.trace->thread_count;
            if (waker < w.trace->thread_count)
                does[waker] |= ENDS;
        }
    for (uint32_t thread = 0; does && thread < w.trace->thread_count; thread++)
        is_returned = is_returned || does[thread] == (SLEEPS | ENDS);
    free(does);
    fini(&w);
    return is_returned;
}

unsigned wp_waker_trace_awaited(struct wp_facts *facts, const struct wp_trace_place *place)
{
    static const struct wp_trace_place locks = {LOCKS, "", true};
    struct window w;
    uint64_t ns = 0, awaited_ns = 0;
    if (!init(&w, facts, &locks))
        return 0;
    add_waits(&w);
    for (uint32_t i = 0; i < w.sum_of.count; i++)
        if (w.sums[i].is_waiting == place->is_waiting && !strcmp(text_of(w.trace, w.sums[i].sleep), place->sleep) &&
            !strcmp(text_of(w.trace, w.sums[i].location), place->location))
            awaited_ns += w.sums[i].ns;
    for (uint32_t i = 0; i < w.first[w.trace->thread_count]; i++)
        if (w.spans[i].is_other == place->is_waiting && is_at(&w, w.spans[i].node, place))
            ns += w.spans[i].end_ns - w.spans[i].start_ns;
    facts->pool.failed |= w.failed;
    fini(&w);
    return ns ? (unsigned)(awaited_ns >= ns ? 100 : awaited_ns * 100 / ns) : 0;
}
