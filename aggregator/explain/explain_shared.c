/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_shared.h"

#include "aggregator/explain/explain_shared_walk.h"
#include "aggregator/timeline/slices.h"
#include "common/array.h"
#include "storage/value/rows.h"

#include <stdlib.h>
#include <string.h>

#define MET_LIMIT 1024u  /* threads that the searches of one walk may come by */
#define WALK_LIMIT 4096u /* walks that are remembered */
#define BYTES_LIMIT (64u << 20)
#define FULL_LOOKS 256u     /* explanations between two looks at what may be forgotten */
#define SLICES_A_LOOK 2048u /* that are repeated at the cost of one that is looked at */
#define TOLD_A_LOOK 8u      /* the same, where each piece is emitted */

/* --- memory --- */

static void forget(struct wp_shared_walk *walk)
{
    if (!walk)
        return;
    for (uint64_t i = 0; i < walk->chunk_count; i++)
        free(walk->chunks[i]);
    free(walk->chunks);
    free(walk->notes);
    free(walk->pool);
    free(walk->met);
    free(walk->layers);
    free(walk);
}

void wp_shared_clear(struct wp_explainer *x)
{
    struct wp_shared *shared = x->shared;
    if (!shared || !shared->count)
        return;
    for (uint32_t i = 0; i < shared->count; i++)
        forget(shared->walks[i]);
    shared->count = 0;
    shared->bytes = 0;
    wp_intmap_fini(&shared->by_place);
}

void wp_shared_fini(struct wp_explainer *x)
{
    wp_shared_clear(x);
    if (x->shared)
        free(x->shared->walks);
    free(x->shared);
    x->shared = NULL;
}

static size_t bytes_of(const struct wp_shared_walk *walk)
{
    size_t bytes = sizeof(*walk) + walk->depth * sizeof(*walk->layers) + walk->chunk_count * sizeof(*walk->chunks) +
        walk->note_room * sizeof(*walk->notes) + walk->pool_room * sizeof(*walk->pool) +
        walk->met_count * sizeof(*walk->met);
    for (uint64_t i = 0; i < walk->chunk_count; i++)
        bytes += walk->chunks[i] ? sizeof(*walk->chunks[i]) : 0;
    return bytes;
}

void wp_shared_bound(struct wp_explainer *x)
{
    struct wp_shared *shared = x->shared;
    if (!shared || !x->sink->shares || (shared->bytes <= BYTES_LIMIT && shared->count < WALK_LIMIT) ||
        ++shared->full % FULL_LOOKS)
        return;
    uint32_t kept = 0;
    wp_shared_settle(x, x->sink);
    wp_intmap_clear(&shared->by_place);
    shared->bytes = 0;
    for (uint32_t i = 0; i < shared->count; i++) {
        struct wp_shared_walk *walk = shared->walks[i];
        if (walk->is_recent && !wp_intmap_put(&shared->by_place, walk->key, kept)) {
            walk->is_recent = false;
            shared->bytes += bytes_of(walk);
            shared->walks[kept++] = walk;
        } else {
            forget(walk);
        }
    }
    shared->count = kept;
}

/* One more row in an array of a walk; NULL: there is no room. */
static void *grow(struct wp_shared *shared, void *rows, uint32_t *room, uint32_t count, size_t size)
{
    uint32_t before = *room;
    char *array;
    if (shared->bytes > BYTES_LIMIT || wp_rows_grow(rows, room, count, size))
        return NULL;
    shared->bytes += (*room - before) * size;
    memcpy(&array, rows, sizeof(array));
    return array + count * size;
}

static struct chunk *chunk_of(const struct wp_shared_walk *walk, uint64_t ordinal)
{
    uint64_t index = ordinal / CHUNK - walk->chunk_base;
    return index < walk->chunk_count ? walk->chunks[index] : NULL;
}

/* Room for chunks up to that number, or down to it, and as many again. */
static bool widen(struct wp_shared *shared, struct wp_shared_walk *walk, uint64_t number)
{
    uint64_t end = walk->chunk_base + walk->chunk_count, base = walk->chunk_count ? walk->chunk_base : number;
    uint64_t more = walk->chunk_count + 4, low = base;
    if (number < base)
        low = base - number > more ? number : base > more ? base - more : 0;
    uint64_t high = number >= end ? (number - end >= more ? number + 1 : end + more) : end;
    if (!walk->chunk_count)
        high = number + 4;
    struct chunk **chunks = calloc(high - low, sizeof(*chunks));
    if (!chunks)
        return false;
    if (walk->chunk_count)
        memcpy(chunks + (walk->chunk_base - low), walk->chunks, walk->chunk_count * sizeof(*chunks));
    shared->bytes += (high - low - walk->chunk_count) * sizeof(*chunks);
    free(walk->chunks);
    walk->chunks = chunks;
    walk->chunk_base = low;
    walk->chunk_count = high - low;
    return true;
}

