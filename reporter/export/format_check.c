/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_check.h"

#include "reporter/compare/compare_findings.h"
#include "reporter/compare/compare_method.h"
#include "reporter/display/escape.h"
#include "reporter/display/json_writer.h"

#include <errno.h>

#define JSON_ROWS 500u
#define SENTENCES 5u

static struct json_object *side_of(struct wp_json_writer *writer, const struct wp_side *side)
{
    struct json_object *object = json_object_new_object();
    wp_writer_text(writer, object, "release", side->release);
    wp_writer_text(writer, object, "aggregate", side->aggregate);
    wp_writer_number(writer, object, "wall_ns", side->wall_ns);
    wp_writer_number(writer, object, "total_ns", side->total_ns);
    wp_writer_double(writer, object, "accounted_percent", side->accounted_percent);
    wp_writer_number(writer, object, "first_ns", side->first_ns);
    wp_writer_number(writer, object, "recordings", side->recordings);
    wp_writer_number(writer, object, "stretches", side->stretches);
    wp_writer_number(writer, object, "samples", side->buckets);
    wp_writer_number(writer, object, "sample_ns", side->bucket_ns);
    wp_writer_number(writer, object, "sampled_ns", side->sampled_ns);
    wp_writer_double(writer, object, "units", side->units);
    if (side->group)
        wp_writer_text(writer, object, "hosts", side->group);
    if (side->mixed)
        wp_writer_text(writer, object, "mixed", side->mixed);
    return object;
}

static void put_assessment(struct wp_json_writer *writer, struct json_object *object, const struct wp_assessment *found)
{
    wp_writer_text(writer, object, "severity", wp_severity_key(found->severity));
    wp_writer_text(writer, object, "severity_words", wp_severity_words(found));
    wp_writer_double(writer, object, "rate", found->rate);
    wp_writer_double(writer, object, "confidence", found->confidence);
    if (found->confidence_kind)
        wp_writer_text(writer, object, "confidence_kind", found->confidence_kind);
    if (found->before)
        wp_writer_text(writer, object, "old_model", found->before);
    if (found->after)
        wp_writer_text(writer, object, "new_model", found->after);
}

static struct json_object *change_of(struct wp_json_writer *writer, const struct wp_change *change)
{
    static const char *const sides[] = {"old", "new"};
    struct json_object *object = json_object_new_object();
    wp_writer_text(writer, object, "name", change->name);
    if (change->note)
        wp_writer_text(writer, object, "object", change->note);
    if (change->category >= 0)
        wp_writer_text(writer, object, "category", wp_category_key((enum wp_category)change->category));
    wp_writer_text(writer, object, "verdict", change->is_ignored ? "ignored" : wp_verdict_key(change->verdict));
    for (int i = 0; i < 2; i++) {
        struct json_object *side = json_object_new_object();
        wp_writer_number(writer, side, "ns", change->ns[i]);
        wp_writer_number(writer, side, "count", change->count[i]);
        wp_writer_double(writer, side, "ns_per_unit", change->rate[i].value);
        wp_writer_double(writer, side, "error", change->rate[i].error);
        wp_writer_put(writer, object, sides[i], side);
    }
    wp_writer_double(writer, object, "difference", change->delta);
    wp_writer_double(writer, object, "percent", change->percent);
    wp_writer_double(writer, object, "t", change->t);
    wp_writer_real(writer, object, "p", change->p);
    wp_writer_real(writer, object, "p_adjusted", change->adjusted);
    put_assessment(writer, object, &change->assessment);
    return object;
}

static struct json_object *findings_of(struct wp_json_writer *writer, const struct wp_compare *compare)
{
    struct wp_pool pool = {0};
    const struct wp_change *first[SENTENCES];
    size_t count = wp_compare_first(compare, first, SENTENCES);
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < count; i++) {
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "verdict", wp_verdict_key(first[i]->verdict));
        put_assessment(writer, row, &first[i]->assessment);
        wp_writer_text(writer, row, "sentence", wp_compare_sentence(&pool, compare, first[i]));
        wp_writer_append(writer, array, row);
    }
    writer->failed |= pool.failed;
    wp_pool_fini(&pool);
    return array;
}

