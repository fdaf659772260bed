/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/stuck.h"

#include "common/clock.h"
#include "common/lock_call.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/code_location.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_NS ((uint64_t)WP_NS_PER_S)
#define LEAST_PART 2u  /* of the window that each waits */
#define END_PART 50u   /* of the window before its end: the process ends its threads */
#define AWAKE_PART 20u /* between looks at the lock, and after the wait */
#define TOLD 4u        /* threads by name */
#define NAME_BYTES 80u

/* A wait of a path's thread: its last long one, and all at that place since it last did something else. */
struct last {
    uint32_t sleep; /* node of the trace, 0: none */
    uint32_t place; /* the function of the program that takes a lock there, 0: it waits for something else ... */
    uint32_t call;  /* ... what it calls for that ... */
    uint32_t root;  /* ... and the outermost function of the program there */
    uint64_t length_ns, start_ns, all_ns;
    uint64_t since_ns; /* it has done something else up to then */
};

static const char *text_at(const struct wp_trace *trace, uint32_t node)
{
    return wp_intern_text(trace->strings, trace->frames[trace->nodes[node].frame].name);
}

static uint32_t style_at(const struct wp_trace *trace, uint32_t node)
{
    return trace->frames[trace->nodes[node].frame].style;
}

static unsigned rank_at(const struct wp_trace *trace, uint32_t node)
{
    const struct wp_frame_info *frame = &trace->frames[trace->nodes[node].frame];
    return wp_code_location_rank(
        frame->style, wp_intern_text(trace->strings, frame->name), wp_intern_text(trace->strings, frame->object));
}

/* The sleep of the base layer, which the node stands on; 0: it runs. */
static uint32_t base_sleep(const struct wp_trace *trace, uint32_t node)
{
    uint32_t sleep = 0, found = 0;
    for (; node; node = trace->nodes[node].parent) {
        if (style_at(trace, node) == WP_STYLE_SLEEP)
            sleep = node;
        if (style_at(trace, node) != WP_STYLE_PROCESS)
            continue;
        found = sleep;
        sleep = 0;
    }
    return found;
}

/* The function of the program that takes a lock there; none: it waits for something else, or the language's own takes
 * it. */
static void find_place(const struct wp_trace *trace, struct last *wait)
{
    enum wp_lock_call found = WP_LOCK_CALL_UNKNOWN;
    bool is_sure = strncmp(text_at(trace, wait->sleep), "sleep:futex", 11) != 0;
    uint32_t at = is_sure ? 0 : trace->nodes[wait->sleep].parent, call = 0;
    for (; at && style_at(trace, at) != WP_STYLE_PROCESS && rank_at(trace, at) < 3; at = trace->nodes[at].parent) {
        call = at;
        if (style_at(trace, at) == WP_STYLE_USER && !is_sure)
            is_sure = wp_lock_call_add(&found, text_at(trace, at));
    }
    if (rank_at(trace, at) != 3 || !wp_lock_call_is_held(found))
        return;
    wait->place = at;
    wait->call = call;
    for (; at && style_at(trace, at) != WP_STYLE_PROCESS; at = trace->nodes[at].parent)
        wait->root = at;
}

/* Whether the thread is out of the call that takes the lock: by a stack that is whole. */
static bool has_left(const struct wp_trace *trace, const struct last *wait, uint32_t node)
{
    bool is_whole = false, is_there = false;
    for (; node; node = trace->nodes[node].parent) {
        is_whole |= node == wait->root;
        is_there |= node == wait->call;
    }
    return is_whole && !is_there;
}

/* Whether it waits for a lock long, and up to the end: at most the end of its process wakes it. */
static bool is_stuck(const struct wp_trace *trace, const struct last *wait)
{
    uint64_t span_ns = wait->sleep ? trace->length_ns - wait->start_ns : 0;
    return wait->place && wait->all_ns >= LEAST_NS && wait->all_ns >= trace->length_ns / LEAST_PART &&
        wait->all_ns >= span_ns - span_ns / AWAKE_PART;
}

