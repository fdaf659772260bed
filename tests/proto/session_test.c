/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/session.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct wp_hello example(void)
{
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR,
        .wire_minor = 3,
        .hostname = "web-1",
        .kernel = "6.1",
        .machine = "x86_64",
        .boot_id = "b",
        .version = "0.1",
        .source = "bpf",
        .release = "v1",
        .cpus = 2,
        .start_mono_ns = 5,
        .start_real_ns = UINT64_MAX,
        .sample_period_ns = 1000,
        .samples = WP_SAMPLES_IMPOSSIBLE,
        .no_samples = "paranoid",
        .label_count = 2,
        .labels = {{"rack", "7"}, {"", ""}}};
    memset(hello.host, 1, 16);
    memset(hello.session, 2, 16);
    return hello;
}

static void round_trips(void **state)
{
    (void)state;
    struct wp_hello hello = example(), came;
    struct wp_buffer bytes = {0};
    struct wp_error err = {0};
    assert_int_equal(wp_hello_encode(&hello, &bytes, &err), 0);
    assert_int_equal(wp_hello_decode(&came, bytes.data, bytes.size, &err), 0);
    assert_memory_equal(came.host, hello.host, 16);
    assert_memory_equal(came.session, hello.session, 16);
    assert_string_equal(came.hostname, "web-1");
    assert_string_equal(came.release, "v1");
    assert_string_equal(came.source, "bpf");
    assert_true(came.start_real_ns == UINT64_MAX);
    assert_int_equal(came.wire_minor, 3);
    assert_int_equal(came.samples, WP_SAMPLES_IMPOSSIBLE);
    assert_string_equal(came.no_samples, "paranoid");
    assert_int_equal(came.label_count, 2);
    assert_string_equal(came.labels[0].key, "rack");
    assert_string_equal(came.labels[0].value, "7");
    for (size_t cut = 0; cut < bytes.size; cut++) {
        struct wp_hello spoilt;
        if (!wp_hello_decode(&spoilt, bytes.data, cut, &err))
            wp_hello_fini(&spoilt);
    }
    wp_hello_fini(&came);
    wp_buffer_clear(&bytes);
    struct wp_welcome welcome = {1, 2, 77, 256, {1000000000, 60000000000}}, welcomed;
    assert_int_equal(wp_welcome_encode(&welcome, &bytes, &err), 0);
    assert_int_equal(wp_welcome_decode(&welcomed, bytes.data, bytes.size, &err), 0);
    assert_true(
        welcomed.wire_major == 1 && welcomed.wire_minor == 2 && welcomed.resume_seq == 77 && welcomed.credit == 256);
    assert_memory_equal(&welcome.window, &welcomed.window, sizeof(welcome.window));
    wp_buffer_clear(&bytes);
    struct wp_bye bye = {.last_seq = 9, .events = 8, .dropped = 7}, gone;
    assert_int_equal(wp_bye_encode(&bye, &bytes, &err), 0);
    assert_int_equal(wp_bye_decode(&gone, bytes.data, bytes.size, &err), 0);
    assert_memory_equal(&bye, &gone, sizeof(bye));
    wp_buffer_fini(&bytes);
}

/* A peer that does not say, and one that says what is not known yet, are the same. */
static void samples_that_are_not_told(void **state)
{
    (void)state;
    struct wp_hello hello = example(), came, copy;
    struct wp_buffer bytes = {0};
    hello.samples = 9;
    hello.no_samples = NULL;
    assert_int_equal(wp_hello_encode(&hello, &bytes, NULL), 0);
    assert_int_equal(wp_hello_decode(&came, bytes.data, bytes.size, NULL), 0);
    assert_int_equal(came.samples, WP_SAMPLES_UNSAID);
    assert_int_equal(wp_hello_copy(&copy, &came), 0);
    assert_string_equal(copy.no_samples, "");
    wp_hello_fini(&copy);
    wp_hello_fini(&came);
    wp_buffer_fini(&bytes);
}

static int decode(const struct wp_hello *hello, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_hello came;
    assert_int_equal(wp_hello_encode(hello, &bytes, err), 0);
    int rc = wp_hello_decode(&came, bytes.data, bytes.size, err);
    if (!rc)
        wp_hello_fini(&came);
    wp_buffer_fini(&bytes);
    return rc;
}

static void refusals(void **state)
{
    (void)state;
    struct wp_error err = {0};
    struct wp_hello hello = example();
    hello.wire_major = 2;
    assert_int_equal(decode(&hello, &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "2.3"));
    char ours[16];
    snprintf(ours, sizeof(ours), "%u.%u", WP_WIRE_MAJOR, WP_WIRE_MINOR);
    assert_non_null(strstr(err.text, ours));
    char longest[400];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    struct wp_hello came;
    for (unsigned i = 0; i < 2; i++) { /* neither is said, and neither is taken from who says it */
        struct wp_buffer none = {0};
        uint8_t bytes[1024];
        Wakepath__Wire__Label label = WAKEPATH__WIRE__LABEL__INIT, *labels = &label;
        Wakepath__Wire__Hello m = WAKEPATH__WIRE__HELLO__INIT;
        hello = example();
        *(i ? &hello.labels[0].value : &hello.hostname) = longest;
        assert_int_equal(wp_hello_encode(&hello, &none, &err), -EINVAL);
        assert_int_equal(none.size, 0);
        *(i ? &label.value : &m.hostname) = longest;
        m.wire_major = WP_WIRE_MAJOR;
        m.host = m.session = (ProtobufCBinaryData){16, hello.host};
        m.n_labels = 1;
        m.labels = &labels;
        assert_int_equal(wp_hello_decode(&came, bytes, wakepath__wire__hello__pack(&m, bytes), &err), -EINVAL);
        assert_non_null(strstr(err.text, "too long"));
    }
    assert_int_equal(wp_hello_decode(&came, (const uint8_t *)"\xff\xff\xff", 3, &err), -EINVAL);
    assert_int_equal(wp_hello_decode(&came, (const uint8_t *)"", 0, &err), -EPROTONOSUPPORT); /* version 0 */
}

static void clocks(void **state)
{
    (void)state;
    struct wp_error err = {0};
    uint64_t day = 86400 * (uint64_t)1000000000, now = 20000 * day;
    struct wp_hello hello = {.start_mono_ns = 900 * day, .start_real_ns = now};
    assert_int_equal(wp_hello_check_clock(&hello, now, &err), 0);
    assert_int_equal(wp_hello_check_clock(&hello, 30000 * day, &err), 0); /* an old capture */
    assert_int_equal(wp_hello_check_clock(&hello, now - day, &err), 0);
    assert_int_equal(wp_hello_check_clock(&hello, now - day - 1, &err), -EINVAL);
    assert_non_null(strstr(err.text, "ahead"));
    hello.start_real_ns = UINT64_MAX;
    assert_int_equal(wp_hello_check_clock(&hello, now, &err), -EINVAL);
    hello = (struct wp_hello){.start_mono_ns = UINT64_MAX};
    assert_int_equal(wp_hello_check_clock(&hello, now, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips), cmocka_unit_test(samples_that_are_not_told),
        cmocka_unit_test(refusals), cmocka_unit_test(clocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
