/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_REPORTER_SAMPLE_FLEET_H
#define WP_TESTS_REPORTER_SAMPLE_FLEET_H
/* Eight minutes of four hosts that wait for each other, with the times of it, and what hosts say of themselves. */
#include "tests/reporter/sample.h"

#include <stdbool.h>

struct wp_report *sample_fleet_report(void);
/* Three shards: s1 and s2 have web-1 and web-2, in other minutes; s3 has web-3 and <b>web-4 in one sum. All wait for
 * db-3. What shard n has is n + 1 times as much of each cell: 2, 3 and 4 ms a second. */
#define SAMPLE_SHARDS 3u
struct wp_report *sample_shard_report(unsigned shard);
/* Metadata of the hosts as a collector and an aggregator put it; of hosts with hostile names when told so. */
int sample_describe(
    const char *root, const char *release, const char *aggregate, bool is_hostile, struct wp_error *err);

#endif
