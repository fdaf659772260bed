/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_sources.h"

#include "reporter/page/page_source.h"
#include "reporter/source/source_physical.h"

#include <errno.h>
#include <stdlib.h>

#define ALL_BYTES (64u << 20) /* of text in memory at once; files after that have none */

struct texts {
    struct wp_pool pool;
    struct wp_source_text *texts;        /* by file; owned */
    struct wp_source_physical *physical; /* by file; in the pool */
    uint32_t count;
};

static int fetch_all(
    struct texts *all, const struct wp_facts *facts, struct wp_source_fetcher *fetcher, struct wp_error *err)
{
    size_t bytes = 0;
    int rc = 0;
    for (uint32_t i = 0; i < all->count && !rc; i++) {
        const struct wp_source_file *file = &facts->source.files[i];
        all->texts[i].why_not = "too much text on other pages";
        if (!wp_page_source_has(facts, i + 1) || bytes > ALL_BYTES)
            continue;
        rc = wp_source_fetch(fetcher, file->path, file->last_line, &all->pool, &all->texts[i], err);
        bytes += all->texts[i].text.size;
        if (!rc && all->texts[i].text.size)
            wp_source_physical_build(&all->physical[i], &all->pool, &facts->source, i,
                (const char *)all->texts[i].text.data, all->texts[i].text.size);
    }
    return !rc && all->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for source of %s", facts->aggregate)
                                   : rc;
}

static int make_pages(const struct texts *all, const struct wp_facts *facts,
    int (*write)(void *context, const struct wp_display *display, struct wp_error *err), void *context,
    struct wp_error *err)
{
    int rc = 0;
    for (unsigned part = 1; part <= all->count && !rc; part++) {
        struct wp_display display;
        if (!wp_page_source_has(facts, part))
            continue;
        wp_display_init(&display, &(struct wp_page_id){WP_PAGE_SOURCE, facts->release, facts->aggregate});
        rc = wp_page_source(&display, facts, &all->texts[part - 1], all->physical, part, err);
        if (!rc)
            rc = write(context, &display, err);
        wp_display_fini(&display);
    }
    return rc;
}

int wp_site_sources(const struct wp_facts *facts, const struct wp_snapshot *snapshot,
    const struct wp_source_options *options,
    int (*write)(void *context, const struct wp_display *display, struct wp_error *err), void *context,
    struct wp_error *err)
{
    struct texts all = {.count = wp_page_source_parts(facts)};
    if (!all.count)
        return 0;
    struct wp_source_fetcher *fetcher = wp_source_fetcher_create(options, snapshot, facts->first_ns);
    all.texts = calloc(facts->source.file_count, sizeof(*all.texts));
    all.physical = wp_pool_alloc(&all.pool, facts->source.file_count * sizeof(*all.physical));
    int rc = fetcher && all.texts && all.physical
        ? fetch_all(&all, facts, fetcher, err)
        : wp_error_set(err, -ENOMEM, "out of memory for source of %s", facts->aggregate);
    if (!rc)
        rc = make_pages(&all, facts, write, context, err);
    for (uint32_t i = 0; all.texts && i < facts->source.file_count; i++)
        wp_source_text_fini(&all.texts[i]);
    free(all.texts);
    wp_source_fetcher_destroy(fetcher);
    wp_pool_fini(&all.pool);
    return rc;
}
