/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WINDOW_WINDOW_FIT_H
#define WP_REPORTER_WINDOW_WINDOW_FIT_H
/*
 * A window that was kept event by event may hold more than a page shall load. Of one that is too large its longest
 * pieces, runs, sleeps and links stay; the others are counted as what did not fit, like those that the aggregator could
 * not keep: the views say so and hatch where nothing is left. Exports have all of it.
 */
#include "common/error.h"
#include "storage/report/trace.h"

#include <stddef.h>

/* What a page's window may take as its data file; the page itself, its styles and scripts come on top of it. */
#define WP_WINDOW_BYTES 1600000u

/* *trace is replaced by a smaller one where its data file would be larger than `limit`. -ENOMEM: it is as it was. */
int wp_window_fit(struct wp_trace **trace, size_t limit, struct wp_error *err);

#endif
