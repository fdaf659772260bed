/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages' reports find in known recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/hosts.h"
#include "tests/reporter/sample_fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fleet as the site reads it: from a store. */
static void read_fleet(struct wp_facts *facts, bool is_hostile)
{
    char root[] = "/tmp/wp-pages-test-XXXXXX", command[64];
    const char *roots[] = {root};
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    struct wp_error err = {0};
    struct wp_selection all = {0};
    assert_non_null(mkdtemp(root));
    if (sample_put(root, "v1", "main", 1790000000, is_hostile ? sample_hostile_report() : sample_fleet_report(), NULL, &err) ||
            sample_describe(root, "v1", "main", is_hostile, &err) || wp_stores_open(&stores, roots, 1, &err) ||
            wp_snapshot_begin(&snapshot, &stores, "v1", &err) || wp_facts_read(facts, &snapshot, "main", &all, &err))
        fail_msg("%s", err.text);
    wp_snapshot_end(&snapshot);
    wp_stores_close(&stores);
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void hosts_and_what_went_between_them(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_hosts hosts;
    read_fleet(&facts, false);
    wp_hosts_build(&hosts, &facts.pool, &facts);
    assert_int_equal(hosts.count, 4);
    assert_string_equal(hosts.rows[0].name, "web-1.example");
    assert_string_equal(hosts.rows[0].kernel, "6.1.0-28-amd64");
    assert_string_equal(hosts.rows[0].labels, "rack=r7");
    assert_string_equal(hosts.rows[0].clock, "usable");
    assert_int_equal(hosts.rows[0].events, 3430542);
    assert_int_equal(hosts.rows[0].dropped, 30);
    assert_int_equal(hosts.rows[0].unpaired, 904);
    assert_int_equal(hosts.rows[0].ambiguous, 2);
    const struct wp_host_pair *first = &hosts.pairs[0];
    assert_string_equal(hosts.rows[first->to].name, "web-1.example");
    assert_string_equal(hosts.rows[first->from].name, "db-3.example");
    assert_non_null(first->edge);
    assert_int_equal(first->edge->bound_ns, 40000);
    uint64_t bytes = 0, waited = 0;
    for (size_t i = 0; i < hosts.pair_count; i++) {
        bytes += hosts.pairs[i].bytes;
        waited += hosts.pairs[i].edge ? hosts.pairs[i].edge->waited_ns : 0;
    }
    assert_int_equal(bytes, 4 * 73400320ull); /* names with dots in them are parted where both halves are hosts */
    assert_int_equal(waited, 274800000000ull);
    wp_facts_fini(&facts);
}

static void hostile_hosts_are_only_names(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_hosts hosts;
    read_fleet(&facts, true);
    wp_hosts_build(&hosts, &facts.pool, &facts);
    assert_false(facts.pool.failed);
    assert_true(hosts.count >= sample_hostile_count);
    for (size_t i = 0; i < hosts.pair_count; i++)
        assert_true(hosts.pairs[i].from < hosts.count && hosts.pairs[i].to < hosts.count);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_what_went_between_them),
        cmocka_unit_test(hostile_hosts_are_only_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
