/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_LISTING_H
#define WP_REPORTER_HTML_HTML_LISTING_H
/* Source text beside its times. */
#include "common/buffer.h"
#include "reporter/display/listing.h"
#include "reporter/display/page_id.h"

/* Source text beside its times. */
void wp_html_listing(
    struct wp_buffer *out, enum wp_page_kind from, const struct wp_listing *listing, const char *label);

#endif
