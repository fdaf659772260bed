/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_maker ROOT RELEASE SHARD FACT...: one transaction through the storage API. A fact is words parted by ':'
 * - report:AGGREGATE:TIMEBOX:SEED[:FACTS]: random facts of a seed, 200 or as many as 1000
 * - time:AGGREGATE:TIMEBOX:NS: one stack
 * - active:AGGREGATE:TIMEBOX:NS: the same, active from the timebox's begin for so long
 * - trace:AGGREGATE:TIMEBOX:SEED: 30 random rows
 * - blob:NUMBER:BYTES: noise, nobody's
 * - source:HOST:PID:START_S:NUMBER:BYTES: noise that a process had
 * - process:HOST:PID:START_S:PARENT:PARENT_START_S
 * - user:HOST:PID:START_S:TIMEBOX: a report in which a process is
 * - session:NUMBER:SEQ:LAST_S[:live]: with its resume point
 * - metadata:AGGREGATE:KEY:VALUE:REAL_S ("" the release's)
 * - map:NUMBER: a row of the source map
 * - clock:NUMBER: a span
 * - forever:AGGREGATE:TIMEBOX: a report of 1 ns again and again, a transaction each, a line on standard output after
 * each
 */
#include "made_report.h"

#include "proto/store.pb-c.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/exemplars_store.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/sourcemap_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/exemplars.h"
#include "storage/report/trace_encode.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define WORDS 8
#define FACTS 1000

struct maker {
    const char *root, *release, *shard;
    char **facts;
    int count;
    struct wp_error err;
};

static uint64_t number(const char *word)
{
    return word ? strtoull(word, NULL, 10) : 0;
}

static struct wp_report *simple(const char *function, uint64_t ns)
{
    struct wp_report *report = wp_report_create();
    uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[p]", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_USER, function, "libp.so"));
    wp_report_add(report, node, WP_UNDERSTOOD_FUNCTIONS, ns, 1);
    wp_report_host(report, "h");
    return report;
}

static int add_report(
    struct maker *maker, struct wp_txn *txn, const char *aggregate, uint64_t timebox_s, struct wp_report *report)
{
    int rc = wp_txn_add_host_report(
        txn, &(struct wp_report_place){aggregate, timebox_s, maker->shard, NULL}, report, &maker->err);
    wp_report_destroy(report);
    return rc;
}

static int put_blob(struct maker *maker, struct wp_txn *txn, uint64_t seed, size_t size, uint8_t digest[16])
{
    struct wp_key key = {.kind = WP_VALUE_BLOB};
    uint64_t *bytes = malloc(size + 8);
    for (size_t i = 0; i <= size / 8; i++)
        bytes[i] = made_random(&seed);
    XXH128_canonicalFromHash((XXH128_canonical_t *)(void *)key.digest, XXH3_128bits(bytes, size));
    memcpy(digest, key.digest, 16);
    int rc = wp_txn_put_key(txn, &key, (uint8_t *)bytes, size, &maker->err);
    free(bytes);
    return rc;
}

/* One process with one blob. */
static int put_source(struct maker *maker, struct wp_txn *txn, char **words)
{
    struct wp_source_row row = {.host = words[1],
        .name = "jit.map",
        .pid = (uint32_t)number(words[2]),
        .start_ns = number(words[3]) * 1000000000};
    int rc = put_blob(maker, txn, number(words[4]), number(words[5]), row.digest);
    return rc ? rc : wp_txn_add_sources(txn, maker->shard, &row, 1, &maker->err);
}

static int put_session(struct maker *maker, struct wp_txn *txn, char **words)
{
    struct wp_resume resume = {.seq = number(words[2]), .until_mono_ns = 5, .ended = !words[4]};
    memset(resume.session, (int)number(words[1]), 16);
    memset(resume.host, 1, 16);
    snprintf(resume.hostname, sizeof(resume.hostname), "h");
    int rc = wp_txn_put_resume(txn, maker->shard, &resume, &maker->err);
    return rc ? rc : wp_txn_put_last_sample(txn, maker->shard, resume.session, number(words[3]), &maker->err);
}

static int put_clock(struct maker *maker, struct wp_txn *txn, uint64_t from)
{
    struct wp_clock_row row = {.hostname = "h",
        .method = "anchor",
        .from_mono_ns = from,
        .to_mono_ns = from + 1000,
        .offset_ns = -5,
        .bound_ns = UINT64_MAX};
    return wp_txn_put_clock(txn, maker->shard, &row, 1, &maker->err);
}

static int put_state(struct maker *maker, struct wp_txn *txn, char **words)
{
    const char *what = words[0];
    uint8_t digest[16];
    if (!strcmp(what, "blob"))
        return put_blob(maker, txn, number(words[1]), number(words[2]), digest);
    if (!strcmp(what, "source"))
        return put_source(maker, txn, words);
    if (!strcmp(what, "session"))
        return put_session(maker, txn, words);
    if (!strcmp(what, "clock"))
        return put_clock(maker, txn, number(words[1]));
    if (!strcmp(what, "metadata"))
        return wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = *words[1] ? words[1] : NULL},
            &(struct wp_metadata_writer){maker->shard, number(words[4])}, words[2], words[3], &maker->err);
    if (!strcmp(what, "map")) {
        struct wp_sourcemap_row row = {(const uint8_t *)"\x01\x02", 2, "libp.so", "f\x01\xff", number(words[1]),
            number(words[1]) % 2 ? "p\xff.c" : NULL, (uint32_t)(number(words[1]) % 7),
            (uint32_t)(number(words[1]) % 3)};
        return wp_txn_add_sourcemap(txn, maker->shard, &row, 1, &maker->err);
    }
    if (!strcmp(what, "process")) {
        struct wp_genealogy_row row = {.host = words[1],
            .comm = "p",
            .exe = "/bin/p",
            .pid = (uint32_t)number(words[2]),
            .parent_pid = (uint32_t)number(words[4]),
            .start_ns = number(words[3]) * 1000000000,
            .parent_start_ns = number(words[5]) * 1000000000};
        return wp_txn_add_genealogy(txn, maker->shard, &row, 1, &maker->err);
    }
    return wp_error_set(&maker->err, -EINVAL, "no fact '%s'", what);
}

