/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_GENEALOGY_H
#define WP_REPORTER_RECORDING_GENEALOGY_H
/*
 * Every process that a release's stores know: who forked it, which programs it ran one after the other, when it ended
 * and how. Read once for a release, whatever aggregates it has.
 */
#include "reporter/read/stores.h"

/* One program that a process ran; ids of texts are the genealogy's. */
struct wp_program {
    uint32_t comm, exe, cgroup, workload; /* the last two: 0 not known, or none */
    uint64_t exec_ns;                     /* realtime; 0: not seen, or as it was forked */
    bool is_forked;                       /* as its parent was called */
};

/* What the kernel said as it killed one for want of memory; ids of texts, 0 not known: the path of the cgroup whose
 * memory had run out, "/" of the whole machine, and who had most of it. */
struct wp_killed {
    uint32_t cgroup, holder;
    uint64_t bytes; /* that the killed one had; 0 not known */
};

/* A process; times are realtime, 0 not known. */
struct wp_genealogy_process {
    uint32_t host, pid;
    uint64_t start_ns, end_ns;
    uint32_t ending; /* WP_ENDING_* (genealogy_store.h); 0 not known */
    struct wp_killed killed;
    uint32_t parent;                       /* place in processes + 1, of one that began before; 0: not known */
    uint32_t first_program, program_count; /* in programs, in the order of time */
};

struct wp_genealogy {
    struct wp_intern *texts;
    struct wp_program *programs;
    struct wp_genealogy_process *processes; /* by host, pid and start */
    uint32_t process_count, program_count;
    size_t damaged, left_out; /* values that cannot be read; rows beyond what is held */
};

/* *genealogy: the caller's to end with wp_genealogy_fini; without a process where the stores know none. -ENOMEM. */
int wp_genealogy_read(struct wp_genealogy **genealogy, const struct wp_snapshot *snapshot, struct wp_error *err);
/* Frees it and makes the pointer NULL, which it may be. */
void wp_genealogy_fini(struct wp_genealogy **genealogy);
/* Place of that process, start 0: not known; UINT32_MAX: there is none. */
uint32_t wp_genealogy_find(const struct wp_genealogy *genealogy, const char *host, uint32_t pid, uint64_t start_ns);

#endif
