/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_TRACE_ENCODE_H
#define WP_STORAGE_REPORT_TRACE_ENCODE_H
/* Traces in their stored form. */
#include "storage/report/trace.h"

/* Appends the body. -ENOMEM; -EFBIG over WP_MESSAGE_LIMIT. */
int wp_trace_encode(const struct wp_trace *trace, struct wp_buffer *out, struct wp_error *err);

#endif
