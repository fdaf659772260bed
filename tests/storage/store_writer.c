/* SPDX-License-Identifier: Apache-2.0 */
/* store_writer ROOT RELEASE [hold]: adds a report of 5 ns to aggregate "main" of shard "s". With "hold" the transaction
 * is open from the line "held" on standard output until standard input ends. */
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/report_add.h"
#include "storage/kind/shard_store.h"
#include "storage/report/report.h"

#include <stdio.h>
#include <string.h>

static struct wp_report *make_report(void)
{
    char name[200];
    struct wp_report *report = wp_report_create();
    for (unsigned i = 0; i < 20; i++) { /* enough to be compressed */
        snprintf(name, sizeof(name), "function_%u_of_a_name_that_repeats_itself", i);
        uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[p]", ""));
        node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_USER, name, "libp.so"));
        wp_report_add(report, node, WP_UNDERSTOOD_FUNCTIONS, i ? 0 : 5, 1);
    }
    wp_report_activity(report, 1000, 1005);
    wp_report_host(report, "h");
    return report;
}

static int write_one(const char *root, const char *release, bool hold, struct wp_error *err)
{
    struct wp_store *store = NULL;
    struct wp_txn *txn = NULL;
    struct wp_report *report = make_report();
    int rc = wp_store_open(&store, root, true, err);
    if (!rc)
        rc = wp_txn_begin(&txn, store, release, true, err);
    if (!rc)
        rc = wp_txn_register_shard(txn, "s", err);
    if (!rc)
        rc = wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, "s", NULL}, report, err);
    if (!rc && hold) {
        puts("held");
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    if (rc)
        wp_txn_abort(txn);
    else
        rc = wp_txn_commit(txn, err);
    wp_store_close(store);
    wp_report_destroy(report);
    return rc;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    if (argc < 3 || argc > 4)
        return 64;
    if (!write_one(argv[1], argv[2], argc == 4 && !strcmp(argv[3], "hold"), &err))
        return 0;
    fprintf(stderr, "store_writer: %s\n", err.text);
    return 1;
}
