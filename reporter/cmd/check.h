/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_CHECK_H
#define WP_REPORTER_CMD_CHECK_H
/* `wakepath-reporter check [OLD] NEW`: two releases compared for a script. Never prints. */
#include "reporter/cmd/check_options.h"

#define WP_EXIT_DEGRADED 2

/* Appends what there is to say. -ENOENT: one of the two is not there, or nothing older to compare with. */
int wp_check_run(
    struct wp_buffer *out, const struct wp_check_options *options, bool *is_degraded, struct wp_error *err);

#endif
