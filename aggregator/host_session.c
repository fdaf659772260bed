/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/host_session.h"

#include "aggregator/membership.h"
#include "common/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DROP_SPANS 4096u
#define AUTO_CHOICE_NS 5000000000u /* services are picked after this much of the recording */
#define GAP_EPOCHS 3600u           /* without an event: taken in one step */
#define SESSION_NS ((uint64_t)10 * 366 * 86400 * 1000000000) /* from its anchor; a trace may be of a host that was up for years */

/* --- drops --- */

static bool has_drops(const void *context, uint64_t start_ns, uint64_t end_ns)
{
    const struct wp_host_session *session = context;
    for (uint32_t i = 0; i < session->drop_span_count; i++)
        if (session->drop_spans[i].from_ns < end_ns && session->drop_spans[i].to_ns >= start_ns)
            return true;
    return false;
}

static void take_drops(struct wp_host_session *session, const struct wp_batch *batch)
{
    for (uint32_t i = 0; i < batch->drop_count; i++) {
        const struct wp_drop *drop = &batch->drops[i];
        session->drops[drop->kind < WP_EVENT_KINDS ? drop->kind : 0] += drop->count;
        if (session->drop_span_count == session->drop_span_room && session->drop_span_room < DROP_SPANS) {
            uint32_t room = session->drop_span_room ? session->drop_span_room * 2 : 16;
            struct wp_drop_span *spans = realloc(session->drop_spans, room * sizeof(*spans));
            if (!spans)
                continue;
            session->drop_spans = spans;
            session->drop_span_room = room;
        }
        if (session->drop_span_count < session->drop_span_room)
            session->drop_spans[session->drop_span_count++] = (struct wp_drop_span){drop->from_ns, drop->to_ns};
        else if (session->drop_span_count) /* out of room: the last one grows, too much is uncertain rather than too little */
            session->drop_spans[session->drop_span_count - 1].to_ns = drop->to_ns;
    }
}

static void forget_drops(struct wp_host_session *session, uint64_t horizon_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < session->drop_span_count; i++)
        if (session->drop_spans[i].to_ns >= horizon_ns)
            session->drop_spans[kept++] = session->drop_spans[i];
    session->drop_span_count = kept;
}

/* --- life --- */

struct wp_aggregate *wp_host_session_aggregate(struct wp_host_session *session, const char *name, const char *release)
{
    int number = wp_fleet_aggregate(session->fleet, name, release);
    for (uint32_t i = 0; number >= 0 && i < session->aggregate_count; i++)
        if (session->aggregates[i]->bit == (uint64_t)1 << number)
            return session->aggregates[i];
    if (number < 0) {
        if (!session->refused_aggregates++ && session->logger)
            wp_log(session->logger, WP_LOG_WARN, "there are %u aggregates already: the time of '%s' in release '%s' is not reported",
                WP_AGGREGATES, name, release);
        return NULL;
    }
    struct wp_aggregate *aggregate = calloc(1, sizeof(*aggregate));
    if (!aggregate)
        return NULL;
    if (wp_aggregate_init(aggregate, session->fleet, session->home, (uint32_t)number, session->real_offset_ns)) {
        free(aggregate);
        return NULL;
    }
    aggregate->history_ns = session->options->history_ns;
    struct wp_explain_options *explain = &aggregate->explainer.options;
    explain->chunk_ns = session->options->epoch_ns;
    if (session->options->fit_ns)
        explain->fit_ns = session->options->fit_ns;
    if (session->options->depth)
        explain->depth = session->options->depth;
    if (session->options->width)
        explain->width = session->options->width;
    aggregate->uncertain = has_drops;
    aggregate->uncertain_context = session;
    session->aggregates[session->aggregate_count++] = aggregate;
    return aggregate;
}

