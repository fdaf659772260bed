/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/irregular.h"

#include "aggregator/timeline/timeline_types.h"

#include <stddef.h>

static const struct {
    const char *name;
    size_t at; /* of the count in struct wp_timeline */
} irregulars[WP_IRREGULARS] = {
    {"chain_break", offsetof(struct wp_timeline, counts.chain_breaks)},
    {"repaired_in", offsetof(struct wp_timeline, counts.repaired_in)},
    {"repaired_out", offsetof(struct wp_timeline, counts.repaired_out)},
    {"late_sample", offsetof(struct wp_timeline, counts.late_samples)},
    {"lost_sample", offsetof(struct wp_timeline, counts.lost_samples)},
    {"waking_of_running", offsetof(struct wp_timeline, counts.wakings_of_running)},
    {"waking_of_dead", offsetof(struct wp_timeline, counts.wakings_of_dead)},
    {"unseen_waking", offsetof(struct wp_timeline, counts.unseen_wakings)},
    {"inferred_waking", offsetof(struct wp_timeline, counts.inferred_wakings)},
    {"out_of_order", offsetof(struct wp_timeline, counts.out_of_order)},
    {"lost_end", offsetof(struct wp_timeline, counts.lost_ends)},
    {"late_turn", offsetof(struct wp_timeline, messages.turns.refused)},
    {"unnamed_runner", offsetof(struct wp_timeline, cpu_runs.unnamed)}, {"filled_block_step", 0}, /* two counts */
};

const char *wp_irregular_name(unsigned kind)
{
    return irregulars[kind].name;
}

uint64_t wp_irregular_count(const struct wp_timeline *timeline, unsigned kind)
{
    if (!irregulars[kind].at)
        return timeline->blockops.filled_insert + timeline->blockops.filled_issue;
    return *(const uint64_t *)((const char *)timeline + irregulars[kind].at);
}
