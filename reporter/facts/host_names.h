/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_HOST_NAMES_H
#define WP_REPORTER_FACTS_HOST_NAMES_H
/* The hosts of a report, named in a line. */
#include "reporter/base/text_pool.h"
#include "storage/report/report_read.h"

#define WP_HOST_NAME_BYTES 120u /* of one that is shown */

/* "web-1, web-2 and 3 more". */
const char *wp_host_names(struct wp_pool *pool, const struct wp_report *report);

#endif
