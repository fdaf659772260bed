/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_COMMIT_HOST_PARTS_H
#define WP_AGGREGATOR_COMMIT_HOST_PARTS_H
/*
 * Which hosts have reports of their own in the store (storage/value/host_part.h): the first so many that have anything
 * to be written, for as long as the aggregator runs. What the others did goes into one report of them all, as exact,
 * but not separable.
 */
#include <stdbool.h>
#include <stddef.h>

#define WP_HOST_PARTS 256u /* the default */
#define WP_HOST_PARTS_LIMIT 32767u

struct wp_intern;

/* Zeroed: no host has its own. */
struct wp_host_parts {
    struct wp_intern *names; /* owned; made on first use */
    size_t count, limit;     /* limit: set by who owns it; 0: no host has */
};

/* Whether this host, by its name, has its own; it is given them if there is room (and memory). */
bool wp_host_parts_has(struct wp_host_parts *parts, const char *hostname);
/* Frees the names and zeroes the struct, limit included; zeroed is allowed. */
void wp_host_parts_fini(struct wp_host_parts *parts);

#endif
