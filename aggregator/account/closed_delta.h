/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_CLOSED_DELTA_H
#define WP_AGGREGATOR_ACCOUNT_CLOSED_DELTA_H
/* The delta of a timebox that is over is closed, and another one begins. */
#include "aggregator/account/aggregate_types.h"

/* What there is of the delta belongs to that timebox, and what follows to another one: begins anew. -ENOMEM: nothing is
 * done. */
int wp_closed_delta_add(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns, uint64_t timebox_s);

#endif
