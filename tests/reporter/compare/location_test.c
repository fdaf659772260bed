/* SPDX-License-Identifier: Apache-2.0 */
/* Where a hop takes longer: the application's own functions, and what of the process of interest waits for another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/compare/compare.h"
#include "reporter/compare/compare_findings.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"

#include <string.h>

#define MS 1000000ull
#define START (1790000000ull * 1000 * MS)
#define BUCKETS 40u
#define BUCKET_MS 134.217728
#define BEGIN "[web];_start@python3.11;Py_BytesMain@python3.11;checkout@/srv/shop.py"
#define AUDIT BEGIN ";write_audit@/srv/shop.py;python3.11+?@python3.11;clock_nanosleep@libc.so.6;sleep:clock_nanosleep"
#define ASK ";find_orders@/srv/shop.py;python3.11+?@python3.11;recv@libc.so.6;sleep:recv tcp 10.0.0.2:5432;[postgres]"
#define PLAN ";main@postgres;plan_query@postgres;malloc@libc.so.6"

struct pieces {
    const char *stack;
    enum wp_category category;
    double ms[2]; /* of each bucket, before and after */
};

static void check(const struct pieces *pieces, size_t count, const char *wanted)
{
    struct wp_facts facts[2];
    struct wp_compare made;
    struct wp_error err = {0};
    struct wp_pool pool = {0};
    for (int side = 0; side < 2; side++) {
        struct wp_report *report = wp_report_create();
        uint64_t began = START + (uint64_t)side * 3600000 * MS;
        assert_non_null(report);
        for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
            for (size_t i = 0; i < count; i++) {
                uint64_t at = began + (uint64_t)(bucket * BUCKET_MS * (double)MS);
                double ms = pieces[i].ms[side] * (bucket % 2 ? 1.01 : 0.99);
                wp_report_add_at(report, sample_node(report, pieces[i].stack), pieces[i].category, at,
                    at + (uint64_t)(ms * (double)MS));
            }
        wp_report_activity(report, began, began + (uint64_t)(BUCKETS * BUCKET_MS * (double)MS));
        if (wp_facts_build(&facts[side], side ? "v2" : "v1", "web", report, NULL, &err))
            fail_msg("%s", err.text);
    }
    if (wp_compare_build(&made, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, &err))
        fail_msg("%s", err.text);
    const struct wp_change *first = &made.changes[WP_CHANGE_HOPS].rows[0];
    const char *sentence = wp_compare_sentence(&pool, &made, first);
    assert_int_equal(first->verdict, WP_VERDICT_WORSE);
    if (strncmp(sentence, wanted, strlen(wanted)) != 0)
        fail_msg("%s\nis not\n%s", sentence, wanted);
    wp_pool_fini(&pool);
    wp_compare_fini(&made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

#define CHECK(pieces, wanted) check(pieces, sizeof(pieces) / sizeof(*(pieces)), wanted)

/* What an interpreter's binary does has no place in it. */
static void an_interpreter_is_no_place(void **state)
{
    static const struct pieces pieces[] = {{AUDIT, WP_DELIBERATE_SLEEP, {4, 12}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}},
        {"[web];python3.11+?@python3.11", WP_UNDERSTOOD_FUNCTIONS, {10, 10}}};
    (void)state;
    CHECK(pieces, "web sleeps on purpose in write_audit 3.0 times as long");
}

static void nothing_known_is_no_place(void **state)
{
    static const struct pieces pieces[] = {{"[web];python3.11+?@python3.11", WP_UNDERSTOOD_FUNCTIONS, {10, 20}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}}};
    (void)state;
    CHECK(pieces, "web runs its own code 33 % longer");
}

static void another_process_is_told_with_its_caller(void **state)
{
    static const struct pieces once[] = {{BEGIN ASK PLAN, WP_UNDERSTOOD_FUNCTIONS, {5, 20}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}}};
    static const struct pieces helper[] = {{BEGIN ";load_cart@/srv/shop.py" ASK PLAN, WP_UNDERSTOOD_FUNCTIONS, {5, 5}},
        {BEGIN ";check_stock@/srv/shop.py" ASK PLAN, WP_UNDERSTOOD_FUNCTIONS, {5, 35}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}}};
    static const struct pieces unnamed[] = {{BEGIN ASK, WP_RUNNING_NOT_SAMPLED, {5, 20}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}}};
    (void)state;
    CHECK(once, "web › postgres runs its own code in plan_query, waited for in find_orders, 4.0 times as long");
    CHECK(helper,
        "web › postgres runs its own code in plan_query, waited for in find_orders, called from check_stock, 4.0 times "
        "as "
        "long");
    CHECK(unnamed,
        "web › postgres runs, with no sample to say in which function, waited for in find_orders, 4.0 times as long");
}

/* A scan of a table is spread over many functions: the one that calls them. */
static void what_is_spread_is_told_by_who_calls_it(void **state)
{
#define SCAN BEGIN ASK ";main@postgres;exec_simple_query@postgres;ExecutorRun@postgres;ExecScan@postgres"
    static const struct pieces pieces[] = {{SCAN, WP_UNDERSTOOD_FUNCTIONS, {0.1, 4}},
        {SCAN ";SeqNext@postgres", WP_UNDERSTOOD_FUNCTIONS, {0.1, 4}},
        {SCAN ";SeqNext@postgres;heap_getnextslot@postgres", WP_UNDERSTOOD_FUNCTIONS, {0.1, 5}},
        {SCAN ";ExecInterpExpr@postgres", WP_UNDERSTOOD_FUNCTIONS, {0.1, 5}},
        {SCAN ";ExecInterpExpr@postgres;texteq@postgres", WP_UNDERSTOOD_FUNCTIONS, {0.1, 4}},
        {SCAN ";slot_getsomeattrs@postgres", WP_UNDERSTOOD_FUNCTIONS, {0.1, 4}},
        {BEGIN ASK ";main@postgres;exec_simple_query@postgres;parse@postgres", WP_UNDERSTOOD_FUNCTIONS, {2, 2}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}}};
    static const struct pieces own[] = {
        {BEGIN ";price_items@/srv/shop.py;add@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {5, 20}},
        {BEGIN ";price_items@/srv/shop.py;round@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {5, 18}},
        {BEGIN ";price_items@/srv/shop.py;tax@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {5, 20}}};
    static const struct pieces all[] = {{BEGIN ASK ";main@postgres;parse@postgres", WP_UNDERSTOOD_FUNCTIONS, {4, 9}},
        {BEGIN ASK ";main@postgres;plan@postgres", WP_UNDERSTOOD_FUNCTIONS, {4, 9}},
        {BEGIN ASK ";main@postgres;send@postgres", WP_UNDERSTOOD_FUNCTIONS, {4, 9}},
        {BEGIN ";price_items@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, {20, 20}}};
    (void)state;
    CHECK(pieces,
        "web › postgres runs its own code in ExecScan and what it calls, waited for in find_orders, 11 times as long");
    CHECK(own, "web runs its own code in price_items and what it calls, 3.9 times as long");
    CHECK(all, "web › postgres runs its own code, waited for in find_orders, 2.2 times as long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_interpreter_is_no_place),
        cmocka_unit_test(nothing_known_is_no_place), cmocka_unit_test(what_is_spread_is_told_by_who_calls_it),
        cmocka_unit_test(another_process_is_told_with_its_caller)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
