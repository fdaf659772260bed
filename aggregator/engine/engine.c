/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/engine.h"

#include "aggregator/engine/checkpoint.h"
#include "aggregator/engine/held.h"
#include "aggregator/engine/peer_slots.h"
#include "aggregator/fleet/fleet_pace.h"
#include "aggregator/shard/shards.h"
#include "common/clock.h"
#include "common/path.h"
#include "proto/batch_decode.h"
#include "storage/env/txn.h"
#include "storage/kind/state_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CREDIT 256u
#define SESSIONS 4096u    /* live ones */
#define HOST_SESSIONS 64u /* live ones of one host; a collector that never says Bye leaves one behind at each start */

struct wp_engine {
    struct wp_engine_options options;
    const struct wp_logger *logger;
    struct wp_store *store;
    struct wp_fleet *fleet;
    struct wp_checkpoints *checkpoints; /* NULL: none are made */
    struct wp_log_limit unkept;
    struct wp_peer_slots slots;
    struct wp_held held;
    uint32_t ended;
    bool is_due;           /* a commit, when what is being explained is done */
    bool has_acks;         /* since the last ones there was a commit, or a Hello again */
    struct wp_batch batch; /* decoded in place, kept for its storage */
    uint64_t last_commit_ns, messages, commits;
    struct wp_late_counts late;
    uint64_t round_ns; /* how far those that are replayed together have come, in rounds */
    struct wp_host_parts host_parts;
    uint64_t turn_ns; /* when one of those had its turn last, 0 never */
};

/* What the store says of a session: false, nothing. */
static bool read_resume(
    const struct wp_engine *engine, const uint8_t session[16], const char *release, struct wp_resume *resume)
{
    struct wp_txn *txn;
    if (wp_txn_begin(&txn, engine->store, release, false, NULL))
        return false;
    bool is_there = !wp_txn_get_resume(txn, engine->options.shard, session, resume, NULL);
    wp_txn_abort(txn);
    return is_there;
}

static bool is_stored(void *context, const uint8_t session[16], const char *release, uint64_t *seq, uint64_t *until_ns)
{
    struct wp_resume resume;
    if (!read_resume(context, session, release, &resume))
        return false;
    *seq = resume.seq;
    *until_ns = resume.until_mono_ns;
    return true;
}

static bool has_ended(void *context, const uint8_t session[16], const char *release)
{
    struct wp_resume resume;
    return read_resume(context, session, release, &resume) && resume.ended;
}

int wp_engine_create(struct wp_engine **out, const struct wp_engine_options *options, const struct wp_logger *logger,
    struct wp_error *err)
{
    if (!wp_id_valid(options->shard))
        return wp_error_set(
            err, -EINVAL, "'%.100s' is not a shard id: use [A-Za-z0-9._+-], at most 128", options->shard);
    struct wp_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return wp_error_set(err, -ENOMEM, "out of memory");
    engine->options = *options;
    engine->logger = logger;
    int rc = wp_fleet_create(&engine->fleet);
    if (rc)
        wp_error_set(err, rc, "out of memory");
    else
        rc = (options->is_any_shard ? wp_store_open_free_shard : wp_store_open_shard)(
            &engine->store, options->store, options->shard, err);
    if (rc) {
        wp_fleet_destroy(engine->fleet);
        free(engine);
        return rc;
    }
    engine->options.shard = wp_store_shard(engine->store);
    if (options->is_unsynced)
        wp_store_set_unsynced(engine->store);
    if (options->resume &&
        (rc = wp_checkpoints_open(&engine->checkpoints, options->resume, options->shard, logger, err))) {
        wp_engine_destroy(engine);
        return rc;
    }
    if (engine->checkpoints)
        wp_checkpoints_sweep(engine->checkpoints, has_ended, engine);
    engine->options.session.fleet = engine->fleet;
    engine->options.session.timebox_s = options->timebox_s;
    engine->options.session.is_resumable = options->resume;
    engine->options.session.stored = is_stored;
    engine->options.session.stored_context = engine;
    engine->fleet->expected = options->expected_hosts;
    if (options->expected_hosts >
        1) /* how far they have come when an epoch is explained must not depend on what that takes */
        engine->options.part = 0;
    engine->fleet->pause_at = engine->options.part;
    engine->host_parts.limit = options->host_parts;
    engine->held.limit = options->memory;
    engine->held.host_limit = options->host_memory;
    engine->fleet->give_up_ns = options->give_up_ns;
    *out = engine;
    return 0;
}

