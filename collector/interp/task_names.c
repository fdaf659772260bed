/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/task_names.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_text.h"

void wp_task_name_put(struct wp_buffer *out, const struct wp_fact_text *name)
{
    uint8_t shown[WP_INTERP_TASK_NAME];
    struct wp_fact_text text = {.bytes = shown, .unit = name->unit, .is_cut = name->is_cut};
    for (uint32_t i = 0; i < name->size && i < sizeof(shown) && name->bytes[i]; i++) {
        bool is_digit = name->bytes[i] == WP_INTERP_TASK_DIGIT;
        if (!is_digit || !i || name->bytes[i - 1] != WP_INTERP_TASK_DIGIT)
            shown[text.size++] = is_digit ? 'N' : name->bytes[i];
    }
    wp_interp_text_put(out, &text);
}
