/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_SLICES_H
#define WP_AGGREGATOR_TIMELINE_SLICES_H
/* The slices and samples of threads in their rings: made, found, forgotten. */
#include "aggregator/timeline/timeline_types.h"

/* Puts a sample in its place in the order of time, which is near the end. Out of memory: timeline->failed is set, and
 * the sample is lost. Pointers to samples become invalid. */
void wp_timeline_push_sample(struct wp_timeline *timeline, struct wp_thread *thread, uint64_t time_ns, uint32_t stack);
/* Forgets slices and samples that end before `horizon_ns`, but the last of each thread. */
void wp_timeline_forget(struct wp_timeline *timeline, uint64_t horizon_ns);

/* A new last slice; NULL: out of memory. For timeline*.c and gap_repair.c. */
struct wp_slice *wp_timeline_push_slice(struct wp_timeline *timeline, struct wp_thread *thread, uint64_t out_ns);

/* Ordinal of the slice that holds the instant (out <= at), or thread->slice_end when there is none. */
uint64_t wp_thread_find(const struct wp_thread *thread, uint64_t at_ns);
/* First sample ordinal with time >= at. */
uint64_t wp_thread_find_sample(const struct wp_thread *thread, uint64_t at_ns);

/* Frees the rings of a thread. */
void wp_thread_fini(struct wp_thread *thread);

#endif
