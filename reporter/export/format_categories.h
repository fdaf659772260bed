/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_CATEGORIES_H
#define WP_REPORTER_EXPORT_FORMAT_CATEGORIES_H
/* Categories of several tasks side by side, from best to least understood (RSP paper, both figures of its evaluation).
 */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/value/category.h"

#include <stddef.h>
#include <stdint.h>

/* One recording, or a release. */
struct wp_task {
    const char *name; /* borrowed */
    uint64_t wall_ns, total_ns;
    uint64_t parts[WP_CATEGORIES];
};

/* Percent of a task's total but what waits on other paths that is explained by the categories up to this one. */
double wp_task_explained(const struct wp_task *task, enum wp_category category);
/* Whether it is a step of the curve: neither unaccounted time, which stays missing, nor other paths. */
static inline bool wp_task_is_step(enum wp_category category)
{
    return category != WP_OTHER_PATH && category != WP_UNACCOUNTED;
}
/* CSV, a row for each task and category: task, category, ns, percent of the total, percent explained so far. -ENOMEM.
 */
int wp_format_categories(struct wp_buffer *out, const struct wp_task *tasks, size_t count, struct wp_error *err);

#endif
