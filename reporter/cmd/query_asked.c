/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/query_asked.h"

#include "common/buffer.h"
#include "common/nearest.h"
#include "storage/value/category.h"

#include <errno.h>
#include <string.h>

bool wp_query_is_asked(const struct wp_query_options *query, const char *release)
{
    for (size_t i = 0; i < query->release_count; i++)
        if (!strcmp(query->releases[i], release))
            return true;
    return !query->release_count;
}

int wp_query_check_asked(
    const struct wp_query_options *query, char *const *releases, size_t count, struct wp_error *err)
{
    for (size_t i = 0; i < query->release_count; i++) {
        size_t at = 0;
        while (at < count && strcmp(releases[at], query->releases[i]))
            at++;
        const char *meant = at == count ? wp_nearest(query->releases[i], (const char *const *)releases, count) : NULL;
        if (at == count)
            return wp_error_set(err, -ENOENT, "store %s has no release %s%s%s%s", query->stores[0], query->releases[i],
                meant ? ": did you mean " : "", meant ? meant : "", meant ? "?" : "");
    }
    return 0;
}

int wp_query_unread(const struct wp_query_gaps *gaps, struct wp_error *err)
{
    return wp_error_set(err, -EBADMSG,
        "releases could not be read and are not in the answer: %zu; `wakepath-store verify` names them",
        gaps->releases);
}

int wp_query_refuse_empty(const struct wp_query_options *query, struct wp_error *err)
{
    const struct {
        const char *name, *value;
    } filters[] = {
        {"process", query->filter.process}, {"function", query->filter.function}, {"host", query->filter.host}};
    struct wp_buffer text = {0};
    for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
        if (filters[i].value)
            wp_buffer_printf(&text, " --%s '%s'", filters[i].name, filters[i].value);
    for (int i = 0; i < WP_CATEGORIES; i++)
        if (query->filter.categories >> i & 1)
            wp_buffer_printf(&text, " --category %s", wp_category_key((enum wp_category)i));
    wp_buffer_putc(&text, 0);
    int rc = wp_error_set(err, -ENOENT, "nothing that was recorded fits%s (--allow-empty: an answer all the same)",
        text.failed ? " the filter" : (const char *)text.data);
    wp_buffer_fini(&text);
    return rc;
}
