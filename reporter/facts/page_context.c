/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/page_context.h"

#include "storage/report/report.h"

#include <string.h>

const struct wp_page_context *wp_page_context(const struct wp_display *display)
{
    static const struct wp_page_context none;
    return display->context ? display->context : &none;
}

void wp_origins_fini(struct wp_origins *origins)
{
    for (size_t i = 0; i < origins->count; i++) {
        wp_report_destroy(origins->rows[i].report);
        origins->rows[i].report = NULL;
    }
    origins->count = 0;
}

void wp_page_context_fini(struct wp_page_context *context)
{
    wp_origins_fini(&context->origins);
    wp_pool_fini(&context->pool);
    memset(context, 0, sizeof(*context));
}
