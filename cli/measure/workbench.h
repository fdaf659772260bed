/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_WORKBENCH_H
#define WP_CLI_MEASURE_WORKBENCH_H
/*
 * The folder in which commits are built and recorded:
 *
 *     OUT/log          what is done (measure_log.h)
 *     OUT/trees/ID     a work tree of each commit; ID.log: what its build printed
 *     OUT/store        the recordings, one release a commit
 *     OUT/run, run.log the recording that is being made; it is added to the store when it is whole
 *
 * One process at a time uses it. One thread.
 */
#include "cli/measure/measure_log.h"
#include "cli/measure/step.h"

#include <limits.h>

/* A command with its workload; the aggregate that it is filed under, "main" of the only one. */
struct wp_measure_cell {
    char name[WP_ID_ROOM];
    char *const *argv; /* ends with NULL */
};

/* What is measured; borrowed for as long as the workbench. */
struct wp_workbench_options {
    const char *out, *repository;
    const char *build;         /* for `sh -c` in each work tree; NULL: nothing is built */
    const char *const *filter; /* words for `wakepath query`, of which the matched time is the figure, ends with NULL;
                                  NULL: the wall time is */
    const struct wp_measure_cell *cells;
    uint32_t cell_count;
};

struct wp_workbench {
    const struct wp_workbench_options *options;
    struct wp_measure_log log;
    struct wp_stepper stepper;
    char out[PATH_MAX]; /* absolute */
    bool is_open;
    bool is_new, has_work; /* the folder was not there; something is built or told in it */
};

/* Makes the folder, or takes up what is in it: the revisions get the releases that it has for them. -EEXIST or
 * -EBADMSG: it is something else, or of other options or commits, and is left as it is; -EBUSY: another process uses
 * it; -EPERM: this user cannot record. */
int wp_workbench_begin(struct wp_workbench *bench, const struct wp_workbench_options *options,
    struct wp_revisions *revisions, struct wp_error *err);
/* Checks out and builds; what is built stays. 1: it cannot be built (err says why, and the log has it); -ECANCELED: a
 * signal; -errno. */
int wp_workbench_build(struct wp_workbench *bench, const struct wp_revision *revision, struct wp_error *err);
/* Records once, unless that is done, and puts the outcome in *row. 1: the command failed (err says how); -ECANCELED: a
 * signal; -errno. */
int wp_workbench_record(struct wp_workbench *bench, const struct wp_revision *revision,
    const struct wp_measure_cell *cell, uint32_t repeat, struct wp_measure_row *row, struct wp_error *err);
/* Compares two releases of the store by `wakepath check` and appends what it prints. Puts its exit status in *status:
 * 0, or 2 when `newer` takes longer. -EIO: they were not compared. */
int wp_workbench_check(struct wp_workbench *bench, const char *older, const char *newer, int *status,
    struct wp_buffer *text, struct wp_error *err);
/* Zeroed ones are allowed. With `failed`, a folder that was not there goes again while nothing in it is of use. */
void wp_workbench_end(struct wp_workbench *bench, bool failed);

#endif
