/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TAKEN_SLICES_H
#define WP_AGGREGATOR_TIMELINE_TAKEN_SLICES_H
/*
 * Which slices control paths had taken when a checkpoint was written (detached.h). The slices themselves come again
 * with the batches behind it; explaining them once more would tell little else, and not always the same.
 */
#include "aggregator/timeline/timeline.h"
#include "proto/resume.pb-c.h"

/* Of the slices that ended after `since_ns`, and of those that have not. -ENOMEM: `out` holds a part of them. */
int wp_taken_slices_save(const struct wp_timeline *timeline, uint64_t since_ns, Wakepath__Resume__Checkpoint *out);
/* Rows whose thread or first slice is not there are passed over. `marks`: what each of the 16 marks is called now. */
void wp_taken_slices_restore(
    struct wp_timeline *timeline, Wakepath__Resume__Taken *const *rows, size_t count, const uint16_t marks[16]);

#endif
