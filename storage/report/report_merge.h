/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_MERGE_H
#define WP_STORAGE_REPORT_REPORT_MERGE_H
/* The merge law: two reports become their sum. */
#include "storage/report/report.h"

int wp_report_merge(struct wp_report *into, const struct wp_report *from, struct wp_error *err);

#endif
