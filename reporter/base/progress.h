/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_PROGRESS_H
#define WP_REPORTER_BASE_PROGRESS_H
/* A bar on a terminal while a site is written; elsewhere nothing, so that a cron job's mail has one line. */
#include <stdbool.h>
#include <stddef.h>

struct wp_progress {
    int fd; /* of the terminal */
    bool is_shown;
    size_t last_percent; /* + 1 of what is drawn, 0 nothing */
};

/* Draws on `fd` if that is a terminal and `is_quiet` is not said. */
void wp_progress_init(struct wp_progress *progress, int fd, bool is_quiet);
/* `done` of `total` releases are over; the context is a struct wp_progress. */
void wp_progress_tell(void *progress, size_t done, size_t total);
/* Leaves the line empty for what is said next. */
void wp_progress_clear(struct wp_progress *progress);

#endif