void wp_engine_destroy(struct wp_engine *engine)
{
    if (!engine)
        return;
    for (uint32_t i = 0; i < engine->slots.count; i++) {
        wp_host_session_destroy(engine->slots.all[i].session);
        wp_replay_queue_clear(&engine->slots.all[i].queue);
    }
    wp_fleet_destroy(engine->fleet);
    wp_host_parts_fini(&engine->host_parts);
    wp_checkpoints_close(engine->checkpoints);
    wp_peer_slots_fini(&engine->slots);
    wp_batch_fini(&engine->batch);
    wp_store_close(engine->store);
    free(engine);
}

/* --- slots --- */

/* A session that has ended, here or under an aggregator before this one: *last_seq is its last batch. */
static bool is_known_ended(
    const struct wp_engine *engine, const struct wp_hello *hello, const char *release, uint64_t *last_seq)
{
    struct wp_resume resume;
    bool ended = read_resume(engine, hello->session, release, &resume) && resume.ended;
    *last_seq = ended ? resume.seq : 0;
    return ended;
}

static void end_session(struct wp_engine *engine, struct wp_host_session *session)
{
    wp_host_session_close(session);
    const struct wp_timeline_counts *counts = &wp_host_session_timeline(session)->counts;
    wp_log(engine->logger, WP_LOG_INFO, "session ends host=%s batches=%llu breaks=%llu repairs=%llu",
        wp_host_session_source(session)->hostname, (unsigned long long)wp_host_session_progress(session)->last_seq,
        (unsigned long long)counts->chain_breaks, (unsigned long long)(counts->repaired_in + counts->repaired_out));
}

/* A host has its share of the slots: when it takes more, the one of its sessions that was silent longest is ended for
 * it. */
static void make_place(struct wp_engine *engine, const uint8_t host[16])
{
    struct wp_host_session *oldest;
    if (wp_peer_slots_of_host(&engine->slots, host, &oldest) < HOST_SESSIONS)
        return;
    wp_log(engine->logger, WP_LOG_WARN,
        "a host has more than %u sessions, ended the one that was silent longest host=%s", HOST_SESSIONS,
        wp_host_session_source(oldest)->hostname);
    end_session(engine, oldest);
}

/* The session, where a checkpoint left it if there is one: what is in the store is not counted again. */
static int make_session(
    struct wp_engine *engine, const struct wp_hello *hello, struct wp_host_session **session, struct wp_error *err)
{
    struct wp_error why = {0};
    int rc = wp_host_session_create(
        session, hello, engine->options.default_release, &engine->options.session, engine->logger, err);
    if (rc || !engine->checkpoints)
        return rc;
    rc = wp_checkpoints_read(engine->checkpoints, *session, &why);
    const struct wp_session_progress *progress = wp_host_session_progress(*session);
    if (!rc)
        wp_log(engine->logger, WP_LOG_INFO, "session goes on host=%s after_batch=%llu",
            wp_host_session_source(*session)->hostname, (unsigned long long)progress->last_seq);
    if (!rc || (rc == -ENOENT && !progress->skip_seq))
        return 0;
    if (rc != -ENOENT)
        wp_log(engine->logger, WP_LOG_WARN, "cannot use a checkpoint, asking for its session from the first batch: %s",
            why.text);
    wp_host_session_destroy(*session);
    wp_checkpoints_remove(engine->checkpoints, hello->session);
    return wp_host_session_create(
        session, hello, engine->options.default_release, &engine->options.session, engine->logger, err);
}

