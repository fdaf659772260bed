/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_PROCESS_TREE_H
#define WP_REPORTER_RECORDING_PROCESS_TREE_H
/*
 * Who forked and executed whom, of the processes on an aggregate's control paths: these, their ancestors, and whom they
 * started while it was recorded. Texts are hostile and belong to the facts.
 */
#include "reporter/facts/facts.h"
#include "reporter/recording/genealogy.h"

#define WP_TREE_ROWS 2000u

/* A process; times are realtime, 0 not known. */
struct wp_tree_process {
    const char *host, *comm; /* comm: of the last program that it ran */
    const char *programs;    /* "sh → make": one after the other */
    const char *exe;         /* the file of the last one, "" not known */
    uint32_t pid, depth;
    uint32_t parent; /* place in rows + 1; 0: not known */
    uint64_t start_ns, end_ns;
    uint32_t ending;               /* WP_ENDING_*; 0 not known */
    const char *memory;            /* whose memory had run out as it was killed; "" not known, or it was not */
    uint64_t total_ns, running_ns; /* on control paths */
    bool is_on_paths;
};

/* Parents stand before their children, these in the order of time. */
struct wp_process_tree {
    struct wp_tree_process *rows;
    size_t count, left_out;
    size_t damaged, unheld; /* values of the genealogy that cannot be read; rows of it beyond what is held */
    uint32_t *of_fact;      /* place of facts->processes[i] in rows + 1; 0: nothing is known of it */
};

/* Fills facts->units, and facts->tree, which stays NULL where the stores know none of the processes; a damaged
 * genealogy is a row of facts->damage. *genealogy NULL: reads it first, for the caller to end. -ENOMEM. */
int wp_process_tree_read(
    struct wp_facts *facts, struct wp_genealogy **genealogy, const struct wp_snapshot *snapshot, struct wp_error *err);
/* The parent of facts->processes[i]; NULL: not known. */
const struct wp_tree_process *wp_process_tree_parent(const struct wp_facts *facts, size_t process);
/* "exit status 1", "SIGKILL"; "" not known. */
const char *wp_process_tree_ending(struct wp_pool *pool, uint32_t ending);

#endif
