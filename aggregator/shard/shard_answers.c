/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other shards ask us. A question waits until the facts that its answer rests on are here (as an epoch of the host
 * that is asked about would wait), and until what it leads to on other shards again has been answered; but not for
 * long. Paths that its waits are on are followed here, for the asker's aggregate. What its asker is too busy to read is
 * kept and said again: an answer that is lost would be waited for until patience ends.
 */
#include "aggregator/shard/shard_answers.h"

#include "aggregator/explain/explain_message.h"
#include "aggregator/fleet/fleet_pace.h"
#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_state.h"
#include "aggregator/session/host_session.h"
#include "aggregator/shard/shard_answer.h"
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARKED 16384u      /* questions of all others at once */
#define ANSWERS 64u        /* of one message */
#define TREE_NODES 500000u /* then the tree of names begins anew */

struct parked {
    struct wp_server_caller caller;
    Wakepath__Shard__Questions *holder; /* owned; its one question */
    Wakepath__Shard__Answer *row;       /* owned; has yet to go. NULL: not explained yet */
    uint64_t since_ns;
    bool is_used;
};

struct wp_shard_answers {
    struct wp_fleet *fleet; /* borrowed */
    struct parked *parked;  /* owned, PARKED of them at most */
    uint32_t room;
    uint32_t used, end; /* none is used from `end` on */
    struct wp_pathtree tree;
    struct wp_explainer *explainer; /* owned; NULL: none yet */
    struct wp_shard_answer *answer; /* owned, made when the first question comes */
};

int wp_shard_answers_create(struct wp_shard_answers **out, struct wp_fleet *fleet)
{
    struct wp_shard_answers *answers = calloc(1, sizeof(*answers));
    if (!answers)
        return -ENOMEM;
    answers->fleet = fleet;
    if (wp_pathtree_init(&answers->tree)) {
        wp_shard_answers_destroy(answers);
        return -ENOMEM;
    }
    answers->tree.leaves_lines_out = true; /* an answer has room for so many frames, and does not tell lines */
    *out = answers;
    return 0;
}

static void clear(struct parked *parked)
{
    wakepath__shard__questions__free_unpacked(parked->holder, NULL);
    if (parked->row)
        wakepath__shard__answer__free_unpacked(parked->row, NULL);
}

static void leave(struct wp_shard_answers *answers, struct parked *parked)
{
    clear(parked);
    *parked = (struct parked){.is_used = false};
    answers->used--;
    while (answers->end && !answers->parked[answers->end - 1].is_used)
        answers->end--;
}

void wp_shard_answers_destroy(struct wp_shard_answers *answers)
{
    if (!answers)
        return;
    for (uint32_t i = 0; i < answers->end; i++)
        if (answers->parked[i].is_used)
            clear(&answers->parked[i]);
    wp_explainer_destroy(answers->explainer);
    wp_shard_answer_destroy(answers->answer);
    wp_pathtree_fini(&answers->tree);
    free(answers->parked);
    free(answers);
}

/* --- questions come --- */

/* At once, and it may not arrive: there is no room to keep it. */
static void refuse(struct wp_shards *shards, const struct wp_server_caller *caller, uint64_t id, const char *why)
{
    Wakepath__Shard__Answers m = WAKEPATH__SHARD__ANSWERS__INIT;
    Wakepath__Shard__Answer answer = WAKEPATH__SHARD__ANSWER__INIT, *rows[] = {&answer};
    answer.id = id;
    answer.missing = (char *)(uintptr_t)why;
    m.n_answers = 1;
    m.answers = rows;
    shards->counts.late++;
    wp_buffer_clear(&shards->raw);
    if (!wp_shard_pack(&m.base, &shards->raw))
        shards->options.answer(
            shards->options.context, caller, WP_FRAME_SHARD_ANSWERS, shards->raw.data, shards->raw.size);
}

/* The question moves into a message of its own. */
static Wakepath__Shard__Questions *hold_questions(Wakepath__Shard__Question **question)
{
    Wakepath__Shard__Questions *holder = malloc(sizeof(*holder));
    if (!holder)
        return NULL;
    wakepath__shard__questions__init(holder);
    holder->questions = malloc(sizeof(*holder->questions));
    if (!holder->questions) {
        free(holder);
        return NULL;
    }
    holder->n_questions = 1;
    holder->questions[0] = *question;
    *question = NULL;
    return holder;
}

/* A free place, which holds nothing. PARKED: there is none. */
static uint32_t place(struct wp_shards *shards)
{
    struct wp_shard_answers *answers = shards->answers;
    uint32_t at = answers->used == answers->end ? answers->end : 0;
    while (at < answers->end && answers->parked[at].is_used)
        at++;
    if (at < answers->room || at == PARKED)
        return at;
    uint32_t room = answers->room; /* of both arrays */
    if (WP_ARRAY_FIT(shards->asked_open, room, at + 1) || WP_ARRAY_FIT_ZERO(answers->parked, answers->room, at + 1))
        return PARKED;
    return at;
}

