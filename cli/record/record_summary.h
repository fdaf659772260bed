/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_RECORD_SUMMARY_H
#define WP_CLI_RECORD_RECORD_SUMMARY_H
/* The few lines that a person gets after a recording, made from the report's summary.json. */
#include "common/buffer.h"
#include "common/error.h"

#include <stdint.h>

struct wp_record_summary_look {
    const char *page;    /* where it is; borrowed */
    uint64_t watched_ns; /* how long was recorded what ran already; 0: a command, from its begin to its end */
};

/* Appends the lines: wall, total, percent accounted, drops if any, the five biggest explanations, where the page is.
 * Names in it come from outside: control characters are replaced, so that a process cannot write to the terminal. */
int wp_record_summary_make(
    struct wp_buffer *out, const char *summary_path, const struct wp_record_summary_look *look, struct wp_error *err);
/* -ENOENT: the summary has no time at all; err says so. `ended_pid`: the recorded process, where that has ended; else
 * 0.
 */
int wp_record_summary_check(const char *summary_path, uint32_t ended_pid, struct wp_error *err);

#endif