/* exemplar:AGGREGATE:TIMEBOX:SERVICE:LENGTH:SEED */
static int put_exemplar(struct maker *maker, struct wp_txn *txn, char *const *words)
{
    struct wp_exemplars set = {0};
    struct wp_exemplar_window window = {.service = words[3],
        .host = (char *)(uintptr_t) "h",
        .start_ns = number(words[2]) * 1000000000,
        .length_ns = number(words[4]),
        .tid = 7};
    struct wp_trace *trace = made_trace(number(words[5]), 8);
    int rc = wp_trace_encode(trace, &window.trace, &maker->err);
    if (!rc)
        rc = wp_exemplars_add(&set, &window);
    if (!rc)
        rc = wp_txn_join_exemplars(txn,
            &(struct wp_report_place){.aggregate = words[1], .timebox_s = number(words[2]), .shard = maker->shard},
            &set, &maker->err);
    wp_trace_destroy(trace);
    wp_buffer_fini(&window.trace);
    wp_exemplars_fini(&set);
    return rc;
}

static int put_fact(struct maker *maker, struct wp_txn *txn, const char *text)
{
    char copy[256], *rest = copy, *words[WORDS] = {0};
    snprintf(copy, sizeof(copy), "%s", text);
    for (int i = 0; rest && i < WORDS; i++)
        words[i] = strsep(&rest, ":");
    if (!strcmp(words[0], "report")) {
        static struct made_fact facts[FACTS];
        size_t count = words[4] ? number(words[4]) : 200;
        if (count > FACTS)
            return wp_error_set(&maker->err, -EINVAL, "%zu facts, at most %d", count, FACTS);
        made_facts(facts, count, number(words[3]));
        return add_report(maker, txn, words[1], number(words[2]), made_report(facts, count));
    }
    if (!strcmp(words[0], "time") || !strcmp(words[0], "forever"))
        return add_report(maker, txn, words[1], number(words[2]), simple("f", words[3] ? number(words[3]) : 1));
    if (!strcmp(words[0], "active")) {
        struct wp_report *report = simple("f", number(words[3]));
        uint64_t from_ns = number(words[2]) * 1000000000;
        wp_report_activity(report, from_ns, from_ns + number(words[3]));
        return add_report(maker, txn, words[1], number(words[2]), report);
    }
    if (!strcmp(words[0], "user")) {
        struct wp_report *report = simple("g", 1);
        wp_report_process_add(report,
            wp_report_process(report, words[1], "p", (uint32_t)number(words[2]), number(words[3]) * 1000000000), 1, 1);
        return add_report(maker, txn, "main", number(words[4]), report);
    }
    if (!strcmp(words[0], "trace")) {
        struct wp_trace *trace = made_trace(number(words[3]), 30);
        int rc = wp_txn_put_trace(txn,
            &(struct wp_report_place){.aggregate = words[1], .timebox_s = number(words[2]), .shard = maker->shard},
            trace, &maker->err);
        wp_trace_destroy(trace);
        return rc;
    }
    if (!strcmp(words[0], "exemplar"))
        return put_exemplar(maker, txn, words);
    return put_state(maker, txn, words);
}

static int put_facts(struct wp_txn *txn, void *context)
{
    struct maker *maker = context;
    int rc = wp_txn_register_shard(txn, maker->shard, &maker->err);
    for (int i = 0; !rc && i < maker->count; i++)
        rc = put_fact(maker, txn, maker->facts[i]);
    return rc;
}

int main(int argc, char **argv)
{
    struct wp_store *store = NULL;
    if (argc < 5)
        return 64;
    struct maker maker = {argv[1], argv[2], argv[3], argv + 4, argc - 4, {0}};
    int rc = wp_store_open(&store, maker.root, true, &maker.err);
    do {
        if (!rc)
            rc = wp_store_update(store, maker.release, put_facts, &maker, &maker.err);
        if (!rc && !strncmp(argv[4], "forever:", 8)) {
            puts("one");
            fflush(stdout);
        }
    } while (!rc && !strncmp(argv[4], "forever:", 8));
    wp_store_close(store);
    if (rc)
        fprintf(stderr, "store_maker: %s\n", maker.err.text);
    return rc ? 1 : 0;
}
