/* SPDX-License-Identifier: Apache-2.0 */
/* What want of memory does to a program: pages are read again, which is no cold start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/findings/findings.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "tests/reporter/sample.h"

#define MS 1000000u
#define FAULT "[app];scan;k:filemap_fault;sleep:fault file"
#define DISK ";io:vda read /srv/idx"

static void pages_read_again_are_no_cold_start(void **state)
{
    static const struct {
        uint64_t first_ms, again_ms, other_ms;
        const char *key, *words;
    } cases[] = {
        {30, 60, 0, "read_again",
            "app waits 90.0 ms (100 %) for the disk: pages of /srv/idx that were not in memory, in `scan`. "
            "Pages read again, certain: memory is short (limit of web.service), and for 60.0 ms pages are read that "
            "had "
            "been in memory before."},
        {30, 50, 20, "read_again", "(limit of web.service), and for 70.0 ms pages are read"},
        {60, 30, 0, "cold_start", "Cold start, likely: pages that it touches were not in memory."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, FAULT DISK), WP_BLOCKING_IO, cases[i].first_ms * MS, 6);
        wp_report_add(report, sample_node(report, FAULT ", memory of web.service" DISK), WP_BLOCKING_IO,
            cases[i].again_ms * MS, 6);
        if (cases[i].other_ms)
            wp_report_add(
                report, sample_node(report, FAULT ", memory of /lim" DISK), WP_BLOCKING_IO, cases[i].other_ms * MS, 6);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const struct wp_finding *first = &facts.findings[0];
        if (!first->pattern.key || strcmp(first->pattern.key, cases[i].key) || !strstr(first->sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, first->sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_read_again_are_no_cold_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
