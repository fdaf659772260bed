/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_JIT_MAP_H
#define WP_COLLECTOR_SYMBOLS_JIT_MAP_H
/*
 * Names of code that a process made while it ran, as it says itself in /tmp/perf-PID.map (tools/perf/Documentation/
 * jit-interface.txt of Linux): Node with --perf-basic-prof, Python 3.12 with -X perf, Java agents; or in a
 * jit-PID.dump, which may have their lines too. The file is looked for inside the process' root under the number that
 * the process has there, and it must belong to the process' user or to root: anybody may write into /tmp.
 */
#include "collector/elf/debug_lines.h"

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
/* The function at an address, with file and line where a dump says them ("" and 0 else); false: none, and *level is
 * left as it is. Reads on when the address, or its line, is not known and a file has grown. Texts are valid until the
 * next call. now_ns: CLOCK_MONOTONIC. */
bool wp_jit_map_find(struct wp_jit_map *map, uint64_t address, uint64_t now_ns, struct wp_debug_level *level);
/* Bytes of the file that were read. What was read is not read again, but for a line in the making. */
uint64_t wp_jit_map_taken(const struct wp_jit_map *map);
/* Lines that were refused: not "START SIZE name", longer than 4 KiB, or more than there may be. So are records of a
 * dump that cannot be, and lines of source beyond what may be held. */
uint64_t wp_jit_map_refused(const struct wp_jit_map *map);

#endif
