/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_parts.h"

#include "reporter/page/page_calls.h"
#include "reporter/page/page_cycle.h"

#include <errno.h>
#include <string.h>

int wp_page_parts_build(struct wp_page_parts *parts, const struct wp_facts *facts, struct wp_error *err)
{
    memset(parts, 0, sizeof(*parts));
    parts->facts = facts;
    int rc = wp_calls_build(&parts->calls, facts, err);
    if (!rc)
        wp_wait_graph_processes(&parts->waits, &parts->pool, facts);
    if (!rc && parts->pool.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for who waits for whom in %s", facts->aggregate);
    if (rc)
        wp_page_parts_fini(parts);
    return rc;
}

void wp_page_parts_fini(struct wp_page_parts *parts)
{
    wp_calls_fini(&parts->calls);
    wp_pool_fini(&parts->pool);
    memset(parts, 0, sizeof(*parts));
}

unsigned wp_page_parts_count(const struct wp_page_parts *parts)
{
    return wp_page_function_parts(parts->facts) + wp_page_cycles(&parts->calls) + wp_page_wait_cycles(&parts->waits);
}

int wp_page_parts_page(
    struct wp_display *display, const struct wp_page_parts *parts, unsigned number, struct wp_error *err)
{
    unsigned functions = wp_page_function_parts(parts->facts), cycles = functions + wp_page_cycles(&parts->calls);
    display->page_id.page = number <= functions ? WP_PAGE_FUNCTION
        : number <= cycles                      ? WP_PAGE_CYCLE
                                                : WP_PAGE_WAIT_CYCLE;
    if (number <= functions)
        return wp_page_function(display, parts->facts, &parts->calls, number, err);
    if (number <= cycles)
        return wp_page_cycle(display, parts->facts, &parts->calls, number - functions, err);
    return wp_page_wait_cycle(display, parts->facts, &parts->waits, number - cycles, err);
}
