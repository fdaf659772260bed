/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/nearest.h"

#include <string.h>

static const char *const words[] = {"record", "report", "reporter", "query", "check", "v1.2", "v1.3-rc1"};
#define WORDS (sizeof(words) / sizeof(*words))

static void one_letter_off_is_told(void **state)
{
    static const char *const cases[][2] = {{"rexord", "record"}, {"rec", "record"}, {"rexort", "report"},
        {"chexk", "check"}, {"quezy", "query"}, {"quexry", "query"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *found = wp_nearest(cases[i][0], words, WORDS);
        if (!found || strcmp(found, cases[i][1]))
            fail_msg("'%s' is taken for '%s'", cases[i][0], found ? found : "nothing");
    }
}

static void what_is_far_is_not(void **state)
{
    char longest[200];
    (void)state;
    assert_null(wp_nearest("frobnicate", words, WORDS));
    assert_null(wp_nearest("", words, WORDS));
    assert_null(wp_nearest("x", words, WORDS));
    assert_null(wp_nearest("foo", (const char *const[]){"top", "log"}, 2)); /* half of its letters are others */
    memset(longest, 'r', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    assert_null(wp_nearest(longest, words, WORDS));
    assert_null(wp_nearest("record", NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_letter_off_is_told), cmocka_unit_test(what_is_far_is_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
