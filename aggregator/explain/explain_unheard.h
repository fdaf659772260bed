/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_UNHEARD_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_UNHEARD_H
/*
 * An answer that finds the thread awake wakes nobody: over pipes, unix sockets and futexes nothing is recorded of it,
 * unless the server writes it on a stream, and then reads on another one or sleeps with a timeout. Nor is a request
 * that finds the server awake, unless it is written so. Who was asked has a place where it waits for requests, though,
 * and is back there once it has answered. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

/* The last request of the thread by `first->out_ns` that its server, a thread of another process or one of its own, has
 * not done with as that sleep ends. The server had waited for it, or was at work and reads it on a unix stream; and
 * writes the answer there, or goes back to where it waits for requests while the thread is awake, or fell asleep no
 * earlier than the server's last run began. One that had waited for it, and of whom no write is known, has answered the
 * thread before. False: there is none, and *found is left alone. */
bool wp_explain_unheard(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *first, struct wp_unheard *found);

/* Since when the waker of that sleep, a server that the thread has asked before, has worked for others: it has not
 * waited for requests, nor answered the thread. So what the sleep waited for was asked since then, and woke nobody. 0:
 * not known. */
uint64_t wp_explain_busy_since(const struct wp_explainer *x, uint32_t thread, const struct wp_slice *end);

/* May the thread wait for an answer in that sleep, which timed out? Who answered it last in that call, by a way of
 * which neither reads nor writes are recorded, does not wait for requests all the while: one may have found it at work.
 */
bool wp_explain_may_be_owed(const struct wp_explainer *x, uint32_t thread, const struct wp_slice *first);

#endif
