/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_QUERY_ASKED_H
#define WP_REPORTER_CMD_QUERY_ASKED_H
/* Which releases a query asks for, and what of them an answer lacks. */
#include "common/error.h"
#include "reporter/cmd/query_options.h"

#include <stdbool.h>

/* What is left out of an answer because it cannot be read. */
struct wp_query_gaps {
    size_t values, releases;
};

/* All are when none is named. */
bool wp_query_is_asked(const struct wp_query_options *query, const char *release);
/* -ENOENT: a named release is not among the stores' `count` releases. */
int wp_query_check_asked(
    const struct wp_query_options *query, char *const *releases, size_t count, struct wp_error *err);
/* -EBADMSG, with how many releases are missing. */
int wp_query_unread(const struct wp_query_gaps *gaps, struct wp_error *err);
/* -ENOENT, with the filter that nothing fits. */
int wp_query_refuse_empty(const struct wp_query_options *query, struct wp_error *err);

#endif
