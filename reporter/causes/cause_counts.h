/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_COUNTS_H
#define WP_REPORTER_CAUSES_CAUSE_COUNTS_H
/* How often a sleep at a place of the application was, in how many threads, for how many peers. */
#include "reporter/causes/causes.h"

struct wp_cause_threads {
    uint32_t count;   /* 0 not known */
    bool is_least;    /* more may have been: not everything was kept event by event */
    const char *role; /* the outermost function of the program in all of them; NULL: they differ, or it is not known */
};

/* Wakings from the sleeps that the cause is about; with is_outer from the outermost sleeps that it stands on. */
uint64_t wp_cause_wakings(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, bool is_outer);
/* The same, of the function of the program that calls there most often. */
uint64_t wp_cause_wakings_of_caller(
    const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, bool is_outer);
/* Wakings of the same process from all its sleeps for that peer, which it asks itself. */
uint64_t wp_cause_wakings_for(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);
/* Of the cause's time: that in which those who had its lock had been woken on a condition, and queued for its lock as
 * well.
 */
uint64_t wp_cause_woken_together(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);
/* Threads of interest that slept as the cause of that row does, of those kept event by event in the view by threads
 * (facts->by_threads): at that place of the program, called from the function at the node `caller` (0: whoever calls),
 * or, where it has no place, for the lock, file or connection that the sleep names. */
struct wp_cause_threads wp_cause_threads(
    const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint32_t caller);
/* Different peers that this place of the program asks and sleeps for, in one recording. */
uint32_t wp_cause_peers(const struct wp_causes *causes, struct wp_facts *facts, uint32_t sleep);
/* Whether it waits on a socket: "tcp 10.0.0.7:5432" of its frame; NULL it does not. */
const char *wp_cause_peer(const struct wp_facts *facts, uint32_t sleep);
/* Whether the network said of whom it waits for that nobody is there (an ICMP error): "udp:10.0.0.2:53 (unreachable)".
 */
bool wp_cause_is_unreachable(const struct wp_facts *facts, const struct wp_cause_fact *cause);
/* Of calls that timed out and do not say themselves for what: who had not answered in half of their time or more,
 * "tcp 10.0.0.7:5432" in the facts' pool; NULL: it is not known. */
const char *wp_cause_due(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);
/* Of faults on pages of files: the file that half of their time or more reads, in the facts' pool; NULL: it is not
 * known, or is no such cause. */
const char *wp_cause_file(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);
/* Of a wait for a disk: how long it was for pages of files that had been given up for want of a cgroup's memory, and
 * which cgroup's most, a name in the report; NULL: none. */
const char *wp_cause_read_again(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint64_t *ns);

#endif
