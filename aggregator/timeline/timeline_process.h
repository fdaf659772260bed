/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_PROCESS_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_PROCESS_H
/* Which process a thread is one of. */
#include "aggregator/timeline/timeline_types.h"

/* Index of the process of that thread of the dictionary, made where its number is not known or `is_new` says that it is
 * another one's now; it is called as its main thread is. 0: out of memory. */
uint32_t wp_timeline_process(struct wp_timeline *timeline, uint32_t entry_id, bool is_new);
/* Whether that main thread, the first time that it is met, leads the process that has its number: a thread of it was
 * met before, which did not start before it. Else the number is used again. */
bool wp_timeline_is_led_by(struct wp_timeline *timeline, const struct wp_thread_entry *entry);
/* The live main thread that has the entry's number and began when that did: it is the same one, which an exec has made
 * another program. 0: none. */
uint32_t wp_timeline_thread_of_number(const struct wp_timeline *timeline, const struct wp_thread_entry *entry);

#endif
