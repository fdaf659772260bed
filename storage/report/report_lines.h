/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_LINES_H
#define WP_STORAGE_REPORT_REPORT_LINES_H
/* Lines of source in a report: sites, their time, and what is called there. */
#include "storage/report/report.h"

/* Index of the site, made if new; and times of it. `add`: by index of this report's sites and id of its strings. */
uint32_t wp_report_site(struct wp_report *report, const char *file, uint32_t line, const char *function);
/* Adds the times to the row of the site and category. A site that is not there is lost (wp_report_failed). */
void wp_report_line_add(struct wp_report *report, const struct wp_report_line *add);
/* Likewise, to the row of the site, callee, style and whether it is inlined. */
void wp_report_call_add(struct wp_report *report, const struct wp_report_call *add);
/* In no order. */
const struct wp_report_site *wp_report_sites(const struct wp_report *report, uint32_t *count);
/* Likewise, one row a site and category. */
const struct wp_report_line *wp_report_lines(const struct wp_report *report, uint32_t *count);
/* Likewise, one row a site, callee, style and whether it is inlined. */
const struct wp_report_call *wp_report_calls(const struct wp_report *report, uint32_t *count);

/* As wp_report_site, by ids of this report's strings; UINT32_MAX: lost. */
uint32_t wp_report_site_row(struct wp_report *report, const struct wp_report_site *key);

#endif
