/* SPDX-License-Identifier: Apache-2.0 */
/* fill_store ROOT RELEASES TIMEBOXES SHARDS NODES: a store of made-up reports, all different, for the bench of the
 * site. With RELEASES 0: adds one delta of one timebox to the newest release of the store, as a live aggregator does.
 */
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/report_add.h"
#include "storage/kind/shard_store.h"
#include "storage/report/report.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_S 1790000000u

static struct wp_report *make(unsigned nodes, uint64_t salt, uint64_t timebox_s)
{
    struct wp_report *report = sample_large_report_at(nodes, timebox_s * 1000000000ull);
    char name[32];
    if (!report)
        return NULL;
    snprintf(name, sizeof(name), "[worker%" PRIu64 "]", salt % 7);
    uint64_t start = (timebox_s + salt % 3000) * 1000000000ull;
    for (unsigned i = 0; i < 20; i++)
        wp_report_add_at(report, sample_node(report, name), (enum wp_category)(salt % WP_CATEGORIES),
            start + i * 2000000000ull, start + i * 2000000000ull + 1000000 * (salt % 900 + 1));
    return report;
}

static int put_release(
    struct wp_store *store, unsigned release, unsigned timeboxes, unsigned shards, unsigned nodes, struct wp_error *err)
{
    char name[32], shard[16];
    snprintf(name, sizeof(name), "v1.%u", release);
    for (int tries = 0; tries < 20; tries++) {
        struct wp_txn *txn = NULL;
        int rc = wp_txn_begin(&txn, store, name, true, err);
        for (unsigned s = 0; s < shards && !rc; s++) {
            snprintf(shard, sizeof(shard), "s%u", s);
            rc = wp_txn_register_shard(txn, shard, err);
            for (unsigned t = 0; t < timeboxes && !rc; t++) {
                uint64_t timebox_s = FIRST_S + release * (uint64_t)86400 + t * (uint64_t)3600;
                struct wp_report *report = make(nodes, release * 1000 + t * 10 + s, timebox_s);
                rc = report ? wp_txn_add_host_report(
                                  txn, &(struct wp_report_place){"main", timebox_s, shard, NULL}, report, err)
                            : -ENOMEM;
                wp_report_destroy(report);
            }
        }
        if (rc)
            wp_txn_abort(txn);
        else
            rc = wp_txn_commit(txn, err);
        if (rc != -EAGAIN)
            return rc;
    }
    return -EAGAIN;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    struct wp_store *store = NULL;
    if (argc != 6) {
        fprintf(stderr, "fill_store ROOT RELEASES TIMEBOXES SHARDS NODES\n");
        return 64;
    }
    unsigned number[4];
    for (int i = 0; i < 4; i++)
        number[i] = (unsigned)strtoul(argv[i + 2], NULL, 10);
    int rc = wp_store_open(&store, argv[1], true, &err);
    if (!rc && !number[0]) {
        char **releases = NULL;
        size_t count = 0;
        rc = wp_store_releases(store, &releases, &count, &err);
        if (!rc)
            rc = put_release(store, (unsigned)count - 1, 1, 1, number[3], &err);
        wp_strings_free(releases, count);
    }
    for (unsigned i = 0; i < number[0] && !rc; i++)
        rc = put_release(store, i, number[1], number[2], number[3], &err);
    wp_store_close(store);
    if (rc)
        fprintf(stderr, "fill_store: %s\n", err.text);
    return rc ? 1 : 0;
}
