/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/blockops.h"

#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>

#define RING 262144u /* operations remembered, once there were so many */
#define CHUNKS (RING / WP_BLOCKOPS_CHUNK)
#define CHUNKS_START 4u
#define KEYED 4096u            /* operations after it, one that is done has its key no more */
#define BACK 4096u             /* of one thread that are looked at */
#define AFTER_FLUSH_NS 100000u /* the kernel ends in one go all that waited for a flush */

int wp_blockops_init(struct wp_blockops *blockops)
{
    *blockops = (struct wp_blockops){.mask = CHUNKS_START - 1, .keep_ns = 10 * WP_NS_PER_S + WP_BLOCKOPS_LATER_NS};
    blockops->chunks = calloc(CHUNKS_START, sizeof(*blockops->chunks));
    return blockops->chunks ? 0 : -ENOMEM;
}

void wp_blockops_fini(struct wp_blockops *blockops)
{
    for (uint32_t i = 0; blockops->chunks && i <= blockops->mask; i++)
        free(blockops->chunks[i]);
    free(blockops->chunks);
    wp_intmap_fini(&blockops->by_key);
    wp_intmap_fini(&blockops->by_thread);
    wp_intmap_fini(&blockops->begun);
    wp_intmap_fini(&blockops->served);
    wp_intmap_fini(&blockops->flushes);
    *blockops = (struct wp_blockops){0};
}

/* Where the chunk of operation n stands. */
static struct wp_blockop **chunk_of(const struct wp_blockops *blockops, uint64_t n)
{
    return &blockops->chunks[n / WP_BLOCKOPS_CHUNK & blockops->mask];
}

/* Operation n; NULL when it is not held. The one way to its place: what lies outside [first, count) was never written,
 * or is of an operation that is forgotten. */
static struct wp_blockop *held(const struct wp_blockops *blockops, uint64_t n)
{
    bool is_held = n >= blockops->first && n < blockops->count;
    return is_held ? *chunk_of(blockops, n) + n % WP_BLOCKOPS_CHUNK : NULL;
}

/* The operation of a remembered low half, or NULL when it has been forgotten since. */
static struct wp_blockop *at(const struct wp_blockops *blockops, uint32_t low)
{
    uint64_t n = (blockops->count & ~(uint64_t)UINT32_MAX) | low;
    if (n >= blockops->count) /* of the round before; in the first one it wraps, and is not held */
        n -= (uint64_t)UINT32_MAX + 1;
    return held(blockops, n);
}

static struct wp_blockop *find(const struct wp_blockops *blockops, uint32_t device, uint64_t key)
{
    uint32_t low;
    if (!wp_intmap_get(&blockops->by_key, (struct wp_intkey){key, device}, &low))
        return NULL;
    struct wp_blockop *op = at(blockops, low);
    return op && op->device == device && op->key == key ? op : NULL;
}

/* Twice as many places for chunks, up to the limit. */
static void grow(struct wp_blockops *blockops)
{
    uint64_t room = ((uint64_t)blockops->mask + 1) * 2, first = blockops->first / WP_BLOCKOPS_CHUNK;
    struct wp_blockop **chunks = room <= CHUNKS ? calloc(room, sizeof(*chunks)) : NULL;
    if (!chunks)
        return;
    for (uint64_t i = first; i < first + blockops->chunk_count; i++)
        chunks[i & (room - 1)] = blockops->chunks[i & blockops->mask];
    free(blockops->chunks);
    blockops->chunks = chunks;
    blockops->mask = (uint32_t)room - 1;
}

/* Those before operation n are forgotten. */
static void forget_until(struct wp_blockops *blockops, uint64_t n)
{
    for (uint64_t i = blockops->first / WP_BLOCKOPS_CHUNK; i < n / WP_BLOCKOPS_CHUNK; i++) {
        free(blockops->chunks[i & blockops->mask]);
        blockops->chunks[i & blockops->mask] = NULL;
        blockops->chunk_count--;
    }
    blockops->first = n;
}

static bool is_old(const struct wp_blockops *blockops, uint64_t n, uint64_t now_ns)
{
    const struct wp_blockop *op = held(blockops, n);
    uint64_t last_ns = op->done_ns ? op->done_ns : op->issue_ns > op->insert_ns ? op->issue_ns : op->insert_ns;
    return last_ns + blockops->keep_ns < now_ns;
}

