/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_STUCK_H
#define WP_REPORTER_FINDINGS_STUCK_H
/*
 * Threads of one process that wait for locks until the window by threads ends, at different places. Locks of languages
 * do not say who holds them, so the engine finds no ring: it may be a deadlock.
 */
#include "reporter/facts/facts.h"

struct wp_stuck {
    uint32_t count;      /* threads, 0 none */
    const char *threads; /* "`transfer` (Ledger.java) 3.90 s, `report` (Ledger.java) 3.90 s", in the facts' pool */
    const char *function;
    uint64_t ns; /* the longest wait */
};

/* By facts->by_threads. Out of memory shows in facts->pool.failed. */
struct wp_stuck wp_stuck_threads(struct wp_facts *facts);

#endif
