/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_JOBS_H
#define WP_REPORTER_SITE_SITE_JOBS_H
/*
 * Releases made by several processes: each takes one after the other from a queue and makes its site, as `--release R
 * --out PARTS/R` would; the site is then put together from these parts (site_parts.h), which is why it has the same
 * bytes. A process that fails costs time only: what it did not make is made when the parts are put together, and then
 * says what is wrong.
 */
#include "reporter/site/site_options.h"

struct wp_site_jobs { /* all borrowed */
    const struct wp_site_options *options;
    const char *parts; /* a folder to make */
    const char *const *releases;
    size_t count;
    /* Makes the site of one release, in another process: wp_site_write. */
    int (*write)(const struct wp_site_options *options, struct wp_site_result *result, struct wp_error *err);
};

/* Returns when all processes have ended; -ENOMEM, or what fork, pipe and mkdir fail with. */
int wp_site_jobs_run(const struct wp_site_jobs *site_jobs, struct wp_error *err);

#endif
