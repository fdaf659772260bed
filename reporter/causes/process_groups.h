/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_PROCESS_GROUPS_H
#define WP_REPORTER_CAUSES_PROCESS_GROUPS_H
/* The time that no cause has, by the process that it passes in. */
#include "reporter/causes/causes.h"

/* Whose time it is that a process has. */
enum wp_process_group_kind {
    WP_GROUP_BASE,    /* the process of interest, by itself */
    WP_GROUP_ABOVE,   /* one that it waits for */
    WP_GROUP_OWN,     /* the same, called as it is: a thread of its own, */
    WP_GROUP_ANOTHER, /* ... or another process */
    WP_GROUP_KINDS
};

struct wp_process_group {
    uint32_t process; /* frame id */
    enum wp_process_group_kind kind;
    uint64_t ns, categories[WP_CATEGORIES];
};

/* End with wp_process_groups_fini, whatever became of it; may be zeroed. */
struct wp_process_groups {
    struct wp_facts *facts;
    const struct wp_causes *causes;
    uint32_t *process;             /* owned; by flame node: process node of the layer it stands in, */
    uint32_t *base;                /* owned; ... and of the outermost one */
    uint8_t *kind;                 /* owned; ... and which group of the process has its time */
    struct wp_process_group *rows; /* owned; by frame id * WP_GROUP_KINDS + kind */
    uint32_t frame_count;
};

/* No time is in any. Out of memory sets facts->pool.failed. */
void wp_process_groups_init(struct wp_process_groups *groups, const struct wp_causes *causes, struct wp_facts *facts);
/* Zeroes it. */
void wp_process_groups_fini(struct wp_process_groups *groups);
/* The cell's time is its process's, whatever has that already. */
void wp_process_groups_add(struct wp_process_groups *groups, const struct wp_cell *cell);
/* The one with most time; NULL: there are no frames. Who takes it sets its time to 0. */
struct wp_process_group *wp_process_groups_largest(const struct wp_process_groups *groups);
/* Whether the piece is of that group's time. */
bool wp_process_groups_has(
    const struct wp_process_groups *groups, const struct wp_process_group *group, const struct wp_cell *cell);
/* The category with most of its time. */
unsigned wp_process_group_most(const struct wp_process_group *group);

#endif
