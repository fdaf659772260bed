/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/taken.h"

#include "aggregator/timeline/slices.h"

void wp_slices_followed(const struct wp_thread *thread, uint64_t from, uint64_t to, uint64_t bit)
{
    if (from >= to)
        return;
    for (uint64_t i = wp_thread_find(thread, to - 1); i != thread->slice_end; i--) {
        wp_slice_taken(thread, i, to, bit);
        if (wp_thread_slice(thread, i)->out_ns <= from || i == thread->first_slice)
            break;
    }
}
