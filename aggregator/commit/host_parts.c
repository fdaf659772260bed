/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/commit/host_parts.h"

#include "common/intern.h"

#include <stdint.h>
#include <string.h>

bool wp_host_parts_has(struct wp_host_parts *parts, const char *hostname)
{
    if (!parts || !parts->limit)
        return false;
    if (!parts->names && !(parts->names = wp_intern_create()))
        return false;
    if (wp_intern_find(parts->names, hostname, strlen(hostname)) != UINT32_MAX)
        return true;
    if (parts->count == parts->limit || wp_intern_str(parts->names, hostname) == UINT32_MAX)
        return false;
    parts->count++;
    return true;
}

void wp_host_parts_fini(struct wp_host_parts *parts)
{
    wp_intern_destroy(parts->names);
    *parts = (struct wp_host_parts){0};
}
