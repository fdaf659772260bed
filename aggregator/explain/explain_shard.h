/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_SHARD_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_SHARD_H
/* A sleep that a message from a host of another shard ended: that shard's answer is grafted onto the sleep. Private to
 * the explanation. */
#include "aggregator/explain/explain_types.h"

struct wp_shard_wait;

/* `label` is the other end's. */
void wp_wait_on_shard(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_shard_wait *asked, const char *label);

#endif
