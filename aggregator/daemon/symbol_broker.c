/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/symbol_broker.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES (1u << 20)
#define OBJECTS 65536u
#define LEVELS (4u << 20)
#define TEXT_BYTES ((size_t)256 << 20)
#define WAITING 65536u
#define PATIENCE_MS 1500u /* for a reader; collectors have twice as much for us */
#define STEP_MS 100u
#define NOBODY UINT32_MAX

struct object {
    struct wp_build build;
    uint32_t reader; /* peer; NOBODY */
};

struct place {
    uint32_t first, count; /* of the levels */
};

struct level {
    uint32_t function, file, line; /* texts' ids */
};

struct waiting {
    uint32_t peer, id, object;
    uint64_t offset, since_ms;
};

struct wp_symbol_broker {
    struct wp_symbol_broker_options options;
    struct wp_intern *texts;
    struct wp_intmap by_build; /* build id, halves of a hash of it -> object */
    struct wp_intmap by_place; /* (offset, object) -> place */
    struct object *objects;
    struct place *places;
    struct level *levels;
    struct waiting *waiting; /* in the order they came */
    uint32_t object_count, object_room, place_count, place_room, level_count, level_room, waiting_room;
    size_t text_bytes;
    uint64_t stepped_ms;
    struct wp_symbol_broker_counts counts;
    struct wp_buffer raw;
};

struct wp_symbol_broker *wp_symbol_broker_create(const struct wp_symbol_broker_options *options)
{
    struct wp_symbol_broker *d = calloc(1, sizeof(*d));
    if (!d || !(d->texts = wp_intern_create())) {
        free(d);
        return NULL;
    }
    d->options = *options;
    if (!d->options.places || d->options.places > PLACES)
        d->options.places = PLACES;
    return d;
}

void wp_symbol_broker_destroy(struct wp_symbol_broker *d)
{
    if (!d)
        return;
    wp_intern_destroy(d->texts);
    wp_intmap_fini(&d->by_build);
    wp_intmap_fini(&d->by_place);
    free(d->objects);
    free(d->places);
    free(d->levels);
    free(d->waiting);
    wp_buffer_fini(&d->raw);
    free(d);
}

/* The object's number; NOBODY: no room for it. */
static uint32_t object_of(struct wp_symbol_broker *d, const struct wp_build *build)
{
    struct wp_intkey key = {0xcbf29ce484222325u ^ build->size, build->size};
    uint32_t number;
    for (unsigned i = 0; i < build->size; i++) {
        key.a = (key.a ^ build->bytes[i]) * 0x100000001b3u;
        key.b = key.b * 31 + build->bytes[i];
    }
    if (wp_intmap_get(&d->by_build, key, &number))
        return wp_build_equals(&d->objects[number].build, build) ? number : NOBODY;
    if (d->object_count >= OBJECTS || WP_ARRAY_FIT(d->objects, d->object_room, d->object_count + 1) ||
        wp_intmap_put(&d->by_build, key, d->object_count))
        return NOBODY;
    d->objects[d->object_count] = (struct object){*build, NOBODY};
    return d->object_count++;
}

static const struct place *place_of(const struct wp_symbol_broker *d, uint32_t object, uint64_t offset)
{
    uint32_t number;
    return wp_intmap_get(&d->by_place, (struct wp_intkey){offset, object}, &number) ? &d->places[number] : NULL;
}

/* --- answers --- */

/* Answers of one question, some at a time. */
struct answering {
    struct wp_name_row rows[WP_NAME_PLACES];
    struct wp_name_level levels[WP_NAME_PLACES * 4];
    struct wp_name_answer answer;
    uint32_t peer;
};

static void flush(struct wp_symbol_broker *d, struct answering *a)
{
    if (!a->answer.row_count)
        return;
    a->answer.rows = a->rows;
    a->answer.levels = a->levels;
    wp_buffer_clear(&d->raw);
    int rc = wp_name_answer_encode(&a->answer, &d->raw, NULL);
    if (!rc && a->peer == NOBODY)
        d->options.keep(d->options.context, d->raw.data, d->raw.size);
    else if (!rc)
        d->options.send(d->options.context, a->peer, WP_FRAME_NAME_ANSWER, d->raw.data,
            d->raw.size); /* if not, it stops waiting by itself */
    a->answer.row_count = a->answer.level_count = 0;
}

static void add(struct wp_symbol_broker *d, struct answering *a, uint64_t offset, const struct place *place)
{
    uint32_t count = place ? place->count : 0;
    if (a->answer.row_count == WP_NAME_PLACES ||
        a->answer.level_count + count > sizeof(a->levels) / sizeof(a->levels[0]))
        flush(d, a);
    a->rows[a->answer.row_count++] = (struct wp_name_row){offset, a->answer.level_count, count};
    for (uint32_t i = 0; i < count; i++) {
        const struct level *level = &d->levels[place->first + i];
        a->levels[a->answer.level_count++] = (struct wp_name_level){
            wp_intern_text(d->texts, level->function), wp_intern_text(d->texts, level->file), level->line};
    }
}

