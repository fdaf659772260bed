/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/host_names.h"

#include <stdlib.h>
#include <string.h>

#define NAMED_HOSTS 4u

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char *wp_host_names(struct wp_pool *pool, const struct wp_report *report)
{
    uint32_t count;
    const uint32_t *hosts = wp_report_hosts(report, &count);
    const char **names = wp_pool_alloc(pool, (count + 1u) * sizeof(*names)), *text = "";
    for (uint32_t i = 0; names && i < count; i++)
        names[i] = wp_report_text(report, hosts[i]);
    if (names && count)
        qsort(names, count, sizeof(*names), compare_texts);
    for (uint32_t i = 0; names && i < count && i < NAMED_HOSTS; i++)
        text = wp_pool_printf(pool, "%s%s%s", text, i ? ", " : "", wp_pool_clip(pool, names[i], WP_HOST_NAME_BYTES));
    return count > NAMED_HOSTS ? wp_pool_printf(pool, "%s and %u more", text, count - NAMED_HOSTS) : text;
}
