/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_categories.h"

#include "reporter/display/escape.h"

#include <errno.h>
#include <inttypes.h>

double wp_task_explained(const struct wp_task *task, enum wp_category category)
{
    uint64_t whole = 0, sum = 0;
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        whole += i == WP_OTHER_PATH ? 0 : task->parts[i];
        sum += i <= (unsigned)category && wp_task_is_step((enum wp_category)i) ? task->parts[i] : 0;
    }
    return whole ? 100 * (double)sum / (double)whole : 0;
}

int wp_format_categories(struct wp_buffer *out, const struct wp_task *tasks, size_t count, struct wp_error *err)
{
    wp_buffer_puts(out, "task,category,ns,percent,explained_percent\r\n");
    for (size_t task = 0; task < count; task++)
        for (unsigned i = 0; i < WP_CATEGORIES; i++) {
            enum wp_category category = (enum wp_category)i;
            double share = tasks[task].total_ns ? 100 * (double)tasks[task].parts[i] / (double)tasks[task].total_ns : 0;
            wp_escape_csv(out, tasks[task].name);
            wp_buffer_printf(out, ",%s,%" PRIu64 ",%.4f,", wp_category_key(category), tasks[task].parts[i], share);
            if (wp_task_is_step(category))
                wp_buffer_printf(out, "%.4f", wp_task_explained(&tasks[task], category));
            wp_buffer_puts(out, "\r\n");
        }
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the categories") : 0;
}
