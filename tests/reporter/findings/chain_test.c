/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asked waits for others itself, and the last of them runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "tests/reporter/sample.h"

#define MS 1000000u
#define ASKS "[web];main;pop;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:6379"
#define REDIS ASKS ";tcp:10.0.0.7:6379;[redis];main;loop;epoll_wait@libc.so.6;sleep:epoll_wait tcp "
#define RENDER ASKS ";tcp:10.0.0.7:6379;[redis];main;render;wait4@libc.so.6;sleep:wait4;[sh];sleep:wait4;[gzip];main;"

static const struct {
    const char *stacks[2]; /* of 90 and 20 ms */
    const char *words, *pattern;
} rows[] = {
    /* A pop waits until another client has pushed: its calls are no more than there is work. */
    {{REDIS ":6379;tcp:10.0.0.9:*;[web];main;feed;build", REDIS ":6379;tcp:10.0.0.9:*;[web];main;feed;send"},
        "in `pop`, 200 times; that one waits for another web, which runs its own code, first of all in build, called "
        "from `feed`.",
        NULL},
    /* Who is asked, and asks a third. */
    {{REDIS "10.0.0.5:80;tcp:10.0.0.5:80;[db];main;query;scan", REDIS ":6379"},
        "in `pop`, 200 times; that one waits for db, which runs its own code, first of all in scan, called from "
        "`query`.",
        "n_plus_one"},
    /* By the end of what it starts. */
    {{RENDER "deflate", ASKS ";tcp:10.0.0.7:6379;[redis];main;parse"},
        "; that one waits in `render` for sh, which waits for gzip, which runs its own code, first of all in deflate.",
        "n_plus_one"},
    /* Mostly it runs itself. */
    {{ASKS ";tcp:10.0.0.7:6379;[redis];main;parse", RENDER "deflate"}, "in `pop`, 200 times; there `parse` runs.",
        "n_plus_one"},
};

static void the_end_of_a_chain_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        for (size_t cell = 0; cell < 2; cell++)
            wp_report_add(
                report, sample_node(report, rows[i].stacks[cell]), WP_UNDERSTOOD_FUNCTIONS, (cell ? 20 : 90) * MS, 30);
        wp_report_add(report, sample_node(report, ASKS ";sched:runnable"), WP_SCHEDULER, 2 * MS, 200);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const char *key = facts.findings[0].pattern.key;
        if (!strstr(facts.findings[0].sentence, rows[i].words) || !key != !rows[i].pattern ||
            (key && strcmp(key, rows[i].pattern) != 0))
            fail_msg("%zu: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_end_of_a_chain_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
