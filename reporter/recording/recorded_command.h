/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RECORDED_COMMAND_H
#define WP_REPORTER_RECORDING_RECORDED_COMMAND_H
/* Whether the recordings of a release are of commands that ran from start to end (`wakepath record -- CMD`). */
#include "reporter/read/stores.h"

/* By the selector of the aggregate, or of `main`, which stands beside it. Unreadable metadata says nothing. -ENOMEM. */
int wp_recorded_command(
    const struct wp_snapshot *snapshot, const char *aggregate, bool *is_command, struct wp_error *err);

#endif