int wp_host_session_create(struct wp_host_session **out, const struct wp_hello *hello, const char *default_release,
    const struct wp_host_session_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_host_session *session = calloc(1, sizeof(*session));
    if (!session)
        return wp_error_set(err, -ENOMEM, "out of memory for a session");
    memcpy(session->id, hello->session, 16);
    memcpy(session->host, hello->host, 16);
    session->options = options;
    session->logger = logger;
    session->next_seq = 1;
    session->real_offset_ns = (int64_t)(hello->start_real_ns - hello->start_mono_ns);
    session->latest_ns = hello->start_mono_ns + SESSION_NS;
    wp_id_from(hello->release && *hello->release ? hello->release : default_release, session->release,
        sizeof(session->release));
    session->dictionary = wp_dictionary_create();
    int rc = wp_hello_copy(&session->hello, hello);
    session->hostname = !rc && *session->hello.hostname ? session->hello.hostname : "unknown";
    if (rc)
        goto fail;
    rc = -ENOMEM;
    session->fleet = options->fleet;
    session->has_own_fleet = !options->fleet;
    if (!session->dictionary ||
        wp_timeline_init(&session->timeline, session->dictionary) ||
        (!session->fleet && wp_fleet_create(&session->fleet)))
        goto fail;
    rc = wp_fleet_join(session->fleet, &session->timeline, session->hostname, session->real_offset_ns, &session->home);
    session->has_joined = !rc;
    if (rc)
        goto fail;
    session->fleet->hosts[session->home].has_drops = has_drops;
    session->fleet->hosts[session->home].session = session;
    rc = -ENOMEM;
    session->timeline.identity_made = wp_membership_of;
    session->timeline.context = session;
    for (uint32_t i = 0; i < options->rule_count; i++)
        if (!wp_host_session_aggregate(session, options->rules[i].name, session->release))
            goto fail;
    session->is_auto_chosen = false;
    *out = session;
    return 0;
fail:
    wp_host_session_destroy(session);
    return wp_error_set(err, rc, rc == -ENOSPC ? "more hosts than %u at once" : "out of memory for a session", WP_FLEET_HOSTS);
}

void wp_host_session_destroy(struct wp_host_session *session)
{
    if (!session)
        return;
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        wp_aggregate_fini(session->aggregates[i]);
        free(session->aggregates[i]);
    }
    if (session->has_joined)
        wp_fleet_leave(session->fleet, session->home);
    if (session->has_own_fleet)
        wp_fleet_destroy(session->fleet);
    wp_timeline_fini(&session->timeline);
    wp_dictionary_destroy(session->dictionary);
    wp_hello_fini(&session->hello);
    for (uint32_t i = 0; i < session->service_count; i++)
        free(session->services[i]);
    free(session->services);
    free(session->drop_spans);
    free(session->marks);
    free(session);
}

/* --- epochs --- */

static void resolve_until(struct wp_host_session *session, uint64_t until_ns, bool is_final)
{
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_resolve(session->aggregates[i], until_ns, is_final);
    session->resolved_ns = session->fleet->hosts[session->home].resolved_ns = until_ns;
    uint64_t needed_ns = wp_fleet_needed_since(session->fleet, session->home, until_ns);
    if (needed_ns > session->options->history_ns) {
        wp_timeline_forget(&session->timeline, needed_ns - session->options->history_ns);
        forget_drops(session, needed_ns - session->options->history_ns);
    }
}

/*
 * Resolves the epochs that may be resolved when everything before `known_ns` is in the timeline and nothing after it.
 * Called before each event: what comes out depends on the events alone, not on how they came in batches. Others that must
 * tell first what they did leave it blocked; events are taken in all the same, and not looked at before their time.
 */
static void resolve_before(struct wp_host_session *session, uint64_t known_ns)
{
    const struct wp_host_session_options *options = session->options;
    uint64_t start_ns = session->timeline.start_ns;
    if (!start_ns || known_ns < start_ns)
        return;
    if (options->auto_aggregates && !session->is_auto_chosen) {
        if (known_ns - start_ns < AUTO_CHOICE_NS)
            return;
        wp_membership_choose(session);
    }
    if (!session->resolved_ns)
        session->resolved_ns = start_ns / options->epoch_ns * options->epoch_ns;
    while (known_ns >= session->resolved_ns + options->epoch_ns + options->lateness_ns) {
        uint64_t next_ns = session->resolved_ns + options->epoch_ns;
        if (next_ns > session->timeline.now_ns && known_ns - next_ns > GAP_EPOCHS * options->epoch_ns)
            next_ns = (known_ns - options->lateness_ns) / options->epoch_ns * options->epoch_ns;
        session->is_blocked = !wp_fleet_may_resolve(session->fleet, session->home, next_ns, options->lateness_ns);
        if (session->is_blocked)
            return;
        resolve_until(session, next_ns, false);
    }
}

