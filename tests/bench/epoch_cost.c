/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch_cost [COMMITS]: what an epoch's transaction costs, in stores that hold little and much already, and by how much
 * has changed. Each commit adds one delta of 20 stacks (then of 2, 200 and 2,000) to one aggregate, as an aggregator
 * does for a host once a second, and the session's resume point; then those of 10 and 100 hosts, each with an aggregate
 * of its own, in one transaction. JSON, a line for each store and size: microseconds a commit (with fdatasync), bytes
 * that LMDB handed to the kernel (wchar of /proc/self/io), bytes of the values that were put, and the quotient of the
 * two: the write amplification. The store is made below TMPDIR, else /var/tmp.
 */
#include "common/path.h"
#include "storage/env/store.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_compact.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/report.h"
#include "storage/report/report_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACKS 20
#define AGE_S 3600

static void check(int rc, const struct wp_error *err)
{
    if (!rc)
        return;
    fprintf(stderr, "epoch_cost: %s\n", err->text);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t written(void)
{
    char line[128];
    unsigned long long bytes = 0;
    FILE *in = fopen("/proc/self/io", "r");
    while (in && fgets(line, sizeof(line), in))
        if (sscanf(line, "wchar: %llu", &bytes) == 1)
            break;
    if (in)
        fclose(in);
    return bytes;
}

static struct wp_report *some_stacks(unsigned from, unsigned count)
{
    struct wp_report *report = wp_report_create();
    uint32_t process = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[service]", ""));
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "function_%u", from + i);
        uint32_t node = wp_report_child(report, process, wp_report_frame(report, WP_STYLE_USER, name, "libservice.so"));
        wp_report_add(report, node, WP_UNDERSTOOD_FUNCTIONS, 1000 + i, 1);
    }
    wp_report_host(report, "h");
    return report;
}

struct epoch {
    const struct wp_report *report;
    uint64_t timebox_s, seq;
    unsigned hosts;
};

static int write_host(struct wp_txn *txn, const struct epoch *epoch, unsigned host)
{
    struct wp_resume resume = {.session = {1, (uint8_t)host}, .seq = epoch->seq, .until_mono_ns = epoch->seq};
    char aggregate[32];
    snprintf(aggregate, sizeof(aggregate), host ? "main%u" : "main", host);
    int rc = wp_txn_add_host_report(
        txn, &(struct wp_report_place){aggregate, epoch->timebox_s, "s", NULL}, epoch->report, NULL);
    return rc ? rc : wp_txn_put_resume(txn, "s", &resume, NULL);
}

static int write_epoch(struct wp_txn *txn, void *context)
{
    const struct epoch *epoch = context;
    uint8_t session[16] = {1};
    int rc = wp_txn_register_shard(txn, "s", NULL);
    for (unsigned host = 0; !rc && host < epoch->hosts; host++)
        rc = write_host(txn, epoch, host);
    return rc ? rc : wp_txn_put_last_sample(txn, "s", session, epoch->seq, NULL);
}

/* What is there already: an hour of one aggregate, a thousand stacks, as its deltas left it. */
static int fill(struct wp_txn *txn, void *context)
{
    unsigned hour = *(unsigned *)context;
    int rc = 0;
    for (unsigned part = 0; !rc && part < 50; part++) {
        struct wp_report *report = some_stacks(part * STACKS, STACKS);
        rc = wp_txn_add_host_report(
            txn, &(struct wp_report_place){"main", (uint64_t)hour * AGE_S, "s", NULL}, report, NULL);
        wp_report_destroy(report);
    }
    return rc ? rc : wp_txn_compact(txn, "s", NULL);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static size_t packed_size(const struct wp_report *report)
{
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    check(wp_report_encode(report, &bytes, &err), &err);
    size_t size = bytes.size;
    wp_buffer_fini(&bytes);
    return size;
}

static void measure(const char *folder, unsigned hours, unsigned stacks, unsigned hosts, unsigned commits)
{
    char root[4096 + 16];
    struct wp_store *store;
    struct wp_error err = {0};
    uint64_t *took = calloc(commits, sizeof(*took)), values = 0;
    snprintf(root, sizeof(root), "%s/%u-%u-%u", folder, hours, stacks, hosts);
    check(wp_store_open(&store, root, true, &err), &err);
    for (unsigned hour = 0; hour < hours; hour++)
        check(wp_store_update(store, "v1", fill, &hour, &err), &err);
    uint64_t before = written();
    for (unsigned i = 0; i < commits; i++) {
        struct wp_report *report = some_stacks(i % 7, stacks);
        struct epoch epoch = {report, (uint64_t)(hours + 1) * AGE_S, i + 1, hosts};
        uint64_t start = now_ns();
        check(wp_store_update(store, "v1", write_epoch, &epoch, &err), &err);
        took[i] = now_ns() - start;
        values += packed_size(report) * hosts;
        wp_report_destroy(report);
    }
    uint64_t bytes = written() - before;
    qsort(took, commits, sizeof(*took), compare);
    printf("{\"measure\":\"epoch\",\"hours_in_store\":%u,\"stacks\":%u,\"hosts\":%u,\"commits\":%u,\"median_us\":%.1f,"
           "\"p99_us\":%.1f,\"value_bytes_a_commit\":%.0f,"
           "\"written_bytes_a_commit\":%.0f,\"write_amplification\":%.1f}\n",
        hours, stacks, hosts, commits, (double)took[commits / 2] / 1e3, (double)took[commits * 99 / 100] / 1e3,
        (double)values / commits, (double)bytes / commits, (double)bytes / (double)values);
    wp_store_close(store);
    free(took);
}

int main(int argc, char **argv)
{
    static const struct {
        unsigned hours, stacks, hosts;
    } rows[] = {{0, STACKS, 1}, {24, STACKS, 1}, {720, STACKS, 1}, {24, 2, 1}, {24, 200, 1}, {24, 2000, 1},
        {24, STACKS, 10}, {24, STACKS, 100}};
    char folder[4096];
    const char *place = getenv("TMPDIR");
    unsigned commits = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    snprintf(folder, sizeof(folder), "%s/wakepath-epoch-XXXXXX", place && *place ? place : "/var/tmp");
    if (!commits || !mkdtemp(folder))
        return 1;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        measure(folder, rows[i].hours, rows[i].stacks, rows[i].hosts, commits);
    return wp_path_remove(folder, NULL) ? 1 : 0;
}
