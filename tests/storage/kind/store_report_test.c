/* SPDX-License-Identifier: Apache-2.0 */
/* Reports in a store: deltas, shards, timeboxes, compaction, damage, verification. */
#include "tests/storage/store_fixture.h"

#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_compact.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/head.h"
#include "storage/report/report_read.h"
#include "storage/upkeep/verify.h"

#include <errno.h>

static void transactions_are_whole(void **state)
{
    struct fixture *f = *state;
    struct wp_txn *txn = NULL;
    struct wp_error err = {0};
    char **releases;
    size_t count;
    assert_int_equal(wp_txn_begin(&txn, f->store, "v1", false, &err), -ENOENT);
    assert_non_null(strstr(err.text, "v1"));
    txn = fixture_begin(f, "v1", true);
    struct wp_report *report = fixture_report("f", 5);
    assert_int_equal(wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, "s", NULL}, report, NULL), 0);
    wp_report_destroy(report);
    wp_txn_abort(txn);
    assert_int_equal(wp_store_releases(f->store, &releases, &count, NULL), 0);
    assert_int_equal(count, 0); /* a release that holds nothing is none */
    wp_strings_free(releases, count);
    fixture_add(f, "v2", "s", 100, "f", 5);
    fixture_add(f, "v10", "s", 100, "f", 5);
    txn = fixture_begin(f, "v2", true);
    assert_int_equal(wp_txn_delete(txn, "main/report.100.s.~0000000001", NULL), 0);
    wp_txn_abort(txn);
    txn = fixture_begin(f, "v2", false);
    assert_int_equal(fixture_total(txn, "main", NULL), 5);
    wp_txn_abort(txn);
    assert_int_equal(wp_store_releases(f->store, &releases, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(releases[0], "v10");
    assert_string_equal(releases[1], "v2");
    wp_strings_free(releases, count);
}

static void names_are_checked(void **state)
{
    struct fixture *f = *state;
    struct wp_txn *txn = NULL;
    struct wp_report *report = fixture_report("f", 5);
    static const char *const bad[] = {"", ".", "..", "a/b", "../x", "a b", "\xff", "__state__"};
    for (size_t i = 0; i + 1 < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(wp_txn_begin(&txn, f->store, bad[i], true, NULL), -EINVAL);
    txn = fixture_begin(f, "v1", true);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(
            wp_txn_add_host_report(txn, &(struct wp_report_place){bad[i], 100, "s", NULL}, report, NULL), -EINVAL);
        if (i + 1 < sizeof(bad) / sizeof(*bad)) {
            assert_int_equal(
                wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, bad[i], NULL}, report, NULL),
                -EINVAL);
            assert_int_equal(wp_txn_register_shard(txn, bad[i], NULL), -EINVAL);
        }
    }
    assert_int_equal(wp_txn_put(txn, "no key", WP_VALUE_BLOB, (const uint8_t *)"x", 1, NULL), -EINVAL);
    assert_int_equal(wp_txn_put(txn, "main/trace.1.s", WP_VALUE_REPORT, (const uint8_t *)"x", 1, NULL), -EINVAL);
    wp_txn_abort(txn);
    wp_report_destroy(report);
}

