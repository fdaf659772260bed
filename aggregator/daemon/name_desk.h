/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_NAME_DESK_H
#define WP_AGGREGATOR_DAEMON_NAME_DESK_H
/*
 * Where a fleet asks what places in its objects are called (proto/name_talk.h), so that each object is read by one
 * host: the first that asks becomes its reader and tells what it finds; others get what is known, and for the rest the
 * reader is asked. A reader that does not answer is replaced by the one who waits. Names are kept in memory by build id
 * and offset, bounded, and told to who keeps them over a restart (aggregator/daemon/name_keep.h); in the store they are
 * the source map, which the batches fill. What the reader says, and nobody else, is believed for all that have the
 * build id (docs/security.md).
 */
#include "proto/frame.h"
#include "proto/name_talk.h"

struct wp_name_desk;

struct wp_name_desk_options {
    /* Sends to a collector; -errno: it is away. */
    int (*send)(void *context, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size);
    /* Keeps what a reader has told, a NameAnswer; NULL: nobody does. */
    void (*keep)(void *context, const uint8_t *raw, size_t size);
    void *context;
    uint32_t places; /* to remember at most; 0: a million */
};

struct wp_name_desk_counts {
    uint64_t asked;   /* places that collectors asked for ... */
    uint64_t known;   /* ... of them answered from memory ... */
    uint64_t awaited; /* ... and by another one, which has read the object */
    uint64_t readers; /* how often somebody was told to read an object */
    uint64_t refused; /* messages out of their bounds */
    uint32_t places, objects, waiting;
};

/* NULL: out of memory. */
struct wp_name_desk *wp_name_desk_create(const struct wp_name_desk_options *options);
void wp_name_desk_destroy(struct wp_name_desk *desk);
/* A message of a collector. -EINVAL: it is none, err says why; -ENOMEM. */
int wp_name_desk_take(struct wp_name_desk *desk, uint32_t peer, enum wp_frame_type type, const uint8_t *raw,
    size_t size, uint64_t now_ms, struct wp_error *err);
/* What was kept: known from now on, whoever told it. -EINVAL, -ENOMEM. */
int wp_name_desk_recall(struct wp_name_desk *desk, const uint8_t *raw, size_t size, struct wp_error *err);
/* Readers that let others wait for too long are replaced. */
void wp_name_desk_step(struct wp_name_desk *desk, uint64_t now_ms);
struct wp_name_desk_counts wp_name_desk_counts(const struct wp_name_desk *desk);

#endif