void wp_shard_answers_take(
    struct wp_shards *shards, const struct wp_server_caller *caller, const Wakepath__Shard__Questions *m)
{
    struct wp_shard_answers *answers = shards->answers;
    for (size_t i = 0; i < m->n_questions; i++) {
        uint64_t id = m->questions[i]->id;
        shards->counts.questions++;
        if (!answers->answer)
            answers->answer = wp_shard_answer_create(&answers->tree); /* large, and most shards are never asked */
        uint32_t at = answers->answer ? place(shards) : PARKED;
        Wakepath__Shard__Questions *holder = at < PARKED ? hold_questions(&m->questions[i]) : NULL;
        if (!holder) {
            refuse(shards, caller, id, "its shard is asked too much");
            continue;
        }
        answers->parked[at] =
            (struct parked){.caller = *caller, .holder = holder, .since_ns = shards->fleet->now_ns, .is_used = true};
        shards->asked_open[at] = 0;
        answers->used++;
        answers->end = at >= answers->end ? at + 1 : answers->end;
    }
}

/* --- answering --- */

static uint32_t host_of(const struct wp_shards *shards, const ProtobufCBinaryData *session, bool is_own)
{
    for (uint32_t i = 0; i < shards->fleet->count; i++) {
        const struct wp_fleet_host *host = &shards->fleet->hosts[i];
        const struct wp_stub *stub = wp_shards_stub(shards, i);
        if (!host->timeline || !host->session || (is_own && stub))
            continue;
        if (!memcmp(stub ? stub->session : wp_shards_own_session(shards, i), session->data, 16))
            return i;
    }
    return UINT32_MAX;
}

static bool is_there(struct wp_shards *shards, const Wakepath__Shard__Question *question, uint32_t host)
{
    const struct wp_fleet_host *row = &shards->fleet->hosts[host];
    bool is_silent = shards->fleet->now_ns > row->heard_ns + shards->fleet->give_up_ns;
    if (row->known_ns < question->horizon_ns && !row->is_over && !is_silent)
        return false;
    return wp_fleet_may_resolve(
        shards->fleet, host, question->horizon_ns - question->lateness_ns + 1, question->lateness_ns);
}

/* Its numbers of names and of hosts hold for one explanation: hosts come and go. */
static struct wp_explainer *explainer_of(struct wp_shards *shards, uint32_t host)
{
    struct wp_shard_answers *answers = shards->answers;
    if (answers->explainer && (answers->tree.node_count > TREE_NODES || wp_explainer_is_outdated(answers->explainer))) {
        wp_explainer_destroy(answers->explainer);
        wp_pathtree_fini(&answers->tree);
        answers->explainer = NULL;
        if (wp_pathtree_init(&answers->tree))
            return NULL;
        answers->tree.leaves_lines_out = true;
    }
    if (!answers->explainer)
        answers->explainer = wp_explainer_create(shards->fleet, host, &answers->tree, 0);
    return answers->explainer;
}

static void explain(struct wp_shards *shards, uint32_t index, uint32_t far, uint32_t asker, const struct wp_sink *sink)
{
    struct wp_fleet *fleet = shards->fleet;
    const Wakepath__Shard__Question *q = shards->answers->parked[index].holder->questions[0];
    int number = wp_fleet_find_aggregate(fleet, q->aggregate, q->release);
    fleet->visits_before = fleet->visits;
    wp_explain_asked(shards->answers->explainer,
        &(struct wp_explain_asked){.asker = asker,
            .host = far,
            .socket = q->socket,
            .datagram = q->datagram,
            .from_ns = q->from_ns,
            .to_ns = q->to_ns,
            .arrival_ns = q->arrival_ns,
            .start_ns = q->start_ns,
            .position = q->position,
            .syscall = (uint16_t)q->syscall,
            .has_request = q->has_request,
            .request_end = q->request_end,
            .request_ns = q->request_ns,
            .bound_ns = q->bound_ns,
            .wait_bound_ns = q->wait_bound_ns,
            .depth = q->depth,
            .base_bit = number < 0 ? 0 : (uint64_t)1 << number,
            .owner = WP_SHARDS_ASKED | index,
            .hops = q->hops},
        sink);
}

static void follow(struct wp_shards *shards, const Wakepath__Shard__Question *q)
{
    uint32_t count;
    const struct wp_interval *intervals = wp_shard_answer_paths(shards->answers->answer, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_fleet_host *host = &shards->fleet->hosts[intervals[i].host];
        struct wp_host_session *session = host->is_foreign ? NULL : (struct wp_host_session *)(uintptr_t)host->session;
        if (session && wp_host_session_follow(session, q->aggregate, q->release, &intervals[i]))
            shards->counts.paths_lost++;
    }
}

