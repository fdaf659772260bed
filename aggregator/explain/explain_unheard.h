/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_UNHEARD_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_UNHEARD_H
/*
 * An answer that finds the thread awake wakes nobody: over pipes, unix sockets and futexes nothing is recorded of it.
 * Who was asked has a place where it waits for requests, though, and is back there once it has answered. Private to the
 * explanation.
 */
#include "aggregator/explain/explain_types.h"

/* The last request of the thread by `first->out_ns` that its server has not done with as that sleep ends. The server
 * had waited for it, has answered the thread before, and goes back to where it had waited while the thread is awake, or
 * fell asleep no earlier than the server's last run began. False: there is none, and *found is left alone. */
bool wp_explain_unheard(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *first, struct wp_unheard *found);

#endif
