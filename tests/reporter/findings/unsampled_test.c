/* SPDX-License-Identifier: Apache-2.0 */
/* What runs in pieces too short to have a sample each is told by those that have one, if they are enough and agree. */
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
#define SAMPLED 3u

struct sampled {
    const char *stack;
    uint64_t ms, pieces;
};

static void sampled_pieces_stand_for_the_others(void **state)
{
    static const struct {
        struct sampled sampled[SAMPLED];
        const char *words;
    } cases[] = {
        {{{"[app];main;scan_index;pread@libc.so.6", 58, 90}, {"[app];main;load", 2, 5}},
            "no sample to say in which function; 96.7 % of what was sampled of it is in `scan_index`."},
        {{{"[app];main;scan_index", 60, 9}}, "no sample to say in which function."},
        {{{"[app];main;one", 20, 50}, {"[app];main;two", 20, 50}, {"[app];main;three", 20, 50}},
            "no sample to say in which function."},
        {{{"[app];recv@libc.so.6;sleep:recvfrom unix;[other];main;scan_index", 60, 90}},
            "no sample to say in which function."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, "[app]"), WP_RUNNING_NOT_SAMPLED, 120 * MS, 3000);
        for (const struct sampled *at = cases[i].sampled; at < cases[i].sampled + SAMPLED && at->stack; at++)
            wp_report_add(report, sample_node(report, at->stack), WP_UNDERSTOOD_FUNCTIONS, at->ms * MS, at->pieces);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        if (!strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sampled_pieces_stand_for_the_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
