/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_check.h"

#include "common/json.h"
#include "reporter/compare/compare_findings.h"
#include "reporter/compare/compare_method.h"
#include "reporter/compare/compare_notices.h"
#include "reporter/display/escape.h"
#include "reporter/export/format_findings.h"
#include "reporter/export/format_model.h"
#include "reporter/findings/finding_since.h"
#include "reporter/recording/recorded_title.h"

#include <errno.h>
#include <stdio.h>

#define JSON_ROWS 500u
#define SENTENCES 5u

static void put_command(struct wp_json *json, const char *line)
{
    char word[4096];
    size_t size = wp_recorded_word(line);
    snprintf(word, sizeof(word), "%.*s", (int)size, line);
    wp_json_text(json, "cmd", word);
    wp_json_text(json, "args", line[size] ? line + size + 1 : "");
}

static void put_operand(struct wp_json *json, const char *key, const struct wp_operand *operand)
{
    wp_json_object(json, key);
    wp_json_text(json, "release", operand->release);
    wp_json_text(json, "aggregate", operand->aggregate);
    if (operand->line)
        put_command(json, operand->line);
    if (operand->workload)
        wp_json_text(json, "workload", operand->workload);
    wp_json_number(json, "wall_ns", operand->wall_ns);
    wp_json_number(json, "total_ns", operand->total_ns);
    wp_json_fixed(json, "accounted_percent", operand->accounted_percent);
    wp_json_number(json, "first_ns", operand->first_ns);
    wp_json_number(json, "recordings", operand->recordings);
    wp_json_number(json, "intervals", operand->intervals);
    wp_json_number(json, "stretches", operand->intervals); /* the same by its deprecated key */
    wp_json_number(json, "samples", operand->buckets);
    wp_json_number(json, "sample_ns", operand->bucket_ns);
    wp_json_number(json, "sampled_ns", operand->sampled_ns);
    wp_json_fixed(json, "units", operand->units);
    if (operand->group)
        wp_json_text(json, "hosts", operand->group);
    if (operand->overlaps)
        wp_json_text(json, "release_overlap", operand->overlaps);
    if (operand->overlaps)
        wp_json_text(json, "mixed", operand->overlaps); /* deprecated */
    wp_json_end(json);
}

static void put_assessment(struct wp_json *json, const struct wp_assessment *found)
{
    wp_json_text(json, "severity", wp_severity_key(found->severity));
    wp_json_text(json, "severity_words", wp_severity_words(found));
    wp_json_fixed(json, "rate", found->rate);
    wp_json_fixed(json, "confidence", found->confidence);
    if (found->confidence_kind)
        wp_json_text(json, "confidence_kind", found->confidence_kind);
    if (found->has_models) {
        wp_json_text(json, "old_model", wp_model_key(found->models[WP_BEFORE].model.kind));
        wp_json_text(json, "new_model", wp_model_key(found->models[WP_AFTER].model.kind));
    }
}

