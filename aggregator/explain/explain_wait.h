/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_WAIT_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_WAIT_H
/* One sleep: what it waited for, by what ended it. Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* [from, to), which lies in the sleep of this slice; `node` is the thread's process node. */
void wp_explain_sleep(
    struct wp_explainer *x, uint32_t node, uint32_t thread, uint64_t slice, uint64_t from_ns, uint64_t to_ns);

#endif
