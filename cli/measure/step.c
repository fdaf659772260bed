/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/step.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define GRACE_MS 5000 /* a recording ends its parts and takes back what it made */

int wp_step_begin(struct wp_stepper *stepper, struct wp_error *err)
{
    stepper->child = (struct wp_child)WP_CHILD_NONE;
    int rc = wp_supervisor_init(&stepper->supervisor, err);
    if (!rc)
        wp_supervisor_add(&stepper->supervisor, &stepper->child);
    return rc;
}

static int await_end(struct wp_stepper *stepper, const char *name, struct wp_error *err)
{
    while (stepper->child.running) {
        struct wp_wake wake;
        int rc = wp_supervisor_wait(&stepper->supervisor, -1, 0, &wake, err);
        if (rc)
            return rc;
        if (wake.kind == WP_WAKE_SIGNAL)
            return wp_error_set(err, -ECANCELED, "%s was interrupted by SIG%s", name, sigabbrev_np(wake.signal));
    }
    return 0;
}

int wp_step_run(struct wp_stepper *stepper, const struct wp_step_options *options, int *status, struct wp_error *err)
{
    int log = open(options->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (log < 0)
        return wp_error_errno(err, -errno, "cannot write '%s'", options->log);
    int rc = wp_child_start(&stepper->child,
        &(struct wp_child_options){.name = options->name,
            .path = options->path,
            .argv = options->argv,
            .kind = WP_CHILD_PART,
            .mask = &stepper->supervisor.previous,
            .log_fd = log,
            .dir = options->dir,
            .is_build = options->is_build,
            .keep_fd = -1},
        err);
    close(log);
    if (!rc)
        rc = await_end(stepper, options->name, err);
    wp_child_end(&stepper->child, GRACE_MS);
    *status = wp_child_exit_code(&stepper->child);
    wp_child_fini(&stepper->child);
    return rc;
}

void wp_step_end(struct wp_stepper *stepper)
{
    wp_supervisor_fini(&stepper->supervisor);
}
