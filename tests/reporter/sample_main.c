/* SPDX-License-Identifier: Apache-2.0 */
/* reporter_sample KIND ROOT [RELEASE [AGGREGATE [TIMEBOX]]]: adds a made-up recording to a store. KIND: plain,
 * hostile, one (a single sample), large, fleet (four hosts with metadata), shards (four hosts in three shards), source
 * (lines of source), and service, service-equal, service-slower: a quarter of an hour of a service, again, and with a
 * disk that takes a fifth longer. */
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"
#include "tests/reporter/sample_fleet.h"
#include "tests/reporter/sample_service.h"
#include "tests/reporter/sample_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wp_report *make_service(const char *which)
{
    struct service_options options = {.seed = 10, .seconds = 900, .requests = 100, .steps = 0.05};
    if (*which) {
        options.seed = strcmp(which, "-slower") ? 11 : 12;
        options.hour = strcmp(which, "-slower") ? 1 : 2;
        options.slower[SERVICE_DISK] = strcmp(which, "-slower") ? 0 : 0.2;
    }
    struct wp_report *report = sample_service(&options);
    if (report)
        sample_service_requests(report, 2000, options.seed);
    return report;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    if (argc < 3) {
        fprintf(stderr, "reporter_sample KIND ROOT [RELEASE [AGGREGATE [TIMEBOX]]]\n");
        return 64;
    }
    const char *release = argc > 3 ? argv[3] : "v1", *aggregate = argc > 4 ? argv[4] : "main";
    struct wp_report *report = NULL;
    struct wp_trace *trace = NULL;
    if (!strcmp(argv[1], "plain")) {
        report = sample_report();
        trace = sample_trace();
    } else if (!strncmp(argv[1], "service", 7)) {
        report = make_service(argv[1] + 7);
    } else if (!strcmp(argv[1], "source")) {
        report = sample_source_report();
    } else if (!strcmp(argv[1], "hostile")) {
        report = sample_hostile_report();
        trace = sample_hostile_trace();
    } else if (!strcmp(argv[1], "one")) { /* a single sample of a nanosecond */
        report = wp_report_create();
        if (report)
            wp_report_add_at(report, sample_node(report, "[one];main@one"), WP_UNDERSTOOD_FUNCTIONS,
                1790000000000000000u, 1790000000000000001u);
    } else if (!strcmp(argv[1], "large")) {
        report = sample_large_report(100000);
        trace = sample_large_trace(60000);
    }
    uint64_t timebox_s = argc > 5 ? strtoull(argv[5], NULL, 10) : 1790000000;
    for (unsigned i = 0; !strcmp(argv[1], "shards") && i < SAMPLE_SHARDS; i++) {
        char shard[8];
        snprintf(shard, sizeof(shard), "s%u", i + 1);
        if (sample_put_shard(argv[2], release, &(struct sample_place){aggregate, timebox_s, shard},
                sample_shard_report(i), NULL, &err)) {
            fprintf(stderr, "reporter_sample: %s\n", err.text);
            return 1;
        }
    }
    if (!strcmp(argv[1], "shards"))
        return 0;
    bool is_hostile = !strcmp(argv[1], "hostile"), is_fleet = !strcmp(argv[1], "fleet");
    if (is_fleet)
        report = sample_fleet_report();
    if (!report || sample_put(argv[2], release, aggregate, timebox_s, report, trace, &err) ||
        ((is_hostile || is_fleet) && sample_describe(argv[2], release, aggregate, is_hostile, &err))) {
        fprintf(stderr, "reporter_sample: %s\n", report ? err.text : "no such kind");
        return 1;
    }
    return 0;
}
