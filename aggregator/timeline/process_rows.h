/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_PROCESS_ROWS_H
#define WP_AGGREGATOR_TIMELINE_PROCESS_ROWS_H
/*
 * Which processes have a row of their own in reports: so many of those that come up, or take a name that they had not
 * had, in an hour of the host, and all that were there before the session. The others stand together in one row of the
 * host, until they run in a later hour that has room for them.
 */
#include "aggregator/timeline/timeline_types.h"
#include "proto/resume.pb-c.h"

#define WP_PROCESS_ROWS 65536u

/* Frees what is kept of names. */
void wp_process_rows_fini(struct wp_timeline *timeline);
/* What it keeps allocated. */
size_t wp_process_rows_bytes(const struct wp_timeline *timeline);
/* The process has come up: counts it, and says of it whether it has a row. */
void wp_process_rows_add(struct wp_timeline *timeline, struct wp_process *process);
/* Its thread `entry`, NULL: not known, has that name from now on: the process has, too, if that leads it, and another
 * row where it had none of that name in this hour. */
void wp_process_rows_name(
    struct wp_timeline *timeline, struct wp_process *process, const struct wp_thread_entry *entry, uint32_t comm);
/* Of a process without a row, by wp_process_rows_run(). */
void wp_process_rows_look(struct wp_timeline *timeline, struct wp_process *process);
/* The process of that identity has run: without a row since an earlier hour, it gets one of this hour. */
static inline void wp_process_rows_run(struct wp_timeline *timeline, uint32_t identity)
{
    struct wp_process *process = &timeline->processes[timeline->identities[identity].process];
    if (process->is_grouped)
        wp_process_rows_look(timeline, process);
}
/* The session goes on from another one of the host: so does the count. */
void wp_process_rows_continue(struct wp_timeline *timeline, const struct wp_timeline *before);
/* How many were counted in the hour of `horizon_ns` before it, and of which names; `rows` has the process' rows there,
 * 0: none. -ENOMEM. */
int wp_process_rows_save(
    const struct wp_timeline *timeline, uint64_t horizon_ns, const uint32_t *rows, Wakepath__Resume__Checkpoint *out);
/* Sets that again; later ones of the hour add to it. -ENOMEM, -EBADMSG. */
int wp_process_rows_restore(struct wp_timeline *timeline, const Wakepath__Resume__Checkpoint *from);

#endif
