/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_REPORT_PLACE_H
#define WP_STORAGE_KIND_REPORT_PLACE_H
/* Where a report, a trace or the exemplars of a timebox stand in a release; all of it borrowed. */
#include <stdint.h>

struct wp_report_place {
    const char *aggregate; /* its bucket */
    uint64_t timebox_s;
    const char *shard;
    const char *host; /* of a report of one host; NULL: of several, or another value */
};

#endif
