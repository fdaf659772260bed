/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain.h"

#include "aggregator/explain/explain_shared.h"
#include "aggregator/explain/explain_wait.h"
#include "aggregator/timeline/names.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken.h"
#include "proto/shard_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE_LIMIT 2000000u
#define RELAY_UNKNOWN                                                                                                  \
    8u /* without stacks a call is no place: only where so many wait for each other is it taken to be one */

int wp_explainer_init(struct wp_explainer *x, struct wp_fleet *fleet, uint32_t home, struct wp_pathtree *tree)
{
    *x = (struct wp_explainer){.fleet = fleet,
        .home = home,
        .host = home,
        .timeline = fleet->hosts[home].timeline,
        .tree = tree,
        .options = WP_EXPLAIN_DEFAULTS,
        .leaves = fleet->leaves,
        .owner = home,
        .hops = WP_SHARD_HOPS};
    return 0;
}

void wp_explainer_fini(struct wp_explainer *x)
{
    wp_shared_fini(x);
    wp_intmap_fini(&x->sites);
    for (uint32_t i = 0; i < x->name_room; i++) {
        free(x->names[i].frames);
        free(x->names[i].processes);
    }
    free(x->names);
    x->names = NULL;
    x->name_room = 0;
}

/* --- places --- */

struct wp_explain_place wp_explain_enter(struct wp_explainer *x, uint32_t host, int64_t offset_ns)
{
    struct wp_explain_place place = {x->host, x->timeline, x->shift_ns};
    x->host = host;
    x->timeline = x->fleet->hosts[host].timeline;
    x->shift_ns -= offset_ns;
    return place;
}

void wp_explain_leave(struct wp_explainer *x, const struct wp_explain_place *place)
{
    x->host = place->host;
    x->timeline = place->timeline;
    x->shift_ns = place->shift_ns;
}

uint64_t wp_explain_horizon(const struct wp_explainer *x)
{
    uint64_t horizon_ns = x->fleet->hosts[x->host].horizon_ns;
    return horizon_ns < x->timeline->now_ns ? horizon_ns : x->timeline->now_ns;
}

/* --- nodes --- */

static uint32_t *cache_slot(uint32_t **cache, uint32_t *room, uint32_t index)
{
    if (index >= *room) {
        uint32_t wanted = *room ? *room : 256;
        while (wanted <= index)
            wanted *= 2;
        uint32_t *bigger = realloc(*cache, wanted * sizeof(*bigger));
        if (!bigger)
            return NULL;
        memset(bigger + *room, 0, (wanted - *room) * sizeof(*bigger));
        *cache = bigger;
        *room = wanted;
    }
    return *cache + index;
}

void wp_explain_remember(struct wp_explainer *x, struct wp_intkey key, uint32_t node)
{
    if (x->sites.count > SITE_LIMIT)
        wp_intmap_clear(&x->sites);
    if (node != UINT32_MAX)
        wp_intmap_put(&x->sites, key, node);
}

/* What is remembered of this host's names; NULL: out of memory. */
static struct wp_explain_names *names_here(struct wp_explainer *x)
{
    if (x->host >= x->name_room) {
        uint32_t room = x->host + 1;
        struct wp_explain_names *names = realloc(x->names, room * sizeof(*names));
        if (!names)
            return NULL;
        memset(names + x->name_room, 0, (room - x->name_room) * sizeof(*names));
        x->names = names;
        x->name_room = room;
    }
    struct wp_explain_names *names = &x->names[x->host];
    uint32_t generation = x->fleet->hosts[x->host].generation;
    if (names->generation != generation) { /* another host has that number now */
        if (names->frames)
            memset(names->frames, 0, names->frame_room * sizeof(*names->frames));
        if (names->processes)
            memset(names->processes, 0, names->process_room * sizeof(*names->processes));
        names->generation = generation;
    }
    return names;
}