/* --- batches --- */

static void mark_batch(struct wp_host_session *session, const struct wp_batch *batch)
{
    if (session->mark_count == session->mark_room) {
        uint32_t room = session->mark_room ? session->mark_room * 2 : 64;
        struct wp_batch_mark *marks = realloc(session->marks, room * sizeof(*marks));
        if (!marks)
            return; /* acknowledged with a later one */
        session->marks = marks;
        session->mark_room = room;
    }
    uint64_t last = batch->event_count ? batch->events[batch->event_count - 1].time_ns : 0;
    session->marks[session->mark_count++] = (struct wp_batch_mark){batch->seq, last};
}

/* No event before that will come. */
static uint64_t known_ns(const struct wp_host_session *session)
{
    uint64_t last_ns = session->timeline.now_ns;
    return session->watermark_ns > last_ns ? session->watermark_ns : last_ns;
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

int wp_host_session_take(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err)
{
    if (batch->seq < session->next_seq)
        return 0; /* sent again: its effect is here */
    if (batch->seq > session->next_seq)
        return wp_error_set(err, -ESTALE, "batch %llu came where %llu is next", (unsigned long long)batch->seq,
            (unsigned long long)session->next_seq);
    int rc = check_times(session, batch, err);
    if (rc)
        return rc;
    rc = wp_dictionary_apply(session->dictionary, batch, err);
    if (rc)
        return wp_error_wrap(err, rc, "batch %llu", (unsigned long long)batch->seq);
    take_drops(session, batch);
    for (uint32_t i = 0; i < batch->event_count; i++) {
        if (!session->is_blocked)
            resolve_before(session, batch->events[i].time_ns);
        wp_timeline_event(&session->timeline, &batch->events[i]);
    }
    mark_batch(session, batch);
    session->next_seq = batch->seq + 1;
    session->last_seq = batch->seq;
    session->has_news = true;
    if (!batch->is_last && batch->watermark_ns > session->watermark_ns) /* that of the last one is the end of time */
        session->watermark_ns = batch->watermark_ns;
    struct wp_fleet_host *host = &session->fleet->hosts[session->home];
    host->known_ns = known_ns(session);
    host->heard_ns = session->fleet->now_ns;
    return 0;
}

uint64_t wp_host_session_durable_seq(struct wp_host_session *session)
{
    uint32_t done = 0;
    while (done < session->mark_count && (session->is_ended || session->marks[done].last_ns <= session->resolved_ns))
        session->acked_seq = session->marks[done++].seq;
    if (done)
        memmove(session->marks, session->marks + done, (session->mark_count - done) * sizeof(*session->marks));
    session->mark_count -= done;
    return session->acked_seq;
}

void wp_host_session_resolve(struct wp_host_session *session)
{
    struct wp_fleet_host *host = &session->fleet->hosts[session->home];
    bool was_blocked = session->is_blocked;
    session->is_blocked = false;
    if (session->timeline.start_ns)
        resolve_before(session, was_blocked ? known_ns(session) : session->watermark_ns);
    if (!session->is_closing || session->is_blocked || session->is_ended)
        return;
    uint64_t end_ns = session->timeline.now_ns;
    session->is_blocked = session->timeline.start_ns &&
        !wp_fleet_may_resolve(session->fleet, session->home, end_ns, session->options->lateness_ns);
    if (session->is_blocked)
        return;
    if (session->timeline.start_ns) {
        if (session->options->auto_aggregates && !session->is_auto_chosen)
            wp_membership_choose(session);
        resolve_until(session, end_ns, true);
    }
    session->is_ended = host->is_resolved = true;
}

void wp_host_session_close(struct wp_host_session *session)
{
    session->is_closing = true;
    session->fleet->hosts[session->home].is_over = true;
    wp_host_session_resolve(session);
}
