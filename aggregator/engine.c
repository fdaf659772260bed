/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine.h"

#include "common/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CREDIT 256u
#define SESSIONS 4096u

struct seat {
    struct wp_host_session *session; /* owned */
    uint32_t peer;
    uint64_t told_seq;          /* acknowledged to the peer */
    bool is_finished;           /* its last commit is done */
};

struct wp_engine {
    struct wp_engine_options options;
    const struct wp_logger *logger;
    struct wp_store *store;
    struct seat *seats;
    uint32_t count, room, ended;
    struct wp_batch batch;      /* decoded in place, kept for its storage */
    uint64_t last_commit_ns;
};

int wp_engine_create(struct wp_engine **out, const struct wp_engine_options *options, const struct wp_logger *logger,
    struct wp_error *err)
{
    if (!wp_id_valid(options->shard))
        return wp_error_set(err, -EINVAL, "'%.100s' is not a shard id: use [A-Za-z0-9._+-], at most 128", options->shard);
    struct wp_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return wp_error_set(err, -ENOMEM, "out of memory");
    engine->options = *options;
    engine->logger = logger;
    int rc = wp_store_open(&engine->store, options->store, true, err);
    if (rc) {
        free(engine);
        return rc;
    }
    *out = engine;
    return 0;
}

void wp_engine_destroy(struct wp_engine *engine)
{
    if (!engine)
        return;
    for (uint32_t i = 0; i < engine->count; i++)
        wp_host_session_destroy(engine->seats[i].session);
    free(engine->seats);
    wp_batch_fini(&engine->batch);
    wp_store_close(engine->store);
    free(engine);
}

static struct seat *seat_of(struct wp_engine *engine, uint32_t peer)
{
    for (uint32_t i = 0; i < engine->count; i++)
        if (engine->seats[i].peer == peer && engine->seats[i].session)
            return &engine->seats[i];
    return NULL;
}

/* A session that an aggregator before this one has finished has nothing more to say. */
static bool is_known_ended(struct wp_engine *engine, const struct wp_hello *hello, const char *release)
{
    struct wp_txn *txn;
    struct wp_resume resume;
    if (wp_txn_begin(&txn, engine->store, release, false, NULL))
        return false;
    bool ended = !wp_txn_get_resume(txn, engine->options.shard, hello->session, &resume, NULL) && resume.ended;
    wp_txn_abort(txn);
    return ended;
}

int wp_engine_hello(struct wp_engine *engine, uint32_t peer, const struct wp_hello *hello, struct wp_welcome *welcome,
    struct wp_error *err)
{
    *welcome = (struct wp_welcome){.wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .credit = CREDIT};
    struct seat *seat = seat_of(engine, peer);
    if (!seat) {
        if (engine->count == SESSIONS)
            return wp_error_set(err, -EACCES, "this aggregator already has %u sessions", SESSIONS);
        if (engine->count == engine->room) {
            uint32_t room = engine->room ? engine->room * 2 : 8;
            struct seat *seats = realloc(engine->seats, room * sizeof(*seats));
            if (!seats)
                return wp_error_set(err, -ENOMEM, "out of memory for a session");
            engine->seats = seats;
            engine->room = room;
        }
        struct wp_host_session *session;
        int rc = wp_host_session_create(&session, hello, engine->options.default_release, &engine->options.session,
            engine->logger, err);
        if (rc)
            return rc;
        if (is_known_ended(engine, hello, session->release)) {
            wp_host_session_destroy(session);
            return wp_error_set(err, -EACCES, "this session has ended and is in the store");
        }
        seat = &engine->seats[engine->count++];
        *seat = (struct seat){.session = session, .peer = peer};
        wp_log(engine->logger, WP_LOG_INFO, "session begins host=%s source=%s release=%s", session->hostname,
            session->source, session->release);
    }
    welcome->resume_seq = seat->session->next_seq;
    return 0;
}

int wp_engine_batch(struct wp_engine *engine, uint32_t peer, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct seat *seat = seat_of(engine, peer);
    if (!seat)
        return wp_error_set(err, -ENOTCONN, "a batch before Hello");
    if (seat->is_finished)
        return 0;
    int rc = wp_batch_decode(&engine->batch, bytes, size, err);
    if (rc)
        return rc;
    if (memcmp(engine->batch.session, seat->session->id, 16))
        return wp_error_set(err, -EINVAL, "a batch of another session");
    rc = wp_host_session_take(seat->session, &engine->batch, err);
    if (rc)
        return rc;
    wp_host_session_resolve(seat->session, false);
    return 0;
}

int wp_engine_bye(struct wp_engine *engine, uint32_t peer, struct wp_error *err)
{
    struct seat *seat = seat_of(engine, peer);
    if (!seat)
        return wp_error_set(err, -ENOTCONN, "Bye before Hello");
    if (seat->session->is_ended)
        return 0;
    wp_host_session_resolve(seat->session, true);
    seat->session->is_ended = true;
    wp_log(engine->logger, WP_LOG_INFO, "session ends host=%s batches=%llu breaks=%llu healed=%llu", seat->session->hostname,
        (unsigned long long)seat->session->last_seq, (unsigned long long)seat->session->timeline.counts.chain_breaks,
        (unsigned long long)(seat->session->timeline.counts.healed_in + seat->session->timeline.counts.healed_out));
    return 0;
}

static bool wants_commit(const struct seat *seat)
{
    const struct wp_host_session *session = seat->session;
    return session && !seat->is_finished && (session->is_ended || session->resolved_ns > session->committed_ns);
}

int wp_engine_commit(struct wp_engine *engine, uint64_t now_ns, uint64_t real_now_s, bool force, struct wp_error *err)
{
    if (!force && now_ns - engine->last_commit_ns < engine->options.commit_interval_ns)
        return 0;
    engine->last_commit_ns = now_ns;
    struct wp_commit_options options = {engine->options.shard, engine->options.timebox_s, real_now_s};
    for (uint32_t i = 0; i < engine->count; i++) {
        struct seat *seat = &engine->seats[i];
        if (!wants_commit(seat))
            continue;
        int rc = wp_commit_session(engine->store, seat->session, &options, err);
        if (rc)
            return rc;
        if (seat->session->is_ended) {
            seat->is_finished = true;
            engine->ended++;
        }
    }
    return 0;
}

void wp_engine_acks(struct wp_engine *engine, void (*ack)(void *context, uint32_t peer, uint64_t seq), void *context)
{
    for (uint32_t i = 0; i < engine->count; i++) {
        struct seat *seat = &engine->seats[i];
        if (!seat->session)
            continue;
        uint64_t seq = seat->is_finished ? seat->session->last_seq : seat->session->acked_seq;
        if (seq > seat->told_seq) {
            ack(context, seat->peer, seq);
            seat->told_seq = seq;
        }
    }
}

uint32_t wp_engine_ended(const struct wp_engine *engine)
{
    return engine->ended;
}
