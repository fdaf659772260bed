/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/host_session.h"

#include "aggregator/account/aggregate_delta.h"
#include "aggregator/account/other_paths.h"
#include "aggregator/account/system_window.h"
#include "aggregator/fleet/fleet_pace.h"
#include "aggregator/peer/shard_peers.h"
#include "aggregator/session/host_session_body.h"
#include "aggregator/session/host_session_durable.h"
#include "aggregator/session/membership.h"
#include "aggregator/session/session_aggregates.h"
#include "aggregator/session/session_deltas.h"
#include "aggregator/timeline/process_rows.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken_slices.h"
#include "aggregator/timeline/timeline_gone.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/release_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A clock and the time of day, read one after the other, may be so far apart under load. */
#define STEP_NS (100 * WP_NS_PER_MS)
#define DRIFT 1000u /* one of so many: no clock is that wrong (docs/clock.md) */

#define AUTO_CHOICE_NS (5 * WP_NS_PER_S) /* services are picked after this much of the recording */
#define BURY_REACHES 5u  /* so long after a thread is gone nothing speaks of it; base threads are kept for four */
#define GAP_EPOCHS 3600u /* without an event: taken in one step */
#define SESSION_NS                                                                                                     \
    ((uint64_t)10 * 366 * 86400 * WP_NS_PER_S) /* from its anchor; a trace may be of a host that was up for years */

/* --- drops --- */

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static bool has_drops(const void *context, uint64_t start_ns, uint64_t end_ns)
{
    return wp_host_session_dropped(context, start_ns, end_ns) > 0;
}

static void take_drops(struct wp_host_session *session, const struct wp_batch *batch)
{
    for (uint32_t i = 0; i < batch->drop_count; i++) {
        const struct wp_drop *drop = &batch->drops[i];
        if (drop->reason == WP_DROP_STACKS ||
            drop->reason == WP_DROP_PAUSED) { /* no event is missing, or WINDOW events say so */
            wp_drop_spans_add(drop->reason == WP_DROP_STACKS ? &session->shed_spans : &session->paused_spans,
                drop->from_ns, drop->to_ns);
            continue;
        }
        session->drops[drop->kind < WP_EVENT_KINDS ? drop->kind : 0] += drop->count;
        wp_drop_spans_add(&session->drop_spans, drop->from_ns, drop->to_ns);
    }
}

/* --- life --- */

/* Of the session before, while that is still there. */
static void count_on(struct wp_host_session *session)
{
    const struct wp_fleet *fleet = session->source.fleet;
    for (uint32_t i = 0; session->timeline.continues && i < fleet->count; i++)
        if (fleet->hosts[i].timeline && !memcmp(fleet->hosts[i].session_id, session->source.hello.continues, 16))
            wp_process_rows_continue(&session->timeline, fleet->hosts[i].timeline);
}

