/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_RATE_H
#define WP_COMMON_RATE_H
/*
 * How often something may happen: `burst` times at once, then once an interval (the generic cell rate algorithm, ITU-T
 * I.371). The state is one number, 0 at first: what is limited can be counted by the million.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_rate {
    uint64_t due_ns; /* when all that was allowed would be over at the steady rate */
};

/* True: it may happen, and is counted. */
bool wp_rate_allow(struct wp_rate *rate, uint64_t now_ns, uint64_t interval_ns, uint32_t burst);

#endif
