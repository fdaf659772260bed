/* SPDX-License-Identifier: Apache-2.0 */
/* What a pseudo-stack is called by transactions: tasks of languages, and functions that are no tasks. */
#include "aggregator/account/transaction_names.h"
#include "aggregator/explain/pathtree.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static void expect(const char *task, const char *object, const char *reads, const char *what)
{
    struct wp_pathtree tree;
    struct wp_transaction_names names;
    const char *const frames[][2] = {{task, object}, {"T.answer", "shop/T.java"}, {"java.lang.Thread.sleep", ""}};
    assert_int_equal(wp_pathtree_init(&tree), 0);
    assert_int_equal(wp_transaction_names_init(&names), 0);
    uint32_t node = wp_pathtree_child(&tree, 0, wp_pathtree_frame(&tree, WP_STYLE_PROCESS, "[web]", ""));
    for (unsigned i = 0; i < sizeof(frames) / sizeof(*frames); i++)
        node = wp_pathtree_child(&tree, node, wp_pathtree_frame(&tree, WP_STYLE_USER, frames[i][0], frames[i][1]));
    assert_true(wp_transaction_names_extend(&names, &tree));
    assert_string_equal(wp_transaction_names_reader(&names, &tree, node).what, reads);
    assert_string_equal(wp_transaction_names_top(&names, &tree, node, WP_DELIBERATE_SLEEP).what, what);
    wp_transaction_names_fini(&names);
    wp_pathtree_fini(&tree);
}

/* Files of Python, of Java, of what else HotSpot runs, of a program that calls a function so. */
static void test_tasks(void **state)
{
    (void)state;
    expect("task answer-N", "/srv/shop.py", "task answer-N › T.answer", "T.answer");
    expect("task answer-N", "java/lang/VirtualThread.java", "task answer-N › T.answer", "T.answer");
    expect("task shop.MainKt.main$lambda$0", "shop/Main.kt", "task shop.MainKt.main$lambda$0 › T.answer", "T.answer");
    expect("task answer<int>()", "/usr/bin/web", "T.answer", "T.answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tasks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
