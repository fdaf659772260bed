/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_LIVE_WAITS_H
#define WP_CLI_RECORD_LIVE_WAITS_H
/*
 * What a recording that still goes on has found: its store is read again and again, and each reading says where the
 * time since the last one went. One thread.
 */
#include "common/error.h"
#include "reporter/base/text_pool.h"

#include <stddef.h>
#include <stdint.h>

/* A row: who waits for whom. */
struct wp_live_wait {
    const char *who, *whom, *doing, *where; /* as of wp_top_wait */
    uint64_t ns, since_ns;                  /* from the beginning; since the last reading */
};

/* What one reading of the store found. */
struct wp_live_reading {
    struct wp_pool pool; /* of the texts and rows */
    struct wp_live_wait *rows;
    size_t count;                 /* the first have most time since the last reading */
    uint64_t total_ns, since_ns;  /* of all rows */
    uint64_t events, lost_events; /* from the beginning */
    double accounted_percent;     /* of the whole total */
};

/* Which aggregate is watched, and the last two readings. Set the first three fields, zero the rest. */
struct wp_live_waits {
    const char *store, *release, *aggregate; /* borrowed */
    struct wp_live_reading now, last;
};

/* Fills live->now. Where nothing was stored yet it has no rows. */
int wp_live_waits_read(struct wp_live_waits *live, struct wp_error *err);
/* Frees both readings with the texts of their rows. */
void wp_live_waits_fini(struct wp_live_waits *live);

#endif
