/* SPDX-License-Identifier: Apache-2.0 */
/* Deltas of timeboxes that are over, until they are committed: what happened in one hour is not filed under another. */
#include "aggregator/account/closed_delta.h"

#include "aggregator/account/aggregate.h"

#include <errno.h>
#include <stdlib.h>

int wp_closed_delta_add(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns, uint64_t timebox_s)
{
    struct wp_closed_delta *grown = reallocarray(aggregate->closed, aggregate->closed_count + 1, sizeof(*grown));
    struct wp_report *fresh = wp_report_create();
    aggregate->closed = grown ? grown : aggregate->closed;
    if (!grown || !fresh) {
        wp_report_destroy(fresh);
        return -ENOMEM;
    }
    wp_aggregate_close_delta(aggregate, drops, until_ns);
    grown[aggregate->closed_count++] = (struct wp_closed_delta){timebox_s, aggregate->report};
    aggregate->report = fresh;
    wp_aggregate_next_delta(aggregate);
    return 0;
}
