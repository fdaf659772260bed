/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_BASE_SAMPLES_H
#define WP_CLI_BASE_SAMPLES_H
/* What /metrics said, to be asked: the text format of Prometheus (0.0.4), as far as our daemons write it. Lines of
 * another shape are passed over. */
#include <stdbool.h>
#include <stddef.h>

#define WP_SAMPLE_LABELS 8u

/* A line of the text; texts are borrowed from it. */
struct wp_metric_sample {
    const char *name;
    const char *keys[WP_SAMPLE_LABELS], *values[WP_SAMPLE_LABELS];
    unsigned label_count;
    double value;
};

/* All lines of one answer. */
struct wp_samples {
    struct wp_metric_sample *items; /* owned; texts point into what was parsed */
    size_t count;
};

/* Cuts `text` (ends with 0) in place; it must outlive the samples. -ENOMEM. */
int wp_samples_parse(struct wp_samples *samples, char *text);
/* Frees the rows, not the text. A zeroed one is allowed. */
void wp_samples_fini(struct wp_samples *samples);
/* NULL: it has no such label. */
const char *wp_sample_label(const struct wp_metric_sample *sample, const char *key);
/* The first of that name with that label (key NULL: whatever labels); NULL: none. */
const struct wp_metric_sample *wp_samples_find(
    const struct wp_samples *samples, const char *name, const char *key, const char *value);
/* The first one's value, or `none`. */
double wp_samples_value(const struct wp_samples *samples, const char *name, double none);
/* Of all of that name. */
double wp_samples_sum(const struct wp_samples *samples, const char *name);

#endif
