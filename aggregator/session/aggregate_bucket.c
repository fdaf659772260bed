/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/aggregate_bucket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_selector(struct wp_buffer *text, const struct wp_host_session_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->rule_count; i++)
        if (!strcmp(options->rules[i].name, name)) {
            wp_selector_print(&options->rules[i].selector, text);
            return;
        }
    wp_buffer_puts(text, WP_SERVICE_SELECTOR);
}

int wp_aggregate_choose_bucket(struct wp_aggregate *aggregate, const struct wp_host_session *session)
{
    const struct wp_explain_options *explain = wp_explainer_options(aggregate->explainer);
    struct wp_bucket bucket = {.sample_period_ns = session->hello.sample_period_ns,
        .depth = explain->depth,
        .width = explain->width,
        .fit_ns = explain->fit_ns,
        .history_ns = aggregate->history_ns,
        .join_ns = explain->join_ns,
        .late_sample_ns = session->timeline.late_sample_ns};
    struct wp_buffer selector = {0};
    print_selector(&selector, session->options, aggregate->name);
    aggregate->bucket_facts = calloc(WP_BUCKET_FACTS, sizeof(*aggregate->bucket_facts));
    int rc = aggregate->bucket_facts && !selector.failed && selector.data ? 0 : -ENOMEM;
    if (!rc) {
        bucket.selector = (const char *)selector.data;
        wp_bucket_facts(aggregate->bucket_facts, aggregate->name, &bucket);
        wp_bucket_name(aggregate->bucket, aggregate->bucket_facts);
    }
    wp_buffer_fini(&selector);
    return rc;
}
