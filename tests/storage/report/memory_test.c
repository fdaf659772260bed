/* SPDX-License-Identifier: Apache-2.0 */
/* Without memory: it is said so, and never taken for damage, which repair deletes. */
#include "proto/store.pb-c.h"
#include "storage/report/exemplars.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_read.h"
#include "storage/report/trace_decode.h"
#include "storage/report/trace_encode.h"
#include "storage/value/columns.h"
#include "tests/no_memory.h"
#include "tests/storage/made_report.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define FACTS 40

static void no_report_is_damaged_by_it(void **state)
{
    (void)state;
    struct made_fact facts[FACTS];
    struct wp_buffer bytes = {0}, trace_bytes = {0};
    made_facts(facts, FACTS, 1);
    struct wp_report *made = made_report(facts, FACTS), *report;
    struct wp_trace *made_one = made_trace(1, 20), *trace;
    assert_int_equal(wp_report_encode(made, &bytes, NULL), 0);
    assert_int_equal(wp_trace_encode(made_one, &trace_bytes, NULL), 0);
    int rc = -1;
    for (long given = 0; rc; given++) {
        no_memory_after(given);
        rc = wp_report_decode(&report, bytes.data, bytes.size, NULL);
        no_memory_after(-1);
        assert_true(!rc || rc == -ENOMEM);
    }
    wp_report_destroy(report);
    rc = -1;
    for (long given = 0; rc; given++) {
        no_memory_after(given);
        rc = wp_trace_decode(&trace, trace_bytes.data, trace_bytes.size, NULL);
        no_memory_after(-1);
        assert_true(!rc || rc == -ENOMEM);
    }
    wp_trace_destroy(trace);
    errno = 0;
    assert_null(wp_message_unpack(&wakepath__store__head__descriptor, (const uint8_t *)"\xff", 1, "head", NULL));
    assert_int_equal(errno, EBADMSG);
    wp_report_destroy(made);
    wp_trace_destroy(made_one);
    wp_buffer_fini(&bytes);
    wp_buffer_fini(&trace_bytes);
}

/* One with so many texts that it lets them go when it is cleared. */
static void a_report_is_cleared_without_it(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create();
    char text[16];
    for (unsigned i = 0; i < 70000; i++) {
        snprintf(text, sizeof(text), "t%u", i);
        assert_int_not_equal(wp_report_string(report, text), UINT32_MAX);
    }
    no_memory_after(0);
    wp_report_clear(report);
    wp_report_clear(report);
    no_memory_after(-1);
    assert_int_not_equal(wp_report_string(report, "again"), UINT32_MAX);
    wp_report_clear(report);
    assert_false(wp_report_failed(report));
    wp_report_destroy(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_report_is_damaged_by_it), cmocka_unit_test(a_report_is_cleared_without_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
