/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thundering herd: many threads sleep while a worker sleeps and runs again and again, woken by a helper; then the
 * worker wakes all of them. What they waited for is the worker's time since they fell asleep, each one's a little
 * shorter than the one's before.
 */
#ifndef WP_TESTS_MADE_HERD_H
#define WP_TESTS_MADE_HERD_H

#include "proto/batch.h"

#include <stdbool.h>

struct made_herd {
    uint32_t sleepers, slices; /* set before made_herd_init(), with is_parted */
    bool is_parted;            /* each sleeper is another process */
    struct wp_thread_entry *threads;
    struct wp_event *events;
    uint32_t event_count;
    uint64_t now_ns;
};

/* Aborts when out of memory. */
void made_herd_init(struct made_herd *herd);
void made_herd_fini(struct made_herd *herd);
/* All of it; borrowed. */
struct wp_batch made_herd_batch(const struct made_herd *herd);

#endif
