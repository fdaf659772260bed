/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_SYNC_CALLS_H
#define WP_REPORTER_CAUSES_SYNC_CALLS_H
/* How many calls the sleeps of a program that has a file written to its disk are. One call may sleep many times. */
#include "reporter/causes/causes.h"

/* Whether it is a call that has a file written. `call` need not end after its `size` bytes. For any thread. */
bool wp_sync_call_is(const char *call, size_t size);
/* Calls like that of the cause's sleep among the sleeps that it is about, at least: by the waits that each call has
 * once. 0: none of these is known. Out of memory shows in facts->pool.failed. */
uint64_t wp_sync_calls(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);

#endif
