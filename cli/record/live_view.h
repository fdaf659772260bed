/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_LIVE_VIEW_H
#define WP_CLI_RECORD_LIVE_VIEW_H
/* What is shown while a recording goes on: a line on the terminal, or the table of `wakepath top`. One thread. */
#include "cli/record/live_waits.h"
#include "cli/record/record_options.h"
#include "cli/record/status_line.h"
#include "common/path.h"

#include <stdio.h>

struct wp_live_view_options {
    const struct wp_record_options *record; /* borrowed, as all */
    const char *store, *release, *what;     /* what: "recording" */
    FILE *say, *print;                      /* the line; the table */
};

struct wp_live_view {
    struct wp_live_view_options options;
    struct wp_live_waits waits;
    struct wp_status_line line;
    char name[WP_ID_ROOM];      /* of the aggregate, where it is not main */
    uint64_t began_ns, next_ns; /* CLOCK_MONOTONIC; next 0: nothing is to be shown */
    uint64_t shown_ns;          /* of a table: time in it that was not in the one before */
};

/* Nothing was recorded yet. */
void wp_live_view_begin(struct wp_live_view *view, const struct wp_live_view_options *options);
/* It is next_ns: reads and shows. An error is one of a table; a line without a reading only counts the time. */
int wp_live_view_tick(struct wp_live_view *view, struct wp_error *err);
/* Gives the terminal back. */
void wp_live_view_end(struct wp_live_view *view);

#endif
