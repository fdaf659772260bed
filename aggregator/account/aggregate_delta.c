/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/aggregate_delta.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/detached.h"
#include "aggregator/account/exemplar_sample.h"
#include "aggregator/account/sample_sums.h"
#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXEMPLAR_NS (30 * WP_NS_PER_S) /* of the host, between two states of one exemplar in the store */

const struct wp_aggregate_delta *wp_aggregate_delta(const struct wp_aggregate *aggregate)
{
    return &aggregate->delta;
}

/* Reports what was left out in [from, until). */
static void tell_left_out(struct wp_aggregate *aggregate, const struct wp_drop_spans *spans, const char *what,
    uint64_t from_ns, uint64_t until_ns)
{
    uint64_t ns = spans ? wp_drop_spans_overlap(spans, from_ns, until_ns) : 0;
    if (ns)
        wp_report_limit(aggregate->delta.report, what, wp_drop_spans_begun(spans, from_ns, until_ns), ns);
}

static void close_window(struct wp_aggregate *aggregate, uint64_t from_ns, uint64_t until_ns)
{
    if (!wp_selector_cut(&aggregate->between, &from_ns, &until_ns))
        return;
    uint64_t window = until_ns - from_ns, paused = aggregate->paused_ns;
    tell_left_out(aggregate, aggregate->paused, "overhead: no events", from_ns, until_ns);
    tell_left_out(aggregate, aggregate->shed, "overhead: fewer stacks", from_ns, until_ns);
    wp_report_window(aggregate->delta.report, window - (paused < window ? paused : window), window);
    aggregate->paused_ns = 0;
}

void wp_aggregate_close_delta(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns)
{
    const struct wp_timeline *timeline = aggregate->timeline;
    wp_line_sums_flush(&aggregate->lines, &aggregate->tree, aggregate->delta.report);
    wp_report_host(aggregate->delta.report, aggregate->hostname);
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        uint64_t events = timeline->counts.events[kind] - aggregate->counted_events[kind];
        uint64_t dropped = drops[kind] - aggregate->counted_drops[kind];
        if (events || dropped)
            wp_report_events(aggregate->delta.report, wp_event_kind_name(kind), events, dropped);
        aggregate->counted_events[kind] += events;
        aggregate->counted_drops[kind] += dropped;
    }
    uint64_t turns = timeline->messages.turns.refused - aggregate->counted_turns;
    if (turns)
        wp_report_limit(aggregate->delta.report, "late turn", turns, 0);
    aggregate->counted_turns += turns;
    if (!aggregate->window_until_ns)
        aggregate->window_until_ns = timeline->start_ns;
    if (until_ns > aggregate->window_until_ns) {
        close_window(aggregate, aggregate->window_until_ns, until_ns);
        aggregate->window_until_ns = until_ns;
    }
    for (unsigned i = 0; i < WP_LIMITS; i++) {
        const struct wp_fleet_limit *bit = &aggregate->limits[i];
        if (bit->count)
            wp_report_limit(aggregate->delta.report, wp_limit_name(i), bit->count, bit->ns);
        aggregate->fleet->limits[i].count += bit->count;
        aggregate->fleet->limits[i].ns += bit->ns;
    }
    memset(aggregate->limits, 0, sizeof(aggregate->limits));
}

void wp_aggregate_next_delta(struct wp_aggregate *aggregate)
{
    wp_report_clear(aggregate->delta.report);
    wp_line_sums_clear(&aggregate->lines);
    aggregate->delta.has_news = false;
    wp_sample_sums_next_delta(aggregate);
    wp_detached_next_delta(&aggregate->detached);
}

int wp_aggregate_close_timebox(
    struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns, uint64_t timebox_s)
{
    struct wp_report *fresh = wp_report_create();
    struct wp_aggregate_delta *delta = &aggregate->delta;
    if (!fresh || WP_ARRAY_NEXT(delta->closed, delta->closed_count)) {
        wp_report_destroy(fresh);
        return -ENOMEM;
    }
    wp_aggregate_close_delta(aggregate, drops, until_ns);
    delta->closed[delta->closed_count++] = (struct wp_closed_delta){timebox_s, delta->report};
    delta->report = fresh;
    wp_aggregate_next_delta(aggregate);
    return 0;
}

