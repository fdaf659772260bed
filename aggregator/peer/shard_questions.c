/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we ask other shards: one question a wait, for all that look at it. A question is out until it is answered, or
 * its shard is down or has answered nothing for as long as a silent host is waited for. What was answered is kept a
 * while: the epoch that asked for it is explained then, and later ones may come by the same wait.
 */
#include "aggregator/peer/shard_questions.h"

#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_state.h"
#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>

#define QUESTIONS 65536u /* that are known at once */
#define WINDOW                                                                                                         \
    256u /* out to one shard at once; those that others' answers wait for go in any case, or all could wait for each   \
            other */
#define KEEP_NS (30 * WP_NS_PER_S)
#define SWEEP_NS (5 * WP_NS_PER_S)

enum state { WAITS, OUT, ANSWERED, FAILED };

struct question {
    struct wp_intkey key;
    uint64_t id, used_ns, made_ns;
    uint64_t from_ns, to_ns;    /* of the wait, in the waiting host's time */
    uint32_t owner, generation; /* of the owner, when it is a host */
    uint32_t shard;
    enum state state;
    struct wp_buffer packed;         /* the message; owned until it is answered */
    Wakepath__Shard__Answer *answer; /* owned */
};

struct wp_shard_questions {
    struct question *rows; /* owned */
    uint32_t count, room;
    struct wp_intmap by_key, by_id;
    uint64_t last_id, swept_ns;
    uint32_t waiting; /* rows that WAIT */
};

int wp_shard_questions_create(struct wp_shard_questions **questions)
{
    *questions = calloc(1, sizeof(**questions));
    return *questions ? 0 : -ENOMEM;
}

static void clear(struct question *question)
{
    wp_buffer_fini(&question->packed);
    if (question->answer)
        wakepath__shard__answer__free_unpacked(question->answer, NULL);
    question->answer = NULL;
}

void wp_shard_questions_destroy(struct wp_shard_questions *questions)
{
    if (!questions)
        return;
    for (uint32_t i = 0; i < questions->count; i++)
        clear(&questions->rows[i]);
    wp_intmap_fini(&questions->by_key);
    wp_intmap_fini(&questions->by_id);
    free(questions->rows);
    free(questions);
}

/* --- their life --- */

static void count_open(struct wp_shards *shards, const struct question *question, int change)
{
    if (question->owner & WP_SHARDS_ASKED) {
        wp_shards_count_open(shards, question->owner, change);
        return;
    }
    struct wp_fleet_host *host = &shards->fleet->hosts[question->owner];
    if (host->generation == question->generation)
        host->open_questions += (uint32_t)change;
}

static void settle(struct wp_shards *shards, struct question *question, enum state state)
{
    if (question->state == WAITS)
        shards->questions->waiting--;
    else
        shards->shards[question->shard].open--;
    question->state = state;
    shards->counts.unanswered += state == FAILED;
    wp_buffer_fini(&question->packed);
    count_open(shards, question, -1);
}

static struct question *find(struct wp_shard_questions *questions, struct wp_intmap *map, struct wp_intkey key)
{
    uint32_t row;
    return wp_intmap_get(map, key, &row) ? &questions->rows[row] : NULL;
}

static struct question *make_row(struct wp_shard_questions *questions, struct wp_intkey key)
{
    if (questions->count >= QUESTIONS || WP_ARRAY_FIT(questions->rows, questions->room, questions->count + 1))
        return NULL;
    if (wp_intmap_put(&questions->by_key, key, questions->count))
        return NULL;
    struct question *row = &questions->rows[questions->count++];
    *row = (struct question){.key = key};
    return row;
}

/* Those that nobody looked at lately. */
static void sweep(struct wp_shards *shards)
{
    struct wp_shard_questions *questions = shards->questions;
    uint64_t now_ns = shards->fleet->now_ns;
    uint32_t kept = 0;
    if (now_ns - questions->swept_ns < SWEEP_NS)
        return;
    questions->swept_ns = now_ns;
    wp_intmap_clear(&questions->by_key);
    wp_intmap_clear(&questions->by_id);
    for (uint32_t i = 0; i < questions->count; i++) {
        struct question *row = &questions->rows[i];
        if (row->state >= ANSWERED && now_ns - row->used_ns > KEEP_NS) {
            clear(row);
            continue;
        }
        wp_intmap_put(&questions->by_key, row->key, kept); /* as many as before, or less */
        wp_intmap_put(&questions->by_id, (struct wp_intkey){row->id, 0}, kept);
        questions->rows[kept++] = *row;
    }
    questions->count = kept;
}

/* --- asking --- */

static uint64_t there(const struct wp_shard_wait *wait, uint64_t time_ns)
{
    return time_ns + (uint64_t)wait->clock.offset_ns;
}

