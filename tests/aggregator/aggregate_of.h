/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_AGGREGATOR_AGGREGATE_OF_H
#define WP_TESTS_AGGREGATOR_AGGREGATE_OF_H
/* The aggregates of a session, and what they report, for tests that drive sessions without a store. */
#include "aggregator/account/aggregate.h"
#include "aggregator/account/aggregate_delta.h"
#include "aggregator/session/host_session.h"
#include "aggregator/session/session_aggregates.h"

#include <stddef.h>

/* NULL: there are not so many. */
static inline struct wp_aggregate *aggregate_of(const struct wp_host_session *session, uint32_t index)
{
    uint32_t count;
    struct wp_aggregate *const *aggregates = wp_host_session_aggregates(session, &count);
    return index < count ? aggregates[index] : NULL;
}

/* What has been resolved since the last delta; the first aggregate's is number 0. */
static inline struct wp_report *report_of(const struct wp_host_session *session, uint32_t index)
{
    return wp_aggregate_delta(aggregate_of(session, index))->report;
}

/* The same with counts and window, as a commit has it. */
static inline struct wp_report *closed_report_of(const struct wp_host_session *session, uint32_t index)
{
    wp_aggregate_close_delta(
        aggregate_of(session, index), wp_host_session_drops(session), wp_host_session_progress(session)->resolved_ns);
    return report_of(session, index);
}

#endif
