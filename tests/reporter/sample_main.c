/* SPDX-License-Identifier: Apache-2.0 */
/* reporter_sample KIND ROOT [RELEASE [AGGREGATE]]: adds a made-up recording to a store. KIND: plain, hostile, large. */
#include "tests/reporter/sample.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    if (argc < 3) {
        fprintf(stderr, "reporter_sample KIND ROOT [RELEASE [AGGREGATE]]\n");
        return 64;
    }
    const char *release = argc > 3 ? argv[3] : "v1", *aggregate = argc > 4 ? argv[4] : "main";
    struct wp_report *report = NULL;
    struct wp_trace *trace = NULL;
    if (!strcmp(argv[1], "plain")) {
        report = sample_report();
        trace = sample_trace();
    } else if (!strcmp(argv[1], "hostile")) {
        report = sample_hostile_report();
        trace = sample_hostile_trace();
    } else if (!strcmp(argv[1], "large")) {
        report = sample_large_report(100000);
        trace = sample_large_trace(60000);
    }
    if (!report || sample_put(argv[2], release, aggregate, 1790000000, report, trace, &err)) {
        fprintf(stderr, "reporter_sample: %s\n", report ? err.text : "no such kind");
        return 1;
    }
    return 0;
}
