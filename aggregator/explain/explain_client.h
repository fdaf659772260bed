/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_CLIENT_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_CLIENT_H
/*
 * Did a thread answer a client as it woke another one, or ask a helper? A client asks the server where that waits for
 * requests; a helper is heard of while somebody else waits for the server. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

enum wp_client_answer {
    WP_CLIENT_NO,
    WP_CLIENT_MAYBE, /* it has never ended a sleep of the server's: it asks while that works, or only takes */
    WP_CLIENT_YES,
};

/*
 * That waking by `server`, before the one that ended the sleep of `wait`, was its answer to a client of another
 * process:
 * - the woken one slept in a call that reads or waits for several, and before that it had ended such a sleep of the
 *   server's, while the sleeper did not wait for the server;
 * - from then to its waking of the sleeper, and while that slept, the server has not slept in that place again: it had
 *   the sleeper's request.
 */
enum wp_client_answer wp_explain_answered_client(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, const struct wp_woken_one *woken);

/* When the one thread last ended a sleep of the other before that; 0: not among its last ones. */
uint64_t wp_explain_last_woken(const struct wp_explainer *x, uint32_t thread, uint32_t by, uint64_t before_ns);

/* The task that ended that sleep, itself or by a datagram; 0: none. */
uint32_t wp_explain_waker(const struct wp_explainer *x, const struct wp_slice *slice);

/* Is it a thread of the kernel? */
bool wp_explain_is_kernel(const struct wp_explainer *x, uint32_t thread);

/* Causes that are so old do not count. What is recorded holds while that stays so. */
bool wp_explain_is_too_old(const struct wp_explainer *x, uint64_t time_ns);

/* Is that place of a sleep known down to the program's own functions? In the kernel all who read a pipe sleep at one
 * place. */
bool wp_explain_has_own_functions(const struct wp_explainer *x, uint32_t stack);

/* Did it sleep in a call that reads from a unix socket? */
bool wp_explain_is_reading_stream(const struct wp_explainer *x, const struct wp_slice *slice);

/* Did the thread go back to sleep in the same call at once? Who reads a unix socket is woken by the other end's read of
 * what it had sent as well, for that makes room, and finds nothing. */
bool wp_explain_is_in_vain(const struct wp_explainer *x, uint32_t thread, uint64_t woken_ns);

#endif
