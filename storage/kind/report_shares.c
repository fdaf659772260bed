/* SPDX-License-Identifier: Apache-2.0 */
/* Reports share by share: what each host of each shard has in each timebox. */
#include "storage/kind/report_shares.h"

#include "storage/kind/report_compact.h"
#include "storage/kind/report_store.h"

#include <stdlib.h>
#include <string.h>

static bool same_share(const struct wp_key *a, const struct wp_key *b)
{
    return a->timebox_s == b->timebox_s && !strcmp(a->shard, b->shard) && !strcmp(a->host, b->host);
}

/* The base and the deltas of one; those that cannot be read are left out. */
static int sum_share(
    struct wp_txn *txn, const struct wp_report_part *parts, size_t count, struct wp_report **sum, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        rc = wp_txn_merge_report(txn, parts[i].text, sum, err);
        rc = wp_is_damage(rc) ? 0 : rc;
    }
    return rc || !*sum || count == 1 ? rc : wp_report_make_canonical(sum, err);
}

int wp_txn_read_shares(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    int (*take)(void *context, const struct wp_share *share, struct wp_error *err), void *context, struct wp_error *err)
{
    struct wp_report_parts all;
    int rc = wp_txn_report_parts(txn, aggregate, selection ? selection->shard : NULL, &all, err);
    const struct wp_report_part *parts = all.rows;
    size_t count = all.count;
    for (size_t from = 0, to; from < count && !rc; from = to) {
        const struct wp_key *key = &parts[from].key;
        struct wp_share share = {.timebox_s = key->timebox_s, .shard = key->shard, .host = key->host};
        bool is_meant = true;
        for (to = from; to < count && same_share(key, &parts[to].key);)
            to++;
        if (!wp_selection_has(selection, key))
            continue;
        rc = sum_share(txn, parts + from, to - from, &share.report, err);
        if (!rc && share.report)
            rc = wp_selection_has_hosts(selection, key, share.report, &is_meant, err);
        if (!rc && share.report && is_meant)
            rc = take(context, &share, err);
        else
            wp_report_destroy(share.report);
    }
    wp_report_parts_fini(&all);
    return rc;
}
