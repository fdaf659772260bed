/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_H
#define WP_REPORTER_SITE_SITE_H
/* Writes the whole site of a store, or the part of it that the options narrow it to. Never prints. */
#include "common/error.h"
#include "reporter/site/site_options.h"

/* *result counts what was done. 0 also when single pages or releases failed: result->failed, damaged. On error the old
 * site stays, unless publishing failed halfway (site_publish.h). */
int wp_site_write(const struct wp_site_options *options, struct wp_site_result *result, struct wp_error *err);

#endif