static struct chunk *make_chunk(struct wp_shared *shared, struct wp_shared_walk *walk, uint64_t ordinal)
{
    uint64_t number = ordinal / CHUNK;
    struct chunk *chunk = chunk_of(walk, ordinal);
    if (chunk || shared->bytes > BYTES_LIMIT)
        return chunk;
    if (number - walk->chunk_base >= walk->chunk_count && !widen(shared, walk, number))
        return NULL;
    if (!(chunk = calloc(1, sizeof(*chunk))))
        return NULL;
    shared->bytes += sizeof(*chunk);
    chunk->after_ns = -WP_SHARED_ALWAYS;
    chunk->until_ns = WP_SHARED_ALWAYS;
    return walk->chunks[number - walk->chunk_base] = chunk;
}

/* --- walks --- */

static uint8_t flags_of(const struct wp_explainer *x)
{
    return (uint8_t)((x->doubts != 0) | x->is_other_path << 1 | !x->sink->marks << 2 | x->names_home << 3 |
        x->sink->asks << 4);
}

static struct wp_shared_walk *make_walk(struct wp_explainer *x, struct wp_intkey key)
{
    if (!x->shared && !(x->shared = calloc(1, sizeof(*x->shared))))
        return NULL;
    struct wp_shared *shared = x->shared;
    struct wp_shared_walk *walk = calloc(1, sizeof(*walk));
    if (!walk || !(walk->layers = malloc(x->depth * sizeof(*walk->layers))) ||
        WP_ARRAY_FIT(shared->walks, shared->room, shared->count + 1) ||
        wp_intmap_put(&shared->by_place, key, shared->count)) {
        if (walk)
            free(walk->layers);
        free(walk);
        return NULL;
    }
    memcpy(walk->layers, x->layers, x->depth * sizeof(*walk->layers));
    walk->key = key;
    walk->depth = x->depth;
    walk->shift_ns = x->shift_ns;
    walk->first = UINT64_MAX;
    shared->bytes += sizeof(*walk) + x->depth * sizeof(*walk->layers);
    return shared->walks[shared->count++] = walk;
}

/* The one of that thread for the present pseudo-stack; NULL: there is none and no room for it, or what it was made in
 * is another. */
static struct wp_shared_walk *walk_of(struct wp_explainer *x, const struct wp_shared_use *use)
{
    struct wp_intkey key = {
        (uint64_t)use->parent << 32 | use->thread, (uint64_t)x->host << 32 | x->depth << 8 | flags_of(x)};
    uint32_t index;
    if (!x->shared || !wp_intmap_get(&x->shared->by_place, key, &index))
        return !x->shared || x->shared->count < WALK_LIMIT ? make_walk(x, key) : NULL;
    struct wp_shared_walk *walk = x->shared->walks[index];
    return walk->shift_ns == x->shift_ns ? walk : NULL;
}

static uint64_t person(uint32_t host, uint32_t thread)
{
    return (uint64_t)host << 32 | thread;
}

/* Where it is, or would be, among those that searches came by. */
static uint32_t place_of(const struct wp_shared_walk *walk, uint64_t who)
{
    return WP_LOWER_BOUND(middle, 0, walk->met_count, walk->met[middle] < who);
}

/* Did searches come by one of those who wait now? */
static bool has_met(const struct wp_explainer *x, const struct wp_shared_walk *walk)
{
    for (uint32_t i = 0; i < x->depth && walk->met_count; i++) {
        uint64_t who = person(x->layers[i].host, x->layers[i].thread);
        uint32_t at = place_of(walk, who);
        if (at < walk->met_count && walk->met[at] == who)
            return true;
    }
    return false;
}

static bool is_alike(const struct wp_explainer *x, const struct wp_shared_walk *walk)
{
    for (uint32_t i = 0; i < x->depth; i++)
        if (x->layers[i].host != walk->layers[i].host || x->layers[i].process != walk->layers[i].process)
            return false;
    return true;
}

