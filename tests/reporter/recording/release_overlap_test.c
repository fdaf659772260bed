/* SPDX-License-Identifier: Apache-2.0 */
/* Windows in which hosts of one service ran different releases, from a store, and what a check says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/path.h"
#include "reporter/cmd/check.h"
#include "reporter/compare/operand.h"
#include "reporter/load/facts_read.h"
#include "reporter/recording/release_overlap.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull

struct place {
    char folder[64];
    struct wp_stores stores;
    struct wp_release_order order;
};

/* Active in [from, to), in seconds, on these hosts. */
static void put(
    const char *root, const char *release, const char *aggregate, const char *hosts, uint64_t from_s, uint64_t to_s)
{
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    char copy[128], *rest = copy;
    snprintf(copy, sizeof(copy), "%s", hosts);
    for (char *host; (host = strsep(&rest, " "));)
        wp_report_host(report, host);
    wp_report_add_at(
        report, sample_node(report, "[web];main@web"), WP_UNDERSTOOD_FUNCTIONS, from_s * SECOND, to_s * SECOND);
    wp_report_activity(report, from_s * SECOND, to_s * SECOND);
    if (sample_put(root, release, aggregate, from_s, report, NULL, &err))
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct wp_error err = {0};
    const char *root = place->folder;
    snprintf(place->folder, sizeof(place->folder), "/tmp/wakepath-mixed-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    put(root, "v1", "main", "web-1 web-2", 1000, 2000);
    put(root, "v2", "main", "web-3", 1900, 3000);
    put(root, "v3", "main", "web-9 web-4 web-5 web-6 web-7", 1500, 1600);
    put(root, "v4", "main", "web-1", 5000, 6000);
    put(root, "v5", "other", "web-1", 1000, 6000); /* at the same time as all, and no such aggregate */
    if (wp_stores_open(&place->stores, &root, 1, &err) ||
        wp_release_order_read(&place->order, &place->stores, &(struct wp_order_options){0}, &err))
        fail_msg("%s", err.text);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_release_order_fini(&place->order);
    wp_stores_close(&place->stores);
    wp_path_remove(place->folder, NULL);
    free(place);
    return 0;
}

/* Facts of the release with the other releases of the same time. */
static void read_overlaps(
    struct wp_page_context *context, struct wp_facts *facts, const struct place *place, const char *release)
{
    struct wp_operand_spec spec;
    struct wp_error err = {0};
    *context = (struct wp_page_context){.facts = facts};
    if (wp_operand_parse(&spec, release, &err) || wp_operand_read(facts, &place->stores, &spec, "main", &err) ||
        wp_release_overlap_read(context, &place->stores, &place->order, &err))
        fail_msg("%s", err.text);
}

static void fini(struct wp_page_context *context, struct wp_facts *facts)
{
    wp_page_context_fini(context);
    wp_facts_fini(facts);
}

static const struct wp_release_overlap *window_of(const struct wp_page_context *context, const char *release)
{
    for (size_t i = 0; i < context->overlap_count; i++)
        if (!strcmp(context->overlaps[i].release, release))
            return &context->overlaps[i];
    return NULL;
}

static void windows_are_when_both_were_active(void **state)
{
    struct place *place = *state;
    struct wp_facts facts;
    struct wp_page_context context;
    read_overlaps(&context, &facts, place, "v1");
    assert_int_equal(context.overlap_count, 2); /* v4 is later, v5 has no such aggregate */
    const struct wp_release_overlap *two = window_of(&context, "v2"), *three = window_of(&context, "v3");
    assert_int_equal(two->from_ns, 1900 * SECOND);
    assert_int_equal(two->to_ns, 2000 * SECOND);
    assert_int_equal(two->both_ns, 100 * SECOND);
    assert_string_equal(two->here, "web-1, web-2");
    assert_string_equal(two->there, "web-3");
    assert_int_equal(three->both_ns, 100 * SECOND);
    assert_string_equal(three->there, "web-4, web-5, web-6, web-7 and 1 more");
    fini(&context, &facts);
    read_overlaps(&context, &facts, place, "v2");
    assert_int_equal(context.overlap_count, 1); /* the same window, seen from the other side */
    assert_int_equal(context.overlaps[0].both_ns, 100 * SECOND);
    assert_string_equal(context.overlaps[0].release, "v1");
    fini(&context, &facts);
}

static void intervals_apart_are_added(void **state)
{
    struct place *place = *state;
    struct wp_facts facts;
    struct wp_page_context context;
    put(place->folder, "v2", "main", "web-3", 1100, 1150);
    wp_release_order_fini(&place->order);
    assert_int_equal(wp_release_order_read(&place->order, &place->stores, &(struct wp_order_options){0}, NULL), 0);
    read_overlaps(&context, &facts, place, "v1");
    const struct wp_release_overlap *two = window_of(&context, "v2");
    assert_int_equal(two->from_ns, 1100 * SECOND);
    assert_int_equal(two->to_ns, 2000 * SECOND);
    assert_int_equal(two->both_ns, 150 * SECOND);
    const char *text = wp_release_overlap_sentence(&context.pool, context.overlaps, context.overlap_count);
    assert_non_null(strstr(text, "release v2 ran at the same time, on web-3, and 1 other release."));
    fini(&context, &facts);
}

static void alone_there_is_nothing_to_say(void **state)
{
    struct place *place = *state;
    struct wp_facts facts;
    struct wp_page_context context;
    read_overlaps(&context, &facts, place, "v4");
    assert_int_equal(context.overlap_count, 0);
    assert_null(wp_release_overlap_sentence(&context.pool, context.overlaps, context.overlap_count));
    fini(&context, &facts);
}

static char *check(const struct place *place, const char *before, const char *after, enum wp_check_format format)
{
    struct wp_check_options options = {
        .common = {.compare = WP_COMPARE_DEFAULTS, .store_count = 1}, .format = format, .canary = ""};
    struct wp_buffer out = {0};
    struct wp_error err = {0};
    bool is_degraded;
    options.common.stores[0] = place->folder;
    if (wp_operand_parse(&options.before, before, &err) || wp_operand_parse(&options.after, after, &err) ||
        wp_check_run(&out, &options, &is_degraded, &err))
        fail_msg("%s", err.text);
    char *text = strndup((const char *)out.data, out.size);
    wp_buffer_fini(&out);
    return text;
}

static void a_check_says_so(void **state)
{
    struct place *place = *state;
    char *text = check(place, "v1", "v2", WP_CHECK_TEXT);
    assert_non_null(strstr(text, "v1: Mixed releases"));
    assert_non_null(strstr(text, "v2: Mixed releases"));
    free(text);
    text = check(place, "v4", "v2", WP_CHECK_JSON);
    const char *first = strstr(text, "\"mixed\"");
    assert_true(first && first > strstr(text, "\"new\""));
    assert_non_null(strstr(first, "Mixed releases: for 100 s"));
    free(text);
    text = check(place, "v4", "v2", WP_CHECK_JUNIT);
    assert_non_null(strstr(text, "<property name=\"mixed.new\" value=\"v2: Mixed releases"));
    assert_null(strstr(text, "mixed.old"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_are_when_both_were_active, set_up, tear_down),
        cmocka_unit_test_setup_teardown(intervals_apart_are_added, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alone_there_is_nothing_to_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_check_says_so, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
