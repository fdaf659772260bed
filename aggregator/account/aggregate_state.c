/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/aggregate_state.h"

#include "aggregator/account/aggregate.h"
#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/detached.h"
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef Wakepath__Resume__Checkpoint message_type;

/* --- written --- */

/* A row for each name that the thread has had: by one of them it comes up again. */
static bool put_late(
    const struct wp_timeline *timeline, Wakepath__Resume__Aggregate *to, const struct wp_interval *path)
{
    for (uint32_t i = 1; i < timeline->identity_count; i++) {
        if (timeline->identities[i].thread != path->thread)
            continue;
        Wakepath__Resume__Late *row = WP_ARRAY_NEXT(to->late, to->n_late) ? NULL : calloc(1, sizeof(*row));
        if (!row)
            return false;
        wakepath__resume__late__init(row);
        row->entry = timeline->identities[i].entry;
        row->start_ns = path->start_ns;
        row->end_ns = path->end_ns;
        to->late[to->n_late++] = row;
    }
    return true;
}

static bool put_base(
    const struct wp_aggregate *from, const uint32_t *rows, uint64_t horizon_ns, Wakepath__Resume__Aggregate *to)
{
    to->paused_ns = from->paused_ns;
    to->base_thread = calloc(from->base_count + 1, sizeof(*to->base_thread));
    to->base_until_ns = calloc(from->base_count + 1, sizeof(*to->base_until_ns));
    if (!to->base_thread || !to->base_until_ns)
        return false;
    for (uint32_t i = 0; i < from->base_count; i++) {
        uint32_t thread = from->base[i].thread;
        struct wp_interval path = {from->home, thread, 0, from->base[i].until_ns};
        if (rows[thread]) {
            to->base_thread[to->n_base_thread++] = rows[thread] - 1;
            to->base_until_ns[to->n_base_until_ns++] = from->base[i].until_ns;
        } else if (from->base[i].until_ns >= horizon_ns && !put_late(from->timeline, to, &path)) {
            return false;
        }
    }
    return true;
}

static bool put_followed(const struct wp_aggregate *from, const uint32_t *rows, Wakepath__Resume__Aggregate *to)
{
    to->followed = calloc(from->followed->count + 1, sizeof(*to->followed));
    if (!to->followed)
        return false;
    for (uint32_t i = 0; i < from->followed->count; i++) {
        const struct wp_interval *interval = &from->followed->rows[i];
        if (interval->host != from->home)
            continue;
        if (!rows[interval->thread]) {
            if (!put_late(from->timeline, to, interval))
                return false;
            continue;
        }
        Wakepath__Resume__Followed *row = calloc(1, sizeof(*row));
        if (!row)
            return false;
        wakepath__resume__followed__init(row);
        row->thread = rows[interval->thread] - 1;
        row->start_ns = interval->start_ns;
        row->end_ns = interval->end_ns;
        to->followed[to->n_followed++] = row;
    }
    return true;
}

static bool put_counts(const struct wp_aggregate *from, Wakepath__Resume__Aggregate *to)
{
    to->counted_events = calloc(WP_EVENT_KINDS, sizeof(*to->counted_events));
    to->counted_drops = calloc(WP_EVENT_KINDS, sizeof(*to->counted_drops));
    if (!to->counted_events || !to->counted_drops)
        return false;
    memcpy(to->counted_events, from->counted_events, sizeof(from->counted_events));
    memcpy(to->counted_drops, from->counted_drops, sizeof(from->counted_drops));
    to->n_counted_events = to->n_counted_drops = WP_EVENT_KINDS;
    return true;
}

int wp_aggregate_save(const struct wp_aggregate *aggregate, const uint32_t *rows, message_type *m)
{
    Wakepath__Resume__Aggregate *to = WP_ARRAY_NEXT(m->aggregates, m->n_aggregates) ? NULL : calloc(1, sizeof(*to));
    if (!to)
        return -ENOMEM;
    wakepath__resume__aggregate__init(to);
    m->aggregates[m->n_aggregates++] = to;
    to->name = strdup(aggregate->id.name);
    to->release = strdup(aggregate->id.release);
    bool is_whole = to->name && to->release && put_base(aggregate, rows, m->horizon_ns, to) &&
        put_followed(aggregate, rows, to) && put_counts(aggregate, to);
    return is_whole ? 0 : -ENOMEM;
}

/* --- read --- */

/* Where the store has counted up to a batch behind the checkpoint's, that batch says it when it comes. */
static void restore_counts(
    struct wp_aggregate *aggregate, const message_type *m, const Wakepath__Resume__Aggregate *row)
{
    if (aggregate->skip_seq != m->counted_seq || m->counted_seq > m->seq)
        return;
    for (unsigned i = 0; i < WP_EVENT_KINDS; i++) {
        aggregate->counted_events[i] = i < row->n_counted_events ? row->counted_events[i] : 0;
        aggregate->counted_drops[i] = i < row->n_counted_drops ? row->counted_drops[i] : 0;
    }
}

void wp_aggregate_restore(struct wp_aggregate *aggregate, const message_type *m, const Wakepath__Resume__Aggregate *row,
    const uint32_t *threads)
{
    aggregate->paused_ns = row->paused_ns;
    restore_counts(aggregate, m, row);
    for (size_t i = 0; i < row->n_base_thread; i++)
        if (threads[row->base_thread[i]])
            wp_aggregate_set_base(aggregate, threads[row->base_thread[i]], row->base_until_ns[i]);
    for (size_t i = 0; i < row->n_followed; i++) {
        const Wakepath__Resume__Followed *followed = row->followed[i];
        if (threads[followed->thread])
            wp_aggregate_add_followed(aggregate, threads[followed->thread], followed->start_ns, followed->end_ns);
    }
}

bool wp_aggregate_resume(struct wp_aggregate *aggregate, uint64_t resolved_ns)
{
    uint64_t closed_ns = aggregate->skip_until_ns; /* epochs without news are not in the store yet */
    aggregate->paused_until_ns = resolved_ns;
    aggregate->window_until_ns = closed_ns < resolved_ns ? closed_ns : resolved_ns;
    aggregate->detached_ns = wp_detached_until(resolved_ns, aggregate->history_ns);
    return resolved_ns < closed_ns;
}

void wp_aggregate_add_followed(struct wp_aggregate *aggregate, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
    wp_intervals_add(aggregate->followed, &(struct wp_interval){aggregate->home, thread, start_ns, end_ns});
}
