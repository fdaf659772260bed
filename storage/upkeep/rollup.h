/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_ROLLUP_H
#define WP_STORAGE_UPKEEP_ROLLUP_H
/*
 * Hours become days and days become months (of UTC), by the merge law: what is read over whole days or months is the
 * same before and after. A day is rolled up as a whole when it is over and old enough; what comes for it later stands
 * beside it until the next roll-up takes it in.
 */
#include "storage/env/store.h"

#define WP_DAY_S 86400u
#define WP_FOREVER UINT64_MAX

/* Timeboxes that stay as they are: the newest of the release, and the newest that is not in the future (a host whose
 * clock is ahead must not take that place). 0 none. */
struct wp_newest {
    uint64_t report_s, past_report_s, trace_s, past_trace_s;
};

/* When timeboxes become longer ones, and what was done. */
struct wp_roll_up {
    uint64_t now_s;
    uint64_t hours_s, days_s; /* age at which hours become a day, days a month, from its end; WP_FOREVER: never */
    uint64_t late_s;          /* a day or month is open for so long after its end, whatever the ages say */
    struct wp_newest newest;
    uint64_t merged, made; /* counted up: values that went, sums that were written */
};

/* Sets all of *newest by the keys alone, damaged values included; exemplars count as traces. */
int wp_txn_newest(struct wp_txn *txn, uint64_t now_s, struct wp_newest *newest, struct wp_error *err);
/* All aggregates and shards. `done` (NULL none) is told each sum's key and how many values it is made of. */
int wp_txn_roll_up(struct wp_txn *txn, struct wp_roll_up *rule,
    void (*done)(void *context, const char *key, size_t values), void *context, struct wp_error *err);

#endif
