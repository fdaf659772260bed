/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_REPAIR_H
#define WP_STORAGE_UPKEEP_REPAIR_H
/*
 * Makes a release one that verifies again by giving up what is damaged. Values only: where the pages of data.mdb are
 * ruined there is nothing that could be separated, and a backup is what helps.
 */
#include "storage/env/store.h"

/* Whom to report to, and whether it is only a trial. */
struct wp_repair {
    /* Called for each value that was dropped (or mended, where is_dropped is false), and what that means. */
    void (*done)(void *context, const char *key, const char *what, bool is_dropped);
    void *context;
    uint64_t now_s;
    bool is_dry; /* the transaction will be given up: nothing is written past it either */
};

/* `txn` is a write transaction; the caller aborts that of a trial. Unless is_dry, heads of large values are mended in
 * the file at once, and stay so when the transaction is aborted. -EBADMSG: pages are ruined. */
int wp_txn_repair(struct wp_txn *txn, const struct wp_repair *repair, struct wp_error *err);

#endif