static int assign_slot(struct wp_engine *engine, uint32_t peer, const struct wp_hello *hello, struct wp_peer_slot **out,
    struct wp_error *err)
{
    struct wp_host_session *session;
    uint64_t last_seq;
    int rc = wp_peer_slots_move(&engine->slots, peer, hello, out, err);
    if (rc || *out)
        return rc;
    if (engine->slots.live == SESSIONS)
        return wp_error_set(err, -EACCES, "this aggregator already has %u sessions", SESSIONS);
    make_place(engine, hello->host);
    rc = wp_held_admit(&engine->held, &engine->slots, hello->host, err);
    if (!rc)
        rc = wp_peer_slots_refuse_clone(&engine->slots, engine->fleet, hello, err);
    if (rc)
        return rc;
    rc = make_session(engine, hello, &session, err);
    if (rc)
        return rc;
    struct wp_peer_slot *slot = wp_peer_slots_add(&engine->slots, peer, err);
    if (!slot) {
        wp_host_session_destroy(session);
        return -ENOMEM;
    }
    const struct wp_session_source *source = wp_host_session_source(session);
    memcpy(slot->id, hello->session, 16);
    if (is_known_ended(engine, hello, source->release, &last_seq)) {
        slot->last_seq = last_seq;
        wp_host_session_destroy(session);
    } else {
        slot->session = session;
        engine->slots.live++;
        wp_log(engine->logger, WP_LOG_INFO, "session begins host=%s source=%s release=%s", source->hostname,
            source->hello.source, source->release);
    }
    *out = slot;
    return 0;
}

/* --- what sessions hold --- */

/* Whoever holds too much is ended: what was taken in stays, and what its peer still has belongs to another session. */
static void shed(struct wp_engine *engine, struct wp_peer_slot *slot, uint64_t limit)
{
    struct wp_host_session *session = slot->session;
    wp_log(engine->logger, WP_LOG_WARN,
        "ended a session that holds more memory than --host-memory or --memory allows host=%s bytes=%llu limit=%llu",
        wp_host_session_source(session)->hostname, (unsigned long long)slot->held_bytes, (unsigned long long)limit);
    wp_held_shed(&engine->held, slot);
    end_session(engine, session);
}

static void bound_memory(struct wp_engine *engine, size_t taken)
{
    uint64_t limit;
    if (!wp_held_is_due(&engine->held, taken, engine->fleet->now_ns))
        return;
    wp_held_look(&engine->held, &engine->slots, engine->fleet->now_ns);
    for (struct wp_peer_slot *slot; (slot = wp_held_excess(&engine->held, &engine->slots, &limit));)
        shed(engine, slot, limit);
}

/* --- what a peer says --- */

int wp_engine_hello(struct wp_engine *engine, uint32_t peer, const struct wp_hello *hello, struct wp_welcome *welcome,
    struct wp_error *err)
{
    *welcome = (struct wp_welcome){.wire_major = WP_WIRE_MAJOR, .wire_minor = WP_WIRE_MINOR, .credit = CREDIT};
    struct wp_peer_slot *slot = wp_peer_slots_find(&engine->slots, peer);
    int rc = slot ? 0 : assign_slot(engine, peer, hello, &slot, err);
    if (rc)
        return rc;
    slot->heard = ++engine->messages;
    wp_replay_queue_clear(&slot->queue);   /* it is sent again */
    slot->told_seq = slot->told_taken = 0; /* what was said to it before may be lost */
    engine->has_acks = true;
    welcome->resume_seq = slot->session ? wp_host_session_progress(slot->session)->next_seq : slot->last_seq + 1;
    return 0;
}

static int take_batch(
    struct wp_engine *engine, struct wp_peer_slot *slot, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    int rc = wp_batch_decode(&engine->batch, bytes, size, err);
    if (rc)
        return rc;
    if (memcmp(engine->batch.session, slot->id, 16))
        return wp_error_set(err, -EINVAL, "a batch of another session");
    rc = wp_host_session_take(slot->session, &engine->batch, err);
    if (rc)
        return rc;
    wp_host_session_resolve(slot->session);
    bound_memory(engine, size);
    return 0;
}

/* Of a session that is over: what was taken in may come again, and what comes behind it nobody would account for. */
static int take_over(
    struct wp_engine *engine, const struct wp_peer_slot *slot, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    int rc = wp_batch_decode(&engine->batch, bytes, size, err);
    return rc || engine->batch.seq <= slot->last_seq
        ? rc
        : wp_error_set(err, -E2BIG, "the session is over: " WP_REFUSED_TOO_LARGE);
}

/* Of a slot with a session. */
static struct wp_fleet_host *host_of(const struct wp_engine *engine, const struct wp_peer_slot *slot)
{
    return &engine->fleet->hosts[wp_host_session_source(slot->session)->home];
}

