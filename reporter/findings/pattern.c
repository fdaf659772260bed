/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern.h"

#include "common/clock.h"
#include "reporter/display/humanize.h"
#include "reporter/findings/pattern_cpu.h"
#include "reporter/findings/pattern_disks.h"
#include "reporter/findings/pattern_locks.h"
#include "reporter/findings/pattern_peers.h"
#include "reporter/findings/pattern_timers.h"

#include <string.h>

#define QUOTA_PERCENT 10u /* of the preempted time, at least */
#define LEAST_THROTTLED 3u
/* The scheduler's own preemption lasts for the slices of the others, some ms each; a quota's until its period of 100 ms
 * ends (kernel/sched/fair.c). */
#define THROTTLED_NS (40u * (uint64_t)WP_NS_PER_MS)
#define LONGEST_PERIOD_NS ((uint64_t)WP_NS_PER_S)

struct wp_pattern wp_pattern_of_cause(const struct wp_cause_case *of)
{
    static const struct wp_pattern_rule *const families[] = {
        wp_pattern_locks, wp_pattern_cpu, wp_pattern_peers, wp_pattern_disks, wp_pattern_timers};
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        for (const struct wp_pattern_rule *rule = families[i]; rule->key; rule++) {
            struct wp_pattern pattern = {0};
            if (!rule->fits(of, &pattern))
                continue;
            pattern.key = rule->key;
            pattern.title = rule->title;
            return pattern;
        }
    return (struct wp_pattern){0};
}

/* Preempted time, by what the engine says of who had the CPU meanwhile. */
struct preempted {
    uint64_t quota_ns; /* the cgroup's quota was used up */
    bool is_known;     /* it says so at all; older versions did not */
};

static struct preempted preempted_by(const struct wp_facts *facts)
{
    struct preempted by = {0};
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        const struct wp_cell *cell = &facts->flame.cells[i];
        uint32_t frame = facts->flame.nodes[wp_facts_rival(facts, cell->node)].frame;
        const char *name = wp_facts_frame_name(facts, frame);
        if (cell->category != WP_INVOLUNTARY || wp_facts_frame_style(facts, frame) != WP_STYLE_SCHED ||
            !strcmp(name, "sched:preempted"))
            continue;
        by.is_known = true;
        if (strncmp(name, "sched:quota", 11) != 0) /* "sched:quota of nginx.service" */
            continue;
        by.quota_ns += cell->ns;
    }
    return by;
}

struct wp_pattern wp_pattern_of_preemption(struct wp_facts *facts, uint64_t ns, uint64_t count)
{
    uint64_t mean = count ? ns / count : 0;
    struct preempted by = preempted_by(facts);
    if (by.quota_ns > ns / 100 * QUOTA_PERCENT)
        return (struct wp_pattern){.key = "quota_throttling",
            .title = "Throttled by a CPU quota",
            .sure = WP_SURETY_CERTAIN,
            .evidence = wp_pool_printf(&facts->pool, "for %s of it its cgroup had used up its quota",
                wp_human_duration(&facts->pool, by.quota_ns))};
    if (by.is_known)
        return (struct wp_pattern){0};
    if (count < LEAST_THROTTLED || mean < THROTTLED_NS || mean > LONGEST_PERIOD_NS)
        return (struct wp_pattern){0};
    return (struct wp_pattern){.key = "quota_throttling",
        .title = "Throttled by a CPU quota",
        .sure = WP_SURETY_POSSIBLE,
        .evidence = wp_pool_printf(&facts->pool,
            "the CPU is lost %s times, for %s each, longer than the scheduler's own slices; cpu.stat of its cgroup "
            "tells",
            wp_human_count(&facts->pool, count), wp_human_duration(&facts->pool, mean))};
}

struct wp_pattern wp_pattern_of_quota(void)
{
    return (struct wp_pattern){.key = "quota_throttling",
        .title = "Throttled by a CPU quota",
        .sure = WP_SURETY_CERTAIN,
        .evidence = "the kernel throttled the cgroup as the thread left its CPU"};
}

const char *wp_surety_key(enum wp_surety sure)
{
    static const char *const keys[] = {
        [WP_SURETY_POSSIBLE] = "possible", [WP_SURETY_LIKELY] = "likely", [WP_SURETY_CERTAIN] = "certain"};
    return keys[sure];
}

const char *wp_pattern_text(struct wp_pool *pool, const struct wp_pattern *pattern)
{
    return pattern->key
        ? wp_pool_printf(pool, " %s, %s: %s.", pattern->title, wp_surety_key(pattern->sure), pattern->evidence)
        : "";
}
