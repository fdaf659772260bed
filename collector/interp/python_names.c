/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_names.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_text.h"

#include <string.h>

/* The name that a program gave. */
static void put_task_name(struct wp_buffer *out, const struct wp_fact_text *name)
{
    uint8_t shown[WP_INTERP_TASK_NAME];
    struct wp_fact_text text = {.bytes = shown, .unit = WP_INTERP_UTF8, .is_cut = name->is_cut};
    for (uint32_t i = 0; i < name->size && i < sizeof(shown) && name->bytes[i]; i++) {
        bool is_digit = name->bytes[i] == WP_INTERP_TASK_DIGIT;
        if (!is_digit || !i || name->bytes[i - 1] != WP_INTERP_TASK_DIGIT)
            shown[text.size++] = is_digit ? 'N' : name->bytes[i];
    }
    wp_interp_text_put(out, &text);
}

size_t wp_python_names_put(struct wp_buffer *out, const struct wp_fact_code *code)
{
    bool is_task = code->part == WP_INTERP_TASK_PART;
    if (is_task)
        wp_buffer_puts(out, "task ");
    if (is_task && code->name.unit == WP_INTERP_UTF8)
        put_task_name(out, &code->name);
    else
        wp_interp_text_put(out, &code->name);
    size_t file_at = out->size;
    wp_interp_text_put(out, &code->file);
    return file_at;
}
