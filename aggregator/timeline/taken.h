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

#define WP_HELD_WHOLE UINT32_MAX /* of a run, to its end */

/* A control path of the aggregate holds (a part of) this slice, nothing of it from `to_ns` on, in the host's time.
 * `bit` is the aggregate's. */
static inline void wp_slice_taken(const struct wp_thread *thread, uint64_t ordinal, uint64_t to_ns, uint64_t bit)
{
    struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    uint32_t *held_ns = &wp_thread_slice_cpu(thread, ordinal)->held_ns;
    uint64_t part_ns = slice->in_ns && to_ns > slice->in_ns ? to_ns - slice->in_ns : 0;
    if ((slice->end_ns && to_ns >= slice->end_ns) || part_ns > WP_HELD_WHOLE)
        part_ns = WP_HELD_WHOLE;
    slice->taken |= wp_taken_mark(bit);
    *held_ns = part_ns > *held_ns ? (uint32_t)part_ns : *held_ns;
}
/* From when on no path of any aggregate holds the run of a slice that is marked, and which has ended; its end: one
 * holds all of it, or that is not known. */
static inline uint64_t wp_slice_held_until(const struct wp_thread *thread, uint64_t ordinal)
{
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    uint32_t held_ns = wp_thread_slice_cpu(thread, ordinal)->held_ns;
    bool is_part = held_ns && held_ns < slice->end_ns - slice->in_ns;
    return is_part ? slice->in_ns + held_ns : slice->end_ns;
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
