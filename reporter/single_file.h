/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SINGLE_FILE_H
#define WP_REPORTER_SINGLE_FILE_H
/*
 * All pages of one aggregate in one file of HTML that asks for nothing else: for a mail or a ticket. The pages are made as
 * those of the site are, then their contents follow each other as sections. With scripts one section shows at a time, and the
 * part of the address behind '#' says which; without, all stand below each other.
 */
#include "reporter/facts.h"

int wp_single_file(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