static void deltas_shards_and_times(void **state)
{
    struct fixture *f = *state;
    fixture_add(f, "v1", "a", 100, "f", 1);
    fixture_add(f, "v1", "a", 100, "f", 2);
    fixture_add(f, "v1", "a", 200, "g", 4);
    fixture_add(f, "v1", "b", 100, "f", 8);
    fixture_add(f, "v1", "a.5", 100, "f", 16);
    fixture_add(f, "v1", "a-b", 100, "f", 32); /* sorts between a and its deltas */
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    const struct {
        struct wp_selection selection;
        uint64_t total;
    } cases[] = {{{0}, 63}, {{.since_s = 101}, 4}, {{.until_s = 200}, 59}, {{.shard = "a"}, 7}, {{.shard = "a.5"}, 16},
        {{.since_s = 100, .until_s = 200, .shard = "a"}, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(fixture_total(txn, "main", &cases[i].selection), cases[i].total);
    struct wp_report_reading reading;
    struct wp_error err = {0};
    assert_int_equal(wp_txn_read_report(txn, "nobody", NULL, &reading, &err), -ENOENT);
    assert_non_null(strstr(err.text, "nobody"));
    struct wp_selection nobody = {.shard = "nobody"}, never = {.since_s = 300};
    assert_int_equal(wp_txn_read_report(txn, "main", &nobody, &reading, &err), -ENOENT);
    assert_int_equal(wp_txn_read_report(txn, "main", &never, &reading, &err), -ENOENT);
    assert_non_null(strstr(err.text, "main"));
    assert_null(reading.report);
    assert_null(reading.damage);
    assert_int_equal(fixture_count(txn, "main/report.100.a.~"), 2);
    char **names;
    size_t count;
    assert_int_equal(wp_txn_shards(txn, &names, &count, NULL), 0);
    assert_int_equal(count, 4);
    assert_string_equal(names[0], "a");
    wp_strings_free(names, count);
    wp_txn_abort(txn);
}

static void aggregates_are_listed(void **state)
{
    struct fixture *f = *state;
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    struct wp_report *report = fixture_report("f", 5);
    static const char *const names[] = {"a", "a-b", "a.b", "main", "zz"};
    wp_txn_register_shard(txn, "s", NULL);
    for (size_t i = 0; i < 5; i++)
        for (uint64_t box = 1; box < 4; box++)
            assert_int_equal(
                wp_txn_add_host_report(txn, &(struct wp_report_place){names[i], box, "s", NULL}, report, NULL), 0);
    char **found;
    size_t count;
    assert_int_equal(wp_txn_aggregates(txn, &found, &count, NULL), 0);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0, seen = 0; j < 5 || !seen; j++) {
            assert_true(j < 5);
            seen += !strcmp(found[j], names[i]);
        }
    wp_strings_free(found, count);
    wp_txn_abort(txn);
    wp_report_destroy(report);
}

static void compaction_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct made_fact facts[600];
    made_facts(facts, 600, 11);
    for (unsigned i = 0; i < 12; i++) {
        struct wp_report *report = made_report(facts + i * 50, 50);
        struct wp_txn *txn = fixture_begin(f, "v1", true);
        const char *shard = i % 3 ? "a" : "a.7";
        assert_int_equal(wp_txn_register_shard(txn, shard, NULL), 0);
        assert_int_equal(
            wp_txn_add_host_report(
                txn, &(struct wp_report_place){i % 4 ? "main" : "other", 100 + i % 2 * 100, shard, NULL}, report, NULL),
            0);
        fixture_commit(txn);
        wp_report_destroy(report);
    }
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    struct wp_buffer main_before = fixture_read(txn, "main", NULL, NULL),
                     other_before = fixture_read(txn, "other", NULL, NULL);
    size_t seven = fixture_count(txn, "main/report.100.a.7.~");
    wp_txn_abort(txn);
    assert_true(seven > 0);
    for (int again = 0; again < 2; again++) {
        txn = fixture_begin(f, "v1", true);
        assert_int_equal(wp_txn_compact(txn, "a", NULL), 0);
        fixture_commit(txn);
    }
    txn = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_count(txn, "main/report.100.a.~"), 0);
    assert_int_equal(fixture_count(txn, "main/report.200.a.~"), 0);
    assert_int_equal(fixture_count(txn, "main/report.100.a.7.~"), seven); /* another shard's business */
    struct wp_buffer main_after = fixture_read(txn, "main", NULL, NULL),
                     other_after = fixture_read(txn, "other", NULL, NULL);
    assert_int_equal(main_before.size, main_after.size);
    assert_memory_equal(main_before.data, main_after.data, main_after.size);
    assert_int_equal(other_before.size, other_after.size);
    assert_memory_equal(other_before.data, other_after.data, other_after.size);
    wp_txn_abort(txn);
    fixture_add(f, "v1", "a", 100, "f", 1); /* goes on after it */
    wp_buffer_fini(&main_before);
    wp_buffer_fini(&main_after);
    wp_buffer_fini(&other_before);
    wp_buffer_fini(&other_after);
}

