/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_HOST_GROUPS_H
#define WP_AGGREGATOR_NET_HOST_GROUPS_H
/* Hosts that talk with each other, straight or by way of others: a forest with union and find. Embedded; zeros are an
 * empty one. */
#include <stdbool.h>
#include <stdint.h>

/* Hosts are numbered from 0. */
struct wp_host_groups {
    uint32_t *parents; /* by host, owned */
    uint32_t count;
};

/* Frees the forest; it is empty then and may be used again. */
void wp_host_groups_fini(struct wp_host_groups *groups);
/* There are so many hosts; those that are new are alone. -ENOMEM. */
int wp_host_groups_grow(struct wp_host_groups *groups, uint32_t count);
/* Each is alone again. */
void wp_host_groups_part(struct wp_host_groups *groups);
/* Makes one group of theirs. Both numbers are below what wp_host_groups_grow() was last given. */
void wp_host_groups_join(struct wp_host_groups *groups, uint32_t one, uint32_t other);
/* False for a number that is not there. Shortens ways to the root, so that even readers need one thread at a time. */
bool wp_host_groups_are_one(const struct wp_host_groups *groups, uint32_t one, uint32_t other);

#endif
