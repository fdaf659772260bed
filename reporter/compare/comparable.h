/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARABLE_H
#define WP_REPORTER_COMPARE_COMPARABLE_H
/* Names that differ by chance from one recording to the next, as a comparison knows them. */
#include "common/intern.h"

#include <stdint.h>

#define WP_COMPARABLE_BYTES 512u

/*
 * The name of a frame: ports that the kernel chose, numbers of kernel workers ("[kworker/u8:2]" is "[kworker/u*:*]"),
 * and of processes and threads that the other side, whose names `others` has, knows with other numbers only
 * ("[pool-3-thread-7]"). In `room`, or the name itself.
 */
const char *wp_comparable_frame(
    char room[WP_COMPARABLE_BYTES], const char *name, uint32_t style, const struct wp_intern *others);

#endif
