/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_RUN_FIGURES_H
#define WP_REPORTER_SITE_RUN_FIGURES_H
/*
 * What a run that makes a site tells Prometheus: a file for node-exporter's textfile collector, since the run is over
 * when somebody asks. When the site was last made is taken over from the file of the run before, which may hold
 * anything.
 */
#include "reporter/site/site_options.h"

#include <stdint.h>

struct wp_run_figures {
    const char
        *site; /* its folder: a label of all lines, since files of several sites may lie in one folder; borrowed */
    uint64_t ended_s; /* since the epoch */
    uint64_t took_ns;
    bool is_made; /* the site is what the stores say now */
    int status;   /* with which the program ends */
    struct wp_site_result result;
};

/* Replaces `file`, whole or not at all. */
int wp_run_figures_write(const char *file, const struct wp_run_figures *figures, struct wp_error *err);

#endif
