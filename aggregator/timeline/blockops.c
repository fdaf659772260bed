/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/blockops.h"

#include "common/clock.h"
#include "common/large.h"

#include <errno.h>
#include <stdlib.h>

#define RING 262144u /* operations remembered, once there were so many */
#define RING_START 32u
#define KEYED 4096u            /* operations after it, one that is done has its key no more */
#define BACK 4096u             /* of one thread that are looked at */
#define AFTER_FLUSH_NS 100000u /* the kernel ends in one go all that waited for a flush */

static size_t ring_bytes(const struct wp_blockops *blockops)
{
    return (blockops->mask + (size_t)1) * sizeof(*blockops->ops);
}

int wp_blockops_init(struct wp_blockops *blockops)
{
    *blockops = (struct wp_blockops){.mask = RING_START - 1, .keep_ns = 10 * WP_NS_PER_S + WP_BLOCKOPS_LATER_NS};
    blockops->ops = calloc(RING_START, sizeof(*blockops->ops));
    return blockops->ops ? 0 : -ENOMEM;
}

void wp_blockops_fini(struct wp_blockops *blockops)
{
    wp_large_free(blockops->ops, blockops->ops ? ring_bytes(blockops) : 0);
    wp_intmap_fini(&blockops->by_key);
    wp_intmap_fini(&blockops->by_thread);
    wp_intmap_fini(&blockops->begun);
    wp_intmap_fini(&blockops->served);
    wp_intmap_fini(&blockops->flushes);
    *blockops = (struct wp_blockops){0};
}

/* Operation n; NULL when the ring does not hold it. The one way to a place of the ring: what lies outside [first,
 * count) was never written since the ring grew, or is of an operation that is forgotten. */
static struct wp_blockop *held(const struct wp_blockops *blockops, uint64_t n)
{
    return n >= blockops->first && n < blockops->count ? &blockops->ops[n & blockops->mask] : NULL;
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

static void grow(struct wp_blockops *blockops)
{
    size_t room = ((size_t)blockops->mask + 1) * 2;
    struct wp_blockop *ops =
        room <= RING ? wp_large_resize(blockops->ops, ring_bytes(blockops), room * sizeof(*ops)) : NULL;
    if (!ops)
        return;
    for (uint64_t n = blockops->first; n < blockops->count; n++)
        if ((n & (room - 1)) != (n & blockops->mask))
            ops[n & (room - 1)] = ops[n & blockops->mask];
    blockops->ops = ops;
    blockops->mask = (uint32_t)room - 1;
}

static bool is_old(const struct wp_blockops *blockops, uint64_t n, uint64_t now_ns)
{
    const struct wp_blockop *op = held(blockops, n);
    uint64_t last_ns = op->done_ns ? op->done_ns : op->issue_ns > op->insert_ns ? op->issue_ns : op->insert_ns;
    return last_ns + blockops->keep_ns < now_ns;
}

/* Room for one more: what is old goes, the ring grows if that is not much, and where it may not the oldest goes. */
static void make_room(struct wp_blockops *blockops, uint64_t now_ns)
{
    if (blockops->count - blockops->first <= blockops->mask)
        return;
    while (blockops->first < blockops->count && is_old(blockops, blockops->first, now_ns))
        blockops->first++;
    if (blockops->count - blockops->first > (uint64_t)blockops->mask * 3 / 4)
        grow(blockops);
    if (blockops->count - blockops->first > blockops->mask)
        blockops->first++;
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
    make_room(blockops, event->time_ns);
    uint64_t n = blockops->count++;
    struct wp_blockop *op = &blockops->ops[n & blockops->mask];
    *op = (struct wp_blockop){.key = event->b,
        .sector = event->a,
        .device = event->d,
        .bytes = event->c,
        .file = event->other,
        .thread = thread,
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
        wp_intmap_put(&blockops->by_thread, (struct wp_intkey){op->thread, 0},
            (uint32_t)(wp_blockops_number_of(blockops, op) - 1));
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
        wp_intmap_put(
            &blockops->flushes, (struct wp_intkey){op->device, 0}, (uint32_t)(wp_blockops_number_of(blockops, op) - 1));
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
    wp_intmap_put(
        &blockops->served, (struct wp_intkey){thread, 0}, (uint32_t)(wp_blockops_number_of(blockops, op) - 1));
}

void wp_blockops_event(struct wp_blockops *blockops, const struct wp_event *event, uint32_t thread)
{
    struct wp_blockop *op = find(blockops, event->d, event->b);
    switch (event->kind) {
    case WP_EVENT_BLOCK_INSERT:
        if (op && !op->done_ns && !op->issue_ns)
            break; /* a requeue: it has been waiting since its first insert */
        op = make_op(blockops, event, thread);
        op->insert_ns = event->time_ns;
        break;
    case WP_EVENT_BLOCK_ISSUE:
        if (event->flags & WP_BLOCK_SERVED) {
            note_server(blockops, op, event, thread);
            break;
        }
        if (!op || op->done_ns) { /* issued past the queue */
            op = make_op(blockops, event, thread);
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
    uint64_t slot = (uint64_t)(op - blockops->ops), last = blockops->count - 1;
    return last - ((last - slot) & blockops->mask) + 1;
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
    return (blockops->ops ? ring_bytes(blockops) : 0) + wp_intmap_bytes(&blockops->by_key) +
        wp_intmap_bytes(&blockops->by_thread) + wp_intmap_bytes(&blockops->begun) + wp_intmap_bytes(&blockops->served) +
        wp_intmap_bytes(&blockops->flushes);
}

void wp_blockops_forget_thread(struct wp_blockops *blockops, uint32_t thread)
{
    wp_intmap_remove(&blockops->by_thread, (struct wp_intkey){thread, 0});
    wp_intmap_remove(&blockops->begun, (struct wp_intkey){thread, 0});
    wp_intmap_remove(&blockops->served, (struct wp_intkey){thread, 0});
}
