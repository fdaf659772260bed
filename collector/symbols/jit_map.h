/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_JIT_MAP_H
#define WP_COLLECTOR_SYMBOLS_JIT_MAP_H
/*
 * Names of code that a process made while it ran, as it says itself in /tmp/perf-PID.map (tools/perf/Documentation/
 * jit-interface.txt of Linux): Node with --perf-basic-prof, Python 3.12 with -X perf, Java agents; or in a
 * jit-PID.dump. The file is looked for inside the process' root under the number that the process has there, and it
 * must belong to the process' user or to root: anybody may write into /tmp.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_jit_map;

/* What maps may read and sort in a second, in bytes: a process that writes without end, or again and again, keeps
 * nobody busy. What is over that is read in later seconds; names are missing till then. Begins as zeros; one for all
 * maps, which are used by one thread. */
struct wp_jit_quota {
    uint64_t second, left;
    bool is_begun;
};

/* Remembers whose file it is; reads nothing yet. NULL: no such process, or no memory. */
struct wp_jit_map *wp_jit_map_create(uint32_t pid, struct wp_jit_quota *all);
/* Frees the names and closes its dump and the process' root. NULL is allowed; the quota stays. */
void wp_jit_map_destroy(struct wp_jit_map *map);
/* Takes an open jit-PID.dump of the process too (jit_dump.h), and the file. One that is not the process' user's or
 * root's is left. */
void wp_jit_map_dump(struct wp_jit_map *map, int fd);
/* The name at an address, NULL: none. Reads on when the address is not known and the file has grown. Valid until the
 * next call. now_ns: CLOCK_MONOTONIC. */
const char *wp_jit_map_find(struct wp_jit_map *map, uint64_t address, uint64_t now_ns);
/* Bytes of the file that were read. What was read is not read again, but for a line in the making. */
uint64_t wp_jit_map_taken(const struct wp_jit_map *map);
/* Lines that were refused: not "START SIZE name", longer than 4 KiB, or more than there may be. */
uint64_t wp_jit_map_refused(const struct wp_jit_map *map);

#endif
