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

#define WP_SINGLE_SYSTEM_BYTES (2u << 20) /* of what all threads did */

/* What is in the file beside the facts; borrowed. */
struct wp_single_file_options {
    const struct wp_compare *compare; /* the facts against an older operand, whose page comes first then; NULL: none */
    const struct wp_trace *system;    /* what all threads did, for the Timeline; NULL: the window of the aggregate */
};

/* Appends the whole site of the facts as one HTML file that needs no other. -ENOMEM, and what reading the rows says. */
int wp_single_file(struct wp_buffer *out, const struct wp_page_context *context,
    const struct wp_single_file_options *options, struct wp_error *err);

#endif
