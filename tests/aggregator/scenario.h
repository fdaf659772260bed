/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_SCENARIO_H
#define WP_TESTS_SCENARIO_H
/*
 * A scenario: events in, pieces out, as text that a person can read and add to (tests/aggregator/README.md has the
 * format). Parsing builds one batch; its arrays are owned by the scenario.
 */
#include "proto/batch.h"

struct scenario {
    struct wp_batch batch;
    char *expected; /* what stands below the line "--", owned */
};

/* -EINVAL and err names the line. */
int scenario_parse(struct scenario *scenario, const char *text, struct wp_error *err);
void scenario_fini(struct scenario *scenario);

#endif
