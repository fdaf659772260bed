/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_CPU_RUNS_H
#define WP_AGGREGATOR_TIMELINE_CPU_RUNS_H
/*
 * Who ran when on each CPU of a host: per CPU the runs one behind the other, without gap, in blocks that go as they
 * grow old. What a thread that is runnable waits for is read from them. A run takes 5 bytes, and who ran 6 more when
 * none of the last few in its block were the same.
 */
#include "common/intmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#define WP_CPU_BLOCK_BYTES 632u /* of runs and of who they are */
#define WP_CPU_RUN_BYTES 5u     /* when it began, less the block's base_ns, and the number of who it is: 4 and 1 */
#define WP_CPU_WHO_BYTES 6u     /* a process and an occupant: 4 and 2 */
#define WP_CPU_BLOCK_RUNS (WP_CPU_BLOCK_BYTES / WP_CPU_RUN_BYTES) /* it has no more than these */
#define WP_CPU_SAME 8u                                            /* of who is in the block, looked at for a new run */
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

/* Runs of one CPU, one behind the other, from the beginning of `bytes` on; and who they are, from its end on. Private
 * to cpu_runs.c, but for the inline functions. */
struct wp_cpu_block {
    uint64_t base_ns;
    uint16_t count, who_count;
    uint16_t room; /* bytes that are neither */
    uint8_t bytes[WP_CPU_BLOCK_BYTES];
};

_Static_assert(WP_CPU_BLOCK_BYTES / WP_CPU_WHO_BYTES < 256, "a run has a byte for who it is");

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

/* When that run began, less the block's base_ns. */
static inline uint32_t wp_cpu_block_offset(const struct wp_cpu_block *block, uint32_t at)
{
    uint32_t offset_ns;
    memcpy(&offset_ns, block->bytes + (size_t)at * WP_CPU_RUN_BYTES, sizeof(offset_ns));
    return offset_ns;
}

/* Where it says who has that number in the block: a process, and behind it an occupant. */
static inline const uint8_t *wp_cpu_block_who(const struct wp_cpu_block *block, uint32_t number)
{
    return block->bytes + WP_CPU_BLOCK_BYTES - WP_CPU_WHO_BYTES - (size_t)number * WP_CPU_WHO_BYTES;
}

/* Whether it is the same process and occupant. */
static inline bool wp_cpu_who_is(const uint8_t *who, const struct wp_cpu_run *run)
{
    return !memcmp(who, &run->process, sizeof(run->process)) &&
        !memcmp(who + sizeof(run->process), &run->occupant, sizeof(run->occupant));
}

/* Who that run is. */
static inline void wp_cpu_block_run(const struct wp_cpu_block *block, uint32_t at, struct wp_cpu_run *run)
{
    const uint8_t *who = wp_cpu_block_who(block, block->bytes[at * WP_CPU_RUN_BYTES + sizeof(uint32_t)]);
    memcpy(&run->process, who, sizeof(run->process));
    memcpy(&run->occupant, who + sizeof(run->process), sizeof(run->occupant));
}

/* One run more, and who it is, have room. */
static inline bool wp_cpu_block_has_room(const struct wp_cpu_block *block)
{
    return block->room >= WP_CPU_RUN_BYTES + WP_CPU_WHO_BYTES;
}

/* The number of who runs, where it is not that of the run before the last one. */
uint8_t wp_cpu_block_number(struct wp_cpu_block *block, const struct wp_cpu_run *run);

/* A run into a block that has room for it. */
static inline void wp_cpu_block_put(struct wp_cpu_block *block, uint64_t offset_ns, const struct wp_cpu_run *run)
{
    uint32_t offset = (uint32_t)offset_ns;
    uint8_t *at = block->bytes + block->count++ * WP_CPU_RUN_BYTES;
    const uint8_t *before = at - 2 * WP_CPU_RUN_BYTES + sizeof(offset); /* mostly two take turns */
    bool is_turn = block->count > 2 && wp_cpu_who_is(wp_cpu_block_who(block, *before), run);
    memcpy(at, &offset, sizeof(offset));
    at[sizeof(offset)] = is_turn ? *before : wp_cpu_block_number(block, run);
    block->room = (uint16_t)(block->room - WP_CPU_RUN_BYTES);
}

/* A run begins, and the one before it on that CPU ends; a time before that one's start is its start. False: out of
 * memory, and all that was known of the CPU is gone. */
static inline bool wp_cpu_runs_begin(struct wp_cpu_runs *runs, uint32_t cpu, const struct wp_cpu_run *run)
{
    const struct wp_cpu_ring *ring = cpu < runs->cpu_room ? &runs->cpus[cpu] : NULL;
    struct wp_cpu_block *block = ring && ring->count ? ring->blocks[ring->count - 1].block : NULL;
    uint64_t offset_ns = block ? run->start_ns - block->base_ns : UINT64_MAX;
    if (!block || !wp_cpu_block_has_room(block) || offset_ns > UINT32_MAX ||
        offset_ns < wp_cpu_block_offset(block, block->count - 1u))
        return wp_cpu_runs_begin_block(runs, cpu, run);
    wp_cpu_block_put(block, offset_ns, run);
    return true;
}

/* Forgets the runs of that CPU that begin after from_ns; its first one stays. */
void wp_cpu_runs_cut(struct wp_cpu_runs *runs, uint32_t cpu, uint64_t from_ns);
/* What is now known of the last run of that CPU, if there is one. Out of memory: all that was known of the CPU is gone.
 */
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
    if (at >= end || wp_cpu_block_offset(block, at) > offset_ns)
        return false;
    while (at + 1 < end && wp_cpu_block_offset(block, at + 1) <= offset_ns)
        at++;
    if (at + 1 == end && end < block->count)
        return false;
    ring->found_at = at;
    run->start_ns = block->base_ns + wp_cpu_block_offset(block, at);
    wp_cpu_block_run(block, at, run);
    return true;
}
/* The run at the cursor. */
struct wp_cpu_run wp_cpu_cursor_run(const struct wp_cpu_cursor *cursor);
/* To the run before it; false, and the cursor stays: there is none. */
bool wp_cpu_cursor_back(struct wp_cpu_cursor *cursor);
/* The same, to the run after it. */
bool wp_cpu_cursor_on(struct wp_cpu_cursor *cursor);

#endif
