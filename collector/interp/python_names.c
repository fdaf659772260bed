/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_names.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_text.h"
#include "collector/interp/task_names.h"

size_t wp_python_names_put(struct wp_buffer *out, const struct wp_fact_code *code)
{
    bool is_task = code->part == WP_INTERP_TASK_PART;
    if (is_task)
        wp_buffer_puts(out, "task ");
    if (is_task && code->name.unit == WP_INTERP_UTF8)
        wp_task_name_put(out, &code->name);
    else
        wp_interp_text_put(out, &code->name);
    size_t file_at = out->size;
    wp_interp_text_put(out, &code->file);
    return file_at;
}