/* True when what it says has to wait for its turn. */
static bool is_replay_queued(const struct wp_engine *engine, const struct wp_peer_slot *slot)
{
    return engine->options.expected_hosts > 1 && slot->session &&
        !wp_host_session_progress(slot->session)->is_closing && (!slot->is_live || slot->queue.count);
}

int wp_engine_batch(struct wp_engine *engine, uint32_t peer, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_peer_slot *slot = wp_peer_slots_find(&engine->slots, peer);
    if (!slot)
        return wp_error_set(err, -ENOTCONN, "a batch before Hello");
    slot->heard = ++engine->messages;
    if (slot->is_shed)
        return wp_error_set(err, -E2BIG, "the session held more memory than its host's share: " WP_REFUSED_TOO_LARGE);
    if (!slot->session)
        return take_over(engine, slot, bytes, size, err);
    if (!is_replay_queued(engine, slot))
        return take_batch(engine, slot, bytes, size, err);
    host_of(engine, slot)->heard_ns = engine->fleet->now_ns;
    int rc = wp_replay_queue_put(&slot->queue, bytes, size);
    if (!rc)
        bound_memory(engine, size);
    return rc
        ? wp_error_set(err, rc, rc == -ENOMEM ? "out of memory for a batch" : "more batches than it has credit for")
        : 0;
}

static void resolve_blocked(struct wp_engine *engine)
{
    for (uint32_t i = 0; i < engine->slots.count; i++) {
        struct wp_host_session *session = engine->slots.all[i].session;
        if (session && wp_host_session_progress(session)->is_blocked)
            wp_host_session_resolve(session);
    }
}

/* Of the epoch that has begun, up to where the fleet pauses; then those that waited for it. */
static void explain_more(struct wp_engine *engine)
{
    uint32_t walking = engine->fleet->walking;
    if (!walking)
        return;
    wp_host_session_resolve((struct wp_host_session *)(uintptr_t)engine->fleet->hosts[walking - 1].session);
    if (!engine->fleet->walking)
        resolve_blocked(engine);
}

bool wp_engine_explain(struct wp_engine *engine)
{
    if (engine->options.part)
        engine->fleet->pause_at = engine->fleet->visits + engine->options.part;
    explain_more(engine);
    return engine->fleet->walking;
}

void wp_engine_finish(struct wp_engine *engine)
{
    uint64_t pause_at = engine->fleet->pause_at;
    engine->fleet->pause_at = 0;
    explain_more(engine);
    engine->fleet->pause_at = pause_at;
}

/* Whose turn it is: the one least far of those that are replayed. One that is silent for long is not waited for. */
static struct wp_peer_slot *next_slot(struct wp_engine *engine, uint64_t *age_ns)
{
    struct wp_peer_slot *next = NULL;
    for (uint32_t i = 0; i < engine->slots.count; i++) {
        struct wp_peer_slot *slot = &engine->slots.all[i];
        if (!is_replay_queued(engine, slot))
            continue;
        if (slot->is_live) { /* what it said before that was known */
            *age_ns = 0;
            return slot;
        }
        const struct wp_fleet_host *host = host_of(engine, slot);
        bool is_silent = !slot->queue.is_leaving && engine->fleet->now_ns > host->heard_ns + engine->fleet->give_up_ns;
        uint64_t slot_ns = wp_host_session_age(slot->session);
        bool is_first = !next || slot_ns < *age_ns || (slot_ns == *age_ns && memcmp(slot->id, next->id, 16) < 0);
        if (!is_first || (is_silent && !slot->queue.count))
            continue;
        next = slot;
        *age_ns = slot_ns;
    }
    bool has_turn = next && (next->queue.count || next->queue.is_leaving);
    if (has_turn && engine->fleet->shards &&
        !wp_shards_may_go(engine->fleet->shards, *age_ns, engine->options.session.epoch_ns))
        return NULL;
    return has_turn && (next->is_live || engine->fleet->joined >= engine->fleet->expected) ? next : NULL;
}

static int finish_bye(
    struct wp_engine *engine, struct wp_host_session *session, uint64_t last_seq, struct wp_error *err)
{
    int rc = wp_host_session_has_all(session, last_seq, err);
    if (!rc)
        end_session(engine, session);
    engine->is_due |= !rc; /* its collector waits for the commit */
    return rc;
}

