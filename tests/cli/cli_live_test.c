/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown while a recording goes on: what came since the last reading, in a line, a table and JSON. */
#include "cli/record/live_text.h"
#include "cli/record/live_waits.h"
#include "cli/base/open_page.h"
#include "cli/record/status_line.h"
#include "common/path.h"
#include "storage/report/report.h"
#include "tests/reporter/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <json-c/json.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS 1000000u
#define S 1000000000u

struct place {
    char folder[32], store[48];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    *state = place;
    if (!place)
        return -1;
    snprintf(place->folder, sizeof(place->folder), "/tmp/wp-live-XXXXXX");
    if (!mkdtemp(place->folder))
        return -1;
    snprintf(place->store, sizeof(place->store), "%s/store", place->folder);
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    int rc = wp_path_remove(place->folder, NULL);
    free(place);
    return rc;
}

/* The engine's next epoch: make computes, and waits for a compiler that waits for the disk. */
static void store_more(const struct place *place, unsigned running_ms, unsigned disk_ms)
{
    struct wp_report *report = wp_report_create();
    struct wp_error err = {0};
    wp_report_add(report, sample_node(report, "[make];parse@make"), WP_UNDERSTOOD_FUNCTIONS, running_ms * MS, 1);
    if (disk_ms)
        wp_report_add(report,
            sample_node(report,
                "[make];main@make;wait4@libc.so.6;sleep:wait4;[cc1\033];load@cc1;read@libc.so.6;sleep:read;io:vda"),
            WP_BLOCKING_IO, disk_ms * MS, 1);
    if (sample_put(place->store, "live", "main", 1790000000, report, NULL, &err))
        fail_msg("%s", err.text);
}

static void hold(struct wp_live_waits *live)
{
    struct wp_error err = {0};
    if (wp_live_waits_read(live, &err) || err.code)
        fail_msg("%s", err.text);
}

static const struct wp_live_look look = {
    .title = "recording", .elapsed_ns = 12 * (uint64_t)S, .columns = 100, .rows = 9};

static void line_is(const struct wp_live_waits *live, const char *want)
{
    struct wp_buffer out = {0};
    wp_live_text_line(&out, &live->now, &look);
    wp_buffer_putc(&out, 0);
    assert_string_equal((const char *)out.data, want);
    wp_buffer_fini(&out);
}

static void what_came_since_is_first(void **state)
{
    const struct place *place = *state;
    struct wp_live_waits live = {.store = place->store, .release = "live", .aggregate = "main"};
    hold(&live); /* there is no store yet */
    assert_int_equal(live.now.count, 0);
    line_is(&live, "recording 12 s ...");
    store_more(place, 900, 0);
    hold(&live);
    assert_int_equal(live.now.since_ns, 900 * MS);
    line_is(&live, "recording 12 s, make runs its own code in `parse` ...");
    store_more(place, 10, 40);
    hold(&live);
    assert_int_equal(live.now.total_ns, 950 * MS);
    assert_int_equal(live.now.since_ns, 50 * MS);
    assert_int_equal(live.now.rows[0].since_ns, 40 * MS);
    assert_int_equal(live.now.rows[1].ns, 910 * MS);
    line_is(&live, "recording 12 s, make waits for cc1?, which waits for the disk in `load` ...");
    hold(&live); /* nothing new */
    assert_int_equal(live.now.since_ns, 0);
    line_is(&live, "recording 12 s ...");
    wp_live_waits_fini(&live);
}

static void another_aggregate_has_no_rows(void **state)
{
    const struct place *place = *state;
    struct wp_live_waits live = {.store = place->store, .release = "live", .aggregate = "other"};
    store_more(place, 1, 1);
    hold(&live);
    assert_int_equal(live.now.count, 0);
    wp_live_waits_fini(&live);
}

