/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_MEMORY_SHARES_H
#define WP_AGGREGATOR_TIMELINE_MEMORY_SHARES_H
/*
 * Who has the memory of a cgroup that is short of it: what its processes said of themselves, up to once a second while
 * somebody waits for its memory.
 */
#include "aggregator/timeline/timeline_types.h"

/* Frees what is kept. */
void wp_memory_shares_fini(struct wp_memory_shares *shares);
/* A WP_REASON_MEMORY event of the thread of that index, whose process that is. Out of memory it is not kept. */
void wp_memory_shares_add(
    struct wp_memory_shares *shares, const struct wp_event *event, uint32_t thread, uint32_t process);
/* The process that has the most of the cgroup (string id) as it was told last before `until_ns`; 0: that is not known,
 * or it has less than half of what all together have. */
uint32_t wp_memory_shares_most(const struct wp_memory_shares *shares, uint32_t cgroup, uint64_t until_ns);
/* What was told before `before_ns` is not asked for any more. */
void wp_memory_shares_forget(struct wp_memory_shares *shares, uint64_t before_ns);

#endif
