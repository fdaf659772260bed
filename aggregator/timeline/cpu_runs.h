/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_CPU_RUNS_H
#define WP_AGGREGATOR_TIMELINE_CPU_RUNS_H
/*
 * Who ran when on each CPU of a host: per CPU the runs one behind the other, without gap, in blocks that go as they
 * grow old. What a thread that is runnable waits for is read from them. A run takes 10 bytes.
 */
#include "common/intmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of occupants that are no threads; those of threads come behind them. */
enum wp_occupant_number {
    WP_OCCUPANT_LOST,   /* not known: events were lost */
    WP_OCCUPANT_UNSEEN, /* not known: no event of that CPU came yet, or the recording paused */
    WP_OCCUPANT_IDLE,
    WP_OCCUPANT_OTHER, /* a thread; there are too many names for its own */
    WP_OCCUPANT_FIRST
};

/* for_comm of what takes a CPU from its thread: comm is the name of an interrupt, 0 not known; of the hypervisor 0. */
#define WP_OCCUPANT_INTERRUPT (UINT32_MAX - 1)
#define WP_OCCUPANT_SOFT_INTERRUPT (UINT32_MAX - 2)
#define WP_OCCUPANT_STEAL (UINT32_MAX - 3)
/* for_comm of a CPU that was idle but for threads of other hosts, which are not told; comm is 0. */
#define WP_OCCUPANT_ELSEWHERE (UINT32_MAX - 4)

/* Names of who runs; many processes share them. */
struct wp_occupant {
    uint32_t comm;     /* string id: what its process is called */
    uint32_t for_comm; /* string id: of the process that woke or created it, 0 not known, or its own; or as above */
    bool is_kernel;    /* of the first that had these names */
};

#define WP_CPU_BLOCK_RUNS 64u
#define WP_CPU_NEAR_RUNS 8u
#define WP_OCCUPANTS 65536u /* a run has two bytes for it */
#define WP_OCCUPANT_BITS (WP_OCCUPANTS / 64)
#define WP_OCCUPANT_FREE                                                                                               \
    UINT32_MAX /* for_comm of a number that nobody has; its comm is the next one of these, 0 none */

/* One run. `end_ns` is UINT64_MAX for the last one of its CPU. */
struct wp_cpu_run {
    uint64_t start_ns, end_ns;
    uint32_t process; /* index; 0: idle, not known, or gone before a restart */
    uint16_t occupant;
};

/* Runs of one CPU, one behind the other. Private to cpu_runs.c, but for the inline functions. */
struct wp_cpu_block {
    uint64_t base_ns;
    uint32_t count;
    uint32_t offset_ns[WP_CPU_BLOCK_RUNS]; /* of their starts */
    uint32_t process[WP_CPU_BLOCK_RUNS];
    uint16_t occupant[WP_CPU_BLOCK_RUNS];
};

/* A block, and its base_ns: it is searched for without touching the others. */
struct wp_cpu_stretch {
    uint64_t base_ns;
    struct wp_cpu_block *block; /* owned */
};

/* A CPU's blocks, in the order of time. */
struct wp_cpu_ring {
    struct wp_cpu_stretch *blocks; /* owned */
    uint32_t count, room;
    uint32_t found, found_at; /* the block and run that were looked up last */
};

/* Embedded; zeroed: nothing is known. */
struct wp_cpu_runs {
    struct wp_cpu_ring *cpus;
    uint32_t cpu_room;
    struct wp_occupant *occupants; /* by number; those below WP_OCCUPANT_FIRST are zeros */
    uint32_t occupant_count, occupant_room;
    uint32_t first_free, free_count; /* numbers that are given again */
    uint32_t new_names;              /* since numbers were last looked for that nobody has */
    uint32_t reuses;                 /* so often were they looked for: until the next time a number has one meaning */
    struct wp_intmap occupant_numbers;
    uint64_t block_bytes;
    uint64_t unnamed; /* so often there were too many names */
};

/* The place of a run; runs that begin, and runs that are forgotten or cut, make it invalid. */
struct wp_cpu_cursor {
    const struct wp_cpu_ring *ring;
    uint32_t block, at;
};

/* Frees all and zeroes it; zeroed is allowed. */
void wp_cpu_runs_fini(struct wp_cpu_runs *runs);
/* The number of an occupant with these names, which is copied; WP_OCCUPANT_OTHER when there are too many, or no memory.
 */
uint16_t wp_cpu_runs_occupant(struct wp_cpu_runs *runs, const struct wp_occupant *occupant);
/* Whether it is time to look for numbers that nobody has: few are left, and many were given since the last time. */
bool wp_cpu_runs_is_crowded(const struct wp_cpu_runs *runs);
/* Numbers that no run has, and of which there is no bit, are given again: their names are forgotten. Changes `bits`. */
void wp_cpu_runs_reuse(struct wp_cpu_runs *runs, uint64_t bits[WP_OCCUPANT_BITS]);
/* As they were saved, one behind the other, into runs that have none; a free one says so in for_comm. -EBADMSG: there
 * are too many, or one is there twice; -ENOMEM. */
