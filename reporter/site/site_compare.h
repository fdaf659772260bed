/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_COMPARE_H
#define WP_REPORTER_SITE_SITE_COMPARE_H
/* Pages of a site that hold one operand against another. */
#include "reporter/compare/compare.h"
#include "reporter/facts/page_context.h"
#include "reporter/site/site_files.h"
#include "reporter/site/site_options.h"

/* The page WP_PAGE_COMPARE or WP_PAGE_CANARY with the data of its flames, among those of the context's facts. */
int wp_site_comparison(struct wp_site_files *files, const struct wp_page_context *context,
    const struct wp_compare *compare, enum wp_page_kind page, struct wp_error *err);
/* options->canary against all other hosts, where the store can tell them apart; context->canary says what came of it,
 * or why not. */
int wp_site_canary(struct wp_site_files *files, struct wp_page_context *context, const struct wp_stores *stores,
    const struct wp_site_options *options, struct wp_error *err);

#endif
