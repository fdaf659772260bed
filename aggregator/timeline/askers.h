/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_ASKERS_H
#define WP_AGGREGATOR_TIMELINE_ASKERS_H
/*
 * Who asks on a TCP connection. It is who opened it, with one exception: a process that starts another one to work for
 * it listens, and is called back. There it asks on what it accepted, and waits for answers: workers of Gradle, R,
 * Maven's forks, debuggers. It is not so where the start of the connection was seen, and who opened it spoke first.
 */
#include "aggregator/timeline/timeline_types.h"

/* Pid of who started the process that comes up with that entry; 0: not known. */
uint32_t wp_askers_starter(struct wp_timeline *timeline, const struct wp_thread_entry *entry);
/* A SOCK event, or WP_EVENT_LOCAL, which the messages have, too; `thread`: index of the task, 0 not known. */
void wp_askers_message(struct wp_timeline *timeline, const struct wp_event *event, uint32_t thread);

#endif
