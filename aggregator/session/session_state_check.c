/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/session_state_check.h"

#include "aggregator/session/host_session_body.h"
#include "common/clock.h"
#include "common/path.h"

#include <errno.h>

#define OFFSET_NS                                                                                                      \
    ((int64_t)10 * 366 * 86400 * WP_NS_PER_S) /* a host's clocks were set so far apart at most since its Hello */

typedef Wakepath__Resume__Checkpoint message_type;

static int bad(struct wp_error *err, const char *what, size_t row)
{
    return wp_error_set(err, -EBADMSG, "%s %zu", what, row);
}

static int check_times(const struct wp_host_session *session, const message_type *m, struct wp_error *err)
{
    int64_t offset_ns = session->source.real_offset_ns;
    if (!m->seq || m->seq >= UINT64_MAX / 2)
        return wp_error_set(err, -EBADMSG, "it is of no batch");
    if (!m->horizon_ns || m->horizon_ns > m->resolved_ns || m->resolved_ns > session->latest_ns)
        return wp_error_set(err, -EBADMSG, "its times are not in order");
    if (m->start_ns >= m->horizon_ns || m->paused_ns > m->horizon_ns || m->window_ns > m->horizon_ns ||
        m->past_pauses_ns > m->horizon_ns)
        return wp_error_set(err, -EBADMSG, "the recording began or paused after its horizon");
    if (m->real_offset_ns > offset_ns + OFFSET_NS || m->real_offset_ns < offset_ns - OFFSET_NS)
        return wp_error_set(err, -EBADMSG, "its wall time is not the session's");
    return 0;
}

static bool is_slice(const Wakepath__Resume__Slice *s, uint64_t horizon_ns)
{
    uint64_t woken_ns = s->wake_ns ? s->wake_ns : s->out_ns;
    return s->out_ns < horizon_ns && woken_ns >= s->out_ns && woken_ns < horizon_ns && s->in_ns < horizon_ns &&
        (!s->in_ns || s->in_ns >= woken_ns) && s->state < WP_STATES && s->cause < WP_CAUSES && s->flags <= UINT8_MAX &&
        s->syscall <= WP_SLICE_SYSCALL;
}

static int check_threads(const struct wp_host_session *session, const message_type *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_threads; i++) {
        const Wakepath__Resume__Thread *row = m->threads[i];
        if (!wp_dictionary_thread(session->dictionary, row->entry))
            return bad(err, "its dictionary has not the thread of row", i);
        if (row->process >= m->n_processes || row->creator > m->n_threads || row->cpu > UINT16_MAX)
            return bad(err, "an unknown process, creator or processor, in thread", i);
        if (row->left_cpu > UINT16_MAX || row->occupant >= WP_OCCUPANT_FIRST + m->n_occupants)
            return bad(err, "an unknown processor that it left, or name that it runs as, in thread", i);
        if (row->birth_ns > session->latest_ns || row->sample_ns >= m->horizon_ns)
            return bad(err, "a birth or sample out of time, in thread", i);
        if (row->slice && !is_slice(row->slice, m->horizon_ns))
            return bad(err, "an invalid sleep, in thread", i);
    }
    return 0;
}

static int check_base(
    const Wakepath__Resume__Aggregate *row, const message_type *m, struct wp_error *err, size_t number)
{
    if (row->n_base_thread != row->n_base_until_ns)
        return bad(err, "threads and times that are not as many, in aggregate", number);
    for (size_t i = 0; i < row->n_base_thread; i++)
        if (row->base_thread[i] >= m->n_threads || row->base_until_ns[i] > m->resolved_ns)
            return bad(err, "an unknown thread of interest, in aggregate", number);
    for (size_t i = 0; i < row->n_followed; i++)
        if (row->followed[i]->thread >= m->n_threads || row->followed[i]->start_ns > row->followed[i]->end_ns)
            return bad(err, "an invalid path, in aggregate", number);
    for (size_t i = 0; i < row->n_late; i++)
        if (row->late[i]->start_ns > row->late[i]->end_ns)
            return bad(err, "an invalid path of nobody yet, in aggregate", number);
    return 0;
}

static int check_aggregates(const message_type *m, struct wp_error *err)
{
    if (m->n_aggregates > WP_AGGREGATES)
        return wp_error_set(err, -EBADMSG, "more than %u aggregates", WP_AGGREGATES);
    for (size_t i = 0; i < m->n_aggregates; i++) {
        const Wakepath__Resume__Aggregate *row = m->aggregates[i];
        if (!wp_id_valid(row->name) || !wp_id_valid(row->release) || row->paused_ns > m->resolved_ns)
            return bad(err, "an invalid name, release or pause, in aggregate", i);
        int rc = check_base(row, m, err, i);
        if (rc)
            return rc;
    }
    return 0;
}

static int check_spans(Wakepath__Resume__Span *const *rows, size_t count, uint64_t horizon_ns, struct wp_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i]->from_ns > rows[i]->to_ns || rows[i]->to_ns >= horizon_ns)
            return bad(err, "a loss out of time, in span", i);
    return 0;
}

int wp_session_state_check(const struct wp_host_session *session, const message_type *m, struct wp_error *err)
{
    int rc = check_times(session, m, err);
    if (!rc)
        rc = check_threads(session, m, err);
    if (!rc)
        rc = check_aggregates(m, err);
    if (!rc)
        rc = check_spans(m->drop_spans, m->n_drop_spans, m->horizon_ns, err);
    if (!rc)
        rc = check_spans(m->paused_spans, m->n_paused_spans, m->horizon_ns, err);
    return rc ? rc : check_spans(m->shed_spans, m->n_shed_spans, m->horizon_ns, err);
}
