/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_ENCODE_H
#define WP_STORAGE_REPORT_REPORT_ENCODE_H
/* Reports in their stored form: canonical protobuf. */
#include "storage/report/report.h"

/* Protobuf bytes in a canonical order (strings, nodes and rows sorted): equal reports have equal bytes, however built.
 */
int wp_report_encode(const struct wp_report *report, struct wp_buffer *out, struct wp_error *err);

/* wp_report_encode, and how many nodes it wrote (those that time stands on). */
int wp_report_pack(const struct wp_report *report, struct wp_buffer *out, uint32_t *nodes, struct wp_error *err);

#endif
