/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/session_state.h"

#include "aggregator/account/aggregate_state.h"
#include "aggregator/account/detached.h"
#include "aggregator/session/host_session.h"
#include "aggregator/session/host_session_body.h"
#include "aggregator/session/host_session_durable.h"
#include "aggregator/session/membership.h"
#include "aggregator/session/session_aggregates.h"
#include "aggregator/session/session_state_check.h"
#include "aggregator/timeline/taken.h"
#include "aggregator/timeline/taken_slices.h"
#include "aggregator/timeline/timeline_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 4u
#define VERSION_WITHOUT_RUNS 3u /* who had the CPU is not in it; it is read as well */

typedef Wakepath__Resume__Checkpoint message_type;

/* --- written --- */

/* What is behind the horizon comes again. */
static bool put_spans(
    const struct wp_drop_spans *spans, uint64_t horizon_ns, Wakepath__Resume__Span ***rows, size_t *count)
{
    *rows = calloc(spans->count + 1, sizeof(**rows));
    for (uint32_t i = 0; *rows && i < spans->count && spans->rows[i].from_ns < horizon_ns; i++) {
        const struct wp_drop_span *from = &spans->rows[i];
        Wakepath__Resume__Span *span = calloc(1, sizeof(*span));
        if (!span)
            return false;
        wakepath__resume__span__init(span);
        span->from_ns = from->from_ns;
        span->to_ns = (from->to_ns < horizon_ns ? from->to_ns : horizon_ns) - 1;
        (*rows)[(*count)++] = span;
    }
    return *rows;
}

static bool put_session(const struct wp_host_session *session, message_type *m)
{
    uint64_t later_events[WP_EVENT_KINDS] = {0}, later_drops[WP_EVENT_KINDS] = {0}; /* they come again */
    for (uint32_t i = 0; i < session->mark_count; i++)
        for (unsigned kind = 0; session->marks[i].seq > m->seq && kind < WP_EVENT_KINDS; kind++) {
            later_events[kind] += session->marks[i].events[kind];
            later_drops[kind] += session->marks[i].drops[kind];
        }
    m->counted_seq = session->progress.counted_seq;
    m->session.data = malloc(16);
    m->services = calloc(session->service_count + 1, sizeof(*m->services));
    m->events = calloc(WP_EVENT_KINDS, sizeof(*m->events));
    m->drops = calloc(WP_EVENT_KINDS, sizeof(*m->drops));
    if (!m->session.data || !m->services || !m->events || !m->drops)
        return false;
    memcpy(m->session.data, session->source.id, 16);
    m->session.len = 16;
    m->is_auto_chosen = session->is_auto_chosen;
    m->real_offset_ns = session->source.real_offset_ns;
    for (uint32_t i = 0; i < session->service_count; i++)
        m->n_services += (m->services[m->n_services] = strdup(session->services[i])) != NULL;
    for (unsigned i = 0; i < WP_EVENT_KINDS; i++) {
        m->events[i] = session->timeline.counts.events[i] - later_events[i];
        m->drops[i] = session->drops[i] - later_drops[i];
    }
    m->n_events = m->n_drops = WP_EVENT_KINDS;
    return put_spans(&session->drop_spans, m->horizon_ns, &m->drop_spans, &m->n_drop_spans) &&
        put_spans(&session->paused_spans, m->horizon_ns, &m->paused_spans, &m->n_paused_spans) &&
        put_spans(&session->shed_spans, m->horizon_ns, &m->shed_spans, &m->n_shed_spans);
}

/* The last batch that one made now can begin behind; NULL: none, or it would say no more than the last. */
static const struct wp_batch_mark *due_mark(const struct wp_host_session *session)
{
    const struct wp_host_session_options *options = session->options;
    uint64_t resolved_ns = session->progress.resolved_ns;
    bool is_due = resolved_ns > options->history_ns && resolved_ns >= session->checkpoint_ns + options->checkpoint_ns &&
        (session->is_auto_chosen || !options->auto_aggregates) && !session->is_catching_up;
    const struct wp_batch_mark *mark =
        is_due ? wp_host_session_boundary(session, resolved_ns - options->history_ns) : NULL;
    return mark && mark->seq > session->progress.acked_seq ? mark : NULL;
}

/* Of a message whose batch is set. */
static int save_all(const struct wp_host_session *session, message_type *m)
{
    uint32_t *rows = NULL;
    int rc = wp_timeline_save(&session->timeline, m->horizon_ns, m, &rows);
    if (!rc)
        rc = wp_taken_slices_save(
            &session->timeline, wp_detached_until(m->resolved_ns, session->options->history_ns), m);
    if (!rc && !put_session(session, m))
        rc = -ENOMEM;
    for (uint32_t i = 0; !rc && i < session->aggregate_count; i++)
        rc = wp_aggregate_save(session->aggregates[i], rows, m);
    free(rows);
    return rc;
}

