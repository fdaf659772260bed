/* SPDX-License-Identifier: Apache-2.0 */
/* Deltas of timeboxes that are over, until they are committed: what happened in one hour is not filed under another. */
#include "aggregator/account/closed_delta.h"

#include "aggregator/account/aggregate.h"
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>

int wp_closed_delta_add(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns, uint64_t timebox_s)
{
    struct wp_report *fresh = wp_report_create();
    if (!fresh || WP_ARRAY_NEXT(aggregate->closed, aggregate->closed_count)) {
        wp_report_destroy(fresh);
        return -ENOMEM;
    }
    wp_aggregate_close_delta(aggregate, drops, until_ns);
    aggregate->closed[aggregate->closed_count++] = (struct wp_closed_delta){timebox_s, aggregate->report};
    aggregate->report = fresh;
    wp_aggregate_next_delta(aggregate);
    return 0;
}
