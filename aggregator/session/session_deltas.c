/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/session_deltas.h"

#include "aggregator/account/aggregate_delta.h"
#include "aggregator/session/host_session_body.h"
#include "aggregator/session/host_session_durable.h"
#include "aggregator/timeline/process_ends.h"
#include "common/clock.h"

#include <string.h>

static uint64_t timebox_at(const struct wp_host_session *session, uint64_t at_ns, uint64_t timebox_s)
{
    return (at_ns + (uint64_t)session->source.real_offset_ns) / WP_NS_PER_S / timebox_s * timebox_s;
}

uint64_t wp_session_deltas_timebox(const struct wp_host_session *session, uint64_t timebox_s)
{
    uint64_t at_ns = session->progress.committed_ns > session->progress.delta_ns ? session->progress.committed_ns
                                                                                 : session->progress.delta_ns;
    return timebox_at(session, at_ns > session->timeline.start_ns ? at_ns : session->timeline.start_ns, timebox_s);
}

void wp_session_deltas_part(struct wp_host_session *session)
{
    uint64_t timebox_s = session->options->timebox_s;
    if (!timebox_s || session->is_catching_up || session->progress.last_seq < session->progress.skip_seq)
        return;
    uint64_t before = wp_session_deltas_timebox(session, timebox_s);
    if (timebox_at(session, session->progress.resolved_ns, timebox_s) <= before)
        return;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        if (wp_aggregate_delta(session->aggregates[i])->has_news &&
            wp_aggregate_close_timebox(session->aggregates[i], session->drops, session->progress.resolved_ns, before))
            return; /* no memory: it is filed with what follows */
    session->progress.delta_ns = session->progress.resolved_ns;
}

/* True when its deltas are closed, of all its aggregates: events are counted up to one batch for all. */
static bool has_news(const struct wp_host_session *session)
{
    bool has_news = session->progress.is_ended;
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        const struct wp_aggregate_delta *delta = wp_aggregate_delta(session->aggregates[i]);
        has_news |= delta->has_news || delta->closed_count;
    }
    return has_news;
}

void wp_session_deltas_close(struct wp_host_session *session)
{
    struct wp_session_progress *progress = &session->progress;
    progress->has_deltas = has_news(session);
    if (progress->has_deltas) {
        progress->counted_seq = progress->last_seq;
        progress->closed_ns = progress->resolved_ns;
        for (uint32_t i = 0; i < session->aggregate_count; i++)
            wp_aggregate_close_delta(session->aggregates[i], session->drops, progress->resolved_ns);
    }
    wp_host_session_durable_seq(session);
}

void wp_session_deltas_mark_stored(struct wp_host_session *session, const char *release, uint64_t timebox_s)
{
    const struct wp_session_progress *progress = &session->progress;
    uint64_t noted_s = wp_session_deltas_timebox(session, timebox_s);
    for (uint32_t i = 0; progress->has_deltas && i < session->aggregate_count; i++)
        if (!strcmp(wp_aggregate_id(session->aggregates[i])->release, release))
            wp_aggregate_mark_stored(session->aggregates[i], progress->resolved_ns, progress->is_ended, noted_s);
}

void wp_session_deltas_mark_names(struct wp_host_session *session)
{
    wp_mappings_done(&session->mappings);
    wp_process_ends_forget(&session->timeline);
    session->progress.genealogy_done = wp_dictionary_thread_count(session->dictionary);
    session->progress.sourcemap_done = wp_dictionary_frame_count(session->dictionary);
}

void wp_session_deltas_mark_committed(struct wp_host_session *session, uint64_t metadata_s)
{
    wp_session_deltas_mark_names(session);
    session->progress.committed_ns = session->progress.delta_ns = session->progress.resolved_ns;
    session->progress.metadata_s = metadata_s;
}