int wp_session_state_save(const struct wp_host_session *session, message_type **out, struct wp_error *err)
{
    *out = NULL;
    const struct wp_batch_mark *mark = due_mark(session);
    if (!mark)
        return 0;
    message_type *m = malloc(sizeof(*m));
    if (!m)
        return wp_error_set(err, -ENOMEM, "out of memory for a checkpoint");
    wakepath__resume__checkpoint__init(m);
    m->version = VERSION;
    m->seq = mark->seq;
    m->horizon_ns = mark->bound_ns + 1;
    m->resolved_ns = session->progress.resolved_ns;
    int rc = save_all(session, m);
    if (rc) {
        wakepath__resume__checkpoint__free_unpacked(m, NULL);
        return wp_error_set(err, rc, "out of memory for a checkpoint");
    }
    *out = m;
    return 0;
}

void wp_session_state_saved(struct wp_host_session *session, uint64_t seq)
{
    session->checkpoint_ns = session->progress.resolved_ns;
    wp_host_session_acknowledge(session, seq);
}

/* --- read --- */

bool wp_session_state_is_of(const message_type *m, const uint8_t session[16])
{
    return (m->version == VERSION || m->version == VERSION_WITHOUT_RUNS) && m->session.len == 16 &&
        !memcmp(m->session.data, session, 16);
}

int wp_session_state_define(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err)
{
    return wp_dictionary_apply(session->dictionary, batch, err);
}

/* They wait for the slices. */
static void keep_taken(struct wp_host_session *session, message_type *m)
{
    session->taken = m->taken;
    session->taken_count = m->n_taken;
    m->taken = NULL;
    m->n_taken = 0;
}

static int restore_aggregates(struct wp_host_session *session, const message_type *m, const uint32_t *threads)
{
    for (size_t i = 0; i < m->n_aggregates; i++) {
        const Wakepath__Resume__Aggregate *row = m->aggregates[i];
        struct wp_aggregate *aggregate = wp_host_session_aggregate(session, row->name, row->release);
        if (!aggregate)
            return -EBADMSG;
        wp_aggregate_restore(aggregate, m, row, threads);
        session->taken_marks[i % 16] |= wp_taken_mark(wp_aggregate_id(aggregate)->bit);
        session->taken_marks[(i + 8) % 16] |= wp_taken_sleep_mark(wp_aggregate_id(aggregate)->bit);
        for (size_t j = 0; j < row->n_late; j++)
            if (wp_host_session_add_late(session,
                    &(struct wp_late_thread){
                        aggregate, row->late[j]->entry, row->late[j]->start_ns, row->late[j]->end_ns}))
                return -ENOMEM;
    }
    return 0;
}

static void restore_spans(struct wp_drop_spans *spans, Wakepath__Resume__Span *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wp_drop_spans_add(spans, rows[i]->from_ns, rows[i]->to_ns);
}

/* As of this version: where a thread ran before is where it ran last, and what a preempted one had as timeout is not
 * why. */
static void fill_in_runs(message_type *m)
{
    for (size_t i = 0; i < m->n_threads; i++) {
        Wakepath__Resume__Thread *row = m->threads[i];
        row->left_cpu = row->cpu;
        row->occupant = WP_OCCUPANT_LOST;
        if (row->slice && row->slice->flags & WP_SLICE_PREEMPTED)
            row->slice->timeout_ns = 0;
    }
    m->version = VERSION;
}

/* What wp_session_state_check found to be one. */
static int restore_message(struct wp_host_session *session, message_type *m)
{
    uint32_t *threads;
    session->is_auto_chosen = m->is_auto_chosen;
    session->source.real_offset_ns = m->real_offset_ns;
    for (size_t i = 0; i < m->n_services; i++)
        wp_host_session_serve(session, m->services[i]);
    int rc = wp_timeline_restore(&session->timeline, m, &threads);
    if (rc)
        return rc;
    rc = restore_aggregates(session, m, threads);
    free(threads);
    for (unsigned i = 0; i < WP_EVENT_KINDS; i++) {
        session->timeline.counts.events[i] = i < m->n_events ? m->events[i] : 0;
        session->drops[i] = i < m->n_drops ? m->drops[i] : 0;
    }
    session->timeline.counts.recorder_ns = m->recorder_ns;
    keep_taken(session, m);
    restore_spans(&session->drop_spans, m->drop_spans, m->n_drop_spans);
    restore_spans(&session->paused_spans, m->paused_spans, m->n_paused_spans);
    restore_spans(&session->shed_spans, m->shed_spans, m->n_shed_spans);
    session->progress.next_seq = m->seq + 1;
    session->progress.last_seq = session->progress.acked_seq = m->seq;
    session->progress.resolved_ns = session->checkpoint_ns = m->resolved_ns;
    session->is_catching_up = m->resolved_ns < session->progress.committed_ns;
    session->dictionary_bytes = m->dictionary_bytes;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        session->is_catching_up |= wp_aggregate_resume(session->aggregates[i], m->resolved_ns);
    return rc;
}

int wp_session_state_restore(struct wp_host_session *session, message_type *m, struct wp_error *err)
{
    const char *hostname = session->source.hostname;
    if (m->version == VERSION_WITHOUT_RUNS)
        fill_in_runs(m);
    int rc = wp_session_state_check(session, m, err);
    if (rc)
        return wp_error_wrap(err, rc, "the checkpoint of host %s", hostname);
    rc = restore_message(session, m);
    return rc ? wp_error_set(err, rc, "the checkpoint of host %s does not fit its dictionary", hostname) : 0;
}