/* "[comm]", on another host than the one that is asked about "[comm]@host". */
void wp_explain_name_process(const struct wp_explainer *x, uint32_t identity, char *name, size_t room)
{
    wp_name_process(x->timeline, identity, name, room);
    if (x->host == x->home && !x->names_home)
        return;
    size_t length = strlen(name);
    snprintf(name + length, room - length, "@%s", x->fleet->hosts[x->host].hostname);
}

void wp_explain_name_home(struct wp_explainer *x, bool names_home)
{
    if (x->names_home == names_home)
        return;
    x->names_home = names_home;
    wp_intmap_clear(&x->sites);
    if (x->home < x->name_room && x->names[x->home].processes)
        memset(x->names[x->home].processes, 0, x->names[x->home].process_room * sizeof(*x->names[x->home].processes));
}

static uint32_t process_frame(struct wp_explainer *x, uint32_t identity)
{
    struct wp_explain_names *names = names_here(x);
    uint32_t *slot = names ? cache_slot(&names->processes, &names->process_room, identity) : NULL;
    if (slot && *slot)
        return *slot;
    char name[WP_EXPLAIN_NAME];
    wp_explain_name_process(x, identity, name, sizeof(name));
    uint32_t of =
        x->timeline->identities[identity].process_comm; /* a thread that names itself stands under its process */
    uint32_t frame =
        wp_pathtree_frame(x->tree, WP_STYLE_PROCESS, name, of ? wp_dictionary_string(x->timeline->dictionary, of) : "");
    if (slot && frame != UINT32_MAX)
        *slot = frame;
    return frame;
}

uint32_t wp_explain_process_node(struct wp_explainer *x, uint32_t parent, uint32_t identity)
{
    const struct wp_explain_names *known = x->host < x->name_room ? &x->names[x->host] : NULL;
    bool is_known = known && identity < known->process_room && known->generation == x->fleet->hosts[x->host].generation;
    uint32_t frame = is_known ? known->processes[identity] : 0;
    return wp_pathtree_child(x->tree, parent, frame ? frame : process_frame(x, identity));
}

/* `is_inlined` follows from the id: who inlines names each frame once. */
static uint32_t frame_of(struct wp_explainer *x, uint32_t id, bool is_inlined)
{
    struct wp_explain_names *names = names_here(x);
    uint32_t *slot = names ? cache_slot(&names->frames, &names->frame_room, id) : NULL;
    if (slot && *slot)
        return *slot;
    char name[WP_STRING_BYTES + 8];
    const char *object;
    enum wp_frame_style style = wp_name_frame(x->timeline->dictionary, id, name, sizeof(name), &object);
    const struct wp_frame_entry *entry = wp_dictionary_frame(x->timeline->dictionary, id);
    uint32_t frame = wp_pathtree_frame(x->tree, style, name, object);
    if (entry && entry->function)
        frame = wp_pathtree_at_line(
            x->tree, frame, wp_dictionary_string(x->timeline->dictionary, entry->file), entry->line, is_inlined);
    if (slot && frame != UINT32_MAX)
        *slot = frame;
    return frame;
}

uint32_t wp_explain_stack_node(struct wp_explainer *x, uint32_t parent, uint32_t stack)
{
    if (!stack)
        return parent;
    struct wp_intkey key = {parent, wp_explain_here(x, stack)};
    const struct wp_dictionary *dictionary = x->timeline->dictionary;
    uint32_t node, path[512], count = 0;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    for (uint32_t at = stack; at && count < 512;) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, at);
        if (!entry)
            break;
        path[count++] = entry->frame;
        at = entry->parent;
    }
    node = parent;
    while (count) /* a place may be in functions that were inlined there, each a frame of its own */
        for (uint32_t id = path[--count], levels = 0; id && levels < 64;
             id = wp_dictionary_inlined(dictionary, id), levels++)
            node = wp_pathtree_child(x->tree, node, frame_of(x, id, levels > 0));
    wp_explain_remember(x, key, node);
    return node;
}

uint32_t wp_explain_label(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *name)
{
    return wp_pathtree_child(x->tree, parent, wp_pathtree_frame(x->tree, style, name, ""));
}

