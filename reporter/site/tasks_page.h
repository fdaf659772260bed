/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_TASKS_PAGE_H
#define WP_REPORTER_SITE_TASKS_PAGE_H
/* One file with the categories of several tasks: their table, and their curves in one picture. */
#include "reporter/export/format_categories.h"

#define WP_TASKS_DRAWN 8u

/* Without scripts; it loads nothing. The first WP_TASKS_DRAWN have a curve. -ENOMEM. */
int wp_tasks_page(struct wp_buffer *out, const struct wp_task *tasks, size_t count, struct wp_error *err);

#endif
