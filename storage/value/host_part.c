/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/host_part.h"

#include "common/path.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define NAME_BYTES 64u
#define DIGITS 16u

void wp_host_part(char part[WP_HOST_PART_ROOM], const char *hostname)
{
    size_t size = strlen(hostname);
    if (size <= NAME_BYTES && wp_id_valid(hostname)) {
        memcpy(part, hostname, size + 1);
        return;
    }
    wp_id_from(hostname, part, NAME_BYTES + 1);
    size_t used = strlen(part);
    snprintf(part + used, WP_HOST_PART_ROOM - used, "@%016" PRIx64, (uint64_t)XXH3_64bits(hostname, size));
}

bool wp_host_part_is_name(const char *part)
{
    return *part && !strchr(part, '@');
}

bool wp_host_part_valid(const char *part)
{
    char name[NAME_BYTES + 1];
    size_t size = strcspn(part, "@");
    if (size > NAME_BYTES)
        return false;
    memcpy(name, part, size);
    name[size] = 0;
    const char *digits = part + size + 1;
    return wp_id_valid(name) &&
        (!part[size] || (strlen(digits) == DIGITS && strspn(digits, "0123456789abcdef") == DIGITS));
}

bool wp_hosts_match(const char *pattern, const char *host)
{
    bool is_not = *pattern == '!', matches = false;
    for (const char *at = pattern + is_not; *at && !matches;) {
        char one[256];
        size_t size = strcspn(at, ",");
        if (size < sizeof(one)) {
            memcpy(one, at, size);
            one[size] = 0;
            matches = !strcmp(one, host) || !fnmatch(one, host, 0);
        }
        at += size + (at[size] == ',');
    }
    return matches != is_not;
}
