/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_LEADERS_H
#define WP_AGGREGATOR_TIMELINE_LEADERS_H
/*
 * The main threads of processes, as the dictionary has them: a process whose first event is of another thread, which
 * may have a name of its own, is called as its main thread is, though that sleeps all along. One thread at a time.
 */
#include "common/intmap.h"
#include "proto/dictionary.h"

/* Zeros: none yet. */
struct wp_leaders {
    struct wp_intmap of_pid; /* the entry of each process' main thread that is not forgotten, the last one */
    uint32_t seen;           /* entries of the dictionary up to this one are in it */
};

/* Frees the map. */
void wp_leaders_fini(struct wp_leaders *leaders);
/* The main thread of the process that the entry's thread is one of; NULL: no entry before it is one that was there
 * before it, or out of memory. Valid until the dictionary's next batch. */
const struct wp_thread_entry *wp_leaders_find(
    struct wp_leaders *leaders, const struct wp_dictionary *dictionary, uint32_t entry);
/* The dictionary forgets that entry of a thread of the process `pid`. */
void wp_leaders_forget(struct wp_leaders *leaders, uint32_t pid, uint32_t entry);

#endif
