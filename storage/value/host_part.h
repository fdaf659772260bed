/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_HOST_PART_H
#define WP_STORAGE_VALUE_HOST_PART_H
/*
 * A host's part of a shard: what the processes of interest of one host did has a report of its own, whose key says the
 * host behind the shard ("main/report.1763600400.s@web-1"). All of them together are the shard's; the report itself
 * says the name.
 */
#include <stdbool.h>

#define WP_HOST_PART_ROOM 96

/* The part of a key that stands for a host: its name where that is an id of at most 64 bytes; else the name made one,
 * "@" and 16 hex digits of its XXH3-64. */
void wp_host_part(char part[WP_HOST_PART_ROOM], const char *hostname);
/* Whether it could be one of the above. */
bool wp_host_part_valid(const char *part);
/* Whether it is the very name. */
bool wp_host_part_is_name(const char *part);
/* Whether a pattern has the host: shell patterns parted by commas; a '!' before them means all but those. */
bool wp_hosts_match(const char *pattern, const char *host);

#endif
