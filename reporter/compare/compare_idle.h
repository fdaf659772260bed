/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_IDLE_H
#define WP_REPORTER_COMPARE_COMPARE_IDLE_H
/*
 * Time in which a process of interest has nothing to do: its threads wait for work of its own, or for what a client
 * asks next. A faster service has more of it. Used by compare*.c alone.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_report;

/* By node of the tree, what waits there; `layer` by node: 0 no process yet, 1 the process of interest, 2 above it. NULL
 * when out of memory; the caller frees it. */
uint8_t *wp_compare_idle_find(const struct wp_report *tree, const uint8_t *layer);
/* Whether time of that category is idle where that waits. `by_request`: whatever a client does between two. */
bool wp_compare_idle_is(uint8_t waits, uint32_t category, bool by_request);

#endif
