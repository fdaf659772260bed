/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_OPTIONS_H
#define WP_REPORTER_SITE_SITE_OPTIONS_H
/* What site is asked for, and what came of it. */
#include "reporter/compare/compare.h"
#include "reporter/read/release_order.h"
#include "reporter/source/source_text.h"
#include "storage/kind/selection.h"

#include <stdbool.h>

struct wp_site_options {
    const char *const *stores;
    size_t store_count;
    const char *out;
    const char *release, *aggregate; /* NULL: all */
    struct wp_selection selection;
    const char *canary;            /* hosts that get a page against all others; NULL none */
    struct wp_order_options order; /* how releases stand and what each is compared with */
    struct wp_compare_options compare;
    const struct wp_release_order
        *known_order;                /* as `order` gives it, when somebody has read it; borrowed, NULL: it is read */
    struct wp_source_options source; /* where the text of source files comes from */
    const char *parts;               /* folder of sites of one release each (site_parts.h); NULL: none */
    int wait_s;         /* for another writer of the same site, then -EBUSY; 0 not at all, -1 as long as it takes */
    bool is_gzipped;    /* a .gz beside each file */
    bool is_unsynced;   /* its files need not be on the disk when it is there */
    bool has_own_pages; /* see struct wp_page_context */
    const char *system_window; /* file of what all threads did (site_system.h), for the one release; NULL: none */
    unsigned jobs;             /* processes that make releases; 0 and 1: this one */
    void (*progress)(void *context, size_t done, size_t total); /* releases; NULL: nobody looks */
    void *progress_context;
};

struct wp_site_result {
    size_t releases, aggregates, written, kept, damaged;
    size_t unread; /* releases of which nothing could be read; among the damaged */
    size_t failed; /* pages that say that they could not be made, and why */
};

#endif
