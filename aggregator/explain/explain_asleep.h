/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_ASLEEP_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_ASLEEP_H
/* Where a thread sleeps, as a node of the tree. Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* The path of the cgroup whose memory the sleep is for; NULL: it is for something else, as its stack may say of one
 * that came soon after another. Borrowed. */
const char *wp_explain_memory_group(const struct wp_explainer *x, const struct wp_slice *slice);
/* The node of such a sleep upon `node`: its stack, and "sleep:..." on that. is_kernel: of a thread of the kernel.
 * UINT32_MAX: out of memory. */
uint32_t wp_explain_sleep_node(struct wp_explainer *x, uint32_t node, const struct wp_slice *slice, bool is_kernel);

#endif