uint32_t wp_explain_literal(struct wp_explainer *x, uint32_t parent, enum wp_frame_style style, const char *literal)
{
    struct wp_intkey key = {parent, (uint64_t)1 << 63 | (uintptr_t)literal};
    uint32_t node;
    if (wp_intmap_get(&x->sites, key, &node))
        return node;
    node = wp_explain_label(x, parent, style, literal);
    wp_explain_remember(x, key, node);
    return node;
}

void wp_explain_emit(struct wp_explainer *x, struct wp_piece *piece)
{
    if (piece->start_ns >= piece->end_ns)
        return;
    piece->host = x->host;
    if (x->doubts || (x->host != x->home && wp_fleet_has_drops(x->fleet, x->host, piece->start_ns, piece->end_ns)))
        piece->is_uncertain = true;
    piece->start_ns += (uint64_t)x->shift_ns;
    piece->end_ns += (uint64_t)x->shift_ns;
    piece->layers = x->layers;
    piece->layer_count = x->depth;
    if (x->recording)
        wp_shared_piece(x, piece);
    x->piece(x->context, piece);
}

/* --- runs --- */

static void emit_run(struct wp_explainer *x, uint32_t parent, uint32_t index, const struct wp_slice *slice,
    uint64_t from, uint64_t to, enum wp_category category, uint32_t stack)
{
    wp_explain_emit(x,
        &(struct wp_piece){.node = wp_explain_stack_node(x, parent, stack),
            .thread = index,
            .category = category,
            .start_ns = from,
            .end_ns = to,
            .is_run = true,
            .is_uncertain = slice->flags & WP_SLICE_UNCERTAIN});
}

/* The part of a run that lies in one cell of the grid, with samples: its time is divided equally among them. `last` is
 * the first sample behind it. */
static void cover_chunk(struct wp_explainer *x, uint32_t parent, uint32_t index, const struct wp_slice *slice,
    uint64_t start, uint64_t end, uint64_t last, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t first = wp_thread_find_sample(thread, start), count = last - first, length = end - start;
    for (uint64_t i = count; i-- > 0;) {
        uint64_t a = start + (uint64_t)((unsigned __int128)length * i / count);
        uint64_t b = start + (uint64_t)((unsigned __int128)length * (i + 1) / count);
        if (a >= to)
            continue;
        if (b <= from)
            break;
        const struct wp_sample *sample = &thread->samples[(first + i) & thread->sample_mask];
        emit_run(x, parent, index, slice, a > from ? a : from, b < to ? b : to,
            sample->stack ? WP_UNDERSTOOD_FUNCTIONS : WP_RUNNING_NOT_SAMPLED, sample->stack);
    }
}

/* The start of the cell of the grid that holds the instant. Most are in the one that was asked for last. */
static uint64_t cell_of(struct wp_explainer *x, uint64_t at_ns)
{
    if (at_ns - x->cell_ns >= x->options.chunk_ns)
        x->cell_ns = at_ns / x->options.chunk_ns * x->options.chunk_ns;
    return x->cell_ns;
}

static void cover_run(
    struct wp_explainer *x, uint32_t parent, uint32_t index, const struct wp_slice *slice, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t grid = x->options.chunk_ns, horizon = wp_explain_horizon(x);
    if (slice->has_late_sample) {
        x->limit_count[WP_LIMIT_LATE_SAMPLE]++;
        x->limit_ns[WP_LIMIT_LATE_SAMPLE] += to - from;
    }
    uint64_t run_end = slice->end_ns && slice->end_ns <= horizon ? slice->end_ns : horizon + 1;
    while (to > from) {
        uint64_t cell = cell_of(x, to - 1);
        uint64_t end = cell + grid < run_end ? cell + grid : run_end;
        if (end < to)
            end = to;
        uint64_t last = wp_thread_find_sample(thread, end);
        uint64_t sampled = last == thread->first_sample ? 0 : thread->samples[(last - 1) & thread->sample_mask].time_ns;
        if (sampled < cell) /* none in this cell: as far back as there is none, but for no more than is asked for */
            cell = !sampled ? 0 : sampled + grid > from ? cell_of(x, sampled) + grid : sampled + 1;
        uint64_t start = cell > slice->in_ns ? cell : slice->in_ns;
        uint64_t low = start > from ? start : from;
        if (last == thread->first_sample || sampled < start)
            emit_run(x, parent, index, slice, low, to, WP_RUNNING_NOT_SAMPLED, 0);
        else
            cover_chunk(x, parent, index, slice, start, end, last, low, to);
        to = low;
    }
}

