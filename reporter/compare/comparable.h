/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARABLE_H
#define WP_REPORTER_COMPARE_COMPARABLE_H
/* Names that differ by chance from one recording to the next, as a comparison knows them. */
#include "common/intern.h"
#include "reporter/facts/role_name.h"

#include <stdint.h>

struct wp_report;

/*
 * The roles (role_name.h) of both reports' processes and threads that go by their role in a comparison: kernel workers,
 * and those that do not have the same numbers on both sides. A pool of as many threads keeps their names. NULL: out of
 * memory; the caller destroys it.
 */
struct wp_intern *wp_comparable_roles(const struct wp_report *before, const struct wp_report *after);

/* The name of a service without a port that the kernel chose, "tcp port *". In `room`, or the name itself. */
const char *wp_comparable_service(char room[WP_ROLE_BYTES], const char *name);

/* The name of a frame without ports that the kernel chose, and by its role where `roles` has that. In `room`, or the
 * name itself. */
const char *wp_comparable_frame(
    char room[WP_ROLE_BYTES], const char *name, uint32_t style, const struct wp_intern *roles);

#endif
