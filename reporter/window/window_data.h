/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WINDOW_WINDOW_DATA_H
#define WP_REPORTER_WINDOW_WINDOW_DATA_H
/*
 * A window as the drawn views read it: a script that hands one compact object to wakepath.data. Its columns are the
 * fields of storage/report/trace.h under their rows' names (piece_start, run_thread ...); times in ns from its start,
 * which is a text: realtime ns do not fit a script's numbers. run_cpu and op_* are there in one of the whole system.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/report/trace.h"

/* Appends the script. `name`: what the data are called there, "trace" where there is one window. -ENOMEM. */
int wp_window_data(struct wp_buffer *out, const struct wp_trace *trace, const char *name, struct wp_error *err);

#endif
