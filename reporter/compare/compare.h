/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_H
#define WP_REPORTER_COMPARE_COMPARE_H
/*
 * Two aggregates side by side, before and after: what takes more or less time, and whether that is more than it varies
 * by itself. Rows are gathered five ways; hops (who was waited for through whom, doing what), processes and categories
 * each part the whole time, and are judged together. docs/compare.md has the method and what it cannot tell.
 */
#include "reporter/compare/compare_types.h"

/* -ENOMEM. Borrows names from both facts. */
int wp_compare_build(struct wp_compare *compare, const struct wp_facts *before, const struct wp_facts *after,
    const struct wp_compare_options *options, struct wp_error *err);
/* Frees the rows and their texts and zeroes the comparison; both sides' facts stay the caller's. */
void wp_compare_fini(struct wp_compare *compare);

/* Whether hosts stand beside each other, rather than an older and a newer state. */
bool wp_compare_is_of_hosts(const struct wp_compare *compare);

/* "wall", "activity", "recording"; -1 for another word. */
const char *wp_per_key(enum wp_per per);
/* The enum wp_per of such a key; -1 for another word. */
int wp_per_find(const char *key);
/* "a second of wall time" ... */
const char *wp_per_unit(enum wp_per per);
/* "worse", "better", "same", "few" */
const char *wp_verdict_key(enum wp_verdict verdict);
/* hops, processes ... */
const char *wp_change_family_key(enum wp_change_family family);

#endif
