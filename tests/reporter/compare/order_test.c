/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a comparison are shown; what got worse is always there. */
#include "reporter/compare/compare_order.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