int wp_host_session_create(struct wp_host_session **out, const struct wp_hello *hello, const char *default_release,
    const struct wp_host_session_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_host_session *session = calloc(1, sizeof(*session));
    if (!session)
        return wp_error_set(err, -ENOMEM, "out of memory for a session");
    memcpy(session->source.id, hello->session, 16);
    memcpy(session->source.host, hello->host, 16);
    session->options = options;
    session->logger = logger;
    session->progress.next_seq = 1;
    session->source.real_offset_ns = (int64_t)(hello->start_real_ns - hello->start_mono_ns);
    session->latest_ns = hello->start_mono_ns + SESSION_NS;
    wp_release_id(hello->release && *hello->release ? hello->release : default_release, session->source.release);
    session->dictionary = wp_dictionary_create();
    int rc = wp_hello_copy(&session->source.hello, hello);
    session->source.hostname = !rc && *session->source.hello.hostname ? session->source.hello.hostname : "unknown";
    if (rc)
        goto fail;
    rc = -ENOMEM;
    session->source.fleet = options->fleet;
    session->has_own_fleet = !options->fleet;
    if (!session->dictionary || wp_timeline_init(&session->timeline, session->dictionary) ||
        (!session->source.fleet && wp_fleet_create(&session->source.fleet)))
        goto fail;
    if (options->late_sample_ns)
        session->timeline.late_sample_ns = options->late_sample_ns;
    session->timeline.continues = wp_session_is_named(hello->continues);
    session->timeline.process_rows = options->process_rows;
    count_on(session);
    if (options->lookback_ns > WP_ASKED_SPAN_NS)
        session->timeline.messages.asked.span_ns = options->lookback_ns;
    session->timeline.blockops.keep_ns = options->history_ns + WP_BLOCKOPS_LATER_NS;
    rc = wp_fleet_join(session->source.fleet, &session->timeline, session->source.hostname,
        session->source.real_offset_ns, &session->source.home);
    session->source.has_joined = !rc;
    if (rc)
        goto fail;
    session->source.fleet->hosts[session->source.home].has_drops = has_drops;
    session->source.fleet->hosts[session->source.home].session = session;
    memcpy(
        session->source.fleet->hosts[session->source.home].session_id, session->source.id, sizeof(session->source.id));
    rc = -ENOMEM;
    session->timeline.identity_made = wp_membership_of;
    session->timeline.context = session;
    for (uint32_t i = 0; i < options->rule_count; i++)
        if (!wp_host_session_aggregate(session, options->rules[i].name, session->source.release))
            goto fail;
    session->is_auto_chosen = false;
    if (options->stored &&
        options->stored(options->stored_context, session->source.id, session->source.release,
            &session->progress.skip_seq, &session->progress.committed_ns))
        session->is_catching_up = true;
    session->progress.counted_seq = session->progress.skip_seq;
    session->progress.closed_ns = session->progress.committed_ns;
    session->is_resumable = options->is_resumable;
    if (session->is_resumable && !(session->writer = wp_frame_writer_create(1)))
        goto fail;
    *out = session;
    return 0;
fail:
    wp_host_session_destroy(session);
    return wp_error_set(
        err, rc, rc == -ENOSPC ? "more hosts than %u at once" : "out of memory for a session", WP_FLEET_HOSTS);
}

static void free_taken(struct wp_host_session *session)
{
    for (size_t i = 0; i < session->taken_count; i++)
        wakepath__resume__taken__free_unpacked(session->taken[i], NULL);
    free(session->taken);
    session->taken = NULL;
    session->taken_count = 0;
}

void wp_host_session_destroy(struct wp_host_session *session)
{
    if (!session)
        return;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_destroy(session->aggregates[i]);
    if (session->walk_ns)
        session->source.fleet->walking = 0;
    for (unsigned kind = 0; session->source.fleet && kind < WP_IRREGULARS; kind++)
        session->source.fleet->irregular[kind] += wp_irregular_count(&session->timeline, kind);
    if (session->source.has_joined)
        wp_fleet_leave(session->source.fleet, session->source.home);
    if (session->has_own_fleet)
        wp_fleet_destroy(session->source.fleet);
    wp_mappings_fini(&session->mappings);
    wp_timeline_fini(&session->timeline);
    wp_dictionary_destroy(session->dictionary);
    wp_hello_fini(&session->source.hello);
    wp_frame_writer_destroy(session->writer);
    wp_buffer_fini(&session->scratch);
    wp_buffer_fini(&session->pending_bytes);
    free(session->pending);
    free(session->late);
    free_taken(session);
    for (uint32_t i = 0; i < session->service_count; i++)
        free(session->services[i]);
    free(session->services);
    wp_drop_spans_fini(&session->drop_spans);
    wp_drop_spans_fini(&session->paused_spans);
    wp_drop_spans_fini(&session->shed_spans);
    free(session->marks);
    free(session);
}

/* --- epochs --- */

/* What is resolved up to there may be in the store already. */
static void skip_time(struct wp_host_session *session, uint64_t until_ns)
{
    bool is_behind = until_ns < session->progress.committed_ns;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        is_behind |= wp_aggregate_skip_epoch(session->aggregates[i], until_ns);
    session->is_catching_up = is_behind;
}

/* What reports contain: those of every aggregate. */
static void forget_left_out(struct wp_host_session *session, uint64_t horizon_ns)
{
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        if (wp_aggregate_window_ns(session->aggregates[i]) < horizon_ns)
            return;
    wp_drop_spans_forget(&session->paused_spans, horizon_ns);
    wp_drop_spans_forget(&session->shed_spans, horizon_ns);
}