/* The curves themselves, once for each row. */
static void put_models(struct wp_json *json, const struct wp_assessment *found)
{
    static const char *const operands[] = {"old", "new"};
    if (!found->has_models)
        return;
    wp_json_array(json, "models");
    for (int i = 0; i < 2; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "of", operands[i]);
        wp_format_model(json, &found->models[i]);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_test(struct wp_json *json, const struct wp_change *change)
{
    wp_json_fixed(json, "difference", change->delta);
    wp_json_fixed(json, "percent", change->percent);
    wp_json_fixed(json, "t", change->t);
    wp_json_real(json, "p", change->p);
    wp_json_real(json, "p_adjusted", change->adjusted);
    put_assessment(json, &change->assessment);
    put_models(json, &change->assessment);
}

/* Of the whole: values with their unit. */
static void put_measure(struct wp_json *json, const struct wp_change *change)
{
    static const char *const operands[] = {"old", "new"};
    static const char *const kinds[] = {
        [WP_CHANGE_WALL] = "wall", [WP_CHANGE_RATE] = "request_rate", [WP_CHANGE_LATENCY] = "request_latency"};
    wp_json_object(json, NULL);
    wp_json_text(json, "name", change->name);
    wp_json_text(json, "kind", kinds[change->kind]);
    wp_json_text(json, "unit", change->kind == WP_CHANGE_RATE ? "per_second" : "ns");
    wp_json_text(json, "verdict", wp_verdict_key(change->verdict));
    for (int i = 0; i < 2; i++) {
        wp_json_object(json, operands[i]);
        wp_json_fixed(json, "value", change->rate[i].value);
        wp_json_fixed(json, "error", change->rate[i].error);
        wp_json_number(json, "count", change->count[i]);
        wp_json_end(json);
    }
    put_test(json, change);
    wp_json_end(json);
}

static void put_change(struct wp_json *json, const struct wp_change *change)
{
    static const char *const operands[] = {"old", "new"};
    wp_json_object(json, NULL);
    wp_json_text(json, "name", change->name);
    if (change->place)
        wp_json_text(json, "place", change->place);
    if (change->caller)
        wp_json_text(json, "waited_in", change->caller);
    if (change->note)
        wp_json_text(json, "object", change->note);
    if (change->category >= 0)
        wp_json_text(json, "category", wp_category_key((enum wp_category)change->category));
    wp_json_text(json, "verdict", change->is_ignored ? "ignored" : wp_verdict_key(change->verdict));
    for (int i = 0; i < 2; i++) {
        wp_json_object(json, operands[i]);
        wp_json_number(json, "ns", change->ns[i]);
        wp_json_number(json, "count", change->count[i]);
        wp_json_fixed(json, "ns_per_unit", change->rate[i].value);
        wp_json_fixed(json, "error", change->rate[i].error);
        wp_json_end(json);
    }
    put_test(json, change);
    wp_json_end(json);
}

static void put_findings(struct wp_json *json, const struct wp_compare *compare)
{
    struct wp_pool pool = {0};
    const struct wp_change *first[SENTENCES];
    size_t count = wp_compare_first(compare, first, SENTENCES);
    wp_json_array(json, "findings");
    for (size_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "verdict", wp_verdict_key(first[i]->verdict));
        put_assessment(json, &first[i]->assessment);
        wp_json_text(json, "sentence", wp_compare_sentence(&pool, compare, first[i]));
        wp_json_end(json);
    }
    wp_json_end(json);
    json->out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

/* What is not sure, where nothing is. */
static void put_perhaps(struct wp_json *json, const struct wp_compare *compare)
{
    struct wp_pool pool = {0};
    if (compare->perhaps.name)
        wp_json_text(json, "perhaps", wp_compare_sentence(&pool, compare, &compare->perhaps));
    json->out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

static void put_notices(struct wp_json *json, const struct wp_compare *compare)
{
    struct wp_pool pool = {0};
    const char *notices[WP_COMPARE_NOTICES];
    size_t count = wp_compare_notices(&pool, compare, notices);
    wp_json_array(json, "notices");
    for (size_t i = 0; i < count; i++)
        wp_json_text(json, NULL, notices[i]);
    wp_json_end(json);
    json->out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

static void put_explanations(struct wp_json *json, const struct wp_compare *compare)
{
    struct wp_pool pool = {0};
    const struct wp_facts *facts = compare->facts[WP_AFTER];
    const struct wp_finding *rows = wp_findings_since(&pool, facts, compare->facts[WP_BEFORE]);
    wp_format_findings(json, "explanations", facts, rows ? rows : facts->findings, SENTENCES);
    json->out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

int wp_format_check_json(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err)
{
    struct wp_json json = {.out = out, .style = WP_JSON_SPACED};
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_bool(&json, "degraded", compare->is_degraded);
    put_operand(&json, "old", &compare->operand[WP_BEFORE]);
    put_operand(&json, "new", &compare->operand[WP_AFTER]);
    wp_json_text(&json, "method", wp_method_key(compare->options.method));
    wp_json_text(&json, "per", wp_per_key(compare->options.per));
    wp_json_real(&json, "alpha", compare->options.alpha);
    wp_json_fixed(&json, "threshold_percent", compare->options.threshold_percent);
    wp_json_number(&json, "tests", compare->judged);
    if (compare->facts[WP_AFTER]->contour)
        wp_json_text(&json, "contour", compare->facts[WP_AFTER]->contour);
    put_notices(&json, compare);
    put_findings(&json, compare);
    put_perhaps(&json, compare);
    put_explanations(&json, compare);
    for (int family = 0; family < WP_CHANGE_FAMILIES; family++) {
        const struct wp_changes *changes = &compare->changes[family];
        wp_json_array(&json, wp_change_family_key((enum wp_change_family)family));
        for (size_t i = 0; i < changes->count; i++) {
            const struct wp_change *change = &changes->rows[i];
            if (i >= JSON_ROWS && (change->verdict != WP_VERDICT_WORSE || change->is_ignored))
                continue; /* what got worse is always there */
            (family == WP_CHANGE_WHOLE ? put_measure : put_change)(&json, change);
        }
        wp_json_end(&json);
    }
    wp_json_end(&json);
    return wp_json_finish(&json, "the summary", err);
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
    put_attribute(out, "time",
        wp_pool_printf(pool, "%.9f", change->kind == WP_CHANGE_RATE ? 0 : change->rate[WP_AFTER].value / 1e9));
    if (change->verdict == WP_VERDICT_WORSE) {
        wp_buffer_puts(out, ">\n      <failure type=\"degradation\"");
        put_attribute(out, "message", wp_compare_sentence(pool, compare, change));
        wp_buffer_puts(out, "/>\n    </testcase>\n");
    } else if (change->verdict == WP_VERDICT_FEW || change->is_ignored) {
        wp_buffer_puts(out, ">\n      <skipped");
        put_attribute(out, "message", change->is_ignored ? "not judged" : "too little to test");
        wp_buffer_puts(out, "/>\n    </testcase>\n");
    } else {
        wp_buffer_puts(out, "/>\n");
    }
}

static void put_property(struct wp_buffer *out, const char *name, const char *value)
{
    wp_buffer_puts(out, "      <property");
    put_attribute(out, "name", name);
    put_attribute(out, "value", value);
    wp_buffer_puts(out, "/>\n");
}

/* What CI shows beside the cases: what to know of both sides, releases that ran at the same time as one, and where the
 * newer side's time went. */
static void put_properties(struct wp_buffer *out, struct wp_pool *pool, const struct wp_compare *compare)
{
    const struct wp_facts *after = compare->facts[WP_AFTER];
    const char *notices[WP_COMPARE_NOTICES];
    size_t notice_count = wp_compare_notices(pool, compare, notices);
    wp_buffer_puts(out, "    <properties>\n");
    for (size_t i = 0; i < notice_count; i++)
        put_property(out, wp_pool_printf(pool, "notice.%zu", i + 1), notices[i]);
    for (int i = 0; i < 2; i++)
        if (compare->operand[i].overlaps)
            put_property(out, i == WP_BEFORE ? "mixed.old" : "mixed.new",
                wp_pool_printf(pool, "%s: %s", compare->operand[i].label, compare->operand[i].overlaps));
    for (size_t i = 0; i < after->finding_count && i < SENTENCES; i++) {
        struct wp_finding finding = wp_finding_since(after, i, compare->facts[WP_BEFORE]);
        put_property(out, wp_pool_printf(pool, "finding.%zu", i + 1), wp_finding_text(pool, after->release, &finding));
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
        wp_pool_printf(&pool, "%s %s against %s", compare->operand[WP_AFTER].aggregate,
            compare->operand[WP_AFTER].label, compare->operand[WP_BEFORE].label));
    wp_buffer_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", tests, failures, skipped);
    put_properties(out, &pool, compare);
    for (int family = 0; family < WP_CHANGE_FAMILIES; family++)
        for (size_t i = 0;
             i < compare->changes[family].count && wp_compare_is_judged(compare, (enum wp_change_family)family); i++)
            put_case(out, &pool, compare, &compare->changes[family].rows[i], (enum wp_change_family)family);
    wp_buffer_puts(out, "  </testsuite>\n</testsuites>\n");
    bool failed = pool.failed || out->failed;
    wp_pool_fini(&pool);
    return failed ? wp_error_set(err, -ENOMEM, "out of memory for the test results") : 0;
}
