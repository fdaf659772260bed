/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_METRICS_H
#define WP_COMMON_METRICS_H
/*
 * Metrics as text that Prometheus reads (exposition format 0.0.4): appended to a buffer, whose `failed` says at the end
 * whether all is there. A metric's lines must follow its beginning, and no two lines may have the same labels.
 */
#include "common/buffer.h"

#include <stddef.h>

struct wp_metric_label {
    const char *name, *value;
};

enum wp_metric_type { WP_COUNTER, WP_GAUGE };

/* Begins a metric; `help` is one line. */
void wp_metric_begin(struct wp_buffer *out, const char *name, enum wp_metric_type type, const char *help);
/* A line of it. Label values may be hostile: what is no UTF-8 or a control character becomes '?'. */
void wp_metric_line(
    struct wp_buffer *out, const char *name, const struct wp_metric_label *labels, size_t count, double value);
/* A line with one label. */
void wp_metric_labelled(
    struct wp_buffer *out, const char *name, const char *label, const char *label_value, double value);
/* A whole metric of one line without labels. */
void wp_metric_put(struct wp_buffer *out, const char *name, enum wp_metric_type type, const char *help, double value);
/* What this process costs, by the names that Prometheus' own libraries use: CPU seconds, memory, when it started. */
void wp_metric_process(struct wp_buffer *out);
/* Copies `text` as it would stand in a label but for the escapes; cut to fit, always terminated. */
void wp_metric_clean(const char *text, char *out, size_t room);

#endif