int wp_cpu_runs_put_occupant(struct wp_cpu_runs *runs, const struct wp_occupant *occupant);
/* The slow part of wp_cpu_runs_begin(): the first run of its block, of its CPU, or one whose time is before the last
 * one's. */
bool wp_cpu_runs_begin_block(struct wp_cpu_runs *runs, uint32_t cpu, const struct wp_cpu_run *run);

/* A run into a block that has room for it. */
static inline void wp_cpu_block_put(struct wp_cpu_block *block, uint64_t offset_ns, const struct wp_cpu_run *run)
{
    uint32_t at = block->count++;
    block->offset_ns[at] = (uint32_t)offset_ns;
    block->process[at] = run->process;
    block->occupant[at] = run->occupant;
}

/* A run begins, and the one before it on that CPU ends; a time before that one's start is its start. False: out of
 * memory, and all that was known of the CPU is gone. */
static inline bool wp_cpu_runs_begin(struct wp_cpu_runs *runs, uint32_t cpu, const struct wp_cpu_run *run)
{
    const struct wp_cpu_ring *ring = cpu < runs->cpu_room ? &runs->cpus[cpu] : NULL;
    struct wp_cpu_block *block = ring && ring->count ? ring->blocks[ring->count - 1].block : NULL;
    uint64_t offset_ns = block ? run->start_ns - block->base_ns : UINT64_MAX;
    if (!block || block->count == WP_CPU_BLOCK_RUNS || offset_ns > UINT32_MAX ||
        offset_ns < block->offset_ns[block->count - 1])
        return wp_cpu_runs_begin_block(runs, cpu, run);
    wp_cpu_block_put(block, offset_ns, run);
    return true;
}

/* Forgets the runs of that CPU that begin after from_ns; its first one stays. */
void wp_cpu_runs_cut(struct wp_cpu_runs *runs, uint32_t cpu, uint64_t from_ns);
/* What is now known of the last run of that CPU, if there is one. */
void wp_cpu_runs_correct(struct wp_cpu_runs *runs, uint32_t cpu, uint32_t process, uint16_t occupant);
/* The last run of that CPU. False: none is known. */
bool wp_cpu_runs_last(const struct wp_cpu_runs *runs, uint32_t cpu, struct wp_cpu_run *run);
/* Forgets blocks of runs that ended before the horizon. */
void wp_cpu_runs_forget(struct wp_cpu_runs *runs, uint64_t horizon_ns);
/* What it takes of memory. */
size_t wp_cpu_runs_bytes(const struct wp_cpu_runs *runs);

/* The run that holds the instant; false: nothing is known of that CPU at that time. */
bool wp_cpu_runs_find(const struct wp_cpu_runs *runs, uint32_t cpu, uint64_t at_ns, struct wp_cpu_cursor *cursor);
/* The same where it is the run that was looked up last on that CPU or one of the next few, as mostly: when it began,
 * and whose it is. False: it is to be looked up. */
static inline bool wp_cpu_runs_near(
    const struct wp_cpu_runs *runs, uint32_t cpu, uint64_t at_ns, struct wp_cpu_run *run)
{
    struct wp_cpu_ring *ring = cpu < runs->cpu_room ? &runs->cpus[cpu] : NULL;
    const struct wp_cpu_stretch *found = ring && ring->found < ring->count ? &ring->blocks[ring->found] : NULL;
    if (!found || at_ns < found->base_ns || (ring->found + 1 < ring->count && at_ns >= found[1].base_ns))
        return false;
    const struct wp_cpu_block *block = found->block;
    uint64_t offset_ns = at_ns - found->base_ns;
    uint32_t at = ring->found_at, end = at + WP_CPU_NEAR_RUNS < block->count ? at + WP_CPU_NEAR_RUNS : block->count;
    if (at >= end || block->offset_ns[at] > offset_ns)
        return false;
    while (at + 1 < end && block->offset_ns[at + 1] <= offset_ns)
        at++;
    if (at + 1 == end && end < block->count)
        return false;
    ring->found_at = at;
    run->start_ns = block->base_ns + block->offset_ns[at];
    run->process = block->process[at];
    run->occupant = block->occupant[at];
    return true;
}
/* The run at the cursor. */
struct wp_cpu_run wp_cpu_cursor_run(const struct wp_cpu_cursor *cursor);
/* To the run before it; false, and the cursor stays: there is none. */
bool wp_cpu_cursor_back(struct wp_cpu_cursor *cursor);
/* The same, to the run after it. */
bool wp_cpu_cursor_on(struct wp_cpu_cursor *cursor);

#endif
