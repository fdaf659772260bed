/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_JOBS_H
#define WP_REPORTER_SITE_SITE_JOBS_H
/*
 * Releases made by several processes: each takes one after the other from a queue and makes its site, as `--release R --out
 * PARTS/R` would; the site is then put together from these parts (site_parts.h), which is why it has the same bytes. A process
 * that fails costs time only: what it did not make is made when the parts are put together, and then says what is wrong.
 */
#include "reporter/site/site.h"

/* `parts`: a folder to make. Returns when all processes have ended; -ENOMEM, or what fork, pipe and mkdir fail with. */
int wp_site_jobs_run(const struct wp_site_options *options, const char *parts, const char *const *releases, size_t count,
    struct wp_error *err);

#endif
