/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_REPORTER_SAMPLE_FLEET_H
#define WP_TESTS_REPORTER_SAMPLE_FLEET_H
/* Eight minutes of four hosts that wait for each other, with the times of it, and what hosts say of themselves. */
#include "tests/reporter/sample.h"

#include <stdbool.h>

struct wp_report *sample_fleet_report(void);
/* Metadata of the hosts as a collector and an aggregator put it; of hosts with hostile names when told so. */
int sample_describe(const char *root, const char *release, const char *aggregate, bool is_hostile, struct wp_error *err);

#endif
