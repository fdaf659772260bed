/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a comparison are shown; what got worse is always there. */
#include "reporter/compare/compare_findings.h"
#include "reporter/compare/compare_order.h"

#include "reporter/compare/compare.h"
#include "reporter/export/format_check.h"
#include "reporter/html/format_html.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/page/page_compare.h"
#include "tests/reporter/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#define MS 1000000u

static const struct wp_change all[] = {
    {.name = "sure",
        .ns = {1 * MS, 2 * MS},
        .rate = {{.value = 1}, {.value = 2}},
        .delta = 1,
        .percent = 100,
        .verdict = WP_VERDICT_WORSE},
    {.name = "large", .ns = {90 * MS, 80 * MS}, .rate = {{.value = 90}, {.value = 80}}, .delta = -10, .percent = -11},
    {.name = "new", .ns = {0, 20 * MS}, .rate = {{.value = 0}, {.value = 20}}, .delta = 20, .percent = INFINITY},
    {.name = "small", .ns = {3 * MS, 3 * MS}, .rate = {{.value = 3}, {.value = 3}}},
    {.name = "ignored",
        .ns = {1 * MS, 2 * MS},
        .rate = {{.value = 1}, {.value = 2}},
        .delta = 1,
        .percent = 100,
        .verdict = WP_VERDICT_WORSE,
        .is_ignored = true},
};

#define ROWS (sizeof(all) / sizeof(*all))

static void shows(const struct wp_compare_order *order, const char *wanted)
{
    struct wp_change rows[ROWS];
    struct wp_compare compare = {.operand = {{.total_ns = 100 * MS}, {.total_ns = 200 * MS}}};
    char shown[200] = "";
    memcpy(rows, all, sizeof(rows));
    compare.changes[WP_CHANGE_PROCESSES] = (struct wp_changes){rows, ROWS, 1};
    wp_compare_arrange(&compare, order);
    for (size_t i = 0; i < compare.changes[WP_CHANGE_PROCESSES].count; i++) {
        strcat(shown, i ? " " : "");
        strcat(shown, rows[i].name);
    }
    assert_string_equal(shown, wanted);
    assert_int_equal(
        compare.changes[WP_CHANGE_PROCESSES].count + compare.changes[WP_CHANGE_PROCESSES].left_out, ROWS + 1);
}

static void orders(void **state)
{
    (void)state;
    shows(&(struct wp_compare_order){0}, "sure large new small ignored");
    shows(&(struct wp_compare_order){.measure = WP_COMPARE_DIFFERENCE}, "new large sure ignored small");
    shows(&(struct wp_compare_order){.measure = WP_COMPARE_PERCENT}, "new sure ignored large small");
    shows(&(struct wp_compare_order){.measure = WP_COMPARE_OLD}, "large small sure ignored new");
    shows(&(struct wp_compare_order){.measure = WP_COMPARE_NEW}, "large new small sure ignored");
    assert_int_equal(wp_compare_measure_find("new"), WP_COMPARE_NEW);
    assert_int_equal(wp_compare_measure_find("size"), -1);
}

static void limits(void **state)
{
    (void)state;
    shows(&(struct wp_compare_order){.limit.least = 3 * MS}, "sure large new small");
    shows(&(struct wp_compare_order){.limit.percent = 4}, "sure large new");
    shows(&(struct wp_compare_order){.top = 2}, "sure large");
    shows(&(struct wp_compare_order){.measure = WP_COMPARE_NEW, .top = 1}, "large sure");
    shows(&(struct wp_compare_order){.measure = WP_COMPARE_NEW, .top = 1, .limit.least = 100 * MS}, "sure");
}

/* What is said first is of all rows, even of those that are not shown. */
static void says_the_same(void **state)
{
    static const struct wp_compare_order orders[] = {
        {0}, {.limit.percent = 50}, {.top = 1}, {.measure = WP_COMPARE_OLD, .top = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
        struct wp_change rows[] = {{.name = "faster", .ns = {3 * MS, 2 * MS}, .verdict = WP_VERDICT_BETTER},
            {.name = "large", .ns = {90 * MS, 90 * MS}, .rate = {{.value = 90}, {.value = 90}}},
            {.name = "less", .ns = {2 * MS, 1 * MS}, .verdict = WP_VERDICT_BETTER}};
        struct wp_compare compare = {.operand = {{.total_ns = 100 * MS}, {.total_ns = 100 * MS}}};
        const struct wp_change *first[3] = {NULL};
        compare.changes[WP_CHANGE_PROCESSES] = (struct wp_changes){rows, 3, 0};
        wp_compare_arrange(&compare, &orders[i]);
        assert_int_equal(wp_compare_first(&compare, first, 3), 2);
        assert_string_equal(first[0]->name, "faster");
        assert_string_equal(first[1]->name, "less");
        assert_int_equal(wp_compare_first(&compare, first, 1), 1);
    }
}

/* However many rows stand before it. */
static void what_got_worse_is_always_there(void **state)
{
    (void)state;
    enum { MANY = 600 };
    static struct wp_change rows[MANY];
    struct wp_facts facts[2];
    struct wp_compare made;
    assert_int_equal(wp_facts_build(&facts[0], "v1", "main", sample_hostile_report(), NULL, NULL), 0);
    assert_int_equal(wp_facts_build(&facts[1], "v2", "main", sample_hostile_report(), NULL, NULL), 0);
    assert_int_equal(wp_compare_build(&made, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, NULL), 0);
    for (size_t i = 0; i < MANY; i++)
        rows[i] = (struct wp_change){.name = "alike", .category = -1};
    rows[MANY - 1].name = "slower";
    rows[MANY - 1].verdict = WP_VERDICT_WORSE;
    made.changes[WP_CHANGE_PROCESSES] = (struct wp_changes){rows, MANY, 0};
    made.is_arranged = true; /* so that no sentence names it */
    for (int page = 0; page < 2; page++) {
        struct wp_display display;
        struct wp_buffer html = {0};
        wp_display_init(&display, &(struct wp_page_id){page ? WP_PAGE_COMPARE : WP_PAGE_OVERVIEW, "v2", "main"});
        assert_int_equal(
            page ? wp_page_compare(&display, &made, true, NULL) : wp_page_compare_digest(&display, &made, NULL), 0);
        assert_int_equal(wp_format_html(&html, &display, NULL), 0);
        assert_non_null(strstr((const char *)html.data, "slower"));
        wp_buffer_fini(&html);
        wp_display_fini(&display);
    }
    struct wp_buffer json = {0};
    assert_int_equal(wp_format_check_json(&json, &made, NULL), 0);
    assert_non_null(strstr((const char *)json.data, "\"slower\""));
    wp_buffer_fini(&json);
    wp_compare_fini(&made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(limits),
        cmocka_unit_test(says_the_same), cmocka_unit_test(what_got_worse_is_always_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
