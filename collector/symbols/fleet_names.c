/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/fleet_names.h"

#include "common/buffer.h"

#include <stdlib.h>
#include <string.h>

#define QUESTIONS 256u /* that may be open; more is read here */
#define WAIT_MS 3000u  /* for an answer; batches wait for names for ten seconds */
#define WANTED 16384u
#define TOLD_BYTES ((size_t)8 << 20) /* that wait to be sent; beyond, it is not told */

struct asked {
    uint64_t offset;
    uint32_t ticket;
};

struct question {
    struct wp_build build;
    uint32_t id, object, count; /* id 0: free */
    uint64_t since_ms;          /* 0: not sent */
    struct asked places[WP_NAME_PLACES];
};

struct wanted {
    struct wp_build build;
    uint64_t offset;
};

/* Of what is told: head, then its levels with their texts; of answers: likewise, with the ticket. */
struct head {
    struct wp_build build;
    uint64_t offset;
    uint32_t object, ticket, count, reply; /* count UINT32_MAX: the object is not here */
};

struct wp_fleet_names {
    bool is_on;
    uint32_t next_id, open;
    struct question *questions[QUESTIONS]; /* owned; made when they are first needed */
    struct wp_buffer replies, given;       /* heads and levels; given: being taken, from given_at on */
    size_t given_at;
    struct wp_buffer telling, raw;
    struct wanted *wanted; /* owned, a ring */
    uint32_t first_wanted, wanted_count;
    struct wp_fleet_names_counts counts;
};

struct wp_fleet_names *wp_fleet_names_create(void)
{
    struct wp_fleet_names *n = calloc(1, sizeof(*n));
    if (n && !(n->wanted = calloc(WANTED, sizeof(*n->wanted)))) {
        free(n);
        return NULL;
    }
    return n;
}

void wp_fleet_names_destroy(struct wp_fleet_names *n)
{
    if (!n)
        return;
    for (unsigned i = 0; i < QUESTIONS; i++)
        free(n->questions[i]);
    wp_buffer_fini(&n->replies);
    wp_buffer_fini(&n->given);
    wp_buffer_fini(&n->telling);
    wp_buffer_fini(&n->raw);
    free(n->wanted);
    free(n);
}

/* --- heads and levels in a buffer --- */

static void put(struct wp_buffer *to, struct head head, const struct wp_place_name *place)
{
    size_t before = to->size;
    if (place)
        head.count = place->count;
    wp_buffer_append(to, &head, sizeof(head));
    for (unsigned i = 0; place && i < place->count; i++) {
        const struct wp_debug_level *level = &place->levels[i];
        const char *function = level->function ? level->function : "", *file = level->file ? level->file : "";
        wp_buffer_append(to, &level->line, sizeof(level->line));
        wp_buffer_append(to, function, strnlen(function, WP_NAME_BYTES));
        wp_buffer_append(to, "", 1);
        wp_buffer_append(to, file, strnlen(file, WP_NAME_BYTES));
        wp_buffer_append(to, "", 1);
    }
    if (to->failed) { /* whole or not at all */
        to->size = before;
        to->failed = false;
    }
}

static size_t get(const struct wp_buffer *from, size_t at, struct head *head, struct wp_place_name *place)
{
    memcpy(head, from->data + at, sizeof(*head));
    at += sizeof(*head);
    place->count = head->count <= WP_INLINE_LEVELS ? head->count : 0;
    for (unsigned i = 0; i < place->count; i++) {
        struct wp_debug_level *level = &place->levels[i];
        memcpy(&level->line, from->data + at, sizeof(level->line));
        level->function = (const char *)from->data + at + sizeof(level->line);
        level->file = level->function + strlen(level->function) + 1;
        at = (size_t)((const uint8_t *)level->file + strlen(level->file) + 1 - from->data);
    }
    return at;
}

/* --- questions --- */

static void reply(struct wp_fleet_names *n, const struct question *q, const struct asked *place,
    enum wp_fleet_reply what, const struct wp_place_name *name)
{
    struct head head = {
        .build = q->build, .offset = place->offset, .object = q->object, .ticket = place->ticket, .reply = what};
    put(&n->replies, head, name);
    n->counts.named += what == WP_FLEET_NAMED;
    n->counts.read += what == WP_FLEET_READ;
}

static void close_question(struct wp_fleet_names *n, struct question *q)
{
    q->id = 0;
    q->count = 0;
    n->open--;
}