/* What lies behind the batch at which the next checkpoint begins stands in that checkpoint. */
static uint64_t checkpoint_needs(const struct wp_host_session *session, uint64_t horizon_ns)
{
    const struct wp_batch_mark *mark = session->is_resumable ? wp_host_session_boundary(session, horizon_ns) : NULL;
    if (!session->is_resumable)
        return horizon_ns;
    return mark ? mark->bound_ns + 1 : session->horizon_ns;
}

/* What is older may be forgotten: the history is kept always, what lies before it while it takes no more than is
 * allowed. */
static uint64_t horizon(struct wp_host_session *session, uint64_t needed_ns)
{
    const struct wp_host_session_options *o = session->options;
    uint64_t history_ns = o->history_ns < needed_ns ? needed_ns - o->history_ns : 0;
    uint64_t lookback_ns = o->lookback_ns < needed_ns ? needed_ns - o->lookback_ns : 0;
    if (session->timeline.held_bytes + wp_messages_bytes(&session->timeline.messages) >
        o->lookback_bytes) { /* a quarter of the time goes, so that it is not each epoch's work */
        uint64_t since_ns = later(session->horizon_ns, session->timeline.start_ns);
        lookback_ns = later(lookback_ns, since_ns + (later(needed_ns, since_ns) - since_ns) / 4);
    }
    uint64_t horizon_ns = lookback_ns < history_ns ? lookback_ns : history_ns;
    return session->horizon_ns = later(session->horizon_ns, checkpoint_needs(session, horizon_ns));
}

/*
 * A part of the epoch at a time, when its fleet wants that: then no other epoch begins, what is taken in meanwhile is
 * behind the horizon, and nothing is committed. What comes out is what would have at once.
 */
static bool walk(struct wp_host_session *session, uint64_t until_ns, bool is_final)
{
    struct wp_fleet *fleet = session->source.fleet;
    if (!session->walk_ns) {
        wp_taken_slices_restore(&session->timeline, session->taken, session->taken_count, session->taken_marks);
        free_taken(session);
        session->walk_ns = until_ns;
        session->walk_at = 0;
        session->walk_end = session->aggregate_count;
        fleet->visits_before = fleet->visits;
    }
    for (; session->walk_at < session->walk_end; session->walk_at++)
        if (!wp_aggregate_resolve(session->aggregates[session->walk_at], until_ns, is_final)) {
            fleet->walking = session->source.home + 1;
            return false;
        }
    session->walk_ns = 0;
    fleet->walking = 0;
    return true;
}

/* False: there is more of it to explain. */
static bool resolve_until(struct wp_host_session *session, uint64_t until_ns, bool is_final)
{
    if (!walk(session, until_ns, is_final))
        return false;
    session->progress.resolved_ns = session->source.fleet->hosts[session->source.home].resolved_ns = until_ns;
    if (session->is_catching_up)
        skip_time(session, until_ns);
    if (session->options->system)
        wp_system_window_extend(
            session->options->system, session->source.fleet, session->source.home, until_ns, is_final);
    uint64_t horizon_ns =
        horizon(session, wp_fleet_needed_since(session->source.fleet, session->source.home, until_ns));
    wp_timeline_forget(&session->timeline, horizon_ns);
    uint64_t gone_ns = BURY_REACHES * later(session->options->history_ns, session->options->lookback_ns);
    if (horizon_ns > gone_ns)
        wp_timeline_bury(&session->timeline, horizon_ns - gone_ns, (uint32_t)session->progress.genealogy_done);
    wp_drop_spans_forget(&session->drop_spans, horizon_ns);
    forget_left_out(session, horizon_ns);
    return true;
}

/*
 * What the epoch needs of other shards is asked for first, by going through it; true when all of that has been answered
 * or given up. What the store has already is not worth asking for.
 */
