/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/path.h"
#include "reporter/compare/compare.h"
#include "reporter/compare/operand.h"
#include "reporter/compare/operand_parts.h"
#include "reporter/compare/stored_checks.h"
#include "reporter/load/facts_read.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/report_series.h"
#include "storage/value/host_part.h"
#include "tests/reporter/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull

struct place {
    char folder[64], roots[3][96];
    struct wp_stores stores;
};

static void put(const char *root, const char *release, uint64_t timebox_s, const char *hosts, uint64_t ns)
{
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    char copy[64], *rest = copy;
    snprintf(copy, sizeof(copy), "%s", hosts);
    for (char *host; (host = strsep(&rest, " "));)
        wp_report_host(report, host);
    wp_report_add_at(report, sample_node(report, "[web];main@web"), WP_UNDERSTOOD_FUNCTIONS, timebox_s * SECOND,
        timebox_s * SECOND + ns);
    if (sample_put(root, release, "main", timebox_s, report, NULL, &err))
        fail_msg("%s", err.text);
}

/* Two hosts with a store each, in which the shards have one name; a third store has both hosts in one sum. */
static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct wp_error err = {0};
    const char *roots[2];
    snprintf(place->folder, sizeof(place->folder), "/tmp/wakepath-side-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    for (int i = 0; i < 3; i++)
        snprintf(place->roots[i], sizeof(place->roots[i]), "%s/%d", place->folder, i);
    put(place->roots[0], "v1", 1000, "web-1", 100);
    put(place->roots[0], "v1", 4600, "web-1", 200);
    put(place->roots[1], "v1", 4600, "web-9", 400);
    put(place->roots[1], "v2", 8200, "web-9", 800);
    put(place->roots[2], "v1", 4600, "web-1 web-9", 1600);
    roots[0] = place->roots[0];
    roots[1] = place->roots[1];
    if (wp_stores_open(&place->stores, roots, 2, &err))
        fail_msg("%s", err.text);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_stores_close(&place->stores);
    wp_path_remove(place->folder, NULL);
    free(place);
    return 0;
}

static int read_both(struct wp_facts facts[2], const struct wp_stores *stores, const char *before, const char *after,
    bool same_time, struct wp_error *err)
{
    struct wp_operand_spec spec[2];
    assert_int_equal(wp_operand_parse(&spec[0], before, err), 0);
    assert_int_equal(wp_operand_parse(&spec[1], after, err), 0);
    spec[0].same_time = spec[1].same_time = same_time;
    return wp_operands_read(facts, stores, spec, NULL, err);
}