/* The first slice that lies whole in the interval. */
static uint64_t first_whole(const struct wp_thread *thread, uint64_t from_ns)
{
    uint64_t found = wp_thread_find(thread, from_ns);
    if (found == thread->slice_end)
        return thread->first_slice;
    return wp_thread_slice(thread, found)->out_ns == from_ns ? found : found + 1;
}

bool wp_shared_begin(struct wp_explainer *x, struct wp_shared_use *use)
{
    const struct wp_thread *thread = &x->timeline->threads[use->thread];
    struct wp_shared_walk *walk = walk_of(x, use);
    if (!walk)
        return false;
    use->low = first_whole(thread, use->from_ns);
    uint64_t low = use->low > walk->first ? use->low : walk->first;
    uint64_t high = use->ordinal < walk->last ? use->ordinal : walk->last;
    use->records = walk->first != UINT64_MAX && low < high && high - low >= x->options.share;
    walk->first = use->low < walk->first ? use->low : walk->first;
    walk->last = use->ordinal > walk->last ? use->ordinal : walk->last;
    walk->is_recent = true;
    if (has_met(x, walk))
        return use->records = false;
    use->is_alike = is_alike(x, walk);
    use->walk = walk;
    return true;
}

/* The next slice lies whole in the walk. */
static bool is_whole(const struct wp_thread *thread, const struct wp_shared_use *use)
{
    return use->ordinal != thread->slice_end && use->ordinal >= use->low && use->ordinal + 1 < thread->slice_end &&
        wp_thread_slice(thread, use->ordinal + 1)->out_ns == use->to_ns;
}

/* --- recording --- */

bool wp_shared_record(struct wp_explainer *x, struct wp_shared_use *use)
{
    struct wp_shared *shared = x->shared;
    if (!use->records || !is_whole(&x->timeline->threads[use->thread], use))
        return false;
    const struct chunk *chunk = make_chunk(shared, use->walk, use->ordinal);
    if (!chunk || (chunk->has | chunk->refused) >> use->ordinal % CHUNK & 1)
        return false;
    shared->walk = use->walk;
    shared->first_note = use->walk->note_count;
    shared->visited = x->visited;
    shared->is_refused = shared->is_own = false;
    shared->after_ns = -WP_SHARED_ALWAYS;
    shared->until_ns = WP_SHARED_ALWAYS;
    x->recording_depth = x->depth;
    return x->recording = true;
}

static struct note *make_note(struct wp_shared *shared, enum note_kind kind)
{
    struct wp_shared_walk *walk = shared->walk;
    struct note *note = grow(shared, &walk->notes, &walk->note_room, walk->note_count, sizeof(*note));
    shared->is_refused |= !note;
    if (note) {
        walk->note_count++;
        *note = (struct note){.kind = (uint8_t)kind};
    }
    return note;
}

/* The layers behind the walk's own; mostly they are those of the piece before. */
static bool pool_layers(struct wp_shared *shared, const struct wp_piece *piece, uint32_t *at)
{
    struct wp_shared_walk *walk = shared->walk;
    uint32_t count = piece->layer_count - walk->depth;
    const struct wp_layer *own = piece->layers + walk->depth;
    if (walk->pool_count >= count && !memcmp(walk->pool + walk->pool_count - count, own, count * sizeof(*own))) {
        *at = walk->pool_count - count;
        return true;
    }
    *at = walk->pool_count;
    for (uint32_t i = 0; i < count; i++, walk->pool_count++) {
        struct wp_layer *layer = grow(shared, &walk->pool, &walk->pool_room, walk->pool_count, sizeof(*layer));
        if (!layer)
            return false;
        *layer = own[i];
    }
    return true;
}

__attribute__((noinline)) void wp_shared_piece(struct wp_explainer *x, const struct wp_piece *piece)
{
    struct wp_shared *shared = x->shared;
    uint32_t layers = 0;
    if (shared->is_refused || (shared->is_refused = !pool_layers(shared, piece, &layers)))
        return;
    struct note *note = make_note(shared, NOTE_PIECE);
    if (!note)
        return;
    note->layers = layers;
    note->piece = *piece;
}

void wp_shared_crossed(struct wp_explainer *x, const struct wp_crossed *crossed)
{
    struct note *note = x->shared->is_refused ? NULL : make_note(x->shared, NOTE_CROSSED);
    if (note)
        note->crossed = *crossed;
}

