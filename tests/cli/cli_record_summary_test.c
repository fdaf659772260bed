/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a recording: what it says, and that hostile names and files do no harm. */
#include "cli/record/record_summary.h"
#include "common/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int speak_of(struct wp_buffer *out, const char *json, uint64_t watched_ns)
{
    const struct wp_record_summary_look look = {"/x/index.html", watched_ns};
    char path[64];
    struct wp_error err = {0};
    snprintf(path, sizeof(path), "/tmp/wp-record-summary-%d.json", (int)getpid());
    assert_int_equal(wp_file_write_atomic(path, json, strlen(json), NULL), 0);
    int rc = wp_record_summary_make(out, path, &look, &err);
    assert_true(!rc == !err.text[0]);
    unlink(path);
    return rc;
}

static int speak(struct wp_buffer *out, const char *json)
{
    return speak_of(out, json, 0);
}

static void says(const char *json, const char *want)
{
    struct wp_buffer out = {0};
    assert_int_equal(speak(&out, json), 0);
    assert_string_equal((char *)out.data, want);
    wp_buffer_fini(&out);
}

static void sentences(void **state)
{
    (void)state;
    says("{\"release\":\"v1\",\"aggregate\":\"main\",\"wall_ns\":1500000000,\"total_ns\":25000000,"
         "\"accounted_percent\":98.25,\"explanations\":[{\"sentence\":\"a\"},{\"sentence\":\"b\"},{\"sentence\":\"c\"},"
         "{\"sentence\":\"d\"},{\"sentence\":\"e\"},{\"sentence\":\"f\"}],\"events\":{\"total\":90,\"dropped\":10},"
         "\"uncertain_ns\":5000000,\"recording\":{\"cpu_ns\":12000000,\"machine_percent\":0.4}}",
        "wakepath: main of release v1: 1.50 s wall, 25.0 ms total, 98.2 % of what was told is accounted for\n"
        "  lost 10.0 % of the events (10 of 100): 5.00 ms of the time is uncertain, and what is said below may be "
        "incomplete\n"
        "  - a\n  - b\n  - c\n  - d\n  - e\n"
        "  cost of recording: 12.0 ms CPU, 0.40 % of the machine\n"
        "  page: /x/index.html\n");
}

/* A selector that fits nothing: no share of nothing is said, and the check says so. */
static void no_time(void **state)
{
    char path[64];
    struct wp_error err = {0};
    const char *json = "{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":0,\"total_ns\":0,\"accounted_percent\":100}";
    (void)state;
    says(json, "wakepath: a of release r: nothing was recorded\n");
    says("{\"release\":\"unversioned\",\"aggregate\":\"main\",\"title\":\"nginx (pid 71)\",\"total_ns\":0}",
        "wakepath: nginx (pid 71): nothing was recorded\n");
    snprintf(path, sizeof(path), "/tmp/cli_spoken_check.%d", getpid());
    assert_int_equal(wp_file_write_atomic(path, json, strlen(json), NULL), 0);
    assert_int_equal(wp_record_summary_check(path, 0, &err), -ENOENT);
    assert_non_null(strstr(err.text, "nothing of 'a' was recorded"));
    assert_int_equal(wp_record_summary_check(path, 71, &err), -ENOENT);
    assert_string_equal(err.text, "process 71 ended before anything of it was recorded");
    assert_int_equal(wp_file_write_atomic(path, "{\"total_ns\":1}", 14, NULL), 0);
    assert_int_equal(wp_record_summary_check(path, 0, &err), 0);
    unlink(path);
}

/* What the total is of stands behind it, what it leaves out in a line of its own. */
static void what_the_total_is_of(void **state)
{
    (void)state;
    says("{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":830,\"total_ns\":830,\"base\":\"progress\",\"idle_ns\":"
         "5000,"
         "\"unwaited_ns\":120,\"accounted_percent\":100,\"explanations\":[{\"sentence\":\"s\"}]}",
        "wakepath: a of release r: 830 ns wall, 830 ns total (progress of the main thread), 100.0 % accounted for\n  - "
        "s\n"
        "  beside the total, all threads together: 120 ns of work that was not waited for, 5.00 µs idle\n  page: "
        "/x/index.html\n");
    says("{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":5000,\"total_ns\":9000,\"base\":\"progress\","
         "\"categories\":{\"other_path\":4000},\"accounted_percent\":100,\"explanations\":[{\"sentence\":\"s\"}]}",
        "wakepath: a of release r: 5.00 µs wall, 9.00 µs total (progress of the main thread, and 4.00 µs of other "
        "threads while it waited), 100.0 % accounted for\n  - s\n  page: /x/index.html\n");
    says("{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":830,\"total_ns\":9000,\"base\":\"busy\",\"idle_ns\":5000,"
         "\"accounted_percent\":100,\"explanations\":[{\"sentence\":\"s\"}]}",
        "wakepath: a of release r: 830 ns wall, 9.00 µs total (summed over all threads but idle workers), 100.0 % "
        "accounted for\n  - s\n"
        "  beside the total, all threads together: 5.00 µs idle\n  page: /x/index.html\n");
}

