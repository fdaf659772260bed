/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/cpu_runs.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_ring(struct wp_cpu_runs *runs, struct wp_cpu_ring *ring)
{
    for (uint32_t i = 0; i < ring->count; i++)
        free(ring->blocks[i].block);
    runs->block_bytes -= ring->count * sizeof(struct wp_cpu_block);
    free(ring->blocks);
    *ring = (struct wp_cpu_ring){0};
}

void wp_cpu_runs_fini(struct wp_cpu_runs *runs)
{
    for (uint32_t cpu = 0; cpu < runs->cpu_room; cpu++)
        free_ring(runs, &runs->cpus[cpu]);
    free(runs->cpus);
    free(runs->occupants);
    wp_intmap_fini(&runs->occupant_numbers);
    *runs = (struct wp_cpu_runs){0};
}

/* --- names --- */

#define CROWDED (WP_OCCUPANTS / 4 * 3)
#define NEW_NAMES (WP_OCCUPANTS / 8) /* to look at all runs and slices is long work */

static struct wp_intkey key_of(const struct wp_occupant *occupant)
{
    return (struct wp_intkey){occupant->comm, occupant->for_comm};
}

/* A number behind the last one; 0: there are too many, or no memory. */
static uint32_t next_number(struct wp_cpu_runs *runs)
{
    uint32_t number = runs->occupant_count < WP_OCCUPANT_FIRST ? WP_OCCUPANT_FIRST : runs->occupant_count;
    bool is_full = number >= WP_OCCUPANTS || WP_ARRAY_FIT_ZERO(runs->occupants, runs->occupant_room, number + 1);
    return is_full ? 0 : number;
}

uint16_t wp_cpu_runs_occupant(struct wp_cpu_runs *runs, const struct wp_occupant *occupant)
{
    uint32_t number;
    if (wp_intmap_get(&runs->occupant_numbers, key_of(occupant), &number))
        return (uint16_t)number;
    number = runs->free_count ? runs->first_free : next_number(runs);
    if (!number || wp_intmap_put(&runs->occupant_numbers, key_of(occupant), number)) {
        runs->unnamed++;
        runs->new_names++; /* else it is never looked again which numbers are free */
        return WP_OCCUPANT_OTHER;
    }
    if (runs->free_count) {
        runs->first_free = runs->occupants[number].comm;
        runs->free_count--;
    } else {
        runs->occupant_count = number + 1;
    }
    runs->occupants[number] = *occupant;
    runs->new_names++;
    return (uint16_t)number;
}

static void free_number(struct wp_cpu_runs *runs, uint32_t number)
{
    runs->occupants[number] = (struct wp_occupant){.comm = runs->first_free, .for_comm = WP_OCCUPANT_FREE};
    runs->first_free = number;
    runs->free_count++;
}

bool wp_cpu_runs_is_crowded(const struct wp_cpu_runs *runs)
{
    return runs->occupant_count - runs->free_count >= CROWDED && runs->new_names >= NEW_NAMES;
}

static void mark_block(const struct wp_cpu_block *block, uint64_t bits[WP_OCCUPANT_BITS])
{
    for (uint32_t i = 0; i < block->count; i++) {
        struct wp_cpu_run run;
        wp_cpu_block_run(block, i, &run);
        bits[run.occupant / 64] |= (uint64_t)1 << run.occupant % 64;
    }
}

void wp_cpu_runs_reuse(struct wp_cpu_runs *runs, uint64_t bits[WP_OCCUPANT_BITS])
{
    for (uint32_t cpu = 0; cpu < runs->cpu_room; cpu++)
        for (uint32_t i = 0; i < runs->cpus[cpu].count; i++)
            mark_block(runs->cpus[cpu].blocks[i].block, bits);
    for (uint32_t number = WP_OCCUPANT_FIRST; number < runs->occupant_count; number++)
        if (!(bits[number / 64] >> number % 64 & 1) && runs->occupants[number].for_comm != WP_OCCUPANT_FREE) {
            wp_intmap_remove(&runs->occupant_numbers, key_of(&runs->occupants[number]));
            free_number(runs, number);
        }
    runs->new_names = 0;
    runs->reuses++;
}

int wp_cpu_runs_put_occupant(struct wp_cpu_runs *runs, const struct wp_occupant *occupant)
{
    uint32_t number = next_number(runs);
    bool is_free = occupant->for_comm == WP_OCCUPANT_FREE;
    if (!number)
        return -EBADMSG;
    if (!is_free && wp_intmap_get(&runs->occupant_numbers, key_of(occupant), NULL))
        return -EBADMSG;
    if (!is_free && wp_intmap_put(&runs->occupant_numbers, key_of(occupant), number))
        return -ENOMEM;
    runs->occupant_count = number + 1;
    if (is_free)
        free_number(runs, number);
    else
        runs->occupants[number] = *occupant;
    return 0;
}

