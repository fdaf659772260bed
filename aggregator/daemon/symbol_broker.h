/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_SYMBOL_BROKER_H
#define WP_AGGREGATOR_DAEMON_SYMBOL_BROKER_H
/*
 * Where a fleet asks what places in its objects are called (proto/name_talk.h), so that each object is read by one
 * host: the first that asks becomes its reader and tells what it finds; others get what is known, and for the rest the
 * reader is asked. A reader that does not answer is replaced by the one who waits. Names are kept in memory by build id
 * and offset, bounded, and told to who keeps them over a restart (aggregator/daemon/symbol_cache.h); in the store they
 * are the source map, which the batches fill. What the reader says, and nobody else, is believed for all that have the
 * build id (docs/security.md).
 */
#include "proto/frame.h"
#include "proto/name_talk.h"

struct wp_symbol_broker;

/* Copied by wp_symbol_broker_create(); `context` is borrowed. */
struct wp_symbol_broker_options {
    /* Sends to a collector; -errno: it is away. */
    int (*send)(void *context, uint32_t peer, enum wp_frame_type type, const uint8_t *raw, size_t size);
    /* Keeps what a reader has told, a NameAnswer; NULL: nobody does. */
    void (*keep)(void *context, const uint8_t *raw, size_t size);
    void *context;
    uint32_t places; /* to remember at most; 0: a million */
};

/* Counts since the start, and in the last row what is there now. */
struct wp_symbol_broker_counts {
    uint64_t asked;   /* places that collectors asked for ... */
    uint64_t known;   /* ... of them answered from memory ... */
    uint64_t awaited; /* ... and by another one, which has read the object */
    uint64_t readers; /* how often somebody was told to read an object */
    uint64_t refused; /* messages out of their bounds */
    uint32_t places, objects, waiting;
};

/* What a collector says. */
struct wp_symbol_frame {
    uint32_t peer;
    enum wp_frame_type type;
    const uint8_t *raw;
    size_t size;
};

/* NULL: out of memory. Not thread safe; the callbacks are called from within the calls below. */
struct wp_symbol_broker *wp_symbol_broker_create(const struct wp_symbol_broker_options *options);
/* Names and open questions are dropped, nobody is answered; NULL is allowed. */
void wp_symbol_broker_destroy(struct wp_symbol_broker *broker);
/* A message of a collector. -EINVAL: it is none, err says why; -ENOMEM. */
int wp_symbol_broker_take(
    struct wp_symbol_broker *broker, const struct wp_symbol_frame *frame, uint64_t now_ms, struct wp_error *err);
/* What was kept: known from now on, whoever told it. -EINVAL, -ENOMEM. */
int wp_symbol_broker_recall(struct wp_symbol_broker *broker, const uint8_t *raw, size_t size, struct wp_error *err);
/* Readers that let others wait for too long are replaced. */
void wp_symbol_broker_step(struct wp_symbol_broker *broker, uint64_t now_ms);
/* A copy, as things stand. */
struct wp_symbol_broker_counts wp_symbol_broker_counts(const struct wp_symbol_broker *broker);

#endif