/* --- a thread's time --- */

static void push_layer(struct wp_explainer *x, uint32_t identity, uint32_t thread)
{
    x->asleep[x->depth] = (struct wp_layer_sleep){.doubts = x->doubts};
    x->layers[x->depth++] = (struct wp_layer){x->host, x->timeline->identities[identity].process, thread};
}

/* The time before the first slice: the creator's, back from the birth; or unknown. True when it took [from, to). */
static void cover_before(struct wp_explainer *x, uint32_t parent, uint32_t index, uint64_t from, uint64_t to)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint32_t creator = thread->creator;
    if (wp_is_recorder(x->timeline, thread->identity) && x->depth) {
        wp_explain_on_path(x, parent, index, from, to);
        return;
    }
    /* Whoever creates was born before: facts that say otherwise must not lead in a circle. */
    bool is_born_before = creator && x->timeline->threads[creator].birth_ns < thread->birth_ns;
    if (thread->birth_ns >= to && is_born_before && x->depth < x->options.depth) {
        if (wp_explain_is_base(x, creator, to))
            wp_explain_on_path(x, parent, creator, from, to);
        else
            wp_explain_cover(x, parent, creator, from, to);
        return;
    }
    bool is_beginning = thread->first_slice == thread->slice_end
        ? !thread->slice_end
        : wp_thread_slice(thread, thread->first_slice)->flags & (WP_SLICE_FIRST | WP_SLICE_BORN);
    wp_explain_emit(x,
        &(struct wp_piece){.node = wp_explain_process_node(x, parent, thread->identity),
            .thread = index,
            .category = WP_UNACCOUNTED,
            .start_ns = from,
            .end_ns = to,
            .reason = is_beginning ? "before the thread was first seen" : "before what is remembered of the thread"});
    if (is_beginning)
        return;
    x->limit_count[WP_LIMIT_HISTORY]++;
    x->limit_ns[WP_LIMIT_HISTORY] += to - from;
}

void wp_explain_taken(struct wp_explainer *x, uint32_t thread, uint64_t from, uint64_t to)
{
    if (x->host == x->home && !x->leaves_no_marks)
        wp_slices_followed(&x->timeline->threads[thread], from, to, x->base_bit);
}

bool wp_explain_relays(struct wp_explainer *x, uint32_t waker, uint64_t slice, uint64_t to)
{
    uint32_t top = x->depth - 1, first = x->depth;
    if (x->depth < 2 || !x->asleep[top].site || (!(x->asleep[top].site >> 32) && x->depth < RELAY_UNKNOWN) ||
        x->layers[top].host != x->host || !waker ||
        x->layers[top].process != x->timeline->identities[x->timeline->threads[waker].identity].process)
        return false;
    for (uint32_t i = top; i > 0 && x->asleep[i - 1].site && x->layers[i - 1].host == x->host &&
         x->layers[i - 1].process == x->layers[top].process;
         i--) {
        if (x->asleep[i - 1].site == x->asleep[top].site)
            first = i;
        if (x->recording && i - 1 < x->recording_depth) /* others who wait for it may wait elsewhere */
            wp_shared_refuse(x, false);
    }
    uint32_t repeats = x->relay.to_ns == to ? x->relay.repeats + 1 : 0;
    if (first == x->depth || x->asleep[first].doubts != x->doubts || repeats > x->options.depth)
        return false;
    x->relay = (struct wp_relay){true, first, waker, repeats, slice, to};
    return true;
}