int wp_format_check_json(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err)
{
    struct wp_json_writer writer = {0};
    struct json_object *root = json_object_new_object();
    wp_writer_number(&writer, root, "schema", 1);
    wp_writer_put(&writer, root, "degraded", json_object_new_boolean(compare->is_degraded));
    wp_writer_put(&writer, root, "old", side_of(&writer, &compare->side[WP_BEFORE]));
    wp_writer_put(&writer, root, "new", side_of(&writer, &compare->side[WP_AFTER]));
    wp_writer_text(&writer, root, "method", wp_method_key(compare->options.method));
    wp_writer_text(&writer, root, "per", wp_per_key(compare->options.per));
    wp_writer_real(&writer, root, "alpha", compare->options.alpha);
    wp_writer_double(&writer, root, "threshold_percent", compare->options.threshold_percent);
    wp_writer_number(&writer, root, "tests", compare->judged);
    wp_writer_put(&writer, root, "findings", findings_of(&writer, compare));
    for (int family = 0; family < WP_CHANGE_FAMILIES; family++) {
        const struct wp_changes *changes = &compare->changes[family];
        struct json_object *array = json_object_new_array();
        for (size_t i = 0; i < changes->count && i < JSON_ROWS; i++)
            wp_writer_append(&writer, array, change_of(&writer, &changes->rows[i]));
        wp_writer_put(&writer, root, wp_change_family_key((enum wp_change_family)family), array);
    }
    return wp_writer_finish(&writer, root, out, err);
}

static void put_attribute(struct wp_buffer *out, const char *name, const char *value)
{
    wp_buffer_printf(out, " %s=\"", name);
    wp_escape_html(out, value);
    wp_buffer_putc(out, '"');
}

static void put_case(struct wp_buffer *out, struct wp_pool *pool, const struct wp_compare *compare,
    const struct wp_change *change, enum wp_change_family family)
{
    bool shows_category = family == WP_CHANGE_HOPS;
    wp_buffer_puts(out, "    <testcase");
    put_attribute(out, "classname", wp_pool_printf(pool, "wakepath.%s", wp_change_family_key(family)));
    put_attribute(out, "name",
        shows_category
            ? wp_pool_printf(pool, "%s: %s", change->name, wp_category_title((enum wp_category)change->category))
            : change->name);
    put_attribute(out, "time", wp_pool_printf(pool, "%.9f", change->rate[WP_AFTER].value / 1e9));
    if (change->verdict == WP_VERDICT_WORSE) {
        wp_buffer_puts(out, ">\n      <failure type=\"degradation\"");
        put_attribute(out, "message", wp_compare_sentence(pool, compare, change));
        wp_buffer_puts(out, "/>\n    </testcase>\n");
    } else if (change->verdict == WP_VERDICT_FEW || change->is_ignored) {
        wp_buffer_puts(out, ">\n      <skipped");
        put_attribute(out, "message", change->is_ignored ? "asked not to be judged" : "too little to test");
        wp_buffer_puts(out, "/>\n    </testcase>\n");
    } else {
        wp_buffer_puts(out, "/>\n");
    }
}

/* What CI shows beside the cases: releases that ran at the same time as a side. */
static void put_mixed(struct wp_buffer *out, struct wp_pool *pool, const struct wp_compare *compare)
{
    if (!compare->side[WP_BEFORE].mixed && !compare->side[WP_AFTER].mixed)
        return;
    wp_buffer_puts(out, "    <properties>\n");
    for (int i = 0; i < 2; i++) {
        if (!compare->side[i].mixed)
            continue;
        wp_buffer_puts(out, "      <property");
        put_attribute(out, "name", i == WP_BEFORE ? "mixed.old" : "mixed.new");
        put_attribute(out, "value", wp_pool_printf(pool, "%s: %s", compare->side[i].label, compare->side[i].mixed));
        wp_buffer_puts(out, "/>\n");
    }
    wp_buffer_puts(out, "    </properties>\n");
}

int wp_format_check_junit(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err)
{
    struct wp_pool pool = {0};
    size_t tests = 0, failures = 0, skipped = 0;
    for (int family = 0; family < WP_CHANGE_FAMILIES; family++)
        for (size_t i = 0;
             i < compare->changes[family].count && wp_compare_is_judged(compare, (enum wp_change_family)family); i++) {
            const struct wp_change *change = &compare->changes[family].rows[i];
            tests++;
            failures += change->verdict == WP_VERDICT_WORSE;
            skipped += change->verdict == WP_VERDICT_FEW || change->is_ignored;
        }
    wp_buffer_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    put_attribute(out, "name",
        wp_pool_printf(&pool, "%s %s against %s", compare->side[WP_AFTER].aggregate, compare->side[WP_AFTER].label,
            compare->side[WP_BEFORE].label));
    wp_buffer_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", tests, failures, skipped);
    put_mixed(out, &pool, compare);
    for (int family = 0; family < WP_CHANGE_FAMILIES; family++)
        for (size_t i = 0;
             i < compare->changes[family].count && wp_compare_is_judged(compare, (enum wp_change_family)family); i++)
            put_case(out, &pool, compare, &compare->changes[family].rows[i], (enum wp_change_family)family);
    wp_buffer_puts(out, "  </testsuite>\n</testsuites>\n");
    bool failed = pool.failed || out->failed;
    wp_pool_fini(&pool);
    return failed ? wp_error_set(err, -ENOMEM, "out of memory for the test results") : 0;
}
