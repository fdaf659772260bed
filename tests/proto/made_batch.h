/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_PROTO_MADE_BATCH_H
#define WP_TESTS_PROTO_MADE_BATCH_H
/* Batches made of a seed: every kind of event with its columns filled, and dictionaries that they may use. */
#include "proto/batch.h"

struct made {
    struct wp_batch batch;
    uint64_t random;
    uint32_t threads, strings, sockets, objects, frames, stacks; /* of the session so far */
    bool has_waits; /* switches and wakings of this batch say what was waited for */
    bool has_files; /* block requests of this batch say what they are for */
    char text[1 << 16];
};

/* A session begins. */
void made_begin(struct made *made, uint64_t seed);
/* The session's next batch, of about `events` events; what it points at is freed by the next call or made_end. */
void made_next(struct made *made, uint32_t events);
void made_end(struct made *made);
uint64_t made_random(struct made *made);
/* Equal in everything that travels. */
void made_assert_equal(const struct wp_batch *sent, const struct wp_batch *came);

#endif
