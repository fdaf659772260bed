/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_EXEMPLARS_STORE_H
#define WP_STORAGE_KIND_EXEMPLARS_STORE_H
/* The exemplars of a timebox: joined with what is there, and read. */
#include "storage/env/txn.h"
#include "storage/kind/report_place.h"
#include "storage/kind/selection.h"
#include "storage/report/exemplars.h"

/* "<aggregate>/exemplars.<timebox>.<shard>": joined with those that are there. */
int wp_txn_join_exemplars(
    struct wp_txn *txn, const struct wp_report_place *place, const struct wp_exemplars *set, struct wp_error *err);
/* Joins the exemplars of the selection into `set`, which the caller has made ({0}) and frees whatever is returned.
 * Those that cannot be read are left out, and -EBADMSG says so of the last one when all others have been read. */
int wp_txn_read_exemplars(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_exemplars *set, struct wp_error *err);

#endif
