/* SPDX-License-Identifier: Apache-2.0 */
/* An object file whose unwind rows are made. */
#include "fuzz.h"

#include "collector/unwind/unwind_reader.h"

#include <errno.h>
#include <stdlib.h>

#define PAGES 1024u /* a rule that goes on through two gigabytes is that many same pages over and over */

static int look(void *context, uint32_t number, const struct wp_unwind_page *page)
{
    uint32_t *pages = context;
    (void)number;
    if (!page->count || (page->count >= WP_UNWIND_ROWS && page->count != WP_UNWIND_SPLIT) || *pages == PAGES)
        abort();
    return ++*pages == PAGES ? -ENOSPC : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_unwind_rows *rows;
    struct wp_unwind_stats stats;
    struct wp_error err = {0};
    uint32_t pages = 0;
    if (wp_unwind_rows_parse(&rows, bytes, size, &err))
        return 0;
    wp_unwind_rows_pages(rows, look, &pages, &stats);
    wp_unwind_rows_destroy(rows);
    return 0;
}
