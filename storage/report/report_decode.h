/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_DECODE_H
#define WP_STORAGE_REPORT_REPORT_DECODE_H
/* Reports from their stored form. */
#include "storage/report/report.h"

/* Hostile bytes: counts bounded, ids checked, parents before children. */
int wp_report_decode(struct wp_report **report, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