/* How much was looked at so far differs from sleeper to sleeper: what that cut is nobody else's. */
void wp_shared_limit(struct wp_explainer *x, enum wp_limit limit, uint64_t count, uint64_t ns)
{
    struct wp_shared *shared = x->shared;
    shared->is_refused |= limit == WP_LIMIT_WIDTH || limit == WP_LIMIT_BUDGET;
    struct note *note = shared->is_refused ? NULL : make_note(shared, NOTE_LIMIT);
    if (note)
        note->limit = (struct limit){limit, count, ns};
}

bool wp_shared_is_below(const struct wp_explainer *x, uint32_t thread)
{
    for (uint32_t i = x->depth; i-- > x->shared->walk->depth;)
        if (x->layers[i].host == x->host && x->layers[i].thread == thread)
            return false;
    return true;
}

void wp_shared_met(const struct wp_explainer *x, uint32_t thread)
{
    struct wp_shared *shared = x->shared;
    struct wp_shared_walk *walk = shared->walk;
    uint64_t who = person(x->host, thread);
    uint32_t at = place_of(walk, who);
    if (at < walk->met_count && walk->met[at] == who)
        return;
    if (walk->met_count >= MET_LIMIT || WP_ARRAY_NEXT(walk->met, walk->met_count)) {
        shared->is_refused = true;
        return;
    }
    memmove(walk->met + at + 1, walk->met + at, (walk->met_count - at) * sizeof(*walk->met));
    walk->met[at] = who;
    walk->met_count++;
    shared->bytes += sizeof(*walk->met);
}

void wp_shared_refuse(const struct wp_explainer *x, bool is_own)
{
    x->shared->is_own |= is_own && !x->shared->is_refused;
    x->shared->is_refused = true;
}

void wp_shared_holds(const struct wp_explainer *x, int64_t after_ns, int64_t until_ns)
{
    struct wp_shared *shared = x->shared;
    after_ns += after_ns == -WP_SHARED_ALWAYS ? 0 : x->shift_ns;
    until_ns += until_ns == WP_SHARED_ALWAYS ? 0 : x->shift_ns;
    shared->after_ns = after_ns > shared->after_ns ? after_ns : shared->after_ns;
    shared->until_ns = until_ns < shared->until_ns ? until_ns : shared->until_ns;
}

void wp_shared_recorded(struct wp_explainer *x, struct wp_shared_use *use, uint64_t ordinal)
{
    struct wp_shared *shared = x->shared;
    struct wp_shared_walk *walk = use->walk;
    struct chunk *chunk = chunk_of(walk, ordinal);
    struct row *row = &chunk->rows[ordinal % CHUNK];
    uint64_t bit = (uint64_t)1 << ordinal % CHUNK;
    x->recording = false;
    if (shared->is_refused) {
        walk->note_count = shared->first_note;
        chunk->refused |= shared->is_own ? 0 : bit;
        return;
    }
    *row = (struct row){.note = shared->first_note,
        .notes = walk->note_count - shared->first_note,
        .visits = x->visited - shared->visited};
    chunk->has |= bit;
    chunk->visits += row->visits;
    chunk->after_ns = shared->after_ns > chunk->after_ns ? shared->after_ns : chunk->after_ns;
    chunk->until_ns = shared->until_ns < chunk->until_ns ? shared->until_ns : chunk->until_ns;
}

/* --- repeating --- */

/* Recorded slices without a gap, [first, last]. */
struct run {
    uint64_t first, last, visits;
};

static bool holds(const struct wp_explainer *x, const struct chunk *chunk)
{
    int64_t oldest_ns = (int64_t)x->oldest_ns;
    return chunk && oldest_ns > chunk->after_ns && oldest_ns <= chunk->until_ns;
}

/* From the next slice down to the first that is not recorded, or not whole in the walk; false: there is none. */
static bool find_run(const struct wp_explainer *x, const struct wp_shared_use *use, struct run *run)
{
    *run = (struct run){.first = use->ordinal + 1, .last = use->ordinal};
    while (run->first > use->low) {
        const struct chunk *chunk = chunk_of(use->walk, run->first - 1);
        if (!holds(x, chunk))
            break;
        uint64_t beginning = (run->first - 1) / CHUNK * CHUNK;
        if (chunk->has == UINT64_MAX && run->first == beginning + CHUNK && beginning >= use->low) {
            run->visits += chunk->visits;
            run->first = beginning;
            continue;
        }
        for (; run->first > beginning && run->first > use->low && chunk->has >> (run->first - 1) % CHUNK & 1;
             run->first--)
            run->visits += chunk->rows[(run->first - 1) % CHUNK].visits;
        if (run->first != beginning)
            break;
    }
    return run->first <= run->last;
}