static void damage_is_left_out_and_named(void **state)
{
    struct fixture *f = *state;
    const char *key = "main/report.100.s.~0000000002";
    for (unsigned i = 0; i < 3; i++)
        fixture_add(f, "v1", "s", 100, "f", 1u << i);
    fixture_damage(f, "v1", key);
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    struct wp_report_reading reading;
    assert_int_equal(wp_txn_read_report(txn, "main", NULL, &reading, NULL), 0);
    assert_int_equal(wp_report_total(reading.report), 1 + 4);
    assert_int_equal(reading.damage_count, 1);
    assert_string_equal(reading.damage[0].key, key);
    assert_non_null(strstr(reading.damage[0].reason, "damaged"));
    wp_report_destroy(reading.report);
    wp_damage_free(reading.damage, reading.damage_count);
    struct wp_buffer raw = {0};
    struct wp_error err = {0};
    assert_int_equal(wp_txn_get(txn, key, WP_VALUE_REPORT, &raw, &err), -EBADMSG);
    assert_non_null(strstr(err.text, key));
    assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
    assert_int_equal(fixture_count(txn, "main/report.100.s.~"), 3); /* compaction destroys no evidence */
    wp_txn_abort(txn);
    wp_buffer_fini(&raw);
}

static void newest_trace_is_read(void **state)
{
    struct fixture *f = *state;
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    struct wp_trace *trace;
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    for (uint64_t box = 90; box < 120; box += 10) { /* 90 and 100 differ in length, too */
        trace = made_trace(box, 10);
        trace->start_ns = box;
        assert_int_equal(
            wp_txn_put_trace(
                txn, &(struct wp_report_place){.aggregate = "main", .timebox_s = box, .shard = "s"}, trace, NULL),
            0);
        wp_trace_destroy(trace);
    }
    struct wp_selection until = {.until_s = 110};
    assert_int_equal(wp_txn_read_trace(txn, "main", NULL, &trace, NULL), 0);
    assert_int_equal(trace->start_ns, 110);
    wp_trace_destroy(trace);
    assert_int_equal(wp_txn_read_trace(txn, "main", &until, &trace, NULL), 0);
    assert_int_equal(trace->start_ns, 100);
    wp_trace_destroy(trace);
    until.until_s = 5;
    assert_int_equal(wp_txn_read_trace(txn, "main", &until, &trace, NULL), -ENOENT);
    fixture_commit(txn);
    fixture_damage(f, "v1", "main/trace.110.s");
    txn = fixture_begin(f, "v1", false);
    struct wp_error err = {0};
    assert_int_equal(wp_txn_read_trace(txn, "main", NULL, &trace, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "main/trace.110.s"));
    assert_null(trace);
    wp_txn_abort(txn);
}

/* --- verification --- */

struct found {
    char text[8192];
};

static void take_fault(void *context, const char *release, const char *key, const char *reason)
{
    struct found *found = context;
    size_t used = strlen(found->text);
    snprintf(found->text + used, sizeof(found->text) - used, "%s/%s: %s\n", release, key, reason);
}

static uint64_t verify(struct fixture *f, struct found *found)
{
    struct wp_verify verify = {.fault = take_fault, .context = found};
    found->text[0] = 0;
    assert_int_equal(wp_verify_release(&verify, f->store, "v1", NULL), 0);
    return verify.faults;
}

static void expect_fault(struct fixture *f, const char *key, const char *says)
{
    struct found found;
    uint64_t faults = verify(f, &found);
    const char *line = strstr(found.text, key), *said = line ? strstr(line, says) : NULL;
    if (!faults || !said)
        fail_msg("no '%s' at '%s' in: %s", says, key, found.text);
}

static void remove_key(struct fixture *f, const char *key)
{
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_delete(txn, key, NULL), 0);
    fixture_commit(txn);
}

