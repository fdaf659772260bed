/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_CHECK_H
#define WP_REPORTER_EXPORT_FORMAT_CHECK_H
/* A comparison for scripts: JSON with all of its facts, and JUnit XML with a test case for each row that was judged. */
#include "reporter/compare/compare.h"

int wp_format_check_json(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err);
int wp_format_check_junit(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err);

#endif
