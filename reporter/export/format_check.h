/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_CHECK_H
#define WP_REPORTER_EXPORT_FORMAT_CHECK_H
/* A comparison for scripts: JSON with all of its facts, and JUnit XML with a test case for each row that was judged. */
#include "reporter/compare/compare.h"

/* Appends the document; wakepath-export(5), CHECK, lists its keys. -ENOMEM. */
int wp_format_check_json(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err);
/* Appends the document: a row that became worse is a failure; one with too few data, or ignored, is skipped.
 * -ENOMEM. */
int wp_format_check_junit(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err);

#endif