static bool has_answers(struct wp_host_session *session, uint64_t until_ns, bool is_final)
{
    struct wp_shards *shards = session->source.fleet->shards;
    if (!shards || until_ns <= session->progress.committed_ns || !wp_shards_concern(shards, session->source.home))
        return true;
    session->source.fleet->visits_before = session->source.fleet->visits;
    if (session->rehearsed_ns != until_ns)
        for (uint32_t i = 0; i < session->aggregate_count; i++)
            wp_aggregate_rehearse(session->aggregates[i], until_ns, is_final);
    session->rehearsed_ns = until_ns;
    return !wp_shards_open(shards, session->source.home);
}

/* All that the epoch needs is there, or it has begun. */
static bool may_walk(struct wp_host_session *session, uint64_t until_ns)
{
    return session->walk_ns ||
        (wp_fleet_may_resolve(session->source.fleet, session->source.home, until_ns, session->options->lateness_ns) &&
            has_answers(session, until_ns, false));
}

int wp_host_session_follow(
    struct wp_host_session *session, const char *name, const char *release, const struct wp_interval *interval)
{
    if (session->progress.is_ended)
        return -ESTALE;
    struct wp_aggregate *aggregate = wp_host_session_aggregate(session, name, release);
    return aggregate ? wp_aggregate_ask(aggregate, interval) : -ENOBUFS;
}

/*
 * Resolves the epochs that may be resolved when everything before `known_ns` is in the timeline and nothing after it.
 * Called before each event: what comes out depends on the events alone, not on how they came in batches. Others that
 * must tell first what they did leave it blocked; events are taken in all the same, and not looked at before their
 * time.
 */
static void resolve_before(struct wp_host_session *session, uint64_t known_ns)
{
    const struct wp_host_session_options *options = session->options;
    struct wp_fleet_host *host = &session->source.fleet->hosts[session->source.home];
    uint64_t start_ns = session->timeline.start_ns;
    if (!start_ns || known_ns < start_ns)
        return;
    if (known_ns > host->known_ns) /* in the midst of a batch, too: others' explanations may lead back here */
        host->known_ns = known_ns;
    if (options->auto_aggregates && !session->is_auto_chosen) {
        if (known_ns - start_ns < AUTO_CHOICE_NS)
            return;
        wp_membership_choose(session);
    }
    if (!session->progress.resolved_ns)
        session->progress.resolved_ns = start_ns / options->epoch_ns * options->epoch_ns;
    while (known_ns >= session->progress.resolved_ns + options->epoch_ns + options->lateness_ns) {
        uint64_t next_ns = session->progress.resolved_ns + options->epoch_ns;
        if (session->walk_ns)
            next_ns = session->walk_ns;
        else if (next_ns > session->timeline.now_ns && known_ns - next_ns > GAP_EPOCHS * options->epoch_ns)
            next_ns = (known_ns - options->lateness_ns) / options->epoch_ns * options->epoch_ns;
        session->progress.is_blocked = !may_walk(session, next_ns);
        if (session->progress.is_blocked)
            return;
        if (!session->walk_ns)
            wp_session_deltas_part(session);
        session->progress.is_blocked = !resolve_until(session, next_ns, false);
        if (session->progress.is_blocked)
            return;
    }
}

/* --- batches --- */

/* Events before that resolve nothing, so that they need not be asked; 0: it is not known yet. */
static uint64_t due_ns(const struct wp_host_session *session)
{
    const struct wp_host_session_options *options = session->options;
    bool is_known = session->progress.resolved_ns && (!options->auto_aggregates || session->is_auto_chosen);
    return is_known ? session->progress.resolved_ns + options->epoch_ns + options->lateness_ns : 0;
}

/* The store has all that there is of those aggregates up to this batch: it is not counted again. */
static void skip_counts(struct wp_host_session *session)
{
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_skip_batch(session->aggregates[i], session->progress.last_seq, session->drops);
    if (session->progress.skip_seq == session->progress.last_seq)
        wp_session_deltas_mark_names(session);
}

/* No event before that will come. */
static uint64_t known_ns(const struct wp_host_session *session)
{
    uint64_t last_ns = session->timeline.now_ns;
    return session->progress.watermark_ns > last_ns ? session->progress.watermark_ns : last_ns;
}

static int too_late(struct wp_error *err, const struct wp_batch *batch, const char *what)
{
    return wp_error_set(err, -EINVAL, "batch %llu has %s in the far future", (unsigned long long)batch->seq, what);
}