/* A walk that is repeated, and who takes that. */
struct telling {
    struct wp_explainer *x;
    const struct wp_sink *sink;
    const struct wp_shared_walk *walk;
    bool is_settled;
};

static void replay_note(const struct telling *telling, const struct note *note, uint64_t times)
{
    const struct wp_shared_walk *walk = telling->walk;
    struct wp_layer *layers = telling->x->layers;
    struct wp_piece piece;
    struct wp_crossed crossed;
    switch (note->kind) {
    case NOTE_PIECE:
        piece = note->piece;
        piece.times = times;
        piece.is_settled = telling->is_settled;
        piece.layers = layers;
        memcpy(layers + walk->depth, walk->pool + note->layers, (piece.layer_count - walk->depth) * sizeof(*layers));
        wp_sink_piece(telling->sink, &piece);
        break;
    case NOTE_CROSSED:
        crossed = note->crossed;
        crossed.times = times;
        wp_sink_crossed(telling->sink, &crossed);
        break;
    default:
        wp_sink_limit(telling->sink, note->limit.number, note->limit.count * times, note->limit.ns * times);
    }
}

static void tell_row(const struct telling *telling, const struct row *row, uint64_t times)
{
    for (uint32_t i = 0; i < row->notes; i++)
        replay_note(telling, &telling->walk->notes[row->note + i], times);
}

/* Each piece now, as if it had been walked; or a mark, and its sum with those of others when it is settled. */
static void repeat(struct wp_explainer *x, const struct wp_shared_use *use, const struct run *run)
{
    struct wp_shared_walk *walk = use->walk;
    const struct telling telling = {x, x->sink, walk, false};
    bool is_each = !use->is_alike || wp_sink_wants_each(x->sink);
    x->fleet->visits += 1 + (run->last - run->first) / (is_each ? TOLD_A_LOOK : SLICES_A_LOOK);
    for (uint64_t i = run->last + 1; is_each && i-- > run->first;)
        tell_row(&telling, &chunk_of(walk, i)->rows[i % CHUNK], 1);
    if (is_each)
        return;
    chunk_of(walk, run->first)->rows[run->first % CHUNK].starts++;
    chunk_of(walk, run->last)->rows[run->last % CHUNK].stops++;
    walk->is_used = true;
}

bool wp_shared_repeat(struct wp_explainer *x, struct wp_shared_use *use)
{
    const struct wp_thread *thread = &x->timeline->threads[use->thread];
    struct run run;
    if (!is_whole(thread, use) || !find_run(x, use, &run))
        return false;
    bool is_spent = x->fleet->visits - x->fleet->visits_before >= x->options.budget;
    if (x->visited + run.visits > x->options.width || is_spent) {
        use->walk = NULL;
        return use->records = false;
    }
    x->visited += (uint32_t)run.visits;
    repeat(x, use, &run);
    use->to_ns = wp_thread_slice(thread, run.first)->out_ns;
    use->ordinal = run.first == thread->first_slice ? thread->slice_end : run.first - 1;
    return true;
}

static void settle(struct wp_explainer *x, const struct wp_sink *sink, struct wp_shared_walk *walk)
{
    const struct telling telling = {x, sink, walk, true};
    uint64_t times = 0;
    memcpy(x->layers, walk->layers, walk->depth * sizeof(*walk->layers));
    for (uint64_t i = 0; i < walk->chunk_count; i++)
        for (uint32_t j = 0; walk->chunks[i] && j < CHUNK; j++) {
            struct row *row = &walk->chunks[i]->rows[j];
            times += row->starts;
            if (times)
                tell_row(&telling, row, times);
            times -= row->stops;
            row->starts = row->stops = 0;
        }
    walk->is_used = false;
}

void wp_shared_settle(struct wp_explainer *x, const struct wp_sink *sink)
{
    for (uint32_t i = 0; x->shared && i < x->shared->count; i++)
        if (x->shared->walks[i]->is_used)
            settle(x, sink, x->shared->walks[i]);
}
