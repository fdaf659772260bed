/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts of one shard: each has reports of its own, and together they are what one report of them all would be. */
#include "tests/storage/store_fixture.h"

#include "storage/env/txn.h"
#include "storage/kind/report_add.h"
#include "storage/kind/report_compact.h"
#include "storage/kind/report_shares.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"
#include "storage/upkeep/merge_store.h"
#include "storage/upkeep/rollup.h"
#include "storage/upkeep/verify.h"
#include "storage/value/host_part.h"

#include <errno.h>

#define FACTS 40u

static const char *const hosts[] = {"web-1", "web-2.example.org", "caf\xe9 \n", NULL};

static void same(struct wp_buffer a, struct wp_buffer b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
}

/* Random facts but no hosts, and one that is given. */
static struct wp_report *make(uint64_t seed, const char *host)
{
    struct made_fact facts[FACTS];
    struct wp_report *report = wp_report_create();
    made_facts(facts, FACTS, seed);
    for (size_t i = 0; i < FACTS; i++)
        if (facts[i].kind != MADE_HOST)
            made_add(report, &facts[i]);
    wp_report_host(report, host ? host : "old");
    return report;
}

/* The same deltas in release "v1" host by host, and in "whole" in one report. */
static void fill(struct fixture *f, unsigned rounds)
{
    for (unsigned round = 0; round < 2 * rounds; round++) {
        bool is_whole = round % 2;
        struct wp_txn *txn = fixture_begin(f, is_whole ? "whole" : "v1", true);
        assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
        for (size_t i = 0; i < 4; i++) {
            struct wp_report *report = make(round / 2 * 4 + i, hosts[i]);
            assert_int_equal(
                wp_txn_add_host_report(txn,
                    &(struct wp_report_place){"main", 100 + round / 2 % 2 * 100, "s", is_whole ? NULL : hosts[i]},
                    report, NULL),
                0);
            wp_report_destroy(report);
        }
        fixture_commit(txn);
    }
}

static struct wp_buffer whole_of(struct fixture *f, const char *release)
{
    struct wp_txn *txn = fixture_begin(f, release, false);
    struct wp_buffer bytes = fixture_read(txn, "main", NULL, NULL);
    wp_txn_abort(txn);
    return bytes;
}

static void all_hosts_are_the_whole(void **state)
{
    struct fixture *f = *state;
    fill(f, 3);
    same(whole_of(f, "v1"), whole_of(f, "whole"));
    for (int again = 0; again < 2; again++) {
        struct wp_txn *txn = fixture_begin(f, "v1", true);
        assert_int_equal(wp_txn_compact(txn, "s", NULL), 0);
        fixture_commit(txn);
    }
    same(whole_of(f, "v1"), whole_of(f, "whole"));
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_count(txn, "main/report.100.s@web-1"), 1);
    assert_int_equal(fixture_count(txn, "main/report.100.s"), 4); /* with the one of no host */
    wp_txn_abort(txn);
}

static void many_deltas_are_summed_host_by_host(void **state)
{
    struct fixture *f = *state;
    fill(f, 2 * WP_DELTAS); /* one timebox gets every other round */
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    assert_int_equal(fixture_count(txn, "main/report.100.s@web-1.~"), 0);
    assert_int_equal(fixture_count(txn, "main/report.100.s@web-1"), 1);
    assert_int_equal(fixture_count(txn, "main/report.100.s@"), 3);
    assert_int_equal(fixture_count(txn, "main/report.100."), 4);
    wp_txn_abort(txn);
    same(whole_of(f, "v1"), whole_of(f, "whole"));
}

static struct wp_buffer sum_of_rounds(unsigned rounds, size_t host)
{
    struct wp_report *sum = wp_report_create();
    struct wp_buffer bytes = {0};
    for (unsigned round = 0; round < rounds; round++) {
        struct wp_report *one = make(round * 4 + host, hosts[host]);
        assert_int_equal(wp_report_merge(sum, one, NULL), 0);
        wp_report_destroy(one);
    }
    assert_int_equal(wp_report_encode(sum, &bytes, NULL), 0);
    wp_report_destroy(sum);
    return bytes;
}

static void a_host_is_read_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const patterns[] = {"web-1", "web-2*", "caf?*"};
    fill(f, 4);
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    for (size_t i = 0; i < 3; i++)
        same(fixture_read(txn, "main", &(struct wp_selection){.hosts = patterns[i]}, NULL), sum_of_rounds(4, i));
    same(fixture_read(txn, "main", &(struct wp_selection){.hosts = "!web-*,caf*"}, NULL), sum_of_rounds(4, 3));
    struct wp_report_reading reading;
    struct wp_selection nobody = {.hosts = "db"};
    assert_int_equal(wp_txn_read_report(txn, "main", &nobody, &reading, NULL), -ENOENT);
    wp_txn_abort(txn);
}

static void one_sum_is_not_told_apart(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    struct wp_report *both = make(1, "web-1");
    struct wp_report_reading reading;
    wp_report_host(both, "web-2");
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_register_shard(txn, "s", NULL), 0);
    assert_int_equal(wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, "s", NULL}, both, NULL), 0);
    struct wp_selection one = {.hosts = "web-1"}, all = {.hosts = "web-*"}, none = {.hosts = "db"};
    assert_int_equal(wp_txn_read_report(txn, "main", &one, &reading, &err), -EINVAL);
    assert_non_null(strstr(err.text, "1 host of 'web-1' and 1 more in one sum"));
    assert_int_equal(fixture_total(txn, "main", &all), wp_report_total(both));
    assert_int_equal(wp_txn_read_report(txn, "main", &none, &reading, &err), -ENOENT);
    wp_txn_abort(txn);
    wp_report_destroy(both);
}

