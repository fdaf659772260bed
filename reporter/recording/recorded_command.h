/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RECORDED_COMMAND_H
#define WP_REPORTER_RECORDING_RECORDED_COMMAND_H
/* Whether the recordings of a release are of commands that ran from start to end (`wakepath record -- CMD`). */
#include "reporter/read/stores.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_recorded_command {
    bool is_command; /* each recording is of a command, from its start to its end */
    uint64_t times;  /* so often it was recorded, as its recorders counted; 0: they did not */
};

/* By the bucket of the aggregate, or of `main`, which stands beside it. Unreadable metadata says nothing. -ENOMEM. */
int wp_recorded_command(const struct wp_snapshot *snapshot, const char *aggregate, struct wp_recorded_command *command,
    struct wp_error *err);
/* The recordings behind the aggregate, of `recordings` behind its release. */
uint64_t wp_recorded_times(const struct wp_recorded_command *command, uint64_t recordings);

#endif
