/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_QUERY_FINDINGS_H
#define WP_REPORTER_CMD_QUERY_FINDINGS_H
/* `wakepath query --findings`: what stands first on the pages of one or several releases, and since which release. */
#include "common/buffer.h"
#include "reporter/cmd/query_asked.h"

/* Appends the answer. *gaps: what could not be read. -ENOENT: no release has what was asked for, or a named
 * one lacks it. */
int wp_query_findings(
    struct wp_buffer *out, const struct wp_query_options *query, struct wp_query_gaps *gaps, struct wp_error *err);

#endif