/* --- runs come and go --- */

static struct wp_cpu_block *last_block(const struct wp_cpu_ring *ring)
{
    return ring->count ? ring->blocks[ring->count - 1].block : NULL;
}

static uint64_t start_of(const struct wp_cpu_block *block, uint32_t at)
{
    return block->base_ns + wp_cpu_block_offset(block, at);
}

uint8_t wp_cpu_block_number(struct wp_cpu_block *block, const struct wp_cpu_run *run)
{
    uint32_t count = block->who_count, least = count > WP_CPU_SAME ? count - WP_CPU_SAME : 0;
    for (uint32_t number = count; number-- > least;)
        if (wp_cpu_who_is(wp_cpu_block_who(block, number), run))
            return (uint8_t)number;
    uint8_t *who = (uint8_t *)(uintptr_t)wp_cpu_block_who(block, count);
    memcpy(who, &run->process, sizeof(run->process));
    memcpy(who + sizeof(run->process), &run->occupant, sizeof(run->occupant));
    block->who_count++;
    block->room = (uint16_t)(block->room - WP_CPU_WHO_BYTES);
    return (uint8_t)count;
}

/* An empty one behind the last; NULL: out of memory. */
static struct wp_cpu_block *new_block(struct wp_cpu_runs *runs, struct wp_cpu_ring *ring, uint64_t at_ns)
{
    struct wp_cpu_block *block =
        WP_ARRAY_FIT(ring->blocks, ring->room, ring->count + 1) ? NULL : malloc(sizeof(*block));
    if (!block)
        return NULL;
    *block = (struct wp_cpu_block){.base_ns = at_ns, .room = WP_CPU_BLOCK_BYTES};
    ring->blocks[ring->count++] = (struct wp_cpu_stretch){at_ns, block};
    runs->block_bytes += sizeof(*block);
    return block;
}

/* The block that takes a run of that time; NULL: out of memory. */
static struct wp_cpu_block *block_for(struct wp_cpu_runs *runs, struct wp_cpu_ring *ring, uint64_t at_ns)
{
    struct wp_cpu_block *block = last_block(ring);
    bool is_fit = block && wp_cpu_block_has_room(block) && at_ns - block->base_ns <= UINT32_MAX;
    return is_fit ? block : new_block(runs, ring, at_ns);
}

bool wp_cpu_runs_begin_block(struct wp_cpu_runs *runs, uint32_t cpu, const struct wp_cpu_run *run)
{
    if (cpu >= runs->cpu_room && WP_ARRAY_FIT_ZERO(runs->cpus, runs->cpu_room, cpu + (size_t)1))
        return false;
    struct wp_cpu_ring *ring = &runs->cpus[cpu];
    const struct wp_cpu_block *before = last_block(ring);
    uint64_t least_ns = before ? start_of(before, before->count - 1u) : 0;
    uint64_t at_ns = run->start_ns > least_ns ? run->start_ns : least_ns;
    struct wp_cpu_block *block = block_for(runs, ring, at_ns);
    if (!block) {
        free_ring(runs, ring);
        return false;
    }
    wp_cpu_block_put(block, at_ns - block->base_ns, run);
    return true;
}

static void drop_last(struct wp_cpu_block *block)
{
    block->count--;
    block->room = (uint16_t)(block->room + WP_CPU_RUN_BYTES);
    if (!block->count) { /* nobody is anybody */
        block->who_count = 0;
        block->room = WP_CPU_BLOCK_BYTES;
    }
}

void wp_cpu_runs_cut(struct wp_cpu_runs *runs, uint32_t cpu, uint64_t from_ns)
{
    struct wp_cpu_ring *ring = cpu < runs->cpu_room ? &runs->cpus[cpu] : NULL;
    struct wp_cpu_block *block;
    while (ring && (block = last_block(ring)) && start_of(block, block->count - 1u) > from_ns &&
        (block->count > 1 || ring->count > 1)) {
        drop_last(block);
        if (block->count)
            continue;
        free(block);
        ring->count--;
        runs->block_bytes -= sizeof(*block);
    }
}

void wp_cpu_runs_correct(struct wp_cpu_runs *runs, uint32_t cpu, uint32_t process, uint16_t occupant)
{
    struct wp_cpu_ring *ring = cpu < runs->cpu_room ? &runs->cpus[cpu] : NULL;
    struct wp_cpu_block *block = ring ? last_block(ring) : NULL;
    struct wp_cpu_run run = {.process = process, .occupant = occupant};
    if (!block)
        return;
    run.start_ns = start_of(block, block->count - 1u);
    drop_last(block);
    if (!wp_cpu_block_has_room(block) && !(block = new_block(runs, ring, run.start_ns)))
        free_ring(runs, ring);
    else
        wp_cpu_block_put(block, run.start_ns - block->base_ns, &run);
}