/* Why there are no pieces. NULL: no memory, and nothing is said. */
static Wakepath__Shard__Answer *reason(struct wp_shards *shards, uint64_t id, const char *why)
{
    Wakepath__Shard__Answer *row = malloc(sizeof(*row));
    char *missing = strdup(why);
    shards->counts.late++;
    if (!row || !missing) {
        free(row);
        free(missing);
        return NULL;
    }
    wakepath__shard__answer__init(row);
    row->id = id;
    row->missing = missing;
    return row;
}

/* True when it is done with: its row is what to say, if there was memory for it. */
static bool answer(struct wp_shards *shards, uint32_t index)
{
    struct wp_shard_answers *answers = shards->answers;
    struct parked *parked = &answers->parked[index];
    const Wakepath__Shard__Question *q = parked->holder->questions[0];
    uint32_t far = host_of(shards, &q->session, true), asker = host_of(shards, &q->asker, false);
    bool is_late = shards->fleet->now_ns > parked->since_ns + shards->fleet->give_up_ns / 2;
    if (shards->asked_open[index] && !is_late)
        return false;
    if (far == UINT32_MAX || (asker == UINT32_MAX && is_late)) {
        parked->row = reason(shards, q->id, "its shard does not know the host");
        return true;
    }
    if (asker == UINT32_MAX || asker == far)
        return false; /* its shard tells us of it soon */
    if (!is_there(shards, q, far)) {
        if (is_late)
            parked->row = reason(shards, q->id, "not told in time");
        return is_late;
    }
    if (!explainer_of(shards, far))
        return false;
    wp_shard_answer_begin(answers->answer, shards->fleet, q->depth);
    struct wp_sink sink = wp_shard_answer_sink(answers->answer);
    sink.asks = !is_late;
    explain(shards, index, far, asker, &sink);
    if (shards->asked_open[index] && !is_late)
        return false;
    parked->row = wp_shard_answer_end(answers->answer, q);
    if (parked->row)
        follow(shards, q);
    else
        parked->row = reason(shards, q->id, "its shard has no memory left");
    return true;
}

struct outgoing {
    struct wp_server_caller caller;
    Wakepath__Shard__Answers m;
    Wakepath__Shard__Answer *rows[ANSWERS]; /* borrowed from their questions */
    uint32_t places[ANSWERS];
    size_t bytes;
    struct wp_server_caller
        stuck[WP_SHARDS]; /* does not read what it asked for: no more of it is explained until it does */
    uint32_t stuck_count;
};

static bool is_stuck(const struct outgoing *out, const struct wp_server_caller *caller)
{
    for (uint32_t i = 0; i < out->stuck_count; i++)
        if (!memcmp(&out->stuck[i], caller, sizeof(*caller)))
            return true;
    return false;
}

static void flush(struct wp_shards *shards, struct outgoing *out)
{
    int rc = 0;
    wp_buffer_clear(&shards->raw);
    if (out->m.n_answers && !wp_shard_pack(&out->m.base, &shards->raw))
        rc = shards->options.answer(
            shards->options.context, &out->caller, WP_FRAME_SHARD_ANSWERS, shards->raw.data, shards->raw.size);
    if (rc == -EAGAIN && out->stuck_count < WP_SHARDS)
        out->stuck[out->stuck_count++] = out->caller;
    for (size_t i = 0; rc != -EAGAIN && i < out->m.n_answers; i++) /* said, or its asker is gone */
        leave(shards->answers, &shards->answers->parked[out->places[i]]);
    out->m.n_answers = out->bytes = 0;
}

static void add(struct wp_shards *shards, struct outgoing *out, uint32_t index)
{
    struct parked *parked = &shards->answers->parked[index];
    size_t bytes = wakepath__shard__answer__get_packed_size(parked->row) + 16;
    if (out->m.n_answers == ANSWERS || out->bytes + bytes > WP_SHARD_MESSAGE_BYTES)
        flush(shards, out);
    out->places[out->m.n_answers] = index;
    out->rows[out->m.n_answers++] = parked->row;
    out->bytes += bytes;
}

/* Of one that is stuck: by now it has given up on it. */
static bool is_stale(const struct wp_shards *shards, const struct parked *parked)
{
    return shards->fleet->now_ns > parked->since_ns + 2 * shards->fleet->give_up_ns;
}

void wp_shard_answers_step(struct wp_shards *shards)
{
    struct wp_shard_answers *answers = shards->answers;
    struct outgoing out = {.m = WAKEPATH__SHARD__ANSWERS__INIT};
    out.m.answers = out.rows;
    for (uint32_t i = 0; i < answers->end; i++) {
        struct parked *parked = &answers->parked[i];
        if (!parked->is_used)
            continue;
        if (memcmp(&out.caller, &parked->caller, sizeof(out.caller)))
            flush(shards, &out);
        out.caller = parked->caller;
        bool has_room = !is_stuck(&out, &parked->caller);
        bool is_done = has_room && (parked->row || answer(shards, i));
        if (is_done && parked->row)
            add(shards, &out, i);
        else if (is_done || (!has_room && is_stale(shards, parked)))
            leave(answers, parked);
    }
    flush(shards, &out);
}
