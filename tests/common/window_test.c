/* SPDX-License-Identifier: Apache-2.0 */
/* When a window is open, and what is no window. */
#include "common/window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SECOND 1000000000ull

static struct wp_window parsed(const char *text)
{
    struct wp_window window = {1, 2};
    struct wp_error err = {0};
    assert_int_equal(wp_window_parse(&window, text, &err), 0);
    return window;
}

static void what_is_said(void **state)
{
    (void)state;
    struct wp_window window = parsed("1s every 60s");
    assert_int_equal(window.length_ns, SECOND);
    assert_int_equal(window.every_ns, 60 * SECOND);
    window = parsed("250ms every 1m");
    assert_int_equal(window.length_ns, SECOND / 4);
    assert_int_equal(window.every_ns, 60 * SECOND);
    char text[64];
    assert_string_equal(wp_window_text(&window, text), "250ms every 60000ms");
    window = parsed("always");
    assert_string_equal(wp_window_text(&window, text), "always");
    assert_int_equal(window.length_ns, window.every_ns);
    static const char *const wrong[] = {"", "1s", "every 60s", "1s every", "1s every 60", "1s every 60x", "2s every 1s",
        "5ms every 1s", "1s every 25h", "1s every 60s now", "-1s every 60s", "1s 60s", "always on",
        "99999999999999999999s every 1m", "1severy 60s"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct wp_error err = {0};
        if (wp_window_parse(&window, wrong[i], &err) != -EINVAL)
            fail_msg("'%s' is taken for a window", wrong[i]);
    }
}

static void when_it_is_open(void **state)
{
    (void)state;
    struct wp_window window = parsed("1s every 60s");
    uint64_t minute = 60 * SECOND * 28000000; /* since the epoch */
    assert_true(wp_window_is_open(&window, minute));
    assert_int_equal(wp_window_left(&window, minute), SECOND);
    assert_true(wp_window_is_open(&window, minute + SECOND - 1));
    assert_int_equal(wp_window_left(&window, minute + SECOND - 1), 1);
    assert_false(wp_window_is_open(&window, minute + SECOND));
    assert_int_equal(wp_window_left(&window, minute + SECOND), 59 * SECOND);
    assert_false(wp_window_is_open(&window, minute - 1));
    assert_int_equal(wp_window_left(&window, minute - 1), 1);
}

static void when_it_is_always_open(void **state)
{
    (void)state;
    struct wp_window always = parsed("always"), unsaid = {0};
    for (uint64_t at = 0; at < 200000 * SECOND; at += 12345 * SECOND) {
        assert_true(wp_window_is_open(&always, at) && wp_window_is_open(&unsaid, at));
        assert_int_equal(wp_window_left(&always, at), UINT64_MAX);
        assert_int_equal(wp_window_left(&unsaid, at), UINT64_MAX);
    }
    assert_int_equal(wp_window_check(&unsaid), 0);
    assert_int_equal(wp_window_check(&(struct wp_window){SECOND, 0}), -EINVAL);
    assert_int_equal(wp_window_check(&(struct wp_window){0, SECOND}), -EINVAL);
    assert_int_equal(wp_window_check(&(struct wp_window){SECOND, UINT64_MAX}), -EINVAL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said), cmocka_unit_test(when_it_is_open), cmocka_unit_test(when_it_is_always_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