void wp_aggregate_drop_closed(struct wp_aggregate *aggregate)
{
    struct wp_aggregate_delta *delta = &aggregate->delta;
    for (uint32_t i = 0; i < delta->closed_count; i++)
        wp_report_destroy(delta->closed[i].report);
    free(delta->closed);
    delta->closed = NULL;
    delta->closed_count = 0;
}

void wp_aggregate_report_shed(struct wp_aggregate *aggregate)
{
    wp_report_limit(aggregate->delta.report, "memory", 1, 0);
}

/* --- windows --- */

const struct wp_exemplar_sample *wp_aggregate_sampled(const struct wp_aggregate *aggregate)
{
    return &aggregate->sampled;
}

const struct wp_exemplar *wp_aggregate_due_exemplar(
    const struct wp_aggregate *aggregate, uint64_t resolved_ns, bool is_ended)
{
    uint32_t pieces = aggregate->exemplar.trace->piece_count;
    bool is_due = is_ended ||
        (pieces != aggregate->exemplar_pieces &&
            (!aggregate->exemplar_ns || resolved_ns > aggregate->exemplar_ns + EXEMPLAR_NS));
    return pieces && is_due ? &aggregate->exemplar : NULL;
}

void wp_aggregate_mark_stored(
    struct wp_aggregate *aggregate, uint64_t resolved_ns, bool is_ended, uint64_t noted_timebox_s)
{
    if (wp_aggregate_due_exemplar(aggregate, resolved_ns, is_ended)) {
        aggregate->exemplar_ns = resolved_ns;
        aggregate->exemplar_pieces = aggregate->exemplar.trace->piece_count;
    }
    aggregate->delta.is_bucket_said = aggregate->delta.has_noted = true;
    aggregate->delta.noted_timebox_s = noted_timebox_s;
    wp_exemplar_sample_stored(&aggregate->sampled);
    wp_aggregate_drop_closed(aggregate);
    wp_aggregate_next_delta(aggregate);
}

/* --- what the store has already --- */

static void skip_counts(struct wp_aggregate *aggregate, const uint64_t *drops)
{
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++) {
        aggregate->counted_events[kind] = aggregate->timeline->counts.events[kind];
        aggregate->counted_drops[kind] = drops[kind];
    }
    aggregate->counted_turns = aggregate->timeline->messages.turns.refused;
}

static void skip_time(struct wp_aggregate *aggregate, uint64_t until_ns)
{
    memset(aggregate->limits, 0, sizeof(aggregate->limits));
    aggregate->window_until_ns = aggregate->paused_until_ns = until_ns;
    aggregate->paused_ns = 0;
    wp_exemplar_clear(&aggregate->exemplar);
    wp_exemplar_sample_clear(&aggregate->sampled);
    wp_aggregate_drop_closed(aggregate);
    wp_aggregate_next_delta(aggregate);
}

void wp_aggregate_set_stored(struct wp_aggregate *aggregate, uint64_t seq, uint64_t until_ns)
{
    aggregate->skip_seq = seq;
    aggregate->skip_until_ns = until_ns;
}

void wp_aggregate_skip_batch(struct wp_aggregate *aggregate, uint64_t seq, const uint64_t *drops)
{
    if (aggregate->skip_seq == seq)
        skip_counts(aggregate, drops);
}

bool wp_aggregate_skip_epoch(struct wp_aggregate *aggregate, uint64_t until_ns)
{
    if (aggregate->skip_until_ns && until_ns <= aggregate->skip_until_ns)
        skip_time(aggregate, until_ns);
    return until_ns < aggregate->skip_until_ns;
}

void wp_aggregate_begin_late(struct wp_aggregate *aggregate, uint64_t resolved_ns, const uint64_t *drops)
{
    skip_counts(aggregate, drops);
    skip_time(aggregate, resolved_ns);
    aggregate->detached_ns = resolved_ns;
}

uint64_t wp_aggregate_window_ns(const struct wp_aggregate *aggregate)
{
    return aggregate->window_until_ns;
}
