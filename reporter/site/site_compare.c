/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_compare.h"

#include "reporter/compare/compare_findings.h"
#include "reporter/compare/operand.h"
#include "reporter/data/view_data.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page_compare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int wp_site_comparison(struct wp_site_files *files, const struct wp_page_context *context,
    const struct wp_compare *compare, enum wp_page_kind page, struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    const char *file = page == WP_PAGE_CANARY ? "canary-data.js" : "compare-data.js";
    struct wp_display display;
    struct wp_buffer path = {0}, content = {0};
    struct wp_error reason = {0};
    wp_display_init(&display, &(struct wp_page_id){page, facts->release, facts->aggregate});
    int rc = wp_page_compare(&display, compare, page == WP_PAGE_COMPARE || context->change, &reason);
    display.data = file;
    rc = wp_site_files_put_page(files, &display, rc, &reason, err);
    wp_display_fini(&display);
    wp_page_id_folder(&path, facts->release);
    wp_buffer_putc(&path, '/');
    wp_page_id_folder(&path, facts->aggregate);
    wp_buffer_printf(&path, "/%s", file);
    if (!rc)
        rc = path.failed ? wp_error_set(err, -ENOMEM, "out of memory")
                         : wp_view_data_compare(&content, facts, compare, err);
    if (!rc)
        rc = wp_site_files_put(files, (const char *)path.data, content.data, content.size, err);
    wp_buffer_fini(&path);
    wp_buffer_fini(&content);
    return rc;
}

int wp_site_canary(struct wp_site_files *files, struct wp_page_context *context, const struct wp_stores *stores,
    const struct wp_site_options *options, struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    struct wp_operand_spec operand[2] = {
        {.since_s = options->selection.since_s, .until_s = options->selection.until_s, .same_time = true}};
    struct wp_facts both[2];
    struct wp_error reason = {0};
    struct wp_compare compare;
    snprintf(operand[0].release, sizeof(operand[0].release), "%s", facts->release);
    operand[1] = operand[0];
    snprintf(operand[0].host, sizeof(operand[0].host), "!%.254s", options->canary);
    snprintf(operand[1].host, sizeof(operand[1].host), "%.254s", options->canary);
    int rc = wp_operands_read(both, stores, operand, facts->aggregate, &reason);
    if (!rc)
        rc = wp_compare_build(&compare, &both[WP_BEFORE], &both[WP_AFTER], &options->compare, &reason);
    if (!rc) {
        context->canary = wp_compare_summary(&context->pool, &compare);
        context->has_canary = true;
        struct wp_page_context here = *context; /* the same tabs as on the aggregate's other pages */
        here.facts = &both[WP_AFTER];
        rc = wp_site_comparison(files, &here, &compare, WP_PAGE_CANARY, &reason);
        wp_compare_fini(&compare);
    } else if (rc == -EINVAL) { /* hosts in one sum: worth saying; that there are none of them is not */
        context->canary = wp_pool_text(&context->pool, reason.text);
    }
    wp_facts_fini(&both[WP_BEFORE]);
    wp_facts_fini(&both[WP_AFTER]);
    return rc == -EINVAL || rc == -ENOENT || rc == -EBADMSG ? 0 : rc ? wp_error_set(err, rc, "%s", reason.text) : 0;
}
