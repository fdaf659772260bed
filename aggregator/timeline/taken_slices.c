/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/taken_slices.h"

#include "aggregator/timeline/slices.h"
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>

#define PART_SHIFT 16 /* of a mark's second half */

/* --- saved --- */

/* The ordinal of the first slice that ended after `since_ns`. */
static uint64_t first_after(const struct wp_thread *thread, uint64_t since_ns)
{
    uint64_t ordinal = thread->slice_end;
    while (ordinal > thread->first_slice) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal - 1);
        if (slice->end_ns && slice->end_ns <= since_ns)
            break;
        ordinal--;
    }
    return ordinal;
}

/* Whose paths hold it, and whose only a part of it. */
static uint32_t mark_of(const struct wp_thread *thread, uint64_t ordinal)
{
    uint32_t taken = wp_thread_slice(thread, ordinal)->taken;
    return taken | (taken & ~(uint32_t)wp_thread_slice_cpu(thread, ordinal)->held) << PART_SHIFT;
}

/* Pairs of a number of slices and their mark, up to the last one that has any. */
static int put_runs(const struct wp_thread *thread, uint64_t first, uint64_t last, Wakepath__Resume__Taken *row)
{
    for (uint64_t i = first; i <= last; i++) {
        uint32_t mark = mark_of(thread, i);
        if (row->n_runs && row->runs[row->n_runs - 1] == mark) {
            row->runs[row->n_runs - 2]++;
            continue;
        }
        const uint32_t pair[] = {1, mark};
        for (int k = 0; k < 2; k++) {
            if (WP_ARRAY_NEXT(row->runs, row->n_runs))
                return -ENOMEM;
            row->runs[row->n_runs++] = pair[k];
        }
    }
    return 0;
}

static int put_thread(const struct wp_timeline *timeline, const struct wp_thread *thread, uint64_t since_ns,
    Wakepath__Resume__Checkpoint *out)
{
    uint64_t first = first_after(thread, since_ns), last = thread->slice_end;
    while (first < last && !wp_thread_slice(thread, first)->taken)
        first++;
    while (last > first && !wp_thread_slice(thread, last - 1)->taken)
        last--;
    if (first == last)
        return 0;
    Wakepath__Resume__Taken *row = calloc(1, sizeof(*row));
    if (!row)
        return -ENOMEM;
    wakepath__resume__taken__init(row);
    out->taken[out->n_taken++] = row;
    const struct wp_slice *slice = wp_thread_slice(thread, first);
    row->entry = timeline->identities[slice->identity].entry;
    row->out_ns = slice->out_ns;
    return put_runs(thread, first, last - 1, row);
}

int wp_taken_slices_save(const struct wp_timeline *timeline, uint64_t since_ns, Wakepath__Resume__Checkpoint *out)
{
    out->taken = calloc(timeline->live_count + 1, sizeof(*out->taken));
    int rc = out->taken ? 0 : -ENOMEM;
    for (uint32_t i = 0; !rc && i < timeline->live_count; i++) {
        const struct wp_thread *thread = &timeline->threads[timeline->live[i]];
        if (thread->slices)
            rc = put_thread(timeline, thread, since_ns, out);
    }
    return rc;
}

/* --- back --- */

static uint16_t as_now(uint32_t mark, const uint16_t marks[16])
{
    uint16_t now = 0;
    for (unsigned i = 0; i < 16; i++)
        now |= mark & 1u << i ? marks[i] : 0;
    return now;
}

static void take_runs(
    struct wp_thread *thread, uint64_t ordinal, const Wakepath__Resume__Taken *row, const uint16_t marks[16])
{
    for (size_t i = 0; i + 1 < row->n_runs; i += 2)
        for (uint32_t left = row->runs[i]; left && ordinal < thread->slice_end; left--, ordinal++) {
            uint32_t mark = row->runs[i + 1];
            wp_thread_slice(thread, ordinal)->taken |= as_now(mark, marks);
            wp_thread_slice_cpu(thread, ordinal)->held |= as_now(mark & ~(mark >> PART_SHIFT), marks);
        }
}

void wp_taken_slices_restore(
    struct wp_timeline *timeline, Wakepath__Resume__Taken *const *rows, size_t count, const uint16_t marks[16])
{
    for (size_t i = 0; i < count; i++) {
        uint32_t known = rows[i]->entry < timeline->entry_room ? timeline->thread_of_entry[rows[i]->entry] : 0;
        struct wp_thread *thread = known ? &timeline->threads[known - 1] : NULL;
        if (!thread || !thread->slices)
            continue;
        uint64_t ordinal = wp_thread_find(thread, rows[i]->out_ns);
        if (ordinal != thread->slice_end && wp_thread_slice(thread, ordinal)->out_ns == rows[i]->out_ns)
            take_runs(thread, ordinal, rows[i], marks);
    }
}