static struct answering *begin(
    const struct wp_symbol_broker *d, uint32_t peer, uint32_t id, uint32_t object, bool is_yours)
{
    struct answering *a = malloc(sizeof(*a));
    if (a) {
        a->answer = (struct wp_name_answer){.id = id, .build = d->objects[object].build, .is_yours = is_yours};
        a->peer = peer;
    }
    return a;
}

static void end(struct wp_symbol_broker *d, struct answering *a)
{
    if (a)
        flush(d, a);
    free(a);
}

/* --- who waits --- */

/* All that wait for the object, one question after the other: those whose place is known get it; with `to` somebody, he
 * is its reader now and is told to read what he waits for himself. */
static void serve(struct wp_symbol_broker *d, uint32_t object, uint32_t to)
{
    uint32_t kept = 0, count = d->counts.waiting;
    struct answering *a = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct waiting w = d->waiting[i];
        const struct place *place = w.object == object ? place_of(d, object, w.offset) : NULL;
        bool is_yours = !place && w.object == object && w.peer == to;
        if (!place && !is_yours) {
            d->waiting[kept++] = w;
            continue;
        }
        if (a && (a->peer != w.peer || a->answer.id != w.id || a->answer.is_yours != is_yours)) {
            end(d, a);
            a = NULL;
        }
        if (!a)
            a = begin(d, w.peer, w.id, object, is_yours);
        if (a)
            add(d, a, w.offset, place);
        d->counts.awaited += place != NULL;
    }
    d->counts.waiting = kept;
    end(d, a);
}

static void make_reader(struct wp_symbol_broker *d, uint32_t object, uint32_t peer)
{
    d->objects[object].reader = peer;
    d->counts.readers++;
}

static int ask_reader(struct wp_symbol_broker *d, uint32_t object, const uint64_t *offsets, uint32_t count)
{
    struct wp_name_question q = {.build = d->objects[object].build, .offsets = offsets, .count = count};
    wp_buffer_clear(&d->raw);
    int rc = wp_name_question_encode(&q, &d->raw, NULL);
    return rc ? rc
              : d->options.send(
                    d->options.context, d->objects[object].reader, WP_FRAME_NAME_QUESTION, d->raw.data, d->raw.size);
}

/* Its reader does not answer, or has it not: the first who waits reads it, and is asked for what the others want. */
static void replace_reader(struct wp_symbol_broker *d, uint32_t object, uint64_t now_ms)
{
    uint64_t offsets[WP_NAME_PLACES];
    uint32_t peer = NOBODY, count = 0;
    for (uint32_t i = 0; i < d->counts.waiting && peer == NOBODY; i++)
        peer = d->waiting[i].object == object ? d->waiting[i].peer : NOBODY;
    d->objects[object].reader = NOBODY;
    if (peer == NOBODY)
        return;
    make_reader(d, object, peer);
    serve(d, object, peer);
    for (uint32_t i = 0; i < d->counts.waiting; i++)
        if (d->waiting[i].object == object) {
            d->waiting[i].since_ms = now_ms;
            if (count < WP_NAME_PLACES)
                offsets[count++] = d->waiting[i].offset;
        }
    if (count)
        ask_reader(d, object, offsets, count);
}

static bool await(struct wp_symbol_broker *d, const struct waiting *waiting)
{
    if (d->counts.waiting >= WAITING || WP_ARRAY_FIT(d->waiting, d->waiting_room, d->counts.waiting + 1))
        return false;
    d->waiting[d->counts.waiting++] = *waiting;
    return true;
}

/* --- questions and what is told --- */

static int answer(struct wp_symbol_broker *d, uint32_t peer, const struct wp_name_question *q, uint64_t now_ms)
{
    uint32_t object = object_of(d, &q->build), missing = 0;
    uint64_t unknown[WP_NAME_PLACES];
    if (object == NOBODY)
        return -ENOMEM; /* it reads for itself when it has waited */
    struct answering *a = begin(d, peer, q->id, object, false);
    if (!a)
        return -ENOMEM;
    d->counts.asked += q->count;
    for (uint32_t i = 0; i < q->count; i++) {
        const struct place *place = place_of(d, object, q->offsets[i]);
        if (place)
            add(d, a, q->offsets[i], place);
        else
            unknown[missing++] = q->offsets[i];
    }
    d->counts.known += q->count - missing;
    end(d, a);
    if (!missing)
        return 0;
    struct object *o = &d->objects[object];
    bool is_full = d->place_count >= d->options.places; /* what is read would not be remembered */
    if (o->reader != NOBODY && o->reader != peer && !is_full && !ask_reader(d, object, unknown, missing)) {
        for (uint32_t i = 0; i < missing; i++)
            await(d, &(struct waiting){peer, q->id, object, unknown[i], now_ms});
        return 0;
    }
    if (o->reader != peer)
        make_reader(d, object, peer);
    a = begin(d, peer, q->id, object, true);
    for (uint32_t i = 0; a && i < missing; i++)
        add(d, a, unknown[i], NULL);
    end(d, a);
    return 0;
}

