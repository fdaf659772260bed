/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/view_names.h"

#include "reporter/base/text_pool.h"
#include "reporter/display/escape.h"
#include "storage/value/category.h"

#include <inttypes.h>

#define NAME_BYTES 400u

void wp_view_name_put(struct wp_buffer *out, const char *name)
{
    struct wp_pool pool = {0};
    wp_escape_js(out, wp_pool_clip(&pool, name, NAME_BYTES));
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

void wp_view_frame_put(struct wp_buffer *out, uint32_t style, const char *name, const char *object)
{
    wp_buffer_printf(out, "[%" PRIu32 ",", style);
    wp_view_name_put(out, name);
    wp_buffer_putc(out, ',');
    wp_view_name_put(out, object);
    wp_buffer_putc(out, ']');
}

void wp_view_categories_put(struct wp_buffer *out)
{
    wp_buffer_puts(out, "\"categories\":[");
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        wp_buffer_printf(out, "%s[", i ? "," : "");
        wp_escape_js(out, wp_category_key((enum wp_category)i));
        wp_buffer_putc(out, ',');
        wp_escape_js(out, wp_category_title((enum wp_category)i));
        wp_buffer_putc(out, ']');
    }
    wp_buffer_puts(out, "],\n");
}
