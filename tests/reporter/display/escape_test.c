/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "tests/reporter/sample.h"

#include <stdlib.h>
#include <string.h>

typedef void (*escaper)(struct wp_buffer *, const char *);

static void expect(escaper escape, const char *text, const char *wanted)
{
    struct wp_buffer out = {0};
    escape(&out, text);
    assert_string_equal(out.data ? (const char *)out.data : "", wanted);
    wp_buffer_fini(&out);
}

static void html_escapes_markup_and_control(void **state)
{
    (void)state;
    expect(wp_escape_html, "<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    expect(wp_escape_html, "a\nb\x1b",
        "a\xe2\x90\x8a"
        "b\xe2\x90\x9b");
    expect(wp_escape_html,
        "\xe2\x80\xae"
        "abc",
        "\xef\xbf\xbd"
        "abc");
    expect(wp_escape_html, "\xd7\xa9\xd7\x9c", "\xd7\xa9\xd7\x9c"); /* letters that run leftwards stay */
}

static void malformed_bytes_become_replacements(void **state)
{
    (void)state;
    expect(wp_escape_utf8, "\xff", "\xef\xbf\xbd");
    expect(wp_escape_utf8, "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong '/' */
    expect(wp_escape_utf8, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    expect(wp_escape_utf8, "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect(wp_escape_utf8, "a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd"); /* cut at the end: not read past */
    expect(wp_escape_utf8, "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5");
}

static void js_literals_cannot_be_left(void **state)
{
    (void)state;
    expect(wp_escape_js, "\"\\", "\"\\\"\\\\\"");
    expect(wp_escape_js, "</script>", "\"\\u003c/script\\u003e\"");
    expect(wp_escape_js, "\xe2\x80\xa8", "\"\xef\xbf\xbd\"");
    expect(wp_escape_js, "a\nb",
        "\"a\xe2\x90\x8a"
        "b\"");
}

static void urls_keep_only_plain_bytes(void **state)
{
    (void)state;
    expect(wp_escape_url, "a b/../c?d=e&f#g", "a%20b%2F..%2Fc%3Fd%3De%26f%23g");
    expect(wp_escape_url, "\xff", "%EF%BF%BD");
}

static void folded_frames_keep_their_line(void **state)
{
    (void)state;
    expect(wp_escape_folded, "a;b\nc d", "a,b?c d");
}

/* Every hostile name through every escaper: nothing that means something in the context comes through. */
static void hostile_names_are_harmless(void **state)
{
    (void)state;
    static const struct {
        escaper escape;
        const char *forbidden;
        unsigned skip; /* quotes that the escaper itself puts around */
    } cases[] = {{wp_escape_html, "<>\"'\n\r\t\x1b\x07", 0}, {wp_escape_js, "<>&'\"\n\r\t\x1b\x07", 1},
        {wp_escape_url, "<>\"'\n\r\t\x1b\x07 &#?/%;:", 0}, {wp_escape_folded, ";\n\r\t\x1b\x07", 0},
        {wp_escape_text, "\n\r\t\x1b\x07", 0}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++)
        for (unsigned i = 0; i < sample_hostile_count; i++) {
            struct wp_buffer out = {0};
            cases[c].escape(&out, sample_hostile_names[i]);
            for (size_t at = cases[c].skip; at + cases[c].skip < out.size; at++) {
                char byte = (char)out.data[at];
                if (cases[c].escape == wp_escape_url && byte == '%')
                    continue;
                if (cases[c].escape == wp_escape_js && byte == '"')
                    assert_int_equal(out.data[at - 1], '\\');
                else
                    assert_null(strchr(cases[c].forbidden, byte));
            }
            wp_buffer_fini(&out);
        }
}

static void json_strings_lose_nothing(void **state)
{
    (void)state;
    struct wp_buffer out = {0};
    wp_escape_json(&out, "a\"\\\n\x1b\x7f<\xe2\x80\xa8\xc2\x85\xe2\x80\xae\xff");
    assert_string_equal((char *)out.data, "\"a\\\"\\\\\\u000a\\u001b\\u007f<\\u2028\\u0085\xe2\x80\xae\xef\xbf\xbd\"");
    wp_buffer_fini(&out);
}

static void csv_fields_stay_in_their_place(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"plain", "plain"}, {"", ""}, {"a,b", "\"a,b\""}, {"a\"b", "\"a\"\"b\""},
        {"two\r\nlines", "two\xe2\x90\x8d\xe2\x90\x8alines"}, {"=1+1", "'=1+1"}, {"-bash", "'-bash"},
        {"@x,y", "\"'@x,y\""}, {"+", "'+"}, {"\tx", "\xe2\x90\x89x"}, {"a=b", "a=b"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct wp_buffer out = {0};
        wp_buffer_puts(&out, "");
        wp_escape_csv(&out, pairs[i][0]);
        assert_string_equal((char *)out.data, pairs[i][1]);
        wp_buffer_fini(&out);
    }
}

static void clipping_stays_between_characters(void **state)
{
    (void)state;
    struct wp_pool pool = {0};
    assert_string_equal(wp_pool_clip(&pool, "abc", 3), "abc");
    assert_string_equal(wp_pool_clip(&pool, "abcd", 3), "abc…");
    assert_string_equal(wp_pool_clip(&pool, "a\xc3\xa9z", 2), "a…");
    char *large = malloc(100001);
    memset(large, 'x', 100000);
    large[100000] = 0;
    assert_int_equal(strlen(wp_pool_clip(&pool, large, 400)), 400 + strlen("…"));
    assert_int_equal(strlen(wp_pool_text(&pool, large)), 100000);
    assert_false(pool.failed);
    free(large);
    wp_pool_fini(&pool);
}

static void numbers_read_well(void **state)
{
    (void)state;
    struct wp_pool pool = {0};
    assert_string_equal(wp_human_duration(&pool, 0), "0 ns");
    assert_string_equal(wp_human_duration(&pool, 999), "999 ns");
    assert_string_equal(wp_human_duration(&pool, 12345), "12.3 µs");
    assert_string_equal(wp_human_duration(&pool, 999600), "1.00 ms");
    assert_string_equal(wp_human_duration(&pool, 4100000000u), "4.10 s");
    assert_string_equal(wp_human_duration(&pool, 200000000000u), "3 min 20 s");
    assert_string_equal(wp_human_duration(&pool, 7500000000000u), "2 h 05 min");
    assert_string_equal(wp_human_share(&pool, 1, 0), "0 %");
    assert_string_equal(wp_human_share(&pool, 9999, 10000), "> 99.9 %");
    assert_string_equal(wp_human_share(&pool, 1, 100000), "< 0.1 %");
    assert_string_equal(wp_human_count(&pool, 1234567), "1 234 567");
    assert_string_equal(wp_human_time(&pool, 0), "unknown");
    assert_string_equal(wp_human_time(&pool, 1000000000), "1970-01-01 00:00:01 UTC");
    wp_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_escapes_markup_and_control),
        cmocka_unit_test(malformed_bytes_become_replacements),
        cmocka_unit_test(js_literals_cannot_be_left),
        cmocka_unit_test(urls_keep_only_plain_bytes),
        cmocka_unit_test(folded_frames_keep_their_line),
        cmocka_unit_test(hostile_names_are_harmless),
        cmocka_unit_test(json_strings_lose_nothing),
        cmocka_unit_test(csv_fields_stay_in_their_place),
        cmocka_unit_test(clipping_stays_between_characters),
        cmocka_unit_test(numbers_read_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