static void hosts_are_told_by_their_shards(void **state)
{
    struct place *place = *state;
    struct wp_facts facts[2];
    struct wp_error err = {0};
    assert_int_equal(read_both(facts, &place->stores, "v1/web-1", "v1/web-9", false, &err), 0);
    assert_int_equal(facts[0].total_ns, 300);
    assert_int_equal(facts[1].total_ns, 400);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
    assert_int_equal(read_both(facts, &place->stores, "v1/!web-9*", "v1/web-9*", true, &err), 0);
    assert_int_equal(facts[0].total_ns, 200); /* only the hour in which both ran */
    assert_int_equal(facts[1].total_ns, 400);
    struct wp_compare compare;
    assert_int_equal(wp_compare_build(&compare, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, &err), 0);
    assert_string_equal(compare.operand[0].label, "all but web-9*");
    assert_string_equal(compare.operand[1].label, "web-9*");
    wp_compare_fini(&compare);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

/* Three sessions of one host and one of the other, in a release of one store. */
static void put_sessions(const char *root)
{
    static const char *const hosts[] = {"web-1", "web-9", "web-1", "web-1"};
    struct wp_error err = {0};
    struct wp_store *store = NULL;
    struct wp_txn *txn = NULL;
    int rc = wp_store_open(&store, root, NULL, &err);
    if (!rc)
        rc = wp_txn_begin(&txn, store, "v1", true, &err);
    for (uint8_t i = 0; i < 4 && !rc; i++) {
        struct wp_resume resume = {.session = {1, i + 1}, .host = {2, i + 1}};
        snprintf(resume.hostname, sizeof(resume.hostname), "%s", hosts[i]);
        rc = wp_txn_put_resume(txn, "s", &resume, &err);
    }
    if (!rc)
        rc = wp_txn_commit(txn, &err);
    if (rc)
        fail_msg("%s", err.text);
    wp_store_close(store);
}

static void recordings_are_those_of_the_hosts(void **state)
{
    struct place *place = *state;
    struct wp_facts facts[2];
    struct wp_error err = {0};
    put_sessions(place->roots[0]);
    assert_int_equal(read_both(facts, &place->stores, "v1/web-1", "v1/web-9", false, &err), 0);
    assert_int_equal(facts[0].recordings, 3);
    assert_int_equal(facts[1].recordings, 1);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
    assert_int_equal(read_both(facts, &place->stores, "v1", "v1/!web-9", false, &err), 0);
    assert_int_equal(facts[0].recordings, 3); /* web-9 was recorded at the same time: that is no fourth one */
    assert_int_equal(facts[1].recordings, 3);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

static void what_cannot_be_told_apart_is_refused(void **state)
{
    struct place *place = *state;
    struct wp_facts facts[2];
    struct wp_error err = {0};
    struct wp_stores mixed;
    const char *root = place->roots[2];
    assert_int_equal(wp_stores_open(&mixed, &root, 1, &err), 0);
    assert_int_equal(read_both(facts, &mixed, "v1/!web-9", "v1/web-9", true, &err), -EINVAL);
    assert_non_null(strstr(err.text, "not separable"));
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
    wp_stores_close(&mixed);
    assert_int_equal(read_both(facts, &place->stores, "v1/web-1", "v1/db", false, &err), -ENOENT);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
    assert_int_equal(read_both(facts, &place->stores, "v1", "v2", true, &err), -ENOENT); /* no hour in common */
    assert_non_null(strstr(err.text, "timebox"));
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

static void patterns_choose_hosts(void **state)
{
    (void)state;
    assert_true(wp_hosts_match("web-1", "web-1"));
    assert_false(wp_hosts_match("web-1", "web-10"));
    assert_true(wp_hosts_match("db-*,web-*", "web-10"));
    assert_false(wp_hosts_match("!db-*,web-*", "web-10"));
    assert_true(wp_hosts_match("!db-*", "web-10"));
    assert_true(wp_hosts_match("[x", "[x")); /* no pattern: itself */
    assert_false(wp_hosts_match("", "web"));
}

static void checks_are_stored_and_read_again(void **state)
{
    struct place *place = *state;
    struct wp_facts facts[2];
    struct wp_error err = {0};
    struct wp_compare compare;
    struct wp_operand_spec operand[2];
    struct wp_snapshot snapshot;
    struct wp_metadata metadata;
    struct wp_pool pool = {0};
    struct wp_stored_check *checks;
    assert_int_equal(wp_operand_parse(&operand[WP_BEFORE], "v1/web-1", &err), 0);
    assert_int_equal(wp_operand_parse(&operand[WP_AFTER], "v2", &err), 0);
    assert_int_equal(read_both(facts, &place->stores, "v1/web-1", "v2", false, &err), 0);
    assert_int_equal(wp_compare_build(&compare, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, &err), 0);
    for (int i = 0; i < 2; i++) /* again: it takes the place of the first */
        if (wp_check_store(&place->stores, &compare, operand, i ? "v1/web-1" : "main~1/web-1", &err))
            fail_msg("%s", err.text);
    wp_compare_fini(&compare);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
    assert_int_equal(wp_snapshot_begin(&snapshot, &place->stores, "v2", &err), 0);
    assert_int_equal(wp_metadata_read(&metadata, &pool, &snapshot, "main", &err), 0);
    wp_snapshot_end(&snapshot);
    assert_int_equal(wp_stored_checks_read(&checks, &pool, &metadata), 1);
    assert_string_equal(checks[0].method, "t-test");
    assert_string_equal(checks[0].against, "v1/web-1");
    const struct wp_metadata_fact hostile[] = {{"check.", "{}", "s", 1}, {"check.x.y", "not JSON", "s", 1},
        {"check.x.z", "{\"schema\":2}", "s", 1}, {"check.x.zz", "{\"schema\":1,\"worse\":-5,\"sentence\":7}", "s", 1}};
    assert_int_equal(wp_stored_checks_read(&checks, &pool, &(struct wp_metadata){hostile, 4}), 1);
    assert_int_equal(checks[0].worse, 0);
    assert_string_equal(checks[0].sentence, "");
    wp_pool_fini(&pool);
}

/* What `wakepath record -- CMD` says of its aggregates makes one recording the unit, for all that stand beside it. */
static void recorded_commands_are_known_by_their_selector(void **state)
{
    static const struct {
        const char *selector;
        bool is_command;
    } cases[] = {
        {"command", true}, {"command,threads", true}, {"comm=command", false}, {"service", false}, {"", false}};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_store *store = place->stores.stores[0];
        struct wp_facts facts[2];
        struct wp_error err = {0};
        struct wp_txn *txn = NULL;
        struct wp_compare made;
        int rc = wp_txn_begin(&txn, store, "v1", true, &err);
        if (!rc)
            rc = wp_txn_set_metadata(txn, &(struct wp_metadata_scope){.aggregate = "main"},
                &(struct wp_metadata_writer){"s", 1000 + i}, "bucket.selector", cases[i].selector, &err);
        if (!rc)
            rc = wp_txn_commit(txn, &err);
        if (!rc)
            rc = read_both(facts, &place->stores, "v1", "v1", i % 2, &err);
        if (!rc)
            rc = wp_compare_build(&made, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, &err);
        if (rc)
            fail_msg("%s", err.text);
        assert_int_equal(facts[0].is_command, cases[i].is_command);
        assert_int_equal(made.options.per, cases[i].is_command ? WP_PER_RECORDING : WP_PER_WALL);
        wp_compare_fini(&made);
        wp_facts_fini(&facts[0]);
        wp_facts_fini(&facts[1]);
    }
}

static void times(void **state)
{
    static const struct {
        const char *text;
        uint64_t seconds; /* 0: it is none */
    } rows[] = {{"1790000000", 1790000000}, {"2026-11-20T22:14", 1795212840}, {"2026-11-20T22:14:05Z", 1795212845},
        {"2026-11-20 22:14", 1795212840}, {"2026-11-20", 1795132800}, {"2026-02-30T00:00", 0}, {"2026-11-31", 0},
        {"2026-11-20T22:14+01:00", 0}, {"yesterday", 0}, {"", 0}, {"2027", 0}, {"20261120", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t seconds = 0;
        int rc = wp_time_parse(rows[i].text, &seconds);
        if (rc != (rows[i].seconds ? 0 : -EINVAL) || seconds != rows[i].seconds)
            fail_msg("%s: %d %llu", rows[i].text, rc, (unsigned long long)seconds);
    }
    struct wp_operand_spec spec;
    struct wp_error err = {0};
    assert_int_equal(wp_operand_parse(&spec, "v1@2026-11-20..2026-11-19", &err), -EINVAL);
    assert_string_equal(err.text, "'2026-11-20..2026-11-19' ends before it begins");
    assert_int_equal(wp_operand_parse(&spec, "v1@2026-11-19..2026-11-20", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hosts_are_told_by_their_shards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_told_apart_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(recordings_are_those_of_the_hosts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(recorded_commands_are_known_by_their_selector, set_up, tear_down),
        cmocka_unit_test(times), cmocka_unit_test(patterns_choose_hosts),
        cmocka_unit_test_setup_teardown(checks_are_stored_and_read_again, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
