/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_COMMIT_COMMIT_OPTIONS_H
#define WP_AGGREGATOR_COMMIT_COMMIT_OPTIONS_H
/* How a commit is to be made. */
#include "aggregator/commit/host_parts.h"

#include <stdint.h>

/* What came late (wakepath-store(5), TIMEBOXES), of all aggregates. */
struct wp_late_counts {
    uint64_t reports, total_ns; /* of control paths */
};

struct wp_commit_options {
    const char *shard;
    uint64_t timebox_s; /* length of a timebox: 3600 */
    uint64_t real_now_s;
    uint64_t late_after_s;       /* what comes so long behind the end of its timebox is late; UINT64_MAX: nothing is */
    struct wp_late_counts *late; /* added to; NULL: nobody counts */
    struct wp_host_parts *host_parts;       /* borrowed; NULL: no host has reports of its own */
    const struct wp_metadata_entry *labels; /* of each release that is written, said at labels_s; borrowed */
    uint32_t label_count;
    uint64_t labels_s;
    bool *waits_for_time; /* while it is true nothing is written; becomes false when an aggregate has time; NULL: does
                             not wait */
};

#endif