int wp_engine_next(struct wp_engine *engine, uint32_t *peer, struct wp_error *err)
{
    uint64_t age_ns = 0;
    struct wp_peer_slot *slot = next_slot(engine, &age_ns);
    if (!slot)
        return 0;
    engine->turn_ns = engine->fleet->now_ns;
    if (age_ns / engine->options.session.epoch_ns != engine->round_ns) { /* all of them have reported an epoch more */
        engine->round_ns = age_ns / engine->options.session.epoch_ns;
        resolve_blocked(engine);
    }
    struct wp_replay_batch *batch = wp_replay_queue_take(&slot->queue);
    if (!batch) {
        slot->queue.is_leaving = false;
        *peer = slot->peer;
        int left_rc = finish_bye(engine, slot->session, slot->queue.last_seq, err);
        return left_rc ? left_rc : 1;
    }
    int rc = take_batch(engine, slot, batch->bytes, batch->size, err);
    free(batch);
    if (!rc)
        return 1;
    *peer = slot->peer;
    wp_replay_queue_clear(&slot->queue);
    return rc;
}

void wp_engine_step(struct wp_engine *engine, uint64_t now_ns)
{
    bool is_in_turn = false; /* what comes out must not depend on when a step falls */
    engine->fleet->now_ns = now_ns;
    for (uint32_t i = 0; i < engine->slots.count && !is_in_turn; i++)
        is_in_turn = is_replay_queued(engine, &engine->slots.all[i]);
    if (!is_in_turn || engine->fleet->shards || now_ns > engine->turn_ns + engine->fleet->give_up_ns)
        resolve_blocked(engine);
}

void wp_engine_probes(
    struct wp_engine *engine, uint64_t now_ns, void (*probe)(void *context, uint32_t peer), void *context)
{
    for (uint32_t i = 0; i < engine->slots.count; i++)
        if (wp_peer_slot_is_due(&engine->slots.all[i], now_ns))
            probe(context, engine->slots.all[i].peer);
}

void wp_engine_probed(struct wp_engine *engine, uint32_t peer, const uint64_t times_ns[4])
{
    struct wp_peer_slot *slot = wp_peer_slots_find(&engine->slots, peer);
    if (!slot || !slot->session)
        return;
    struct wp_fleet_host *host = host_of(engine, slot);
    slot->is_live = true;
    memcpy(host->probed_ns, times_ns, 4 * sizeof(*times_ns));
    wp_clocks_message(engine->fleet->clocks, engine->fleet->reference, times_ns[0], host->clock, times_ns[1]);
    wp_clocks_message(engine->fleet->clocks, host->clock, times_ns[2], engine->fleet->reference, times_ns[3]);
}

void wp_engine_goes_on(struct wp_engine *engine, uint32_t peer)
{
    struct wp_peer_slot *slot = wp_peer_slots_find(&engine->slots, peer);
    if (slot && slot->session)
        wp_host_session_set_goes_on(slot->session);
}

int wp_engine_bye(struct wp_engine *engine, uint32_t peer, uint64_t last_seq, struct wp_error *err)
{
    struct wp_peer_slot *slot = wp_peer_slots_find(&engine->slots, peer);
    if (!slot)
        return wp_error_set(err, -ENOTCONN, "Bye before Hello");
    if (!slot->session && !slot->is_committed) { /* the store had all of it: it ends here all the same, once */
        engine->ended += !wp_peer_slots_has_ended(&engine->slots, slot->id);
        slot->is_committed = true;
    }
    if (!slot->session || wp_host_session_progress(slot->session)->is_closing)
        return 0;
    if (!is_replay_queued(engine, slot))
        return finish_bye(engine, slot->session, last_seq, err);
    slot->queue.is_leaving = true;
    slot->queue.last_seq = last_seq;
    return 0;
}

/* --- what is durable --- */

