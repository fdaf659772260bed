/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/ingest.h"

#include "aggregator/account/system_window.h"
#include "aggregator/daemon/aggregator_vitals.h"
#include "aggregator/daemon/shard_net.h"
#include "aggregator/daemon/symbol_broker.h"
#include "aggregator/daemon/symbol_cache.h"
#include "aggregator/session/membership.h"
#include "common/clock.h"
#include "common/path.h"
#include "common/service.h"
#include "storage/env/store.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct ingest {
    struct wp_engine *engine;
    struct wp_server *server;
    struct wp_aggregator_vitals *vitals; /* NULL: nobody watches */
    struct wp_shard_net *shards;         /* NULL: there are no others */
    struct wp_symbol_broker *names;
    struct wp_symbol_cache *kept; /* NULL: names are not kept */
    const struct wp_logger *logger;
    struct wp_log_limit refusals, full;
    uint64_t stepped_ns, trimmed_ns;
    uint32_t live;      /* sessions at the last commit */
    uint32_t heard;     /* messages since a part was explained, ... */
    size_t heard_bytes; /* ... and what was in them */
    bool is_explaining;
    bool waits_for_room; /* the store's disk was full at the last commit */
    uint64_t written;    /* commits before that */
};

#define WAIT_MS 50
#define SHARDS_WAIT_MS 5 /* others wait for our answers, and have sockets of their own */
#define STEP_NS 20000000u
#define SHARDS_STEP_NS 5000000u
#define PART 20000u        /* slices that are looked at before the socket is: some milliseconds */
#define HEARD 16u          /* messages between two such parts, while there are some, ... */
#define HEARD_BYTES 65536u /* ... until they have so much: else more comes in than is explained, and has to be held */
#define TRIM_NS (10 * WP_NS_PER_S)
#define TURNS 256u /* of batches that waited, before the socket is looked at again */

static void acknowledge(void *context, uint32_t peer, uint64_t seq, uint64_t taken)
{
    struct ingest *ingest = context;
    wp_server_acknowledge(ingest->server, peer, seq, taken);
}

/* A message that cannot be taken is told to its peer and counted; it never stops the others. */
static void refuse(struct ingest *ingest, uint32_t peer, int code, const struct wp_error *err)
{
    if (wp_log_allowed(ingest->logger, &ingest->refusals, wp_clock_of_ns(CLOCK_MONOTONIC), WP_NS_PER_S))
        wp_log(ingest->logger, WP_LOG_WARN, "refused peer=%u reason=\"%s\"", peer, err->text);
    if (code == -ESTALE || code == -ENOTCONN || code == -EAGAIN) /* a batch before this one was lost on the way */
        wp_server_retry(ingest->server, peer, err->text);
    else
        wp_server_refuse(ingest->server, peer, err->text);
}

static int take_message(struct ingest *ingest, const struct wp_server_message *message, struct wp_error *err)
{
    struct wp_error why = {0};
    struct wp_welcome welcome;
    int rc = 0;
    switch (message->kind) {
    case WP_SERVER_HELLO:
        rc = wp_hello_check_clock(message->hello, wp_clock_of_ns(CLOCK_REALTIME), &why);
        if (!rc)
            rc = wp_engine_hello(ingest->engine, message->peer, message->hello, &welcome, &why);
        if (!rc)
            wp_server_welcome(ingest->server, message->peer, &welcome);
        break;
    case WP_SERVER_BATCH:
        rc = wp_engine_batch(ingest->engine, message->peer, message->batch, message->batch_size, &why);
        break;
    case WP_SERVER_TIME:
        wp_engine_probed(ingest->engine, message->peer, message->times_ns);
        break;
    case WP_SERVER_NAMES: /* out of bounds: counted there; nothing is lost by it */
        if (wp_symbol_broker_take(ingest->names,
                &(struct wp_symbol_frame){message->peer, message->type, message->batch, message->batch_size},
                wp_clock_ms(), &why) &&
            wp_log_allowed(ingest->logger, &ingest->refusals, wp_clock_of_ns(CLOCK_MONOTONIC), WP_NS_PER_S))
            wp_log(ingest->logger, WP_LOG_WARN, "refused peer=%u reason=\"%s\"", message->peer, why.text);
        break;
    case WP_SERVER_SHARD:
        wp_shard_net_take(ingest->shards, message);
        break;
    case WP_SERVER_BYE:
        if (wp_session_is_named(message->bye.successor))
            wp_engine_goes_on(ingest->engine, message->peer);
        rc = wp_engine_bye(ingest->engine, message->peer, message->bye.last_seq, &why);
        break;
    }
    if (rc == -ENOMEM)
        return wp_error_set(err, rc, "%s", why.text);
    if (rc)
        refuse(ingest, message->peer, rc, &why);
    return 0;
}

/* What waited for its turn. True: there may be more. */
static bool take_waiting(struct ingest *ingest)
{
    for (uint32_t i = 0; i < TURNS; i++) {
        struct wp_error why = {0};
        uint32_t peer;
        int rc = wp_engine_next(ingest->engine, &peer, &why);
        if (!rc)
            return false;
        if (rc < 0)
            refuse(ingest, peer, rc, &why);
    }
    return true;
}

