/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TAKEN_H
#define WP_AGGREGATOR_TIMELINE_TAKEN_H
/* Which slices control paths hold: a mark for each aggregate. */
#include "aggregator/timeline/timeline_types.h"

/* More aggregates than bits share them: then what one waited for is not the other's detached work either. */
static inline uint16_t wp_taken_mark(uint64_t bit)
{
    return (uint16_t)(1u << __builtin_ctzll(bit) % 16);
}

/* A control path of the aggregate holds (a part of) this slice, nothing of it from `to_ns` on, in the host's time.
 * `bit` is the aggregate's. */
static inline void wp_slice_taken(const struct wp_thread *thread, uint64_t ordinal, uint64_t to_ns, uint64_t bit)
{
    struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    slice->taken |= wp_taken_mark(bit);
    if (slice->end_ns && to_ns >= slice->end_ns)
        wp_thread_slice_cpu(thread, ordinal)->held |= wp_taken_mark(bit);
}
/* One holds its sleep from there to there. The mark is that for runs of the aggregate that is eight further on; with so
 * many some work is not told. */
static inline uint16_t wp_taken_sleep_mark(uint64_t bit)
{
    return (uint16_t)(1u << (__builtin_ctzll(bit) + 8) % 16);
}
/* Marks the sleep if [from, to), in the host's time, covers at least half of it up to the waking; else it does nothing.
 * `bit` is the aggregate's. */
static inline void wp_slice_slept(struct wp_slice *slice, uint64_t from_ns, uint64_t to_ns, uint64_t bit)
{
    uint64_t end_ns = slice->wake_ns && slice->wake_ns < to_ns ? slice->wake_ns : to_ns;
    uint64_t whole_ns = slice->wake_ns > slice->out_ns ? slice->wake_ns - slice->out_ns : 0;
    if (end_ns > from_ns && 2 * (end_ns - from_ns) >= whole_ns)
        slice->taken |= wp_taken_sleep_mark(bit);
}
/* One holds this interval, without looking at it (it was followed before, or a bound bit). */
void wp_slices_followed(const struct wp_thread *thread, uint64_t from_ns, uint64_t to_ns, uint64_t bit);

#endif
