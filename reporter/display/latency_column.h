/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_LATENCY_COLUMN_H
#define WP_REPORTER_DISPLAY_LATENCY_COLUMN_H
#include <stdbool.h>
#include <stdint.h>

/* Requests of one latency bucket (storage/value/latency.h). */
struct wp_latency_column {
    uint64_t from_ns, to_ns; /* [from, to) */
    uint64_t count;
    bool is_slow;
};

#endif
