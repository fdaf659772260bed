/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_PARTS_H
#define WP_CLI_RECORD_PARTS_H
/*
 * The parts of a recording as child processes: aggregator, collector, reporter. Each writes to a log of its own in
 * memory, as a full disk has no room for words either; the last line of it is what a failure is explained with.
 */
#include "cli/base/child.h"
#include "cli/record/output_dir.h"
#include "cli/record/record_options.h"

#define WP_RECORD_PARTS 3u

struct wp_parts {
    const struct wp_record_options *options; /* borrowed, as the next two */
    const struct wp_output_dir *output;
    const char *release;
    const char *line;          /* the command's, for the store; NULL: none */
    const sigset_t *mask;      /* what the parts start with */
    const char *command_path;  /* of the command; NULL: none */
    pid_t command_pid;         /* 0: none */
    pid_t aggregator_pid;      /* 0: none as yet */
    int logs[WP_RECORD_PARTS]; /* 0: none */
    bool has_capture;          /* one is kept beside the store, of which pages can be made */
};

/* Both start at once and say on *ready_fd (the caller's to close) when they are ready: a line, or the end of file when
 * they never will be. */
int wp_parts_start_aggregator(struct wp_parts *parts, struct wp_child *child, int *ready_fd, struct wp_error *err);
/* The same of the collector. Where there is a command, its path and pid are set by then. */
int wp_parts_start_collector(struct wp_parts *parts, struct wp_child *child, int *ready_fd, struct wp_error *err);
/* Writes the pages from the store and ends by itself; its exit status is the result. */
int wp_parts_start_reporter(struct wp_parts *parts, struct wp_child *child, struct wp_error *err);
/* Sets `err` to "the NAME ...: its last words" and returns -EIO. */
int wp_parts_explain(
    const struct wp_parts *parts, const struct wp_child *child, const char *what, struct wp_error *err);
/* Closes the logs. */
void wp_parts_fini(struct wp_parts *parts);

#endif