static void verify_names_each_fault(void **state)
{
    struct fixture *f = *state;
    struct found found;
    fixture_add(f, "v1", "s", 100, "f", 1);
    fixture_add(f, "v1", "s", 100, "f", 2);
    assert_int_equal(verify(f, &found), 0);

    fixture_store_bytes(f, "v1", "rubbish", "x", 1);
    expect_fault(f, "v1/rubbish", "not a key");
    remove_key(f, "rubbish");
    fixture_store_bytes(f, "v1", "main/trace.1.s", "x", 1);
    expect_fault(f, "main/trace.1.s", "header");
    remove_key(f, "main/trace.1.s");
    fixture_damage(f, "v1", "main/report.100.s.~0000000001");
    expect_fault(f, "main/report.100.s.~0000000001", "damaged");
    remove_key(f, "main/report.100.s.~0000000001");
    assert_int_equal(verify(f, &found), 0);

    struct wp_txn *txn = fixture_begin(f, "v1", true); /* a body that is whole and means nothing */
    assert_int_equal(wp_txn_put(txn, "main/report.5.s", WP_VALUE_REPORT, (const uint8_t *)"\xff\xff\xff", 3, NULL), 0);
    assert_int_equal(wp_txn_put(txn, "__source__/00/11/00112233445566778899aabbccddeeff", WP_VALUE_BLOB,
                         (const uint8_t *)"x", 1, NULL),
        0);
    fixture_commit(txn);
    expect_fault(f, "main/report.5.s", "not a protobuf message");
    expect_fault(f, "__source__/00/11/00112233445566778899aabbccddeeff", "digest of its content");
    remove_key(f, "main/report.5.s");
    remove_key(f, "__source__/00/11/00112233445566778899aabbccddeeff");
    assert_int_equal(verify(f, &found), 0);

    remove_key(f, "__state__/shard.s");
    expect_fault(f, "main/report.100.s.~0000000002", "no flag");
    fixture_add(f, "v1", "s", 100, "f", 2);
    struct wp_resume resume = {.seq = 4};
    txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_put_resume(txn, "s", &resume, NULL), 0);
    fixture_commit(txn);
    expect_fault(f, "processed.00000000-0000-0000-0000-000000000000.s", "last_sample");
    txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_put_last_sample(txn, "s", resume.session, 5, NULL), 0);
    fixture_commit(txn);
    assert_int_equal(verify(f, &found), 0);
}

/* A report whose head or order is not what its body says. */
static void verify_compares_heads_and_order(void **state)
{
    struct fixture *f = *state;
    const char *key = "main/report.100.s.~0000000001";
    struct found found;
    struct wp_buffer raw = {0}, doubled = {0};
    fixture_add(f, "v1", "s", 100, "f", 1);
    fixture_add(f, "v1", "s", 100, "g", 2);
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_get(txn, key, WP_VALUE_REPORT, &raw, NULL), 0);
    wp_buffer_append(&doubled, raw.data, raw.size); /* a field more that says 0: the same content in other bytes */
    wp_buffer_append(&doubled, "\x88\x02\x00", 3);
    assert_int_equal(wp_txn_put(txn, key, WP_VALUE_REPORT, doubled.data, doubled.size, NULL), 0);
    fixture_commit(txn);
    expect_fault(f, key, "canonical");
    txn = fixture_begin(f, "v1", true); /* without a head it is fine */
    assert_int_equal(wp_txn_put(txn, key, WP_VALUE_REPORT, raw.data, raw.size, NULL), 0);
    fixture_commit(txn);
    assert_int_equal(verify(f, &found), 0);
    struct wp_head head = {.total_ns = 99};
    struct wp_buffer head_bytes = {0};
    assert_int_equal(wp_head_encode(&head, &head_bytes, NULL), 0);
    txn = fixture_begin(f, "v1", true);
    assert_int_equal(
        wp_txn_put_headed(txn, key, &(struct wp_raw_value){WP_VALUE_REPORT, &head_bytes, raw.data, raw.size}, NULL), 0);
    fixture_commit(txn);
    expect_fault(f, key, "head");
    wp_buffer_fini(&head_bytes);
    wp_buffer_fini(&raw);
    wp_buffer_fini(&doubled);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(transactions_are_whole), TEST(names_are_checked),
        TEST(deltas_shards_and_times), TEST(aggregates_are_listed), TEST(compaction_changes_nothing),
        TEST(damage_is_left_out_and_named), TEST(newest_trace_is_read), TEST(verify_names_each_fault),
        TEST(verify_compares_heads_and_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
