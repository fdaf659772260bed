/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_STEP_H
#define WP_CLI_MEASURE_STEP_H
/* One program that is run to its end, its words in a file. */
#include "cli/base/supervisor.h"

/* What is run, and where. Borrowed during wp_step_run. */
struct wp_step_options {
    const char *name;  /* for messages */
    const char *path;  /* of the program, with a '/' */
    char *const *argv; /* ends with NULL */
    const char *dir;   /* its working directory; NULL: ours */
    bool is_build;     /* root becomes who owns `dir`, and what it leaves running ends with it */
    const char *log;   /* takes its standard output and error; what it held is lost */
};

/* Keeps what a run of steps shares. wp_step_begin, then any number of steps, then wp_step_end. One thread. */
struct wp_stepper {
    struct wp_supervisor supervisor;
    struct wp_child child;
};

/* From here to wp_step_end SIGINT, SIGTERM, SIGHUP and SIGQUIT end the step that runs, and nothing else. -errno. */
int wp_step_begin(struct wp_stepper *stepper, struct wp_error *err);
/* Puts the exit status as a shell says it in *status. -ECANCELED: a signal came, and the program is gone; -errno: it
 * could not be run. */
int wp_step_run(struct wp_stepper *stepper, const struct wp_step_options *options, int *status, struct wp_error *err);
/* Also after a failed begin. */
void wp_step_end(struct wp_stepper *stepper);

#endif
