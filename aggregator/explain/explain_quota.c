/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_quota.h"

#include "aggregator/explain/explain_place.h"

#include <stdlib.h>

#define LOOKS 16384u /* runs that are looked at, of all CPUs */

static void add_run(struct wp_quota_spenders *spenders, uint16_t occupant, uint64_t ns)
{
    uint32_t at = 0;
    while (at < spenders->count && at + 1 < WP_QUOTA_SPENDERS && spenders->rows[at].occupant != occupant)
        at++;
    if (at == spenders->count) {
        spenders->rows[at].occupant = occupant;
        spenders->count++;
    } else if (spenders->rows[at].occupant != occupant) {
        spenders->rows[at].occupant = WP_OCCUPANT_OTHER; /* several */
    }
    spenders->rows[at].ns += ns;
    spenders->ns += ns;
}

/* Whether it was told, by where explanations go to, that the process is of that cgroup. */
static bool is_member(const struct wp_explainer *x, const struct wp_process *process, uint32_t cgroup)
{
    return cgroup && process->quota.cgroup == cgroup && process->quota.told_ns <= wp_explain_horizon(x);
}

/* On that CPU in [from, to). False: the bound bit. */
static bool add_cpu(const struct wp_explainer *x, const struct wp_quota_wait *wait, uint32_t cpu,
    const uint64_t span[2], struct wp_quota_spenders *spenders)
{
    const struct wp_timeline *timeline = x->timeline;
    uint32_t own = timeline->identities[wait->identity].process;
    uint64_t to = span[1];
    struct wp_cpu_cursor cursor;
    bool is_known = wp_cpu_runs_find(&timeline->cpu_runs, cpu, to - 1, &cursor);
    while (is_known && to > span[0]) {
        struct wp_cpu_run run = wp_cpu_cursor_run(&cursor);
        uint64_t low = run.start_ns > span[0] ? run.start_ns : span[0];
        bool is_thread = run.occupant >= WP_OCCUPANT_OTHER && run.process;
        if (is_thread && low < to && is_member(x, &timeline->processes[run.process], wait->cgroup))
            add_run(spenders, (uint16_t)(run.process == own ? 0 : run.occupant), to - low);
        to = low < to ? low : to;
        is_known = wp_cpu_cursor_back(&cursor);
        if (++spenders->looks == LOOKS)
            return false;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct wp_quota_spender *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->occupant < b->occupant ? -1 : a->occupant > b->occupant;
}

/* When the quota was filled up of which the last was spent as that wait began. */
static uint64_t filled_ns(const struct wp_quota_wait *wait, uint64_t period_ns)
{
    uint64_t back_ns = period_ns;
    if (wait->until_ns > wait->since_ns && wait->until_ns != UINT64_MAX && period_ns)
        back_ns -= (wait->until_ns - wait->since_ns) % period_ns;
    return wait->since_ns > back_ns ? wait->since_ns - back_ns : 0;
}

/* Those that ran from `from_ns` until it began to wait. */
static void add_since(const struct wp_explainer *x, const struct wp_quota_wait *wait, uint64_t from_ns,
    struct wp_quota_spenders *spenders)
{
    const uint64_t span[2] = {from_ns, wait->since_ns};
    for (uint32_t cpu = 0; cpu < x->timeline->cpu_runs.cpu_room; cpu++)
        if (!add_cpu(x, wait, cpu, span, spenders)) {
            spenders->count = 0;
            return;
        }
}

void wp_quota_spenders(
    const struct wp_explainer *x, const struct wp_quota_wait *wait, struct wp_quota_spenders *spenders)
{
    const struct wp_process *process = &x->timeline->processes[x->timeline->identities[wait->identity].process];
    uint64_t period_ns = process->quota.period_ns, from_ns = filled_ns(wait, period_ns);
    *spenders = (struct wp_quota_spenders){0};
    if (!period_ns)
        return;
    add_since(x, wait, from_ns, spenders);
    if (!spenders->count && spenders->looks < LOOKS) /* it was filled up out of turn, as where somebody sets another */
        add_since(x, wait, wait->since_ns > period_ns ? wait->since_ns - period_ns : 0, spenders);
    qsort(spenders->rows, spenders->count, sizeof(*spenders->rows), compare);
}