static const uint8_t *session_of(const struct wp_shards *shards, uint32_t host)
{
    const struct wp_stub *stub = wp_shards_stub(shards, host);
    return stub ? stub->session : wp_shards_own_session(shards, host);
}

static int pack(struct wp_shards *shards, struct question *question, const struct wp_shard_wait *wait)
{
    const struct wp_fleet_host *far = &shards->fleet->hosts[wait->far_host];
    uint64_t lateness_ns = shards->fleet->lateness_ns, until_ns = there(wait, wait->to_ns) + lateness_ns;
    Wakepath__Shard__Question m = WAKEPATH__SHARD__QUESTION__INIT;
    m.id = question->id;
    m.session = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)session_of(shards, wait->far_host)};
    m.asker = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)session_of(shards, wait->host)};
    m.socket = wait->far_socket;
    m.datagram = wait->datagram;
    m.from_ns = there(wait, question->from_ns);
    m.to_ns = there(wait, question->to_ns);
    m.arrival_ns = there(wait, wait->arrival_ns);
    m.position = wait->position;
    m.syscall = wait->syscall;
    m.start_ns = there(wait, wait->start_ns);
    m.has_request = wait->has_request;
    m.request_end = wait->request_end;
    m.request_ns = wait->has_request ? there(wait, wait->request_ns) : 0;
    m.bound_ns = wait->clock.bound_ns;
    m.wait_bound_ns = wait->wait_bound_ns;
    m.horizon_ns = far->horizon_ns < UINT64_MAX / 4 && far->horizon_ns > m.to_ns ? far->horizon_ns : until_ns;
    m.lateness_ns = lateness_ns < m.horizon_ns ? lateness_ns : m.horizon_ns;
    m.aggregate = shards->fleet->names[wait->aggregate];
    m.release = shards->fleet->releases[wait->aggregate];
    m.depth = wait->depth;
    m.hops = wait->hops - 1;
    return wp_shard_pack(&m.base, &question->packed);
}

static void ask(struct wp_shards *shards, struct question *row, const struct wp_shard_wait *wait)
{
    struct wp_shard_questions *questions = shards->questions;
    const struct wp_stub *stub = wp_shards_stub(shards, wait->far_host);
    bool is_more = row->from_ns < row->to_ns; /* asked before, for less */
    row->from_ns = is_more && row->from_ns < wait->from_ns ? row->from_ns : wait->from_ns;
    row->to_ns = is_more && row->to_ns > wait->to_ns ? row->to_ns : wait->to_ns;
    if (row->id)
        wp_intmap_remove(&questions->by_id, (struct wp_intkey){row->id, 0});
    clear(row);
    row->id = ++questions->last_id;
    row->shard = stub->shard;
    row->owner = wait->owner;
    row->generation = wait->owner & WP_SHARDS_ASKED ? 0 : shards->fleet->hosts[wait->owner].generation;
    row->made_ns = shards->fleet->now_ns;
    row->state = FAILED;
    if (!shards->shards[stub->shard].is_up || !wp_shards_has_link(shards, stub->shard) || pack(shards, row, wait) ||
        wp_intmap_put(&questions->by_id, (struct wp_intkey){row->id, 0}, (uint32_t)(row - questions->rows))) {
        shards->counts.unanswered++;
        return;
    }
    row->state = WAITS;
    questions->waiting++;
    count_open(shards, row, 1);
}

/* What was asked, and not yet sent, for less than is wanted now. */
static void widen(struct wp_shards *shards, struct question *row, const struct wp_shard_wait *wait)
{
    if (row->state != WAITS || (row->from_ns <= wait->from_ns && row->to_ns >= wait->to_ns))
        return;
    row->from_ns = row->from_ns < wait->from_ns ? row->from_ns : wait->from_ns;
    row->to_ns = row->to_ns > wait->to_ns ? row->to_ns : wait->to_ns;
    wp_buffer_clear(&row->packed);
    if (pack(shards, row, wait))
        settle(shards, row, FAILED);
}

bool wp_shards_look(
    struct wp_shards *shards, const struct wp_shard_wait *wait, bool may_ask, struct wp_shard_reply *reply)
{
    struct wp_shard_questions *questions = shards->questions;
    uint64_t owner = (wait->owner & 0x7fff) | wait->owner >> 31 << 15; /* each waits for its own */
    struct wp_intkey key = {
        owner << 48 | (uint64_t)wait->host << 32 | wait->thread, wait->arrival_ns << 6 | wait->aggregate};
    struct question *row = find(questions, &questions->by_key, key);
    if (!row && may_ask && wait->hops && wp_shards_stub(shards, wait->far_host))
        row = make_row(questions, key);
    if (!row)
        return false;
    row->used_ns = shards->fleet->now_ns;
    bool is_whole = row->from_ns <= wait->from_ns && row->to_ns >= wait->to_ns;
    if (may_ask && (!row->id || row->state == FAILED || (row->state == ANSWERED && !is_whole)) && wait->hops &&
        wp_shards_stub(shards, wait->far_host))
        ask(shards, row, wait);
    else if (may_ask)
        widen(shards, row, wait);
    if (row->state != ANSWERED)
        return false;
    *reply = (struct wp_shard_reply){row->answer, row->to_ns};
    return true;
}

