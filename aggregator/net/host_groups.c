/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/host_groups.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>

void wp_host_groups_fini(struct wp_host_groups *groups)
{
    free(groups->parents);
    *groups = (struct wp_host_groups){0};
}

int wp_host_groups_grow(struct wp_host_groups *groups, uint32_t count)
{
    for (; groups->count < count; groups->count++) {
        if (WP_ARRAY_NEXT(groups->parents, groups->count))
            return -ENOMEM;
        groups->parents[groups->count] = groups->count;
    }
    return 0;
}

void wp_host_groups_part(struct wp_host_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++)
        groups->parents[i] = i;
}

static uint32_t group_of(const struct wp_host_groups *groups, uint32_t host)
{
    uint32_t *parents = groups->parents;
    while (parents[host] != host) {
        parents[host] = parents[parents[host]];
        host = parents[host];
    }
    return host;
}

void wp_host_groups_join(struct wp_host_groups *groups, uint32_t one, uint32_t other)
{
    groups->parents[group_of(groups, one)] = group_of(groups, other);
}

bool wp_host_groups_are_one(const struct wp_host_groups *groups, uint32_t one, uint32_t other)
{
    return one < groups->count && other < groups->count && group_of(groups, one) == group_of(groups, other);
}
