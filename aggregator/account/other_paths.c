/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/other_paths.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/sample_sums.h"
#include "aggregator/timeline/taken.h"
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>

#define FOLLOW_ROUNDS 64
#define FOLLOWED_LIMIT 8192u
#define ASKED_LIMIT 65536u

void wp_other_paths_take(void *context, const struct wp_interval *interval)
{
    struct wp_aggregate *aggregate = context;
    wp_intervals_add(&aggregate->waiting, interval);
}

static void explain(struct wp_aggregate *aggregate, const struct wp_interval *interval, const struct wp_sink *sink)
{
    aggregate->path_host = interval->host;
    aggregate->path_thread = interval->thread;
    if (!wp_explain_path(aggregate->explainer, interval, sink))
        wp_intervals_add(aggregate->followed, interval);
}

static bool is_before(const struct wp_interval *row, const struct wp_interval *interval)
{
    return row->host != interval->host    ? row->host < interval->host
        : row->thread != interval->thread ? row->thread < interval->thread
                                          : row->end_ns <= interval->start_ns;
}

/* The first of the followed ones that ends after the interval begins, or is of a thread behind its own. */
static uint32_t first_after(const struct wp_intervals *followed, uint32_t known, const struct wp_interval *interval)
{
    return WP_LOWER_BOUND(at, 0, known, is_before(&followed->rows[at], interval));
}

/* Explains what of the interval was not followed before; the followed ones are sorted and disjoint. */
static void follow(struct wp_aggregate *aggregate, const struct wp_interval *interval, const struct wp_sink *sink)
{
    uint32_t known = aggregate->followed->count;
    struct wp_interval rest = *interval;
    for (uint32_t i = first_after(aggregate->followed, known, interval); i < known && rest.start_ns < rest.end_ns;
         i++) {
        struct wp_interval done = aggregate->followed->rows[i];
        if (done.host != rest.host || done.thread != rest.thread || done.start_ns >= rest.end_ns)
            break;
        if (rest.start_ns < done.start_ns)
            explain(aggregate, &(struct wp_interval){rest.host, rest.thread, rest.start_ns, done.start_ns}, sink);
        rest.start_ns = done.end_ns;
    }
    if (rest.start_ns < rest.end_ns)
        explain(aggregate, &rest, sink);
}

/* There is more of this round, or what was met in it is another one. */
static bool next_round(struct wp_aggregate *aggregate)
{
    if (aggregate->following.at < aggregate->following.rows.count)
        return true;
    free(aggregate->following.rows.rows);
    aggregate->following.rows = (struct wp_intervals){0};
    aggregate->following.at = 0;
    if (!aggregate->waiting.count || aggregate->following.rounds == FOLLOW_ROUNDS)
        return false;
    aggregate->following.rows = aggregate->waiting;
    aggregate->waiting = (struct wp_intervals){0};
    wp_intervals_sort(&aggregate->following.rows);
    aggregate->following.rounds++;
    return true;
}

static void follow_next(struct wp_aggregate *aggregate, const struct wp_sink *sink)
{
    const struct wp_intervals *rows = &aggregate->following.rows;
    uint32_t i = aggregate->following.at;
    struct wp_interval merged = rows->rows[i++];
    while (i < rows->count && rows->rows[i].host == merged.host && rows->rows[i].thread == merged.thread &&
        rows->rows[i].start_ns <= merged.end_ns) {
        if (rows->rows[i].end_ns > merged.end_ns)
            merged.end_ns = rows->rows[i].end_ns;
        i++;
    }
    aggregate->following.at = i;
    wp_intervals_sort(aggregate->followed);
    if (merged.host == aggregate->home && sink->marks)
        wp_slices_followed(
            &aggregate->timeline->threads[merged.thread], merged.start_ns, merged.end_ns, aggregate->id.bit);
    follow(aggregate, &merged, sink);
}

bool wp_other_paths_follow(struct wp_aggregate *aggregate, const struct wp_sink *sink)
{
    bool is_whole = true;
    while (is_whole && next_round(aggregate)) {
        is_whole = !wp_aggregate_pauses(aggregate);
        if (is_whole)
            follow_next(aggregate, sink);
    }
    if (is_whole)
        aggregate->waiting.count = aggregate->following.rounds = 0;
    return is_whole;
}

/* --- for other shards --- */

int wp_aggregate_ask(struct wp_aggregate *aggregate, const struct wp_interval *interval)
{
    return aggregate->asked.count < ASKED_LIMIT ? wp_intervals_add(&aggregate->asked, interval) : -ENOBUFS;
}

static void take_asked(struct wp_aggregate *aggregate, uint64_t until_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < aggregate->asked.count; i++) {
        if (aggregate->asked.rows[i].end_ns > until_ns)
            aggregate->asked.rows[kept++] = aggregate->asked.rows[i];
        else
            wp_intervals_add(&aggregate->waiting, &aggregate->asked.rows[i]);
    }
    aggregate->asked.count = kept;
}

/* They are what the one aggregator of all hosts would have followed from the asker's: named so, too. */
bool wp_other_paths_follow_asked(struct wp_aggregate *aggregate, uint64_t until_ns, const struct wp_sink *sink)
{
    if (!aggregate->walk.has_asked)
        take_asked(aggregate, until_ns);
    aggregate->walk.has_asked = false;
    if (!aggregate->waiting.count && !aggregate->following.rows.count)
        return true;
    wp_explain_say_home(aggregate->explainer, true);
    bool is_whole = wp_other_paths_follow(aggregate, sink);
    wp_explain_say_home(aggregate->explainer, false);
    aggregate->walk.has_asked = !is_whole;
    return is_whole;
}

bool wp_aggregate_follow_asked(struct wp_aggregate *aggregate, uint64_t until_ns)
{
    bool is_whole = wp_other_paths_follow_asked(aggregate, until_ns, &aggregate->asked_for);
    wp_sample_sums_flush(aggregate);
    return is_whole;
}

void wp_other_paths_forget(struct wp_aggregate *aggregate, uint64_t horizon_ns)
{
    struct wp_intervals *followed = aggregate->followed;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < followed->count; i++)
        if (followed->rows[i].host != aggregate->home ||
            (followed->rows[i].end_ns >= horizon_ns && kept < FOLLOWED_LIMIT))
            followed->rows[kept++] = followed->rows[i];
    followed->count = kept;
}

void wp_other_paths_fini(struct wp_aggregate *aggregate)
{
    free(aggregate->waiting.rows);
    free(aggregate->following.rows.rows);
    free(aggregate->asked.rows);
}
