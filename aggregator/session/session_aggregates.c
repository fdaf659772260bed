/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/session_aggregates.h"

#include "aggregator/account/aggregate.h"
#include "aggregator/session/aggregate_bucket.h"

#include <stdlib.h>
#include <string.h>

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

uint64_t wp_host_session_dropped(const void *context, uint64_t start_ns, uint64_t end_ns)
{
    const struct wp_host_session *session = context;
    return session->drop_spans.count ? wp_drop_spans_overlap(&session->drop_spans, start_ns, end_ns) : 0;
}

struct wp_aggregate *wp_host_session_aggregate(struct wp_host_session *session, const char *name, const char *release)
{
    int number = wp_fleet_aggregate(session->fleet, name, release);
    for (uint32_t i = 0; number >= 0 && i < session->aggregate_count; i++)
        if (session->aggregates[i]->bit == (uint64_t)1 << number)
            return session->aggregates[i];
    if (number < 0) {
        if (!session->refused_aggregates++ && session->logger)
            wp_log(session->logger, WP_LOG_WARN,
                "the limit of %u aggregates is reached: the time of '%s' in release '%s' is not reported",
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
    aggregate->reach_ns = later(session->options->lookback_ns, session->options->history_ns);
    aggregate->sampled.timebox_s = session->options->timebox_s;
    struct wp_explain_options *explain = wp_explainer_options(aggregate->explainer);
    explain->origin_ns = aggregate->reach_ns / 2;
    explain->chunk_ns = session->options->epoch_ns;
    if (session->options->fit_ns)
        explain->fit_ns = session->options->fit_ns;
    if (session->options->join_ns)
        explain->join_ns = session->options->join_ns;
    if (session->options->depth)
        explain->depth = session->options->depth;
    if (session->options->width)
        explain->width = session->options->width;
    if (session->options->budget)
        explain->budget = session->options->budget;
    if (wp_aggregate_choose_bucket(aggregate, session)) {
        wp_aggregate_fini(aggregate);
        free(aggregate);
        return NULL;
    }
    aggregate->uncertain = wp_host_session_dropped;
    aggregate->uncertain_context = session;
    aggregate->paused = &session->paused_spans;
    aggregate->shed = &session->shed_spans;
    session->aggregates[session->aggregate_count++] = aggregate;
    if (session->options->stored &&
        session->options->stored(
            session->options->stored_context, session->id, release, &aggregate->skip_seq, &aggregate->skip_until_ns))
        session->is_catching_up = true;
    return aggregate;
}

void wp_host_session_take_late(struct wp_host_session *session, uint32_t identity)
{
    const struct wp_identity *who = &session->timeline.identities[identity];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < session->late_count; i++) {
        const struct wp_late_thread *late = &session->late[i];
        if (late->entry != who->entry)
            session->late[kept++] = *late;
        else if (late->start_ns)
            wp_intervals_add(late->aggregate->followed,
                &(struct wp_interval){session->home, who->thread, late->start_ns, late->end_ns});
        else
            wp_aggregate_set_base(late->aggregate, who->thread, late->end_ns);
    }
    session->late_count = kept;
}
