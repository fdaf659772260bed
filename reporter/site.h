/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_H
#define WP_REPORTER_SITE_H
/* Writes the whole site of a store, or the part of it that the options narrow it to. Never prints. */
#include "reporter/compare.h"
#include "reporter/release_order.h"
#include "reporter/source_text.h"

#include <stdbool.h>

struct wp_site_options {
    const char *const *stores;
    size_t store_count;
    const char *out;
    const char *release, *aggregate;  /* NULL: all */
    struct wp_selection selection;
    struct wp_order_options order;    /* how releases stand and what each is compared with */
    struct wp_compare_options compare;
    struct wp_source_options source;  /* where the text of source files comes from */
    const char *parts;                /* folder of sites of one release each (site_parts.h); NULL: none */
    bool wait;                        /* for another writer of the same site; else -EBUSY */
};

struct wp_site_result {
    size_t releases, aggregates, written, kept, damaged;
};

int wp_site_write(const struct wp_site_options *options, struct wp_site_result *result, struct wp_error *err);

#endif
