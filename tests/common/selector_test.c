/* SPDX-License-Identifier: Apache-2.0 */
#include "common/selector.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define EIGHT "1+2+3+4+5+6+7+8"

static bool matches(const char *text, const struct wp_selector_subject *subject)
{
    struct wp_selector s;
    struct wp_error err = {0};
    if (wp_selector_parse(&s, text, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    bool yes = wp_selector_matches(&s, subject);
    wp_selector_fini(&s);
    return yes;
}

static bool pattern_is_worker(const void *context, const char *pattern)
{
    (void)context;
    return !strcmp(pattern, "worker [0-9]+");
}

static void terms(void **state)
{
    (void)state;
    struct wp_selector_subject nginx = {.comm = "nginx",
        .exe = "/usr/sbin/nginx",
        .cgroup = "/system.slice/nginx.service",
        .pid = 77,
        .cmdline_matches = pattern_is_worker};
    assert_true(matches("comm=nginx", &nginx));
    assert_false(matches("comm=ngin", &nginx));
    assert_true(matches("exe=/usr/sbin/nginx", &nginx));
    assert_false(matches("exe=nginx", &nginx));
    assert_true(matches("pid=77", &nginx));
    assert_false(matches("pid=7", &nginx));
    assert_true(matches("pid=7+77", &nginx));
    assert_true(matches("pid=77+7,comm=nginx", &nginx));
    assert_false(matches("pid=7+770+8", &nginx));
    assert_true(matches("pid=1+2+3+4+5+6+7+77", &nginx));
    assert_true(
        matches("pid=" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+1+2+3+4+5+6+7+77", &nginx));
    assert_true(matches("cgroup=/system.slice/nginx.service", &nginx));
    assert_true(matches("cgroup=/system.slice", &nginx));
    assert_false(matches("cgroup=/system", &nginx));
    assert_true(matches("unit=nginx.service", &nginx));
    assert_false(matches("unit=ginx.service", &nginx));
    struct wp_selector_subject shop = {.comm = "shop",
        .exe = "",
        .cgroup = "/kubepods/burstable/pod0a1b2c3d-1111-2222-3333-"
                  "444455556666/3f4e8d1c2b5a69788796a5b4c3d2e1f00123456789abcdef0123456789abcdef"};
    assert_true(matches("container=3f4e8d1c2b5a", &shop));
    assert_false(matches("container=3f4e8d1c2b5b", &shop));
    assert_true(matches("pod=0a1b2c3d-1111-2222-3333-444455556666,comm=shop", &shop));
    assert_false(matches("pod=0a1b2c3d-1111-2222-3333-444455556666", &nginx));
    assert_true(matches("cmdline~worker [0-9]+", &nginx));
    assert_false(matches("cmdline~master", &nginx));
    assert_true(matches("comm=nginx,pid=77", &nginx));
    assert_false(matches("comm=nginx,pid=78", &nginx));
    assert_false(matches("command", &nginx));
    nginx.is_command = true;
    assert_true(matches("command", &nginx));
    assert_true(matches("command,comm=nginx", &nginx));
}

/* A thread that names itself is of its process all the same. */
static void threads(void **state)
{
    (void)state;
    struct wp_selector_subject worker = {
        .comm = "pool-1-thread-1", .process_comm = "java", .exe = "", .cgroup = "", .pid = 70, .tid = 77};
    assert_true(matches("comm=java", &worker));
    assert_true(matches("comm=pool-1-thread-1", &worker));
    assert_true(matches("thread=pool-1-thread-1,comm=java", &worker));
    assert_false(matches("thread=java", &worker));
    assert_true(matches("tid=77", &worker));
    assert_false(matches("tid=70", &worker));
    assert_true(matches("pid=70", &worker));
}

static void views(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum wp_selector_view view;
    } cases[] = {{"command", WP_VIEW_PROGRESS}, {"comm=nginx", WP_VIEW_BUSY}, {"command,threads", WP_VIEW_THREADS},
        {"busy,command", WP_VIEW_BUSY}, {"pid=7,progress", WP_VIEW_PROGRESS}, {"command,thread=x", WP_VIEW_THREADS},
        {"tid=7", WP_VIEW_THREADS}, {"between=1-2,command", WP_VIEW_PROGRESS}};
    struct wp_selector_subject anybody = {.comm = "x", .exe = "", .cgroup = ""};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wp_selector selector;
        struct wp_buffer text = {0};
        assert_int_equal(wp_selector_parse(&selector, cases[i].text, NULL), 0);
        assert_int_equal(wp_selector_view(&selector), cases[i].view);
        wp_selector_print(&selector, &text); /* the word is a part of what it picks: it is another aggregate */
        assert_int_equal(text.size, strlen(cases[i].text));
        wp_buffer_fini(&text);
        wp_selector_fini(&selector);
    }
    assert_true(matches("threads,comm=x", &anybody));
}

static void intervals(void **state)
{
    (void)state;
    struct wp_selector_subject anybody = {.comm = "x", .exe = "", .cgroup = ""};
    struct wp_selector selector;
    assert_true(matches("comm=x,between=5-18446744073709551615", &anybody));
    assert_int_equal(wp_selector_parse(&selector, "comm=x,between=1700000000000000005-1700000000000000009", NULL), 0);
    struct wp_selector_interval interval = wp_selector_interval(&selector);
    uint64_t from = 1700000000000000000, to = 1700000000000000007;
    assert_int_equal(wp_selector_cut(&interval, &from, &to), 2);
    assert_int_equal(from, 1700000000000000005);
    from = to;
    to = 1800000000000000000;
    assert_int_equal(wp_selector_cut(&interval, &from, &to), 2);
    from = 1700000000000000009;
    assert_int_equal(wp_selector_cut(&interval, &from, &to), 0);
    wp_selector_fini(&selector);
    assert_int_equal(wp_selector_parse(&selector, "comm=x", NULL), 0);
    assert_true(wp_selector_interval(&selector).to_ns == UINT64_MAX);
    wp_selector_fini(&selector);
}

static void escapes(void **state)
{
    (void)state;
    struct wp_selector_subject odd = {.comm = "a,b\\c", .exe = "", .cgroup = ""};
    assert_true(matches("comm=a\\,b\\\\c", &odd));
    struct wp_selector_subject plain = {.comm = "a=b", .exe = "", .cgroup = ""};
    assert_true(matches("comm=a=b", &plain));
}

static void refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "comm", "comm=", "name=x", "pid=x", "pid=-1", "pid=99999999999", "tid=x",
        "thread=", "pid=7+", "pid=7++8", "pid=7+x", "pid=0+7",
        "pid=" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+9", "pid=4194305",
        "pid= 7", "pid=+7", "tid= 7", "threads", "busy,progress", "comm=a,", ",comm=a", "comm=a,,pid=1", "cmdline~[",
        "between=1-2", "threads,between=1-2", "comm=a,between=", "comm=a,between=1", "comm=a,between=2-1",
        "comm=a,between=2-2", "comm=a,between=-1", "comm=a,between=1-2-3", "comm=a,between=1-18446744073709551616",
        "comm=a,between=1-2,between=1-2", "comm=a,comm=b,comm=c,comm=d,comm=e,comm=f,comm=g,comm=h,comm=i"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wp_selector s;
        struct wp_error err = {0};
        if (!wp_selector_parse(&s, bad[i], &err))
            fail_msg("'%s' was taken", bad[i]);
        assert_true(strlen(err.text) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(terms), cmocka_unit_test(threads), cmocka_unit_test(views),
        cmocka_unit_test(intervals), cmocka_unit_test(escapes), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
