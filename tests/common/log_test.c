/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the log is one line, whatever a peer calls itself. */
#include "common/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void logged(const char *name, char *line, size_t room)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    struct wp_logger logger = {"test", WP_LOG_INFO, pipes[1]};
    wp_log(&logger, WP_LOG_INFO, "session begins host=%s source=bpf", name);
    ssize_t size = read(pipes[0], line, room - 1);
    assert_true(size > 0);
    line[size] = 0;
    close(pipes[0]);
    close(pipes[1]);
}

static void names_are_text(void **state)
{
    static const struct {
        const char *name, *shown;
    } cases[] = {{"web-1", "web-1"}, {"a\ntest: error: all is lost", "a\\x0atest: error: all is lost"},
        {"\x1b[31mred", "\\x1b[31mred"}, {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xc2\x9b"
         "2J",
            "\\xc2\\x9b2J"},
        {"\x7f\t\r", "\\x7f\\x09\\x0d"}, {"\xc2", "\xc2"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char line[512], want[512];
        logged(cases[i].name, line, sizeof(line));
        snprintf(want, sizeof(want), "test: session begins host=%s source=bpf\n", cases[i].shown);
        assert_string_equal(line, want);
    }
}

static void a_long_line_ends(void **state)
{
    static char name[8192], line[16384];
    (void)state;
    memset(name, 1, sizeof(name) - 1);
    logged(name, line, sizeof(line));
    size_t size = strlen(line);
    assert_true(size > 2048 && size <= 4096);
    assert_ptr_equal(strchr(line, '\n'), line + size - 1);
}

static void what_is_left_out_is_counted(void **state)
{
    int pipes[2];
    char text[512];
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    struct wp_logger logger = {"test", WP_LOG_INFO, pipes[1]};
    struct wp_log_limit limit = {0};
    for (uint64_t now_ns = 1; now_ns <= 21; now_ns++)
        if (wp_log_allowed(&logger, &limit, now_ns, 10))
            wp_log(&logger, WP_LOG_WARN, "full at=%d", (int)now_ns);
    text[read(pipes[0], text, sizeof(text) - 1)] = 0;
    assert_string_equal(text,
        "test: warn: full at=1\n"
        "test: warn: lines like the next one were left out since the last of them lines=9\n"
        "test: warn: full at=11\n"
        "test: warn: lines like the next one were left out since the last of them lines=9\n"
        "test: warn: full at=21\n");
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_text), cmocka_unit_test(a_long_line_ends),
        cmocka_unit_test(what_is_left_out_is_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
