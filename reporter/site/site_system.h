/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_SYSTEM_H
#define WP_REPORTER_SITE_SITE_SYSTEM_H
/* What all threads of a recording did, as the Timeline reads it: a Trace (proto/store.proto) that an aggregator wrote
 * with --system-window, as columns beside the release's page. */
#include "reporter/site/site_files.h"
#include "reporter/site/site_options.h"

#include <stdbool.h>

/* The data file's size at most; of more the longest runs, sleeps and links stay (window/window_fit.h). */
#define WP_SYSTEM_BYTES (24u << 20)

/* Reads such a file, cut to what takes `bytes` as data; the caller destroys it. -ENOENT: it is missing; -EBADMSG,
 * -ENOMEM. */
int wp_site_system_read(const char *path, size_t bytes, struct wp_trace **trace, struct wp_error *err);
/* Writes RELEASE/system-data.js; *is_put: that is there. Not so: there is no such option, or (counted in files->failed)
 * the window cannot be read or written; its pages show the window of their aggregate then. -ENOENT: the file that was
 * named is missing. */
int wp_site_system_put(struct wp_site_files *files, const struct wp_site_options *options, const char *release,
    bool *is_put, struct wp_error *err);

#endif