struct shares {
    struct wp_report *sum;
    unsigned count, named;
};

static int take(void *context, const struct wp_share *share, struct wp_error *err)
{
    struct shares *shares = context;
    uint32_t count;
    wp_report_hosts(share->report, &count);
    assert_string_equal(share->shard, "s");
    assert_int_equal(count, 1);
    shares->count++;
    shares->named += *share->host != 0;
    int rc = wp_report_merge(shares->sum, share->report, err);
    wp_report_destroy(share->report);
    return rc;
}

static void shares_add_up(void **state)
{
    struct fixture *f = *state;
    struct shares shares = {.sum = wp_report_create()};
    struct wp_buffer bytes = {0};
    fill(f, 6);
    struct wp_txn *txn = fixture_begin(f, "v1", false);
    assert_int_equal(wp_txn_read_shares(txn, "main", NULL, take, &shares, NULL), 0);
    assert_int_equal(shares.count, 8); /* two timeboxes */
    assert_int_equal(shares.named, 6);
    assert_int_equal(wp_report_encode(shares.sum, &bytes, NULL), 0);
    wp_txn_abort(txn);
    same(bytes, whole_of(f, "whole"));
    wp_report_destroy(shares.sum);
}

static void roll_up_keeps_hosts(void **state)
{
    struct fixture *f = *state;
    fill(f, 2);
    fixture_add(f, "v1", "s", 10 * WP_DAY_S, "f", 1); /* the newest stays as it is */
    fixture_add(f, "whole", "s", 10 * WP_DAY_S, "f", 1);
    struct wp_roll_up rule = {.now_s = 11 * WP_DAY_S, .hours_s = WP_DAY_S, .days_s = WP_FOREVER};
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    assert_int_equal(wp_txn_roll_up(txn, &rule, NULL, NULL, NULL), 0);
    assert_int_equal(rule.made, 4);
    assert_int_equal(fixture_count(txn, "main/report.0.s@web-1"), 1);
    assert_int_equal(fixture_count(txn, "main/report.0.s"), 4);
    same(fixture_read(txn, "main", &(struct wp_selection){.hosts = "web-1"}, NULL), sum_of_rounds(2, 0));
    fixture_commit(txn);
    same(whole_of(f, "v1"), whole_of(f, "whole"));
}

static void stores_merge_host_by_host(void **state)
{
    struct fixture *f = *state;
    fill(f, 5);
    struct wp_txn *from = fixture_begin(f, "v1", false);
    for (int again = 0; again < 2; again++) {
        struct wp_merge merge = {0};
        struct wp_txn *to = fixture_begin(f, "copy", true);
        assert_int_equal(wp_txn_merge(to, from, &merge, NULL), 0);
        if (again)
            assert_int_equal(merge.written, 0);
        assert_int_equal(fixture_count(to, "main/report."), 8);
        same(fixture_read(to, "main", &(struct wp_selection){.hosts = "web-1"}, NULL), sum_of_rounds(5, 0));
        fixture_commit(to);
    }
    wp_txn_abort(from);
    same(whole_of(f, "copy"), whole_of(f, "whole"));
}

static void note_fault(void *context, const char *release, const char *key, const char *reason)
{
    (void)release, (void)key;
    *(bool *)context |= strstr(reason, "by its key") != NULL;
}

static void a_key_of_another_host_is_a_fault(void **state)
{
    struct fixture *f = *state;
    bool is_told = false;
    struct wp_verify verify = {.fault = note_fault, .context = &is_told};
    fill(f, 1);
    assert_int_equal(wp_verify_release(&verify, f->store, "v1", NULL), 0);
    assert_int_equal(verify.faults, 0);
    struct wp_report *report = make(9, "web-1");
    struct wp_txn *txn = fixture_begin(f, "v1", true);
    assert_int_equal(
        wp_txn_add_host_report(txn, &(struct wp_report_place){"main", 100, "s", "web-3"}, report, NULL), 0);
    fixture_commit(txn);
    wp_report_destroy(report);
    assert_int_equal(wp_verify_release(&verify, f->store, "v1", NULL), 0);
    assert_int_equal(verify.faults, 1);
    assert_true(is_told);
}

static void names_become_parts(void **state)
{
    (void)state;
    char part[WP_HOST_PART_ROOM], other[WP_HOST_PART_ROOM], name[256];
    static const char *const odd[] = {"", ".", "..", "a b", "a/b", "caf\xe9", "a@b", "a~b", "\n"};
    wp_host_part(part, "web-1.example.org");
    assert_string_equal(part, "web-1.example.org");
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        wp_host_part(part, odd[i]);
        assert_true(wp_host_part_valid(part));
        assert_false(wp_host_part_is_name(part));
        for (size_t j = 0; j < i; j++) {
            wp_host_part(other, odd[j]);
            assert_string_not_equal(part, other);
        }
    }
    memset(name, 'x', 255);
    name[255] = 0;
    wp_host_part(part, name);
    assert_true(wp_host_part_valid(part));
    name[254] = 'y';
    wp_host_part(other, name);
    assert_string_not_equal(part, other);
    name[64] = 0;
    wp_host_part(part, name);
    assert_string_equal(part, name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_hosts_are_the_whole, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(many_deltas_are_summed_host_by_host, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_host_is_read_alone, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(one_sum_is_not_told_apart, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(shares_add_up, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(roll_up_keeps_hosts, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(stores_merge_host_by_host, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_key_of_another_host_is_a_fault, fixture_setup, fixture_teardown),
        cmocka_unit_test(names_become_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