/* A time that is years ahead would file everything of the session in a timebox that nothing else ever reaches. */
static int check_times(const struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err)
{
    uint64_t latest_ns = session->latest_ns;
    if (batch->watermark_ns > latest_ns && !batch->is_last) /* behind the last one nothing comes: it may promise all */
        return too_late(err, batch, "a watermark");
    if (batch->event_count && batch->events[batch->event_count - 1].time_ns > latest_ns) /* they are sorted */
        return too_late(err, batch, "an event");
    for (uint32_t i = 0; i < batch->drop_count; i++)
        if (batch->drops[i].to_ns > latest_ns)
            return too_late(err, batch, "drops");
    for (uint32_t i = 0; i < batch->thread_count; i++)
        if (batch->threads[i].start_ns > latest_ns)
            return too_late(err, batch, "a thread");
    return 0;
}

/*
 * The clock that events are stamped with stands still while the machine sleeps, the time of day does not. One of them
 * has also jumped where somebody has set the time of day: then what was known of the clock is given up for nothing.
 */
static void look_for_step(struct wp_host_session *session, const struct wp_batch *batch)
{
    uint64_t now_ns = batch->anchor_mono_ns, before_ns = session->anchor_ns;
    int64_t offset_ns = (int64_t)(batch->anchor_real_ns - now_ns);
    if (!now_ns || !batch->anchor_real_ns || now_ns < before_ns)
        return;
    uint64_t most_ns = STEP_NS + (now_ns - before_ns) / DRIFT;
    uint64_t moved_ns = offset_ns > session->anchor_offset_ns
        ? (uint64_t)offset_ns - (uint64_t)session->anchor_offset_ns
        : (uint64_t)session->anchor_offset_ns - (uint64_t)offset_ns;
    if (before_ns && moved_ns > most_ns)
        wp_clocks_step(
            session->source.fleet->clocks, session->source.fleet->hosts[session->source.home].clock, before_ns);
    session->anchor_ns = now_ns;
    session->anchor_offset_ns = offset_ns;
}

int wp_host_session_take(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err)
{
    if (batch->seq < session->progress.next_seq)
        return 0; /* sent again: its effect is here */
    if (batch->seq > session->progress.next_seq)
        return wp_error_set(err, -ESTALE, "batch %llu came where %llu is next", (unsigned long long)batch->seq,
            (unsigned long long)session->progress.next_seq);
    int rc = check_times(session, batch, err);
    if (rc)
        return rc;
    rc = wp_dictionary_apply(session->dictionary, batch, err);
    if (rc)
        return wp_error_wrap(err, rc, "batch %llu", (unsigned long long)batch->seq);
    rc = wp_host_session_keep_entries(session, batch, err);
    if (rc)
        return rc;
    take_drops(session, batch);
    look_for_step(session, batch);
    uint64_t next_ns = due_ns(session), events_before[WP_EVENT_KINDS];
    memcpy(events_before, session->timeline.counts.events, sizeof(events_before));
    for (uint32_t i = 0; i < batch->event_count; i++) {
        const struct wp_event *event = &batch->events[i];
        if (event->time_ns >= next_ns && !session->progress.is_blocked) {
            resolve_before(session, event->time_ns);
            next_ns = due_ns(session);
        }
        wp_timeline_event(&session->timeline, event);
        if (event->stack)
            wp_mappings_event(&session->mappings, &session->timeline, event);
    }
    wp_host_session_mark(session, batch, events_before);
    session->progress.next_seq = batch->seq + 1;
    session->progress.last_seq = batch->seq;
    if (batch->programs_ns)
        session->progress.programs_ns = batch->programs_ns;
    if (session->progress.skip_seq)
        skip_counts(session);
    if (!batch->is_last &&
        batch->watermark_ns > session->progress.watermark_ns) /* that of the last one is the end of time */
        session->progress.watermark_ns = batch->watermark_ns;
    struct wp_fleet_host *host = &session->source.fleet->hosts[session->source.home];
    host->known_ns = known_ns(session);
    host->heard_ns = session->source.fleet->now_ns;
    return 0;
}

