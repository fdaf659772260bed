/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ENGINE_ENGINE_H
#define WP_AGGREGATOR_ENGINE_ENGINE_H
/*
 * The engine of an aggregator: its sessions and its store. It gets Hello, batches, Bye and the time from whoever
 * receives them (ingest.h, a test), and says what may be acknowledged.
 */
#include "aggregator/commit/commit.h"
#include "common/clock.h"

/* Copied by wp_engine_create(); what it points to is borrowed for as long as the engine lives. */
struct wp_engine_options {
    const char *store; /* root */
    const char *default_release, *shard;
    bool is_any_shard; /* where that shard has a writer, another one (wp_store_open_free_shard) */
    struct wp_host_session_options session;
    uint64_t timebox_s, commit_interval_ns;
    uint64_t late_after_s; /* what comes so long behind the end of its timebox is counted as late */
    const char *resume;    /* folder of checkpoints; NULL: a session that outlives the aggregator begins anew */
    uint32_t part; /* slices that are looked at before what peers say is heard again (wp_engine_explain); 0: an epoch is
                    * explained at once, as it always is where sessions are replayed in step */
    uint32_t expected_hosts; /* nothing is resolved before so many sessions have begun; for replays, which are taken in
                                step */
    uint64_t memory, host_memory; /* bytes that all sessions, those of a host may hold (held.h); 0: no bound */
    uint32_t host_parts;          /* so many hosts have reports of their own */
    uint64_t give_up_ns;          /* a host not heard for so long is not waited for */
    const struct wp_metadata_entry *labels; /* of the releases that are written; borrowed */
    uint32_t label_count;
    uint64_t labels_s;   /* realtime when they were said */
    bool is_unsynced;    /* the store: wp_store_set_unsynced */
    bool waits_for_time; /* nothing is written before an aggregate has time, and nothing ever where none has */
};

#define WP_ENGINE_DEFAULTS                                                                                             \
    ((struct wp_engine_options){.default_release = "unversioned",                                                      \
        .shard = "local",                                                                                              \
        .session = {.epoch_ns = WP_NS_PER_S,                                                                           \
            .lateness_ns = 2 * WP_NS_PER_S,                                                                            \
            .history_ns = 10 * WP_NS_PER_S,                                                                            \
            .lookback_bytes = 1ull << 30,                                                                              \
            .checkpoint_ns = 5 * WP_NS_PER_S},                                                                         \
        .timebox_s = 3600,                                                                                             \
        .late_after_s = 3600,                                                                                          \
        .commit_interval_ns = WP_NS_PER_S,                                                                             \
        .host_parts = WP_HOST_PARTS,                                                                                   \
        .give_up_ns = 5 * WP_NS_PER_S})

struct wp_engine;

/* Opens the store, and checkpoints if `resume` is set. `logger` is borrowed. -EINVAL: the shard's name is not an id;
 * -ENOMEM; an -errno of the store or folder. err says why, *engine is left alone. Not thread safe. */
int wp_engine_create(struct wp_engine **engine, const struct wp_engine_options *options, const struct wp_logger *logger,
    struct wp_error *err);
/* Frees all sessions and closes the store. Commits nothing: wp_engine_commit() with `force` comes first. NULL is
 * allowed; shards (shards.h) of its fleet go before it. */
void wp_engine_destroy(struct wp_engine *engine);
/* A peer says Hello (again): *welcome is what to answer. -EACCES: refuse it, with the reason in err. */
int wp_engine_hello(struct wp_engine *engine, uint32_t peer, const struct wp_hello *hello, struct wp_welcome *welcome,
    struct wp_error *err);
/* Raw protobuf bytes of a batch. A bad batch is refused with a reason; the session's other data stays. */
int wp_engine_batch(struct wp_engine *engine, uint32_t peer, const uint8_t *bytes, size_t size, struct wp_error *err);
/* Its session goes on in another one, which is told before its Bye: that one's end is the end of both. */
void wp_engine_goes_on(struct wp_engine *engine, uint32_t peer);
/* Takes in one of the batches that waited for their turn (replay_queue.h): 1; 0: none has its turn. -errno: a bad one,
 * *peer's. */
int wp_engine_next(struct wp_engine *engine, uint32_t *peer, struct wp_error *err);
/* The peer has sent all it had, up to that batch. Everything of it is resolved and committed. -ESTALE: not all of it
 * has come. */
int wp_engine_bye(struct wp_engine *engine, uint32_t peer, uint64_t last_seq, struct wp_error *err);
/* Told now and then, at least a few times a second: the aggregator's clock. Resolves what hosts waited for each other
 * with. */
void wp_engine_step(struct wp_engine *engine, uint64_t now_ns);
/* Calls `probe` for each live session whose host's clock should be asked now. */
void wp_engine_probes(
    struct wp_engine *engine, uint64_t now_ns, void (*probe)(void *context, uint32_t peer), void *context);
/* A probe of the clock of that peer's host came back: the aggregator's clock at sending and receiving, the host's at
 * receiving and answering. */
void wp_engine_probed(struct wp_engine *engine, uint32_t peer, const uint64_t times_ns[4]);
/* With a `part`, called again and again between messages: explains so much more. True: there is more to explain, and
 * what peers say may be heard meanwhile; nothing is committed before it is done. */
bool wp_engine_explain(struct wp_engine *engine);
/* Explains what has begun to its end. */
void wp_engine_finish(struct wp_engine *engine);
/* Commits what has been resolved, when the interval has passed (or `force`: then what has begun is finished first).
 * -errno: nothing of it is durable. */
int wp_engine_commit(struct wp_engine *engine, uint64_t now_ns, uint64_t real_now_s, bool force, struct wp_error *err);
/* Calls `ack` for each session with batches that have become durable (need not come again) or were taken in (are no
 * more on the way, for the peer's credit). */
void wp_engine_acks(
    struct wp_engine *engine, void (*ack)(void *context, uint32_t peer, uint64_t seq, uint64_t taken), void *context);

/* --- for those who watch it (aggregator_vitals.h) --- */

/* As things stand; sessions, commits, shed ones and late reports since the engine was created. */
struct wp_engine_counts {
    uint32_t live, ended;       /* sessions */
    uint64_t commits;           /* of a session each */
    uint64_t held_bytes, shed;  /* memory of all sessions; sessions that were ended for it */
    struct wp_late_counts late; /* came behind the end of its timebox by more than late_after_s */
};
/* Fills all of *counts; held_bytes is of the last look (held.h). */
void wp_engine_count(const struct wp_engine *engine, struct wp_engine_counts *counts);
/* Sessions that said Bye. */
static inline uint32_t wp_engine_ended(const struct wp_engine *engine)
{
    struct wp_engine_counts counts;
    wp_engine_count(engine, &counts);
    return counts.ended;
}
/* The engine's own, which goes with it. */
struct wp_fleet *wp_engine_fleet(const struct wp_engine *engine);
/* What all sessions go by. Other rules are taken up by those that live with wp_membership_anew. */
struct wp_host_session_options *wp_engine_session_options(struct wp_engine *engine);
/* Slots are numbered from 0; NULL: that one's session is finished. Valid until the engine is told something. */
uint32_t wp_engine_slots(const struct wp_engine *engine);
/* `slot` is below wp_engine_slots(). The session is the engine's. */
struct wp_host_session *wp_engine_session(const struct wp_engine *engine, uint32_t slot);

#endif