static void tables_fit_and_json_is_whole(void **state)
{
    const struct place *place = *state;
    struct wp_live_waits live = {.store = place->store, .release = "live", .aggregate = "main"};
    struct wp_live_look narrow = look;
    struct wp_buffer out = {0};
    store_more(place, 10, 40);
    hold(&live);
    narrow.columns = 60;
    wp_live_text_table(&out, &live.now, &narrow);
    wp_buffer_putc(&out, 0);
    assert_null(strchr((const char *)out.data, '\033'));
    assert_non_null(strstr((const char *)out.data, "\n    80 %   40.0 ms make"));
    for (char *line = strtok((char *)out.data, "\n");
         line && (line = strtok(NULL, "\n"));) { /* the head may be longer */
        size_t columns = 0;
        for (const char *at = line; *at; at++)
            columns += (*at & 0xc0) != 0x80;
        assert_in_range(columns, 1, 60);
    }
    wp_buffer_clear(&out);
    live.now.rows[1].since_ns = 20000; /* of a share so small, cells stand below their heads, too */
    wp_live_text_table(&out, &live.now, &narrow);
    wp_buffer_putc(&out, 0);
    assert_non_null(strstr((const char *)out.data, "\n   share      time who "));
    assert_non_null(strstr((const char *)out.data, "\n < 0.1 %   20.0 \u00b5s make"));
    wp_buffer_clear(&out);
    live.now.rows[0].where = "`settle_account` (ledger/settlement.py:1234)";
    wp_live_text_table(&out, &live.now, &narrow);
    wp_buffer_putc(&out, 0);
    assert_non_null(strstr((const char *)out.data, "1234)\n")); /* a place keeps both its ends */
    wp_buffer_clear(&out);
    narrow.columns = 0;
    wp_live_text_table(&out, &live.now, &narrow);
    wp_buffer_putc(&out, 0);
    assert_non_null(strstr((const char *)out.data, " `settle_account` (ledger/settlement.py:1234)\n"));
    wp_buffer_clear(&out);
    assert_int_equal(wp_live_text_json(&out, &live.now, &look, NULL), 0);
    wp_buffer_putc(&out, 0);
    struct json_object *root = json_tokener_parse((const char *)out.data), *waits, *row, *value;
    assert_true(root && json_object_object_get_ex(root, "waits", &waits));
    assert_int_equal(json_object_array_length(waits), 2);
    row = json_object_array_get_idx(waits, 0);
    assert_true(json_object_object_get_ex(row, "doing", &value));
    assert_string_equal(json_object_get_string(value), "waits for the disk");
    json_object_put(root);
    wp_buffer_fini(&out);
    wp_live_waits_fini(&live);
}

/* What a terminal of that size is sent. */
static void sent(bool is_shared, unsigned short rows, char *text, size_t room)
{
    struct winsize size = {.ws_row = rows, .ws_col = 80};
    struct wp_status_line line;
    int master, slave;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
    FILE *out = fdopen(slave, "w");
    assert_non_null(out);
    wp_status_line_init(&line, out, is_shared);
    wp_status_line_show(&line, "one");
    wp_status_line_show(&line, "two");
    wp_status_line_clear(&line);
    fputs("end", out);
    fclose(out);
    size_t length = 0; /* it comes in pieces; after the last one the read fails */
    for (ssize_t got; length < room - 1 && (got = read(master, text + length, room - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = 0;
    close(master);
}

static void a_line_stays_out_of_the_commands_way(void **state)
{
    char text[512];
    (void)state;
    setenv("TERM", "xterm", 1);
    sent(false, 24, text, sizeof(text));
    assert_string_equal(text, "\rone\033[K\rtwo\033[K\r\033[Kend");
    sent(true, 24, text, sizeof(text));
    assert_non_null(strstr(text, "\033[1;23r")); /* the rows above scroll */
    assert_non_null(strstr(text, "\0337\033[24;1Htwo\033[K\0338"));
    assert_non_null(strstr(text, "\0337\033[r\033[24;1H\033[K\0338end")); /* and all of them again */
    sent(true, 3, text, sizeof(text));                                    /* no row to spare */
    assert_string_equal(text, "end");
    sent(true, 0, text, sizeof(text));
    assert_string_equal(text, "end");
    setenv("TERM", "dumb", 1);
    sent(true, 24, text, sizeof(text));
    assert_string_equal(text, "end");
    sent(false, 24, text, sizeof(text));
    assert_string_equal(text, "end");
}

static void a_browser_is_run(void **state)
{
    const struct place *place = *state;
    char script[64], seen[64];
    struct wp_buffer text = {0};
    snprintf(script, sizeof(script), "%s/browser", place->folder);
    snprintf(seen, sizeof(seen), "%s/seen", place->folder);
    FILE *file = fopen(script, "w");
    fprintf(file, "#!/bin/sh\nprintf %%s \"$1\" >%s.new && mv %s.new %s\n", seen, seen, seen);
    fclose(file);
    chmod(script, 0755);
    setenv("BROWSER", script, 1);
    pid_t pid;
    assert_int_equal(wp_open_page("/x/index.html", &pid, NULL), 0);
    for (unsigned i = 0; i < 3000 && access(seen, F_OK); i++)
        usleep(10000);
    assert_int_equal(wp_file_read(seen, 100, &text, NULL), 0);
    assert_memory_equal(text.data, "/x/index.html", 13);
    wp_buffer_fini(&text);
    assert_false(wp_open_page_failed(&pid, 10000, NULL));
    assert_int_equal(pid, 0);
    setenv("BROWSER", "/bin/false", 1);
    assert_int_equal(wp_open_page("/x/index.html", &pid, NULL), 0);
    struct wp_error err = {0};
    assert_true(wp_open_page_failed(&pid, 10000, &err));
    assert_non_null(strstr(err.text, "ended with 1; set BROWSER"));
    setenv("BROWSER", "/nonexistent/browser", 1);
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(wp_open_page("/x/index.html", &pid, NULL), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(what_came_since_is_first, setup, teardown),
        cmocka_unit_test_setup_teardown(another_aggregate_has_no_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_fit_and_json_is_whole, setup, teardown),
        cmocka_unit_test(a_line_stays_out_of_the_commands_way),
        cmocka_unit_test_setup_teardown(a_browser_is_run, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