/* All of it; or it stays blocked. */
static void resolve_rest(struct wp_host_session *session)
{
    uint64_t end_ns = session->timeline.now_ns;
    bool has_events = session->timeline.start_ns;
    session->progress.is_blocked = has_events && !session->walk_ns &&
        !wp_fleet_may_resolve(session->source.fleet, session->source.home, end_ns, session->options->lateness_ns);
    if (session->progress.is_blocked)
        return;
    if (has_events && session->options->auto_aggregates && !session->is_auto_chosen)
        wp_membership_choose(session);
    session->progress.is_blocked = has_events &&
        ((!session->walk_ns && !has_answers(session, end_ns, true)) || !resolve_until(session, end_ns, true));
    if (session->progress.is_blocked)
        return;
    session->progress.is_final = session->source.fleet->hosts[session->source.home].is_resolved = true;
}

/* Hosts of other shards that talked with this one have resolved all they had, and what they asked for has been
 * followed. */
static bool has_followed(struct wp_host_session *session)
{
    if (!session->source.fleet->shards || !session->timeline.start_ns)
        return true;
    if (session->source.fleet->walking || wp_fleet_is_asked(session->source.fleet, session->source.home) ||
        !has_answers(session, UINT64_MAX, true))
        return false;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_follow_asked(session->aggregates[i], UINT64_MAX);
    return true;
}

void wp_host_session_resolve(struct wp_host_session *session)
{
    bool was_blocked = session->progress.is_blocked;
    session->progress.is_blocked = false;
    if (session->timeline.start_ns)
        resolve_before(session, was_blocked ? known_ns(session) : session->progress.watermark_ns);
    if (!session->progress.is_closing || session->progress.is_blocked || session->progress.is_ended)
        return;
    if (!session->progress.is_final)
        resolve_rest(session);
    session->progress.is_blocked = session->progress.is_blocked || !has_followed(session);
    if (!session->progress.is_blocked)
        session->progress.is_ended = session->source.fleet->hosts[session->source.home].is_followed = true;
}

uint64_t wp_host_session_age(const struct wp_host_session *session)
{
    uint64_t known_ns = session->source.fleet->hosts[session->source.home].known_ns,
             start_ns = session->source.hello.start_mono_ns;
    return known_ns > start_ns ? known_ns - start_ns : 0;
}

int wp_host_session_has_all(const struct wp_host_session *session, uint64_t last_seq, struct wp_error *err)
{
    return session->progress.next_seq > last_seq
        ? 0
        : wp_error_set(err, -ESTALE, "Bye after batch %llu came where %llu is next", (unsigned long long)last_seq,
              (unsigned long long)session->progress.next_seq);
}

void wp_host_session_close(struct wp_host_session *session)
{
    session->progress.is_closing = true;
    session->source.fleet->hosts[session->source.home].is_over = true;
    wp_host_session_resolve(session);
}

void wp_host_session_set_goes_on(struct wp_host_session *session)
{
    session->timeline.goes_on = true;
}

void wp_host_session_shed(struct wp_host_session *session)
{
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_report_shed(session->aggregates[i]);
    session->timeline.goes_on = true;
}

/* --- what there is of it --- */

const struct wp_session_source *wp_host_session_source(const struct wp_host_session *session)
{
    return &session->source;
}

const struct wp_session_progress *wp_host_session_progress(const struct wp_host_session *session)
{
    return &session->progress;
}

const struct wp_timeline *wp_host_session_timeline(const struct wp_host_session *session)
{
    return &session->timeline;
}

const struct wp_mappings *wp_host_session_mappings(const struct wp_host_session *session)
{
    return &session->mappings;
}

const struct wp_dictionary *wp_host_session_dictionary(const struct wp_host_session *session)
{
    return session->dictionary;
}

const uint64_t *wp_host_session_drops(const struct wp_host_session *session)
{
    return session->drops;
}

void wp_host_session_arrivals(struct wp_host_session *session, uint64_t *events, uint64_t *drops)
{
    uint64_t all_events = 0, all_drops = 0;
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        all_events += session->timeline.counts.events[kind];
        all_drops += session->drops[kind];
    }
    *events = all_events - session->watched_events;
    *drops = all_drops - session->watched_drops;
    session->watched_events = all_events;
    session->watched_drops = all_drops;
}