static void take_relay(struct wp_explainer *x, struct wp_shared_use *walk)
{
    x->relay.is_on = false;
    walk->thread = x->relay.thread;
    walk->ordinal = x->relay.slice;
    walk->to_ns = x->relay.to_ns;
}

/* Time in which a thread was of interest (it may have become another by exec or rename) is a base path's own; the
 * recorder's is the cost of recording. */
static bool is_of_interest(const struct wp_explainer *x, const struct wp_slice *slice)
{
    return x->timeline->identities[slice->identity].aggregates & x->base_bit ||
        wp_is_recorder(x->timeline, slice->identity);
}

void wp_explain_cover(struct wp_explainer *x, uint32_t parent, uint32_t index, uint64_t from, uint64_t to)
{
    if (to > from)
        wp_explain_cover_from(x, parent, index, wp_thread_find(&x->timeline->threads[index], to - 1), from, to);
}

/* What is left is not looked at: a bound bites. */
static void cut_short(struct wp_explainer *x, const struct wp_shared_use *walk, enum wp_limit limit)
{
    uint64_t from = walk->from_ns, to = walk->to_ns;
    x->limit_count[limit]++;
    x->limit_ns[limit] += to - from;
    wp_explain_taken(x, walk->thread, from, to);
    wp_explain_emit(x,
        &(struct wp_piece){.node = walk->parent,
            .thread = walk->thread,
            .category = WP_UNACCOUNTED,
            .start_ns = from,
            .end_ns = to,
            .reason = limit == WP_LIMIT_BUDGET ? "the host's epoch took too much explaining"
                                               : "the explanation grew too wide"});
}

/* The slice of the last instant of what is left; false: that was all. */
static bool cover_slice(struct wp_explainer *x, struct wp_shared_use *walk)
{
    uint32_t parent = walk->parent, index = walk->thread;
    uint64_t ordinal = walk->ordinal, from = walk->from_ns, to = walk->to_ns;
    const struct wp_thread *thread = &x->timeline->threads[index];
    if (ordinal == thread->slice_end || ordinal < thread->first_slice) {
        cover_before(x, parent, index, from, to);
        return false;
    }
    /* A path's own slices are as many as its events: only what they wait for of others is cut by the width and the
     * budget. */
    bool is_own = x->timeline->identities[wp_thread_slice(thread, ordinal)->identity].mates & x->base_bit;
    bool is_spent = ++x->fleet->visits - x->fleet->visits_before > x->options.budget && x->depth && !is_own;
    x->visited += !is_own;
    if (x->visited > x->options.width || is_spent) {
        cut_short(x, walk, is_spent ? WP_LIMIT_BUDGET : WP_LIMIT_WIDTH);
        return false;
    }
    struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    walk->ordinal = ordinal == thread->first_slice ? thread->slice_end : ordinal - 1;
    if (x->host == x->home &&
        !x->leaves_no_marks) /* what other hosts' paths hold is theirs, and known only when they have got that far */
        wp_slice_taken(slice, x->base_bit);
    if (is_of_interest(x, slice) && (x->depth || x->is_other_path) && slice->out_ns < to) {
        uint64_t low = slice->out_ns > from ? slice->out_ns : from;
        if (x->depth)
            wp_explain_on_path(x, parent, index, low, to);
        walk->to_ns = low;
        return true;
    }
    uint32_t node = wp_explain_process_node(x, parent, slice->identity);
    push_layer(x, slice->identity, index);
    if (slice->in_ns && slice->in_ns < to) {
        if (slice->end_ns && slice->end_ns < to) { /* after its last run: it was dead */
            uint64_t low = slice->end_ns > from ? slice->end_ns : from;
            wp_explain_emit(x,
                &(struct wp_piece){.node = node,
                    .thread = index,
                    .category = WP_UNACCOUNTED,
                    .start_ns = low,
                    .end_ns = to,
                    .reason = slice->is_cut ? "that host's recording paused" : "the thread had ended",
                    .is_uncertain = !slice->is_cut});
            to = low;
        }
        uint64_t low = slice->in_ns > from ? slice->in_ns : from;
        cover_run(x, node, index, slice, low, to);
        to = low;
    }
    if (to > from && slice->out_ns < to) {
        uint64_t low = slice->out_ns > from ? slice->out_ns : from;
        if (x->host == x->home && !x->leaves_no_marks)
            wp_slice_slept(slice, low, to, x->base_bit);
        wp_explain_sleep(x, node, index, ordinal, low, to);
        to = low;
    }
    x->depth--;
    walk->to_ns = to;
    return true;
}

