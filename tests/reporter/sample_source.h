/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_REPORTER_SAMPLE_SOURCE_H
#define WP_TESTS_REPORTER_SAMPLE_SOURCE_H
/* A recording with lines of source: a till that sums up in an inlined function, parses in generated code and writes a
 * file. Its texts are in page_test.py. */
#include "storage/report/report.h"

struct wp_report *sample_source_report(void);

#endif