/* Room for one more: what is old goes, and where there may be no more the oldest. False: out of memory. */
static bool make_room(struct wp_blockops *blockops, uint64_t now_ns)
{
    uint64_t first = blockops->first, chunk = WP_BLOCKOPS_CHUNK;
    if (blockops->count % chunk)
        return true;
    while (first < blockops->count && is_old(blockops, first, now_ns))
        first++;
    forget_until(blockops, first);
    if (blockops->chunk_count > blockops->mask)
        grow(blockops);
    if (blockops->chunk_count > blockops->mask)
        forget_until(blockops, (blockops->first / chunk + 1) * chunk);
    struct wp_blockop *made = malloc(chunk * sizeof(*made));
    if (!made)
        return false;
    *chunk_of(blockops, blockops->count) = made;
    blockops->chunk_count++;
    return true;
}

/* Whom a request wakes as it is done is known at once: its key is asked for no longer, and keys that never come back,
 * e.g. sectors of a text source, would fill the cache. One that was not done by then keeps it. */
static void forget_key(struct wp_blockops *blockops, uint64_t n)
{
    uint32_t low;
    const struct wp_blockop *op = held(blockops, n);
    if (!op || !op->done_ns)
        return;
    struct wp_intkey key = {op->key, op->device};
    if (wp_intmap_get(&blockops->by_key, key, &low) && low == (uint32_t)n)
        wp_intmap_remove(&blockops->by_key, key);
}

static struct wp_blockop *make_op(struct wp_blockops *blockops, const struct wp_event *event, uint32_t thread)
{
    if (blockops->by_key.count > RING) /* of those that are never done */
        wp_intmap_clear(&blockops->by_key);
    if (!make_room(blockops, event->time_ns))
        return NULL;
    uint64_t n = blockops->count++;
    struct wp_blockop *op = held(blockops, n);
    *op = (struct wp_blockop){.key = event->b,
        .sector = event->a,
        .device = event->d,
        .bytes = event->c,
        .file = event->other,
        .thread = thread,
        .low = (uint32_t)n,
        .flags = event->flags};
    wp_intmap_put(&blockops->by_key, (struct wp_intkey){event->b, event->d}, (uint32_t)n);
    if (n >= KEYED)
        forget_key(blockops, n - KEYED);
    if (thread)
        wp_intmap_put(&blockops->begun, (struct wp_intkey){thread, 0}, (uint32_t)n);
    return op;
}

static void complete(struct wp_blockops *blockops, struct wp_blockop *op, const struct wp_event *event)
{
    op->done_ns = event->time_ns;
    op->flags |= event->flags & WP_BLOCK_ERROR;
    if (!op->issue_ns) { /* the issue was not seen: as if at once after queueing (RSP paper, 5.2) */
        op->issue_ns = op->insert_ns;
        blockops->filled_issue++;
    }
    if (op->thread) {
        op->has_before = wp_intmap_get(&blockops->by_thread, (struct wp_intkey){op->thread, 0}, &op->before);
        wp_intmap_put(&blockops->by_thread, (struct wp_intkey){op->thread, 0}, op->low);
    }
}

/*
 * Done without having been begun under this key, whatever that named before. A request that waits for a flush of the
 * device is neither queued nor issued: one flush is, for all that wait, and they end with it (block/blk-flush.c, 6.1).
 * It is that flush under another name; anything else is not known.
 */
static void ended_unbegun(struct wp_blockops *blockops, const struct wp_event *event)
{
    uint32_t low;
    struct wp_blockop *flush =
        wp_intmap_get(&blockops->flushes, (struct wp_intkey){event->d, 0}, &low) ? at(blockops, low) : NULL;
    bool is_of_device = flush && flush->device == event->d && flush->flags & WP_BLOCK_FLUSH && flush->done_ns;
    if (event->c || !is_of_device || flush->done_ns > event->time_ns ||
        event->time_ns - flush->done_ns > AFTER_FLUSH_NS) {
        wp_intmap_remove(&blockops->by_key, (struct wp_intkey){event->b, event->d});
        return;
    }
    struct wp_blockop copy = *flush;
    struct wp_blockop *op = make_op(blockops, event, 0);
    if (!op)
        return;
    op->insert_ns = copy.insert_ns;
    op->issue_ns = copy.issue_ns;
    op->done_ns = event->time_ns;
    op->flags = copy.flags;
    op->thread = copy.thread;
    op->server = copy.server;
    op->taken_ns = copy.taken_ns;
    op->served_ns = copy.served_ns;
}

static void note_flush(struct wp_blockops *blockops, const struct wp_blockop *op)
{
    if (op->flags & WP_BLOCK_FLUSH && !op->bytes)
        wp_intmap_put(&blockops->flushes, (struct wp_intkey){op->device, 0}, op->low);
}