/* What cannot be kept is not acknowledged: the collector keeps it. */
static void keep_session(struct wp_engine *engine, struct wp_host_session *session, uint64_t now_ns)
{
    struct wp_error why = {0};
    if (!engine->checkpoints || !session || wp_host_session_progress(session)->is_ended)
        return;
    if (wp_checkpoints_write(engine->checkpoints, session, &why) &&
        wp_log_allowed(engine->logger, &engine->unkept, now_ns, 10 * WP_NS_PER_S))
        wp_log(engine->logger, WP_LOG_WARN, "cannot write a checkpoint, the collector keeps its batches: %s", why.text);
}

static void finish(struct wp_engine *engine, struct wp_peer_slot *slot)
{
    slot->last_seq = wp_host_session_progress(slot->session)->last_seq;
    if (engine->checkpoints)
        wp_checkpoints_remove(engine->checkpoints, slot->id);
    wp_host_session_destroy(slot->session);
    wp_replay_queue_clear(&slot->queue);
    slot->session = NULL;
    engine->slots.live--;
}

static int commit_all(struct wp_engine *engine, const struct wp_commit_options *options, struct wp_error *err)
{
    struct wp_host_session **sessions = calloc(engine->slots.live + 1, sizeof(*sessions));
    size_t count = 0;
    if (!sessions)
        return wp_error_set(err, -ENOMEM, "out of memory for a commit");
    for (uint32_t i = 0; i < engine->slots.count; i++)
        if (wp_peer_slot_wants_commit(&engine->slots.all[i]))
            sessions[count++] = engine->slots.all[i].session;
    int rc = count ? wp_commit_sessions(engine->store, sessions, count, options, err) : 0;
    engine->commits += rc ? 0 : count;
    free(sessions);
    return rc;
}

int wp_engine_commit(struct wp_engine *engine, uint64_t now_ns, uint64_t real_now_s, bool force, struct wp_error *err)
{
    bool is_due = engine->is_due && !engine->fleet->walking;
    if (!force && !is_due && now_ns - engine->last_commit_ns < engine->options.commit_interval_ns)
        return 0;
    engine->last_commit_ns = now_ns;
    engine->has_acks = true;
    if (force)
        wp_engine_finish(engine);
    engine->is_due = engine->fleet->walking; /* what was taken in can be said; half an epoch is not for the store */
    if (engine->is_due)
        return 0;
    struct wp_commit_options options = {engine->options.shard, engine->options.timebox_s, real_now_s,
        engine->options.late_after_s, &engine->late, &engine->host_parts, engine->options.labels,
        engine->options.label_count, engine->options.labels_s, &engine->options.waits_for_time};
    int rc = commit_all(engine, &options, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < engine->slots.count; i++) {
        struct wp_peer_slot *slot = &engine->slots.all[i];
        keep_session(engine, slot->session, now_ns);
        engine->ended += wp_peer_slot_is_over(slot);
    }
    for (uint32_t i = 0; i < engine->slots.count; i++) { /* when all have said what they read from it */
        struct wp_peer_slot *slot = &engine->slots.all[i];
        if (slot->is_committed && slot->session &&
            wp_fleet_may_leave(engine->fleet, wp_host_session_source(slot->session)->home))
            finish(engine, slot);
    }
    return 0;
}

void wp_engine_acks(
    struct wp_engine *engine, void (*ack)(void *context, uint32_t peer, uint64_t seq, uint64_t taken), void *context)
{
    for (uint32_t i = 0; engine->has_acks && i < engine->slots.count; i++) {
        struct wp_peer_slot *slot = &engine->slots.all[i];
        if (wp_peer_slot_has_ack(slot))
            ack(context, slot->peer, slot->told_seq, slot->told_taken);
    }
    engine->has_acks = false;
}

void wp_engine_count(const struct wp_engine *engine, struct wp_engine_counts *counts)
{
    *counts = (struct wp_engine_counts){
        engine->slots.live, engine->ended, engine->commits, engine->held.bytes, engine->held.shed, engine->late};
}

struct wp_fleet *wp_engine_fleet(const struct wp_engine *engine)
{
    return engine->fleet;
}

struct wp_host_session_options *wp_engine_session_options(struct wp_engine *engine)
{
    return &engine->options.session;
}

uint32_t wp_engine_slots(const struct wp_engine *engine)
{
    return engine->slots.count;
}

struct wp_host_session *wp_engine_session(const struct wp_engine *engine, uint32_t slot)
{
    return engine->slots.all[slot].session;
}