/* Nobody answers: what is left of it is read here. */
static void give_up(struct wp_fleet_names *n, struct question *q)
{
    for (uint32_t i = 0; i < q->count; i++)
        reply(n, q, &q->places[i], WP_FLEET_READ, NULL);
    n->counts.late += q->count;
    close_question(n, q);
}

void wp_fleet_names_turn(struct wp_fleet_names *n, bool is_on)
{
    n->is_on = is_on;
    for (unsigned i = 0; !is_on && i < QUESTIONS; i++)
        if (n->questions[i] && n->questions[i]->id)
            give_up(n, n->questions[i]);
    if (!is_on) {
        wp_buffer_clear(&n->telling);
        n->wanted_count = 0;
    }
}

bool wp_fleet_names_are_on(const struct wp_fleet_names *n)
{
    return n->is_on;
}

/* One that is not sent yet and has room, or a new one. */
static struct question *question_for(struct wp_fleet_names *n, const struct wp_build *build, uint32_t object)
{
    struct question **free_one = NULL;
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct question *q = n->questions[i];
        if (q && q->id && !q->since_ms && q->object == object && q->count < WP_NAME_PLACES)
            return q;
        if (!free_one && (!q || !q->id))
            free_one = &n->questions[i];
    }
    if (!free_one || (!*free_one && !(*free_one = malloc(sizeof(**free_one)))))
        return NULL;
    struct question *q = *free_one;
    n->next_id += n->next_id + 1 ? 1 : 2; /* never 0 */
    q->build = *build;
    q->id = n->next_id;
    q->object = object;
    q->count = 0;
    q->since_ms = 0;
    n->open++;
    return q;
}

bool wp_fleet_names_ask(
    struct wp_fleet_names *n, const struct wp_build *build, uint32_t object, uint64_t offset, uint32_t ticket)
{
    struct question *q = n->is_on ? question_for(n, build, object) : NULL;
    if (!q)
        return false;
    q->places[q->count++] = (struct asked){offset, ticket};
    n->counts.asked++;
    return true;
}

bool wp_fleet_names_are_settled(const struct wp_fleet_names *n)
{
    return !n->open && !n->replies.size && n->given_at == n->given.size;
}

/* --- answers --- */

static bool next_wanted(struct wp_fleet_names *n, struct wp_fleet_named *named)
{
    if (!n->wanted_count)
        return false;
    const struct wanted *w = &n->wanted[n->first_wanted];
    *named = (struct wp_fleet_named){.reply = WP_FLEET_WANTED, .build = w->build, .offset = w->offset};
    n->first_wanted = (n->first_wanted + 1) % WANTED;
    n->wanted_count--;
    return true;
}

bool wp_fleet_names_next(struct wp_fleet_names *n, struct wp_fleet_named *named)
{
    struct head head;
    if (n->given_at == n->given.size) {
        struct wp_buffer swap = n->given;
        n->given = n->replies;
        n->replies = swap;
        n->given_at = 0;
        wp_buffer_clear(&n->replies);
        if (!n->given.size) /* what others want comes last: it may be of what is to be read here */
            return next_wanted(n, named);
    }
    n->given_at = get(&n->given, n->given_at, &head, &named->place);
    named->reply = (enum wp_fleet_reply)head.reply;
    named->object = head.object;
    named->ticket = head.ticket;
    named->build = head.build;
    named->offset = head.offset;
    return true;
}

static void name_of(const struct wp_name_answer *a, const struct wp_name_row *row, struct wp_place_name *place)
{
    place->count = row->count;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct wp_name_level *level = &a->levels[row->first + i];
        place->levels[i] = (struct wp_debug_level){level->function, level->file, level->line};
    }
}

/* An offset may have been asked for twice, by a return to it and by being there. */
static void take_row(
    struct wp_fleet_names *n, struct question *q, const struct wp_name_answer *a, const struct wp_name_row *row)
{
    struct wp_place_name place;
    uint32_t kept = 0;
    name_of(a, row, &place);
    for (uint32_t i = 0; i < q->count; i++)
        if (q->places[i].offset == row->offset)
            reply(n, q, &q->places[i], a->is_yours ? WP_FLEET_READ : WP_FLEET_NAMED, a->is_yours ? NULL : &place);
        else
            q->places[kept++] = q->places[i];
    q->count = kept;
}

static void take_answer(struct wp_fleet_names *n, const struct wp_name_answer *a)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct question *q = n->questions[i];
        if (!q || !q->id || q->id != a->id || !wp_build_equals(&q->build, &a->build))
            continue;
        for (uint32_t j = 0; j < a->row_count; j++)
            take_row(n, q, a, &a->rows[j]);
        if (!q->count)
            close_question(n, q);
        return;
    }
}