static bool is_of(const struct wp_trace *trace, const struct wp_trace_piece *piece)
{
    return piece->path < trace->path_count && piece->node < trace->node_count;
}

/* Pieces come in no order. */
static void find_last(const struct wp_trace *trace, struct last *all)
{
    uint64_t end_ns = trace->length_ns - trace->length_ns / END_PART;
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        if (is_of(trace, piece) && piece->start_ns + piece->length_ns >= end_ns &&
            piece->length_ns > all[piece->path].length_ns)
            all[piece->path] = (struct last){
                .sleep = base_sleep(trace, piece->node), .length_ns = piece->length_ns, .start_ns = piece->start_ns};
    }
}

static void find_places(const struct wp_trace *trace, struct last *all)
{
    for (uint32_t i = 0; i < trace->path_count; i++)
        if (all[i].sleep)
            find_place(trace, &all[i]);
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        struct last *wait = is_of(trace, piece) ? &all[piece->path] : NULL;
        uint64_t end_ns = piece->start_ns + piece->length_ns;
        if (wait && wait->place && end_ns > wait->since_ns && has_left(trace, wait, piece->node))
            wait->since_ns = end_ns;
    }
}

/* Some locks are looked at again and again by who waits for them. */
static void add_pieces(const struct wp_trace *trace, struct last *all)
{
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        struct last *wait = is_of(trace, piece) ? &all[piece->path] : NULL;
        if (!wait || !wait->place || piece->start_ns < wait->since_ns || base_sleep(trace, piece->node) != wait->sleep)
            continue;
        wait->all_ns += piece->length_ns;
        wait->start_ns = piece->start_ns < wait->start_ns ? piece->start_ns : wait->start_ns;
    }
}

static const char *place_text(struct wp_pool *pool, const struct wp_trace *trace, uint32_t place)
{
    const char *file = wp_source_base(wp_intern_text(trace->strings, trace->frames[trace->nodes[place].frame].object));
    const char *name = wp_pool_clip(pool, text_at(trace, place), NAME_BYTES);
    return strchr(file, '.') ? wp_pool_printf(pool, "`%s` (%s)", name, wp_pool_clip(pool, file, NAME_BYTES))
                             : wp_pool_printf(pool, "`%s`", name);
}

static struct wp_stuck tell_stuck(struct wp_facts *facts, struct last *all)
{
    const struct wp_trace *trace = facts->by_threads;
    struct wp_stuck stuck = {.threads = ""};
    uint32_t first = 0;
    bool is_apart = false;
    for (uint32_t i = 0; i < trace->path_count; i++) {
        if (!trace->paths[i].is_base || !is_stuck(trace, &all[i]))
            continue;
        uint64_t ns = all[i].all_ns;
        uint32_t frame = trace->nodes[all[i].place].frame;
        is_apart |= stuck.count && frame != first;
        first = stuck.count ? first : frame;
        if (stuck.count++ < TOLD)
            stuck.threads = wp_pool_printf(&facts->pool, "%s%s%s %s", stuck.threads, stuck.count > 1 ? ", " : "",
                place_text(&facts->pool, trace, all[i].place), wp_human_duration(&facts->pool, ns));
        stuck.function = wp_pool_text(&facts->pool, text_at(trace, all[i].place));
        stuck.ns = ns > stuck.ns ? ns : stuck.ns;
    }
    return stuck.count > 1 && is_apart ? stuck : (struct wp_stuck){0}; /* a pool's threads may wait so for work */
}

struct wp_stuck wp_stuck_threads(struct wp_facts *facts)
{
    const struct wp_trace *trace = facts->by_threads;
    struct last *all = trace ? calloc(trace->path_count + 1u, sizeof(*all)) : NULL;
    facts->pool.failed |= trace && !all;
    if (!all)
        return (struct wp_stuck){0};
    find_last(trace, all);
    find_places(trace, all);
    add_pieces(trace, all);
    struct wp_stuck stuck = tell_stuck(facts, all);
    free(all);
    return stuck;
}