/* What a session that is over held lies between what others hold: the system gets it back. */
static void trim_memory(struct ingest *ingest, uint64_t now_ns)
{
    struct wp_engine_counts counts;
    wp_engine_count(ingest->engine, &counts);
    if (counts.live >= ingest->live)
        ingest->live = counts.live;
    else if (now_ns - ingest->trimmed_ns > TRIM_NS) {
        malloc_trim(0);
        ingest->trimmed_ns = now_ns;
        ingest->live = counts.live;
    }
}

/* A full disk may be waited for: nothing is acknowledged meanwhile, so nothing is lost. */
static int commit(struct ingest *ingest, bool force, bool may_wait, struct wp_error *err)
{
    struct wp_error why = {0};
    struct wp_engine_counts counts;
    uint64_t start_ns = wp_clock_of_ns(CLOCK_MONOTONIC);
    int rc = wp_engine_commit(ingest->engine, start_ns, wp_clock_of_ns(CLOCK_REALTIME) / WP_NS_PER_S, force, &why);
    wp_aggregator_vitals_committed(ingest->vitals, wp_clock_of_ns(CLOCK_MONOTONIC) - start_ns, rc);
    wp_engine_count(ingest->engine, &counts);
    if (rc == -ENOSPC && may_wait) {
        ingest->waits_for_room = true;
        ingest->written = counts.commits;
        if (wp_log_allowed(ingest->logger, &ingest->full, wp_clock_of_ns(CLOCK_MONOTONIC), 10 * WP_NS_PER_S))
            wp_log(ingest->logger, WP_LOG_WARN, "%s. Make room and it goes on", why.text);
        return 0;
    }
    if (rc)
        return wp_error_set(err, rc, "%s", why.text);
    if (ingest->waits_for_room && counts.commits > ingest->written) {
        wp_log(ingest->logger, WP_LOG_INFO, "the store has room again, what waited is written");
        ingest->waits_for_room = false;
    }
    wp_engine_acks(ingest->engine, acknowledge, ingest);
    trim_memory(ingest, start_ns);
    return 0;
}

static int send_names(void *context, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct ingest *ingest = context;
    return wp_server_names(ingest->server, peer, type, raw, size);
}

static void keep_names(void *context, const uint8_t *raw, size_t size)
{
    struct ingest *ingest = context;
    wp_symbol_cache_add(ingest->kept, raw, size);
}

static void probe(void *context, uint32_t peer)
{
    struct ingest *ingest = context;
    wp_server_probe(ingest->server, peer);
}

static void reload_if_asked(struct ingest *ingest, const struct wp_ingest_options *options)
{
    if (!options->reload || !*options->reload)
        return;
    *options->reload = 0;
    wp_engine_finish(ingest->engine);
    wp_host_session_options_take_rules(wp_engine_session_options(ingest->engine), options->rules);
    for (uint32_t i = 0; i < wp_engine_slots(ingest->engine); i++)
        wp_membership_anew(wp_engine_session(ingest->engine, i));
    wp_server_reload(ingest->server);
    wp_server_set_window(ingest->server, options->window);
}

/* What peers say comes first, but for all that an explanation gets on. True: there is more to explain. */
static bool explain(struct ingest *ingest, const struct wp_server_message *heard)
{
    ingest->heard_bytes += heard && heard->kind == WP_SERVER_BATCH ? heard->batch_size : 0;
    if (heard && ingest->is_explaining && ++ingest->heard < HEARD && ingest->heard_bytes < HEARD_BYTES)
        return true;
    ingest->heard = 0;
    ingest->heard_bytes = 0;
    return ingest->is_explaining = wp_engine_explain(ingest->engine);
}

static void step(struct ingest *ingest, uint64_t now_ns)
{
    if (now_ns - ingest->stepped_ns <= (ingest->shards ? SHARDS_STEP_NS : STEP_NS))
        return;
    ingest->stepped_ns = now_ns;
    wp_engine_step(ingest->engine, now_ns);
    wp_shard_net_poll(ingest->shards);
    wp_shard_net_step(ingest->shards);
    wp_symbol_broker_step(ingest->names, wp_clock_ms());
    wp_engine_probes(ingest->engine, now_ns, probe, ingest);
}

