/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_QUERY_FINDINGS_H
#define WP_REPORTER_CMD_QUERY_FINDINGS_H
/* `wakepath query --findings`: what stands first on the pages of one or several releases, and since which release. */
#include "common/buffer.h"
#include "reporter/cmd/query_options.h"

/* Appends the answer. *damaged: values that could not be read. -ENOENT: no release has what was asked for. */
int wp_query_findings(
    struct wp_buffer *out, const struct wp_query_options *query, size_t *damaged, struct wp_error *err);

#endif
