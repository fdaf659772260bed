/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_COMPONENTS_H
#define WP_REPORTER_BASE_COMPONENTS_H
/* Strongly connected components of a graph (Tarjan, 1972), without recursion: graphs come from stacks of any depth. */
#include <stddef.h>
#include <stdint.h>

struct wp_arc {
    uint32_t from, to;
};

/* component[i] of each of `count` nodes, a number below `count`; equal in one component. Arcs in any order. -ENOMEM. */
int wp_components(const struct wp_arc *arcs, size_t arc_count, uint32_t count, uint32_t *component);

#endif