bool wp_cpu_runs_last(const struct wp_cpu_runs *runs, uint32_t cpu, struct wp_cpu_run *run)
{
    const struct wp_cpu_block *block = cpu < runs->cpu_room ? last_block(&runs->cpus[cpu]) : NULL;
    if (block)
        *run =
            wp_cpu_cursor_run(&(struct wp_cpu_cursor){&runs->cpus[cpu], runs->cpus[cpu].count - 1, block->count - 1});
    return block;
}

void wp_cpu_runs_forget(struct wp_cpu_runs *runs, uint64_t horizon_ns)
{
    for (uint32_t cpu = 0; cpu < runs->cpu_room; cpu++) {
        struct wp_cpu_ring *ring = &runs->cpus[cpu];
        uint32_t gone = 0;
        while (gone + 1 < ring->count && ring->blocks[gone + 1].base_ns < horizon_ns)
            free(ring->blocks[gone++].block);
        if (!gone)
            continue;
        ring->count -= gone;
        ring->found = 0;
        memmove(ring->blocks, ring->blocks + gone, ring->count * sizeof(*ring->blocks));
        runs->block_bytes -= gone * sizeof(struct wp_cpu_block);
    }
}

size_t wp_cpu_runs_bytes(const struct wp_cpu_runs *runs)
{
    size_t bytes = runs->cpu_room * sizeof(*runs->cpus) + runs->occupant_room * sizeof(*runs->occupants) +
        wp_intmap_bytes(&runs->occupant_numbers) + runs->block_bytes;
    for (uint32_t cpu = 0; cpu < runs->cpu_room; cpu++)
        bytes += runs->cpus[cpu].room * sizeof(*runs->cpus[cpu].blocks);
    return bytes;
}

/* --- looking them up --- */

#define NEAR 4u /* sleeps are explained in the order of time: the next one's run is near */

/* The last run of the block that began by then; the first one did. */
static uint32_t run_in(const struct wp_cpu_block *block, uint64_t at_ns, uint32_t hint)
{
    uint64_t offset_ns = at_ns - block->base_ns;
    uint32_t low = hint < block->count && wp_cpu_block_offset(block, hint) <= offset_ns ? hint : 0;
    for (uint32_t i = 0; i < NEAR; i++, low++)
        if (low + 1 == block->count || wp_cpu_block_offset(block, low + 1) > offset_ns)
            return low;
    return WP_LOWER_BOUND(middle, low + 1, block->count, wp_cpu_block_offset(block, middle) <= offset_ns) - 1;
}

bool wp_cpu_runs_find(const struct wp_cpu_runs *runs, uint32_t cpu, uint64_t at_ns, struct wp_cpu_cursor *cursor)
{
    struct wp_cpu_ring *ring = cpu < runs->cpu_room ? &runs->cpus[cpu] : NULL;
    if (!ring || !ring->count || ring->blocks[0].base_ns > at_ns)
        return false;
    uint32_t at = ring->found; /* sleeps are explained in the order of time: mostly the same one, or the next */
    if (at >= ring->count || ring->blocks[at].base_ns > at_ns)
        at = 0;
    if (at + 1 < ring->count && ring->blocks[at + 1].base_ns <= at_ns)
        at = WP_LOWER_BOUND(middle, at + 1, ring->count, ring->blocks[middle].base_ns <= at_ns) - 1;
    ring->found = at;
    *cursor = (struct wp_cpu_cursor){ring, at, ring->found_at = run_in(ring->blocks[at].block, at_ns, ring->found_at)};
    return true;
}

struct wp_cpu_run wp_cpu_cursor_run(const struct wp_cpu_cursor *cursor)
{
    const struct wp_cpu_block *block = cursor->ring->blocks[cursor->block].block;
    uint64_t end_ns = cursor->at + 1 < block->count ? start_of(block, cursor->at + 1)
        : cursor->block + 1 < cursor->ring->count   ? cursor->ring->blocks[cursor->block + 1].base_ns
                                                    : UINT64_MAX;
    struct wp_cpu_run run = {.start_ns = start_of(block, cursor->at), .end_ns = end_ns};
    wp_cpu_block_run(block, cursor->at, &run);
    return run;
}

bool wp_cpu_cursor_back(struct wp_cpu_cursor *cursor)
{
    if (!cursor->at && !cursor->block)
        return false;
    if (!cursor->at)
        cursor->at = cursor->ring->blocks[--cursor->block].block->count;
    cursor->at--;
    return true;
}

bool wp_cpu_cursor_on(struct wp_cpu_cursor *cursor)
{
    if (cursor->at + 1 < cursor->ring->blocks[cursor->block].block->count) {
        cursor->at++;
        return true;
    }
    if (cursor->block + 1 == cursor->ring->count)
        return false;
    cursor->block++;
    cursor->at = 0;
    return true;
}
