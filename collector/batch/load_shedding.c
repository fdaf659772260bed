/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/load_shedding.h"

#include "common/clock.h"

#include <string.h>
#include <time.h>

#define LOOK_NS 100000000u /* measuring costs little, but not nothing */

void wp_load_shedding_init(struct wp_load_shedding *t, const double *limit_percent, struct wp_source *source,
    struct wp_batcher *batcher, const struct wp_logger *logger)
{
    memset(t, 0, sizeof(*t));
    wp_budget_init(&t->budget, *limit_percent);
    t->limit_percent = limit_percent;
    t->source = source;
    t->batcher = batcher;
    t->logger = logger;
}

static void measure(struct wp_load_shedding *t, struct wp_source_counts *counts)
{
    uint64_t own_ns = wp_clock_of_ns(CLOCK_PROCESS_CPUTIME_ID);
    *counts = (struct wp_source_counts){0};
    if (t->source->ops->count)
        t->source->ops->count(t->source, counts);
    t->reading_ns = counts->reading_ns + wp_batcher_reading_ns(t->batcher);
    own_ns = own_ns > t->reading_ns ? own_ns - t->reading_ns : 0;
    t->cost_ns = own_ns + counts->program_ns;
    t->programs_ns = counts->program_ns;
}

static void add_drop(
    struct wp_load_shedding *t, enum wp_drop_reason reason, uint64_t count, uint64_t from_ns, uint64_t to_ns)
{
    t->left_out_ns[reason == WP_DROP_PAUSED] += to_ns - from_ns;
    wp_batcher_left_out(
        t->batcher, &(struct wp_drop){.count = count, .from_ns = from_ns, .to_ns = to_ns, .reason = reason});
}

/* What was left out since the last time. A pause that goes on is reported piece by piece: batches do not wait for its
 * end. */
static void add_drops(struct wp_load_shedding *t, uint64_t unwalked, uint64_t now_ns)
{
    if (t->is_paused) {
        add_drop(t, WP_DROP_PAUSED, 0, t->paused_ns, now_ns);
        t->paused_ns = now_ns;
    }
    if (unwalked != t->unwalked)
        add_drop(t, WP_DROP_STACKS, unwalked - t->unwalked, t->told_ns, now_ns);
    t->unwalked = unwalked;
    t->told_ns = now_ns;
}

static void apply(struct wp_load_shedding *t, uint64_t now_ns, uint64_t real_ns)
{
    unsigned level = t->budget.level;
    bool pauses = wp_budget_pauses(&t->budget, real_ns);
    if (pauses && !t->is_paused)
        t->paused_ns = now_ns;
    t->source->ops->thin(t->source,
        level >= WP_BUDGET_NO_STACKS        ? 0
            : level >= WP_BUDGET_FEW_STACKS ? WP_BUDGET_STACK_ONE_IN
                                            : 1);
    if (!pauses && t->is_paused)
        add_drop(t, WP_DROP_PAUSED, 0, t->paused_ns, now_ns);
    t->is_paused = pauses;
}

void wp_load_shedding_tick(struct wp_load_shedding *t, uint64_t now_ns, uint64_t real_ns)
{
    struct wp_source_counts counts;
    unsigned before = t->budget.level;
    if (!t->source->ops->thin)
        return;
    if (*t->limit_percent != t->budget.limit_percent)
        wp_budget_change(&t->budget, *t->limit_percent);
    if (now_ns - t->looked_ns >= LOOK_NS) {
        t->looked_ns = now_ns;
        measure(t, &counts);
        wp_budget_lengthen(&t->budget, counts.list_ns);
        wp_budget_look(&t->budget, now_ns, t->cost_ns);
        add_drops(t, counts.unwalked, now_ns);
    }
    if (t->budget.level != before)
        wp_log(t->logger, t->budget.level > before ? WP_LOG_WARN : WP_LOG_INFO,
            "%s overhead-limit=%g%% took=%.2f%% recorded=\"%s\"",
            t->budget.level > before ? "recording less, to stay within the overhead limit" : "recording more again",
            t->budget.limit_percent, t->budget.share_percent, wp_budget_name(t->budget.level));
    if (t->budget.level != before || t->budget.level >= WP_BUDGET_WINDOWS)
        apply(t, now_ns, real_ns);
}

void wp_load_shedding_finish(struct wp_load_shedding *t, uint64_t now_ns)
{
    struct wp_source_counts counts;
    if (!t->source->ops->thin)
        return;
    measure(t, &counts);
    add_drops(t, counts.unwalked, now_ns);
}
