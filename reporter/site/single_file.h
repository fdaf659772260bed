/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SINGLE_FILE_H
#define WP_REPORTER_SITE_SINGLE_FILE_H
/*
 * All pages of one aggregate in one file of HTML that asks for nothing else: for a mail or a ticket. The pages are made
 * as those of the site are, then their contents follow each other as sections. With scripts one section shows at a
 * time, and the part of the address behind '#' says which; without, all stand below each other.
 */
#include "reporter/compare/compare.h"
#include "reporter/facts/facts.h"
#include "reporter/facts/page_context.h"

/* `compare`: the facts against an older operand, whose page comes first then; NULL for none. */
int wp_single_file(struct wp_buffer *out, const struct wp_page_context *context, const struct wp_compare *compare,
    struct wp_error *err);

#endif
