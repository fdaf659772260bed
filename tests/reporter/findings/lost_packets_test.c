/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that were long on their way: lost where hosts say that they sent segments again, and not by the time alone.
 */
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

static void lost_where_they_were_sent_again(void **state)
{
    static const struct {
        const char *key, *value;
        uint64_t longest_ms;
        const char *pattern, *words;
        enum wp_surety sure;
    } cases[] = {{"network.db.web.retransmits", "12", 214, "lost_packets",
                     "Lost packets, likely: 12 segments were sent again between db and web, and a message took up to "
                     "214 ms.",
                     WP_SURETY_LIKELY},
        {"network.web.db.retransmits", "1", 214, "lost_packets", "Lost packets, possible: 1 segment was sent again",
            WP_SURETY_POSSIBLE},
        {"network.web.db.retransmits", "12", 30, "n_plus_one", "", WP_SURETY_LIKELY},
        {"network.web.mail.retransmits", "12", 214, "n_plus_one", "", WP_SURETY_LIKELY}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        struct wp_metadata_fact said = {.key = cases[i].key, .value = cases[i].value, .shard = ""};
        wp_report_add(report,
            sample_node(report, "[web];find;poll@libc.so.6;sleep:poll tcp 10.0.0.7:80;tcp:10.0.0.7:80"),
            WP_MESSAGE_IN_FLIGHT, 2000 * MS, 500);
        wp_report_add(report,
            sample_node(report, "[web];find;poll@libc.so.6;sleep:poll tcp 10.0.0.7:80;sched:runnable"), WP_SCHEDULER,
            10 * MS, 500);
        wp_report_edge(report, "db", "web",
            &(struct wp_report_edge){.messages = 500,
                .waited_ns = 2000 * (uint64_t)MS,
                .transit_ns = 2000 * (uint64_t)MS,
                .transit_max_ns = cases[i].longest_ms * MS});
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        assert_string_equal(facts.findings[0].pattern.key, "n_plus_one"); /* nobody said anything yet */
        facts.release_metadata = (struct wp_metadata){&said, 1};
        facts.finding_count = 0;
        wp_findings_build(&facts);
        assert_string_equal(facts.findings[0].pattern.key, cases[i].pattern);
        assert_int_equal(facts.findings[0].pattern.sure, cases[i].sure);
        if (!strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

struct row {
    const char *stack;
    enum wp_category category;
    uint64_t ms, count;
};

/* A request for a connection is sent again where its server's queue is full: to who answers others there, or on this
 * host. Who writes waits for the reader's room, and for no acknowledgement. */
static void kept_out_where_nothing_is_lost(void **state)
{
    static const struct {
        struct row rows[2];
        const char *pattern, *words;
    } cases[] = {{{{"[web];dial;connect@libc.so.6;sleep:connect;tcp:10.0.0.7:80", WP_MESSAGE_IN_FLIGHT, 2040, 2},
                      {"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80;[db];main;find",
                          WP_UNDERSTOOD_FUNCTIONS, 90, 9}},
                     "listen_queue",
                     "for db to take its connection: `connect` on tcp:10.0.0.7:80 in `dial`, 2 times. Full listen "
                     "queue, likely: a connection takes 1.02 s on average"},
        {{{"[web];dial;connect@libc.so.6;sleep:connect;tcp:10.0.0.7:80 (not traced)", WP_REMOTE_NOT_TRACED, 2040, 2},
             {"[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:80;tcp:10.0.0.7:80;path:[db]", WP_OTHER_PATH, 90,
                 9}},
            "listen_queue", "for db to take its connection"},
        {{{"[web];dial;connect@libc.so.6;sleep:connect;tcp:127.0.0.1:80", WP_MESSAGE_IN_FLIGHT, 2040, 2}},
            "listen_queue", "for who listens there to take its connection"},
        {{{"[web];dial;connect@libc.so.6;sleep:connect;tcp:10.0.0.7:80", WP_MESSAGE_IN_FLIGHT, 2040, 2}}, "",
            "for messages on their way"},
        {{{"[web];dial;connect@libc.so.6;sleep:connect;tcp:127.0.0.1:80", WP_MESSAGE_IN_FLIGHT, 40, 2}}, "",
            "for messages on their way"},
        {{{"[web];put;write@libc.so.6;sleep:write tcp 10.0.0.7:80;tcp:10.0.0.7:80", WP_MESSAGE_IN_FLIGHT, 410, 10}}, "",
            "for messages on their way"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        for (const struct row *row = cases[i].rows; row < cases[i].rows + 2 && row->stack; row++)
            wp_report_add(report, sample_node(report, row->stack), row->category, row->ms * MS, row->count);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const char *key = facts.findings[0].pattern.key ? facts.findings[0].pattern.key : "";
        if (strcmp(key, cases[i].pattern) != 0 || !strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_where_they_were_sent_again), cmocka_unit_test(kept_out_where_nothing_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
