/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says, at which line it says it, and how a wrong one is refused. */
#include "common/buffer.h"
#include "common/config_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct argp_option keys[] = {
    {"connect", 'c', "ENDPOINT", 0, "send there", 0},
    {"label", 'l', "KEY=VALUE", 0, "a label; may be repeated", 0},
    {"stats", 's', 0, 0, "print counts", 0},
    {0},
};

static int note(void *context, const struct argp_option *option, const char *value, unsigned line, struct wp_error *err)
{
    if (!strcmp(value, "refused"))
        return wp_error_set(err, -EINVAL, "this value is refused");
    return wp_buffer_printf(context, "%u:%s=%s|", line, option->name, value);
}

static void expect(const char *text, const char *want)
{
    struct wp_buffer got = {0};
    struct wp_error err = {0};
    int rc = wp_config_file_parse("F", text, keys, &(struct wp_config_taker){note, &got}, &err);
    if (rc) {
        wp_buffer_clear(&got);
        wp_buffer_puts(&got, err.text);
    }
    wp_buffer_puts(&got, "");
    assert_string_equal((char *)got.data, want);
    wp_buffer_fini(&got);
}

static void test_values(void **state)
{
    (void)state;
    expect("", "");
    expect("connect = tcp://127.0.0.1:1\n", "1:connect=tcp://127.0.0.1:1|");
    expect("# one\n\n/* two\n three */\nconnect = \"a # b // c\" // four\n  # five\nstats = yes",
        "5:connect=a # b // c|7:stats=yes|");
    expect("label = {\"a=1\",\n  'b=2',\n}\nlabel += 'c=3'\n", "1:label=a=1|2:label=b=2|4:label=c=3|");
    expect("connect=\"a\\\"#b\"\nstats=on\n", "1:connect=a\"#b|2:stats=on|");
}

static void test_refusals(void **state)
{
    (void)state;
    expect("\n# x\nnoise = 1\n", "F:3: no such option 'noise'");
    expect("connect = a\nconnect = b\n", "F:2: 'connect' takes one value, and has one from line 1");
    expect("connect = {a, b}\n", "F:1: 'connect' takes one value, and has one from line 1");
    expect("label = a\n\nlabel = b\n",
        "F:3: 'label' is set in line 1 already: add with +=, or write a list {\"a\", \"b\"}");
    expect("stats = maybe\n", "F:1: 'stats': is true or false, not 'maybe'");
    expect("\nlabel = refused\n", "F:2: this value is refused");
    expect("connect = }\n", "F:1: unexpected token '}'");
    expect("include(\"/etc/passwd\")\n", "F:1: no such option 'include'");
    expect("\"\001\" = 3\n", "F: it cannot be read");
}

static void test_bounds(void **state)
{
    struct wp_buffer text = {0}, got = {0};
    struct wp_error err = {0};
    (void)state;
    wp_buffer_puts(&text, "label = {");
    for (unsigned i = 0; i <= WP_CONFIG_VALUES; i++)
        wp_buffer_puts(&text, "x,\n");
    wp_buffer_puts(&text, "}\n");
    assert_int_equal(
        wp_config_file_parse("F", (char *)text.data, keys, &(struct wp_config_taker){note, &got}, &err), -EINVAL);
    assert_non_null(strstr(err.text, "F:1025: more than 1024 values"));
    wp_buffer_clear(&text);
    wp_buffer_puts(&text, "connect = ");
    for (unsigned i = 0; i <= WP_CONFIG_VALUE_LIMIT; i++)
        wp_buffer_putc(&text, 'a');
    assert_int_equal(
        wp_config_file_parse("F", (char *)text.data, keys, &(struct wp_config_taker){note, &got}, &err), -EINVAL);
    wp_buffer_fini(&text);
    wp_buffer_fini(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_refusals), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