/* --- sending, giving up --- */

static uint32_t send(struct wp_shards *shards, uint32_t shard, uint32_t link, struct question **rows, uint32_t count)
{
    Wakepath__Shard__Questions m = WAKEPATH__SHARD__QUESTIONS__INIT;
    Wakepath__Shard__Question *questions[WP_SHARD_QUESTIONS];
    uint64_t now_ns = shards->fleet->now_ns;
    uint32_t unpacked = 0;
    for (; unpacked < count; unpacked++)
        if (!(questions[unpacked] =
                    wakepath__shard__question__unpack(NULL, rows[unpacked]->packed.size, rows[unpacked]->packed.data)))
            break;
    m.questions = questions;
    m.n_questions = unpacked;
    bool is_sent = unpacked && !wp_shards_tell(shards, link, WP_FRAME_SHARD_QUESTIONS, &m.base);
    for (uint32_t i = 0; i < unpacked; i++) {
        wakepath__shard__question__free_unpacked(questions[i], NULL);
        if (!is_sent)
            continue;
        if (!shards->shards[shard].open++)
            shards->shards[shard].answered_ns = now_ns;
        rows[i]->state = OUT;
        shards->questions->waiting--;
        shards->counts.asked++;
    }
    return is_sent ? unpacked : 0;
}

static void send_to(struct wp_shards *shards, uint32_t shard)
{
    struct wp_shard_questions *questions = shards->questions;
    struct question *rows[WP_SHARD_QUESTIONS];
    uint32_t link = wp_shards_link_to(shards, shard), count = 0;
    for (uint32_t i = 0; link != UINT32_MAX && i < questions->count; i++) {
        bool has_room = shards->shards[shard].open + count < WINDOW || questions->rows[i].owner & WP_SHARDS_ASKED;
        if (questions->rows[i].state != WAITS || questions->rows[i].shard != shard || !has_room)
            continue;
        rows[count++] = &questions->rows[i];
        if (count == WP_SHARD_QUESTIONS) {
            if (!send(shards, shard, link, rows, count))
                return;
            count = 0;
        }
    }
    if (count)
        send(shards, shard, link, rows, count);
}

static void give_up(struct wp_shards *shards, uint32_t shard, uint64_t before_ns)
{
    struct wp_shard_questions *questions = shards->questions;
    for (uint32_t i = 0; i < questions->count; i++) {
        struct question *row = &questions->rows[i];
        if (row->state < ANSWERED && row->shard == shard && row->made_ns <= before_ns)
            settle(shards, row, FAILED);
    }
}

void wp_shard_questions_step(struct wp_shards *shards)
{
    uint64_t now_ns = shards->fleet->now_ns, patience_ns = shards->fleet->give_up_ns;
    for (uint32_t i = 0; i < shards->count; i++) {
        struct wp_shard *shard = &shards->shards[i];
        if (!shard->is_up || (shard->open && now_ns > shard->answered_ns + patience_ns))
            give_up(shards, i, UINT64_MAX);
        else if (shards->questions->waiting && wp_shards_link_to(shards, i) != UINT32_MAX)
            send_to(shards, i);
        else if (shards->questions->waiting && now_ns > patience_ns)
            give_up(shards, i, now_ns - patience_ns);
    }
    sweep(shards);
}

void wp_shard_questions_again(struct wp_shards *shards, uint32_t shard)
{
    struct wp_shard_questions *questions = shards->questions;
    for (uint32_t i = 0; i < questions->count; i++) {
        struct question *row = &questions->rows[i];
        if (row->state != OUT || row->shard != shard)
            continue;
        row->state = WAITS;
        questions->waiting++;
        shards->shards[shard].open--;
    }
}

void wp_shard_questions_take(struct wp_shards *shards, uint32_t shard, Wakepath__Shard__Answers *answers)
{
    struct wp_shard_questions *questions = shards->questions;
    for (size_t i = 0; i < answers->n_answers; i++) {
        Wakepath__Shard__Answer *answer = answers->answers[i];
        struct question *row = find(questions, &questions->by_id, (struct wp_intkey){answer->id, 0});
        if (!row || row->state != OUT || row->shard != shard)
            continue; /* given up, or never asked */
        shards->shards[shard].answered_ns = shards->fleet->now_ns;
        *(*answer->missing ? &shards->counts.refused : &shards->counts.answered) += 1;
        settle(shards, row, ANSWERED);
        row->answer = answer;
        answers->answers[i] = NULL; /* ours now */
    }
}