static void take_question(struct wp_fleet_names *n, const struct wp_name_question *q)
{
    for (uint32_t i = 0; i < q->count && n->wanted_count < WANTED; i++)
        n->wanted[(n->first_wanted + n->wanted_count++) % WANTED] = (struct wanted){q->build, q->offsets[i]};
}

/* What cannot be read is as good as not said: the question is given up in a while. */
void wp_fleet_names_take(void *names, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct wp_fleet_names *n = names;
    struct wp_name_answer answer;
    struct wp_name_question question;
    void *owned = NULL;
    if (type == WP_FRAME_NAME_ANSWER && !wp_name_answer_decode(&answer, raw, size, NULL)) {
        take_answer(n, &answer);
        wp_name_answer_fini(&answer);
    } else if (type == WP_FRAME_NAME_QUESTION && !wp_name_question_decode(&question, &owned, raw, size, NULL)) {
        take_question(n, &question);
        wp_name_question_free(owned);
    }
}

void wp_fleet_names_tell(
    struct wp_fleet_names *n, const struct wp_build *build, uint64_t offset, const struct wp_place_name *place)
{
    if (n->is_on && n->telling.size < TOLD_BYTES)
        put(&n->telling, (struct head){.build = *build, .offset = offset, .count = UINT32_MAX}, place);
    n->counts.told += n->is_on && place;
}

/* --- sending --- */

typedef int send_fn(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size);

static int send_question(struct wp_fleet_names *n, struct question *q, uint64_t now_ms, send_fn *send, void *context)
{
    uint64_t offsets[WP_NAME_PLACES];
    for (uint32_t i = 0; i < q->count; i++)
        offsets[i] = q->places[i].offset;
    wp_buffer_clear(&n->raw);
    int rc = wp_name_question_encode(&(struct wp_name_question){q->id, q->build, offsets, q->count}, &n->raw, NULL);
    if (!rc)
        rc = send(context, WP_FRAME_NAME_QUESTION, n->raw.data, n->raw.size);
    if (!rc)
        q->since_ms = now_ms;
    return rc;
}

/* Those at the beginning of one object, as many as a message takes; *at: behind them. */
static int send_told(struct wp_fleet_names *n, size_t *at, send_fn *send, void *context)
{
    static const unsigned most = WP_NAME_PLACES / 2;
    struct wp_name_row rows[WP_NAME_PLACES / 2];
    struct wp_name_level *levels = malloc(most * WP_NAME_LEVELS * sizeof(*levels));
    struct wp_name_answer a = {.rows = rows, .levels = levels};
    struct wp_place_name place;
    struct head head;
    size_t behind = *at;
    while (levels && behind < n->telling.size && a.row_count < most) {
        size_t next = get(&n->telling, behind, &head, &place);
        bool is_absent = head.count == UINT32_MAX;
        if (a.row_count && (!wp_build_equals(&a.build, &head.build) || is_absent != a.is_yours))
            break;
        a.build = head.build;
        a.is_yours = is_absent;
        rows[a.row_count++] = (struct wp_name_row){head.offset, a.level_count, place.count};
        for (unsigned i = 0; i < place.count; i++)
            levels[a.level_count++] =
                (struct wp_name_level){place.levels[i].function, place.levels[i].file, place.levels[i].line};
        behind = next;
    }
    wp_buffer_clear(&n->raw);
    int rc = levels ? wp_name_answer_encode(&a, &n->raw, NULL) : -1;
    if (!rc)
        rc = send(context, WP_FRAME_NAME_ANSWER, n->raw.data, n->raw.size);
    if (!rc)
        *at = behind;
    free(levels);
    return rc;
}

void wp_fleet_names_pump(struct wp_fleet_names *n, uint64_t now_ms, send_fn *send, void *context)
{
    size_t at = 0;
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct question *q = n->questions[i];
        if (!q || !q->id)
            continue;
        bool is_late = q->since_ms && now_ms - q->since_ms > WAIT_MS, is_due = !q->since_ms && n->is_on;
        if (is_late || (is_due && send_question(n, q, now_ms ? now_ms : 1, send, context)))
            give_up(n, q);
    }
    for (int rc = 0; n->is_on && !rc && at < n->telling.size;)
        rc = send_told(n, &at, send, context);
    if (at) {
        memmove(n->telling.data, n->telling.data + at, n->telling.size - at);
        n->telling.size -= at;
    }
}

struct wp_fleet_names_counts wp_fleet_names_counts(const struct wp_fleet_names *n)
{
    return n->counts;
}