static int run(struct ingest *ingest, const struct wp_ingest_options *options, struct wp_error *err)
{
    int wait_ms = ingest->shards ? SHARDS_WAIT_MS : WAIT_MS;
    for (bool has_more = false;;) {
        struct wp_server_message message;
        wp_service_tick(options->service);
        reload_if_asked(ingest, options);
        int got = wp_server_poll(ingest->server, has_more ? 0 : wait_ms, &message, err);
        if (got < 0 && got != -EINTR)
            return got;
        step(ingest, wp_clock_of_ns(CLOCK_MONOTONIC));
        if (*options->stop)
            wp_service_stopping(options->service);
        bool is_bye = got == 1 && message.kind == WP_SERVER_BYE;
        int rc = got == 1 ? take_message(ingest, &message, err) : 0;
        has_more = !rc && take_waiting(ingest);
        if (!rc && explain(ingest, got == 1 ? &message : NULL))
            has_more = true;
        if (!rc)
            rc = commit(ingest, (is_bye && !ingest->is_explaining) || *options->stop,
                !*options->stop && !options->ends_when_full, err);
        if (rc)
            return rc;
        wp_aggregator_vitals_tick(ingest->vitals, wp_clock_of_ns(CLOCK_MONOTONIC), wp_clock_of_ns(CLOCK_REALTIME));
        if (*options->stop)
            return 0;
        if (options->exit_after_sessions && wp_engine_ended(ingest->engine) >= options->exit_after_sessions &&
            wp_shard_net_is_done(ingest->shards))
            return 0;
    }
}

/* A recording is whole without it. */
static void save_system(struct wp_system_window *window, const char *path, const struct wp_logger *logger)
{
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    if (!wp_system_window_has_rows(window))
        return;
    int rc = wp_system_window_encode(window, &bytes, &err);
    if (!rc)
        rc = wp_file_write_cached(path, bytes.data, bytes.size, &err);
    if (rc)
        wp_log(logger, WP_LOG_WARN, "cannot keep the window of the system: %s", err.text);
    wp_buffer_fini(&bytes);
}

/* Folders that an aggregator which cannot listen has made for nothing. */
struct made {
    bool store, resume;
};

static bool is_absent(const char *path)
{
    return path && access(path, F_OK) && errno == ENOENT;
}

static void remove_made(const struct made *made, const struct wp_engine_options *engine)
{
    char folder[PATH_MAX];
    if (made->store)
        wp_store_remove_unused(engine->store, engine->shard);
    if (!made->resume ||
        (size_t)snprintf(folder, sizeof(folder), "%s/%s", engine->resume, engine->shard) >= sizeof(folder))
        return;
    rmdir(folder);
    rmdir(engine->resume);
}

int wp_ingest_run(const struct wp_engine_options *engine, const struct wp_ingest_options *options,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct ingest ingest = {.logger = logger};
    struct wp_engine_options in_parts = *engine;
    in_parts.part = PART;
    struct wp_system_window *system = options->system_window ? wp_system_window_create() : NULL;
    if (options->system_window && !system)
        return wp_error_set(err, -ENOMEM, "out of memory");
    in_parts.session.system = system;
    struct wp_server_options server = {.endpoint = options->endpoint,
        .key_path = options->key_path,
        .allow_path = options->allow_path,
        .is_insecure = options->is_insecure,
        .has_shards = options->peer_count,
        .logger = logger};
    struct wp_error why = {0};
    const struct made made = {is_absent(engine->store), is_absent(engine->resume)};
    bool has_begun = false;
    int rc = wp_engine_create(&ingest.engine, &in_parts, logger, err);
    if (!rc)
        rc = wp_server_open_with(&ingest.server, &server, err);
    if (!rc &&
        !(ingest.names = wp_symbol_broker_create(
              &(struct wp_symbol_broker_options){.send = send_names, .keep = keep_names, .context = &ingest})))
        rc = wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc && engine->resume &&
        wp_symbol_cache_open(&ingest.kept, engine->resume, engine->shard, ingest.names, logger, &why))
        wp_log(
            logger, WP_LOG_WARN, "cannot keep symbol names across a restart, objects will be read again: %s", why.text);
    if (!rc && options->window)
        wp_server_set_window(ingest.server, options->window);
    if (!rc)
        rc = wp_shard_net_open(&ingest.shards,
            &(struct wp_shard_net_options){
                wp_engine_fleet(ingest.engine), ingest.server, options, engine->shard, logger},
            err);
    if (!rc && options->metrics &&
        wp_aggregator_vitals_open(&ingest.vitals,
            &(struct wp_aggregator_vitals_options){
                options->metrics, engine->store, engine->shard, ingest.engine, ingest.server, ingest.names, logger},
            &why))
        wp_log(logger, WP_LOG_WARN, "continuing without metrics: %s", why.text);
    if (!rc && options->ready_fd >= 0) {
        ssize_t done = write(options->ready_fd, "ready\n", 6);
        (void)done;
        close(options->ready_fd);
    }
    if (!rc) {
        wp_service_ready(options->service);
        wp_log(logger, WP_LOG_INFO, "listening endpoint=%s store=%s", options->endpoint, engine->store);
        has_begun = true;
        rc = run(&ingest, options, err);
    }
    if (!rc && system)
        save_system(system, options->system_window, logger);
    wp_aggregator_vitals_close(ingest.vitals);
    wp_shard_net_close(ingest.shards);
    wp_symbol_broker_destroy(ingest.names);
    wp_symbol_cache_close(ingest.kept);
    wp_server_close(ingest.server);
    wp_engine_destroy(ingest.engine);
    if (!has_begun)
        remove_made(&made, engine);
    wp_system_window_destroy(system);
    return rc;
}
