/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics says, read back: as our own writer makes it, and as nobody should. */
#include "cli/base/samples.h"
#include "common/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the ones above */
#include <cmocka.h>

static void what_is_written(void **state)
{
    struct wp_buffer text = {0};
    struct wp_samples samples;
    (void)state;
    wp_metric_put(&text, "one", WP_GAUGE, "One.", 0.5);
    wp_metric_begin(&text, "some_total", WP_COUNTER, "Some.");
    wp_metric_line(&text, "some_total", (struct wp_metric_label[]){{"from", "a \"b\" \\ {c},=d"}, {"to", ""}}, 2, 3);
    wp_metric_labelled(&text, "some_total", "from", "x", 4);
    assert_int_equal(wp_samples_parse(&samples, (char *)text.data), 0);
    assert_int_equal(samples.count, 3);
    assert_true(wp_samples_value(&samples, "one", -1) == 0.5);
    assert_true(wp_samples_value(&samples, "two", -1) == -1);
    assert_true(wp_samples_sum(&samples, "some_total") == 7);
    const struct wp_metric_sample *sample = wp_samples_find(&samples, "some_total", "from", "a \"b\" \\ {c},=d");
    assert_non_null(sample);
    assert_string_equal(wp_sample_label(sample, "to"), "");
    assert_null(wp_sample_label(sample, "of"));
    assert_true(wp_samples_find(&samples, "some_total", "from", "x")->value == 4);
    assert_null(wp_samples_find(&samples, "some_total", "from", "y"));
    wp_samples_fini(&samples);
    wp_buffer_fini(&text);
}

static void what_nobody_should_write(void **state)
{
    char text[] =
        "{} 1\na\nb \nc{ 1\nd{x} 1\ne{x=1} 1\nf{x=\"1} 1\ng{x=\"1\"\nh{x=\"1\"}1\ni nan\nj inf\nk x\nl{x=\"\\\n"
        "m{a=\"\",b=\"\",c=\"\",d=\"\",e=\"\",f=\"\",g=\"\",h=\"\",i=\"\"} 1\n\n\n  \n=\n} 1\ngood{x=\"1\",} 1";
    struct wp_samples samples;
    (void)state;
    assert_int_equal(wp_samples_parse(&samples, text), 0);
    assert_int_equal(samples.count, 1);
    assert_string_equal(samples.items[0].name, "good");
    wp_samples_fini(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written), cmocka_unit_test(what_nobody_should_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
