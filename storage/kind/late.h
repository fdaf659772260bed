/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_LATE_H
#define WP_STORAGE_KIND_LATE_H
/* What came late for timeboxes (wakepath-store(5)), as the metadata of aggregators says. */
#include "storage/env/txn.h"
#include "storage/kind/selection.h"

/* What came for timeboxes when they had long been over (wakepath-store(5)), as their metadata says. Added to. */
struct wp_late {
    uint64_t total_ns, timeboxes; /* of control paths; values that say so, one a timebox and shard */
    uint64_t last_s;              /* realtime when the last of it came */
};
/* Adds to *late, which the caller zeroes first. `selection` NULL: everything. -EBADMSG: a value is damaged; *late
 * has what was read before it. */
int wp_txn_late(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection, struct wp_late *late,
    struct wp_error *err);

#endif
