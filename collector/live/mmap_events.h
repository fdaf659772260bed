/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_MMAP_EVENTS_H
#define WP_COLLECTOR_LIVE_MMAP_EVENTS_H
/*
 * What is mapped where, from the kernel's own record of it: PERF_RECORD_MMAP2 and the exec form of PERF_RECORD_COMM of
 * a dummy software event on every CPU (perf_event_open(2)). It sees the mappings of processes that are gone before
 * anybody could read their /proc/PID/maps. Times are CLOCK_MONOTONIC nanoseconds.
 */
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_mmap_events;

/* Something that a process mapped executable, or its exec. */
struct wp_mmap_event {
    uint64_t time_ns;
    uint32_t pid;
    bool is_exec; /* everything that was mapped before is gone; the rest is 0 */
    uint64_t start, size, file_offset;
    const char *path; /* "//anon", "[vdso]" ...; valid until the next read */
    uint8_t build_id[20];
    uint8_t build_id_size; /* 0: the kernel could not tell */
};

/* -errno when the kernel refuses; the collector then goes without. */
int wp_mmap_events_open(struct wp_mmap_events **mmap_events, struct wp_error *err);
/* Ends recording and discards what was not read. NULL is allowed. */
void wp_mmap_events_close(struct wp_mmap_events *mmap_events);
/* Takes in what there is, sorted by time, behind what was not taken yet. -ENOMEM. */
int wp_mmap_events_read(struct wp_mmap_events *mmap_events);
/* The time of the record that is next; UINT64_MAX: there is none. */
uint64_t wp_mmap_events_next_ns(const struct wp_mmap_events *mmap_events);
/* The next record if it is not after `until_ns`, else NULL. */
const struct wp_mmap_event *wp_mmap_events_next(struct wp_mmap_events *mmap_events, uint64_t until_ns);
/* Records that the kernel could not keep. */
uint64_t wp_mmap_events_lost(const struct wp_mmap_events *mmap_events);

#endif
