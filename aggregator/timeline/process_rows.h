/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_PROCESS_ROWS_H
#define WP_AGGREGATOR_TIMELINE_PROCESS_ROWS_H
/*
 * Which processes have a row of their own in reports: so many of those that come up, or take another name, in an hour
 * of the host, and all that were there before the session. The others stand together in one row of the host.
 */
#include "aggregator/timeline/timeline_types.h"

#define WP_PROCESS_ROWS 65536u

/* The process has come up: counts it, and says of it whether it has a row. */
void wp_process_rows_add(struct wp_timeline *timeline, struct wp_process *process);
/* It has that name from now on, which counts as another row. */
void wp_process_rows_name(struct wp_timeline *timeline, struct wp_process *process, uint32_t comm);
/* The session goes on from another one of the host: so does the count. */
void wp_process_rows_continue(struct wp_timeline *timeline, const struct wp_timeline *before);
/* How many were counted in the hour of `horizon_ns` before it. */
uint32_t wp_process_rows_until(const struct wp_timeline *timeline, uint64_t horizon_ns);
/* Sets that again; later ones of the hour add to it. */
void wp_process_rows_restore(struct wp_timeline *timeline, uint64_t horizon_ns, uint32_t count);

#endif