static uint32_t text_of(struct wp_symbol_broker *d, const char *text)
{
    uint32_t known = wp_intern_count(d->texts), id = wp_intern_str(d->texts, text);
    if (id != UINT32_MAX && id >= known)
        d->text_bytes += strlen(text) + 1;
    return id == UINT32_MAX ? 0 : id;
}

/* What has names, of the places from `first` on; what has none may have some after a restart, as when debug files are
 * installed. */
static void keep_answer(struct wp_symbol_broker *d, uint32_t object, const struct wp_name_answer *told, uint32_t first)
{
    struct answering *a = d->options.keep ? begin(d, NOBODY, 0, object, false) : NULL;
    for (uint32_t i = 0; a && i < told->row_count; i++) {
        const struct place *place = place_of(d, object, told->rows[i].offset);
        if (place && place >= d->places + first && place->count)
            add(d, a, told->rows[i].offset, place);
    }
    end(d, a);
}

/* What was said first stays. */
static void learn(struct wp_symbol_broker *d, uint32_t object, const struct wp_name_answer *told)
{
    for (uint32_t i = 0; i < told->row_count; i++) {
        const struct wp_name_row *row = &told->rows[i];
        bool is_full =
            d->place_count >= d->options.places || d->level_count + row->count > LEVELS || d->text_bytes > TEXT_BYTES;
        if (is_full || place_of(d, object, row->offset) || WP_ARRAY_FIT(d->places, d->place_room, d->place_count + 1))
            continue;
        struct place place = {.first = d->level_count};
        for (uint32_t j = 0; j < row->count && !WP_ARRAY_FIT(d->levels, d->level_room, d->level_count + 1); j++) {
            const struct wp_name_level *level = &told->levels[row->first + j];
            d->levels[d->level_count++] =
                (struct level){text_of(d, level->function), text_of(d, level->file), level->line};
            place.count++;
        }
        if (!wp_intmap_put(&d->by_place, (struct wp_intkey){row->offset, object}, d->place_count))
            d->places[d->place_count++] = place;
    }
}

static int take_told(struct wp_symbol_broker *d, uint32_t peer, const struct wp_name_answer *told, uint64_t now_ms)
{
    uint32_t object = object_of(d, &told->build);
    if (object == NOBODY || d->objects[object].reader != peer) /* nobody is believed of what he was not told to read */
        return 0;
    if (told->is_yours) {
        replace_reader(d, object, now_ms);
        return 0;
    }
    uint32_t known = d->place_count;
    learn(d, object, told);
    keep_answer(d, object, told, known);
    serve(d, object, NOBODY);
    return 0;
}

int wp_symbol_broker_recall(struct wp_symbol_broker *d, const uint8_t *raw, size_t size, struct wp_error *err)
{
    struct wp_name_answer told;
    int rc = wp_name_answer_decode(&told, raw, size, err);
    uint32_t object = rc ? NOBODY : object_of(d, &told.build);
    if (object != NOBODY)
        learn(d, object, &told);
    wp_name_answer_fini(&told);
    return rc;
}

int wp_symbol_broker_take(
    struct wp_symbol_broker *d, const struct wp_symbol_frame *frame, uint64_t now_ms, struct wp_error *err)
{
    struct wp_name_question question;
    struct wp_name_answer told;
    void *owned = NULL;
    int rc;
    if (frame->type == WP_FRAME_NAME_QUESTION) {
        rc = wp_name_question_decode(&question, &owned, frame->raw, frame->size, err);
        if (!rc)
            answer(d, frame->peer, &question, now_ms);
        wp_name_question_free(owned);
    } else {
        rc = wp_name_answer_decode(&told, frame->raw, frame->size, err);
        if (!rc)
            take_told(d, frame->peer, &told, now_ms);
        wp_name_answer_fini(&told);
    }
    d->counts.refused += rc != 0;
    return rc;
}

void wp_symbol_broker_step(struct wp_symbol_broker *d, uint64_t now_ms)
{
    if (now_ms - d->stepped_ms < STEP_MS)
        return;
    d->stepped_ms = now_ms;
    for (uint32_t i = 0; i < d->counts.waiting; i++)
        if (now_ms - d->waiting[i].since_ms > PATIENCE_MS) {
            replace_reader(d, d->waiting[i].object, now_ms);
            return; /* the others in a moment */
        }
}

struct wp_symbol_broker_counts wp_symbol_broker_counts(const struct wp_symbol_broker *d)
{
    struct wp_symbol_broker_counts counts = d->counts;
    counts.places = d->place_count;
    counts.objects = d->object_count;
    return counts;
}
