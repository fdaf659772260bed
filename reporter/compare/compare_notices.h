/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_NOTICES_H
#define WP_REPORTER_COMPARE_COMPARE_NOTICES_H
/* What a reader of a comparison must know before its rows: other commands, other releases, too little data, how
 * often each side asks others. */
#include "reporter/compare/compare_types.h"

#define WP_COMPARE_NOTICES 9

/* Sentences, in the pool; how many. */
size_t wp_compare_notices(
    struct wp_pool *pool, const struct wp_compare *compare, const char *notices[WP_COMPARE_NOTICES]);

#endif
