/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_TRACE_DECODE_H
#define WP_STORAGE_REPORT_TRACE_DECODE_H
/* Traces from their stored form. */
#include "storage/report/trace.h"

/* Hostile bytes: bounds and ids are checked. *trace is for wp_trace_destroy, NULL after an error. -EBADMSG; -EFBIG
 * over WP_MESSAGE_LIMIT; -ENOMEM. */
int wp_trace_decode(struct wp_trace **trace, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