static void note_server(
    struct wp_blockops *blockops, struct wp_blockop *op, const struct wp_event *event, uint32_t thread)
{
    uint32_t low;
    if (!op || op->done_ns || op->server || !thread)
        return;
    const struct wp_blockop *before =
        wp_intmap_get(&blockops->served, (struct wp_intkey){thread, 0}, &low) ? at(blockops, low) : NULL;
    op->server = thread;
    op->served_ns = event->time_ns;
    op->taken_ns = before && before->server == thread && before->served_ns <= event->time_ns ? before->served_ns : 0;
    wp_intmap_put(&blockops->served, (struct wp_intkey){thread, 0}, op->low);
}

void wp_blockops_event(struct wp_blockops *blockops, const struct wp_event *event, uint32_t thread)
{
    struct wp_blockop *op = find(blockops, event->d, event->b);
    switch (event->kind) {
    case WP_EVENT_BLOCK_INSERT:
        if (op && !op->done_ns && !op->issue_ns)
            break; /* a requeue: it has been waiting since its first insert */
        op = make_op(blockops, event, thread);
        if (op)
            op->insert_ns = event->time_ns;
        break;
    case WP_EVENT_BLOCK_ISSUE:
        if (event->flags & WP_BLOCK_SERVED) {
            note_server(blockops, op, event, thread);
            break;
        }
        if (!op || op->done_ns) { /* issued past the queue */
            op = make_op(blockops, event, thread);
            if (!op)
                break;
            op->insert_ns = event->time_ns;
            blockops->filled_insert++;
        }
        if (!op->issue_ns)
            op->issue_ns = event->time_ns;
        if (!op->file)
            op->file = event->other;
        break;
    case WP_EVENT_BLOCK_COMPLETE:
        if (op && !op->done_ns) {
            complete(blockops, op, event);
            note_flush(blockops, op);
        } else {
            ended_unbegun(blockops, event);
        }
        break;
    default:
        break;
    }
}

uint64_t wp_blockops_number(const struct wp_blockops *blockops, uint32_t device, uint64_t key)
{
    const struct wp_blockop *op = find(blockops, device, key);
    return op ? wp_blockops_number_of(blockops, op) : 0;
}

uint64_t wp_blockops_number_of(const struct wp_blockops *blockops, const struct wp_blockop *op)
{
    uint64_t last = blockops->count - 1;
    return last - (uint32_t)((uint32_t)last - op->low) + 1;
}

const struct wp_blockop *wp_blockops_at(const struct wp_blockops *blockops, uint64_t number)
{
    return number ? held(blockops, number - 1) : NULL;
}

const struct wp_blockop *wp_blockops_last_begun(const struct wp_blockops *blockops, uint32_t thread)
{
    uint32_t low;
    const struct wp_blockop *op =
        wp_intmap_get(&blockops->begun, (struct wp_intkey){thread, 0}, &low) ? at(blockops, low) : NULL;
    return op && op->thread == thread ? op : NULL;
}

const struct wp_blockop *wp_blockops_last_of(const struct wp_blockops *blockops, uint32_t thread, uint64_t before_ns)
{
    uint32_t low;
    bool found = wp_intmap_get(&blockops->by_thread, (struct wp_intkey){thread, 0}, &low);
    for (unsigned steps = 0; found && steps < BACK; steps++) {
        const struct wp_blockop *op = at(blockops, low);
        if (!op || op->thread != thread || !op->done_ns)
            return NULL;
        if (op->done_ns <= before_ns) /* whether an older one is still there does not matter */
            return before_ns - op->done_ns <= blockops->keep_ns ? op : NULL;
        low = op->before;
        found = op->has_before;
    }
    return NULL;
}

size_t wp_blockops_bytes(const struct wp_blockops *blockops)
{
    return (blockops->mask + (size_t)1) * sizeof(*blockops->chunks) +
        (size_t)blockops->chunk_count * WP_BLOCKOPS_CHUNK * sizeof(**blockops->chunks) +
        wp_intmap_bytes(&blockops->by_key) + wp_intmap_bytes(&blockops->by_thread) + wp_intmap_bytes(&blockops->begun) +
        wp_intmap_bytes(&blockops->served) + wp_intmap_bytes(&blockops->flushes);
}

void wp_blockops_forget_thread(struct wp_blockops *blockops, uint32_t thread)
{
    wp_intmap_remove(&blockops->by_thread, (struct wp_intkey){thread, 0});
    wp_intmap_remove(&blockops->begun, (struct wp_intkey){thread, 0});
    wp_intmap_remove(&blockops->served, (struct wp_intkey){thread, 0});
}