void wp_explain_cover_from(
    struct wp_explainer *x, uint32_t parent, uint32_t index, uint64_t ordinal, uint64_t from, uint64_t to)
{
    struct wp_shared_use walk = {.parent = parent, .thread = index, .ordinal = ordinal, .from_ns = from, .to_ns = to};
    bool goes_on = true, is_shared = wp_shared_may(x, &walk) && wp_shared_begin(x, &walk);
    while (goes_on && walk.to_ns > from) {
        if (is_shared && wp_shared_repeat(x, &walk))
            continue;
        ordinal = walk.ordinal;
        bool is_recorded = is_shared && wp_shared_record(x, &walk);
        goes_on = cover_slice(x, &walk);
        if (is_recorded)
            wp_shared_recorded(x, &walk, ordinal);
        if (!x->relay.is_on)
            continue;
        if (x->relay.depth < x->depth) /* what is left is another layer's */
            return;
        take_relay(x, &walk);
        is_shared = false;
        goes_on = true;
    }
}

/* `end_ns`: of what is explained, in home's clock. */
static void begin(struct wp_explainer *x, uint64_t end_ns)
{
    if (x->leaves != x->fleet->leaves) { /* numbers of hosts may have another meaning now */
        wp_intmap_clear(&x->sites);
        wp_shared_clear(x);
    }
    if (x->shared)
        wp_shared_bound(x);
    x->leaves = x->fleet->leaves;
    x->depth = 0;
    x->visited = 0;
    x->oldest_ns = end_ns > x->options.origin_ns ? end_ns - x->options.origin_ns : 0;
}

void wp_explain_slice(struct wp_explainer *x, uint32_t thread, uint64_t slice, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_slice *asleep = wp_thread_slice(&x->timeline->threads[thread], slice);
    begin(x,
        asleep->in_ns && asleep->in_ns < to_ns ? asleep->in_ns : to_ns); /* between explanations the walk is at home */
    wp_explain_cover_from(x, 0, thread, slice, from_ns, to_ns);
}

int wp_explain(struct wp_explainer *x, const struct wp_stretch *stretch)
{
    struct wp_offset offset = {.offset_ns = 0};
    if (stretch->host != x->home &&
        (stretch->host >= x->fleet->count || !x->fleet->hosts[stretch->host].timeline ||
            !wp_fleet_offset(x->fleet, stretch->host, stretch->end_ns, x->home, &offset)))
        return -ENODATA;
    begin(x, stretch->end_ns + (uint64_t)offset.offset_ns);
    struct wp_explain_place home = wp_explain_enter(x, stretch->host, -offset.offset_ns);
    wp_explain_cover(x, 0, stretch->thread, stretch->start_ns, stretch->end_ns);
    wp_explain_leave(x, &home);
    return 0;
}

int wp_explain_aside(struct wp_explainer *x, const struct wp_stretch *stretch,
    void (*piece)(void *context, const struct wp_piece *piece))
{
    struct wp_explainer kept = *x;
    x->piece = piece;
    x->other_path = NULL;
    x->crossed = NULL;
    x->leaves_no_marks = true;
    x->may_share = false;
    int rc = wp_explain(x, stretch);
    x->may_share = kept.may_share;
    x->piece = kept.piece;
    x->other_path = kept.other_path;
    x->crossed = kept.crossed;
    x->leaves_no_marks = kept.leaves_no_marks;
    memcpy(x->limit_count, kept.limit_count, sizeof(x->limit_count));
    memcpy(x->limit_ns, kept.limit_ns, sizeof(x->limit_ns));
    return rc;
}