/* One thread needs no sum; what does nothing for most of the recording has less wall time than was recorded. */
static void what_the_wall_time_is_of(void **state)
{
    static const struct {
        uint64_t total_ns, watched_ns;
        const char *want;
    } rows[] = {{8580000, 0, "8.58 ms wall, 8.58 ms total, 100.0 % accounted for\n"},
        {8580000, 1000000000, "8.58 ms wall of 1.00 s recorded, 8.58 ms total, 100.0 % accounted for\n"},
        {8580000, 8600000, "8.58 ms wall, 8.58 ms total, 100.0 % accounted for\n"},
        {9000000, 0, "8.58 ms wall, 9.00 ms total (summed over all threads), 100.0 % accounted for\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_buffer out = {0};
        char json[200];
        snprintf(json, sizeof(json),
            "{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":8580000,\"total_ns\":%u,\"base\":\"threads\","
            "\"accounted_percent\":100}",
            (unsigned)rows[i].total_ns);
        assert_int_equal(speak_of(&out, json, rows[i].watched_ns), 0);
        wp_buffer_putc(&out, 0);
        assert_non_null(strstr((char *)out.data, rows[i].want));
        wp_buffer_fini(&out);
    }
}

/* Before all figures, and a host's name cannot write to the terminal. */
static void without_samples(void **state)
{
    (void)state;
    says("{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":830,\"total_ns\":10000,\"accounted_percent\":100,"
         "\"unsampled\":[{\"host\":\"h\\u001b1\",\"why\":\"w\"},{\"host\":\"h2\",\"why\":\"x\"}],\"explanations\":[{"
         "\"sentence\":\"s\"}]}",
        "wakepath: warning: no CPU samples were taken on h?1 and 1 other host: w\n"
        "  time is accounted for, but which functions ran is not known; `wakepath doctor` says what to do\n"
        "wakepath: a of release r: 830 ns wall, 10.0 µs total, 100.0 % accounted for\n  - s\n  page: /x/index.html\n");
    says("{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":830,\"total_ns\":10000,\"accounted_percent\":100,"
         "\"unsampled\":[],"
         "\"explanations\":[{\"sentence\":\"s\"}]}",
        "wakepath: a of release r: 830 ns wall, 10.0 µs total, 100.0 % accounted for\n  - s\n  page: /x/index.html\n");
}

static void categories_in_their_order(void **state)
{
    (void)state;
    says("{\"release\":\"r\",\"aggregate\":\"a\",\"wall_ns\":830,\"total_ns\":10000,\"accounted_percent\":100,"
         "\"categories\":{\"one\":2000,\"blocking_io\":4000,\"two\":2000,\"zero\":0,\"small\":1000,\"more\":1000}}",
        "wakepath: a of release r: 830 ns wall, 10.0 µs total, 100.0 % accounted for\n"
        "  - blocking io: 4.00 µs, 40.0 %\n  - one: 2.00 µs, 20.0 %\n  - two: 2.00 µs, 20.0 %\n"
        "  - small: 1.00 µs, 10.0 %\n  - more: 1.00 µs, 10.0 %\n"
        "  page: /x/index.html\n");
}

static void control_characters(void **state)
{
    struct wp_buffer out = {0};
    (void)state;
    assert_int_equal(speak(&out,
                         "{\"release\":\"\\u001b[2Jx\\n\",\"aggregate\":\"\\u009b5m\\u007f\","
                         "\"explanations\":[{\"sentence\":\"caf\\u00e9\\u0000\\u0007\"}]}"),
        0);
    for (size_t i = 0; i < out.size; i++)
        assert_false(out.data[i] == 0x1B || out.data[i] == 7 || out.data[i] == 0x7F || out.data[i] == 0x9B);
    assert_non_null(strstr((char *)out.data, "?[2Jx?"));
    assert_non_null(strstr((char *)out.data, "caf\xC3\xA9"));
    wp_buffer_fini(&out);
}

static void other_shapes(void **state)
{
    static const char *const refused[] = {"", "[", "[]", "null", "3", "{\"a\":"};
    struct wp_buffer out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_true(speak(&out, refused[i]) < 0);
    assert_int_equal(
        speak(&out, "{\"explanations\":{},\"categories\":[1],\"events\":7,\"wall_ns\":\"x\",\"release\":[]}"), 0);
    assert_int_equal(speak(&out, "{\"explanations\":[1,null,{}],\"categories\":7,\"events\":null}"), 0);
    wp_buffer_fini(&out);
    assert_true(wp_record_summary_make(&out, "/no/such/file", &(struct wp_record_summary_look){"p", 0}, NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sentences), cmocka_unit_test(no_time),
        cmocka_unit_test(what_the_total_is_of), cmocka_unit_test(what_the_wall_time_is_of),
        cmocka_unit_test(without_samples), cmocka_unit_test(categories_in_their_order),
        cmocka_unit_test(control_characters), cmocka_unit_test(other_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
