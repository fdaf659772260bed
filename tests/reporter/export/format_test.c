/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/json.h"
#include "common/path.h"
#include "reporter/code/calls.h"
#include "reporter/data/view_data.h"
#include "reporter/export/format_folded.h"
#include "reporter/export/format_json.h"
#include "reporter/export/format_perfetto.h"
#include "reporter/export/format_perun.h"
#include "reporter/export/format_pprof.h"
#include "reporter/export/format_rows.h"
#include "reporter/export/format_speedscope.h"
#include "reporter/export/format_text.h"
#include "reporter/findings/findings.h"
#include "reporter/html/format_html.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/page/page_calls.h"
#include "reporter/page/page_exemplars.h"
#include "reporter/page/page_overview.h"
#include "reporter/page/page_source.h"
#include "reporter/requests/exemplar_facts.h"
#include "reporter/site/single_file.h"
#include "reporter/source/source_physical.h"
#include "reporter/waits/wait_edges.h"
#include "storage/report/report_read.h"
#include "storage/value/bucket.h"
#include "tests/reporter/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void build(struct wp_facts *facts, struct wp_report *report, struct wp_trace *trace)
{
    struct wp_error err = {0};
    assert_non_null(report);
    struct wp_exemplars set = {0};
    if (wp_facts_build(facts, "v1", "main", report, trace, &err))
        fail_msg("%s", err.text);
    if (trace)
        sample_exemplars(&set, trace);
    wp_exemplar_facts_build(facts, &set);
    wp_exemplars_fini(&set);
}

static void as_text(struct wp_buffer *out, const struct wp_facts *facts)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_OVERVIEW, "v1", "main"});
    assert_int_equal(wp_page_digest(&display, facts, NULL), 0);
    assert_int_equal(wp_format_text(out, &display, NULL), 0);
    wp_display_fini(&display);
}

/* The sample as it was looked at and found right; WP_UPDATE_GOLDEN=1 writes it anew. */
static void compare_golden(const char *name, const struct wp_buffer *out)
{
    char path[512];
    struct wp_buffer wanted = {0};
    struct wp_error err = {0};
    snprintf(path, sizeof(path), "%s/golden/%s", WP_TEST_SOURCE, name);
    if (getenv("WP_UPDATE_GOLDEN"))
        assert_int_equal(wp_file_write_atomic(path, out->data, out->size, &err), 0);
    if (wp_file_read(path, 1 << 24, &wanted, &err))
        fail_msg("%s", err.text);
    assert_string_equal((const char *)out->data, (const char *)wanted.data);
    wp_buffer_fini(&wanted);
}

static void formats_match_golden_files(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_buffer text = {0}, json = {0}, folded = {0};
    build(&facts, sample_report(), NULL);
    as_text(&text, &facts);
    assert_int_equal(wp_format_json(&json, &facts, NULL), 0);
    assert_int_equal(wp_format_folded(&folded, &facts, NULL), 0);
    compare_golden("sample.txt", &text);
    compare_golden("sample.json", &json);
    compare_golden("sample.folded", &folded);
    wp_buffer_fini(&text);
    wp_buffer_fini(&json);
    wp_buffer_fini(&folded);
    wp_facts_fini(&facts);
}

static uint64_t folded_sum(const struct wp_buffer *folded)
{
    uint64_t sum = 0;
    char *copy = strdup((const char *)folded->data), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!*line)
            continue;
        char *number = strrchr(line, ' '), *end = NULL;
        assert_int_equal(line[0], '[');
        assert_non_null(number);
        sum += strtoull(number + 1, &end, 10);
        assert_int_equal(*end, 0);
    }
    free(copy);
    return sum;
}

static void folded_and_categories_sum_to_the_total(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct wp_facts facts;
        struct wp_buffer folded = {0};
        build(&facts,
            round == 0       ? sample_report()
                : round == 1 ? sample_hostile_report()
                             : sample_large_report(5000),
            NULL);
        uint64_t sum = 0;
        for (unsigned i = 0; i < WP_CATEGORIES; i++)
            sum += facts.categories[i];
        assert_int_equal(sum, facts.total_ns);
        assert_int_equal(facts.total_ns, wp_report_total(facts.report));
        assert_int_equal(facts.flame.nodes[0].total_ns, facts.total_ns);
        assert_int_equal(wp_format_folded(&folded, &facts, NULL), 0);
        assert_int_equal(folded_sum(&folded), facts.total_ns);
        wp_buffer_fini(&folded);
        wp_facts_fini(&facts);
    }
}

static void json_keeps_its_schema(void **state)
{
    (void)state;
    static const char *const keys[] = {"schema", "release", "aggregate", "hosts", "wall_ns", "total_ns",
        "accounted_percent", "categories", "processes", "events", "coverage", "explanations", "unexplained", "damage"};
    struct wp_facts facts;
    struct wp_buffer json = {0};
    build(&facts, sample_hostile_report(), NULL);
    assert_int_equal(wp_format_json(&json, &facts, NULL), 0);
    struct json_object *root = json_tokener_parse((const char *)json.data), *value;
    assert_non_null(root);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        assert_true(json_object_object_get_ex(root, keys[i], &value));
    assert_true(json_object_object_get_ex(root, "categories", &value));
    assert_int_equal(json_object_object_length(value), WP_CATEGORIES);
    json_object_put(root);
    wp_buffer_fini(&json);
    wp_facts_fini(&facts);
}

static void an_empty_report_is_whole(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_buffer text = {0}, folded = {0}, json = {0}, data = {0};
    build(&facts, wp_report_create(), NULL);
    assert_true(facts.accounted_percent == 100.0);
    assert_int_equal(facts.finding_count, 0);
    as_text(&text, &facts);
    assert_int_equal(wp_format_folded(&folded, &facts, NULL), 0);
    assert_int_equal(folded.size, 0);
    assert_int_equal(wp_format_json(&json, &facts, NULL), 0);
    assert_int_equal(wp_view_data_flame(&data, &facts, NULL), 0);
    assert_int_equal(wp_format_pprof(&data, &facts, NULL), 0);
    assert_int_equal(wp_format_speedscope(&data, &facts, NULL), 0);
    assert_int_equal(wp_format_perun(&data, &facts, NULL), 0);
    assert_int_equal(wp_format_csv(&data, &facts, NULL, NULL), 0);
    assert_int_equal(wp_format_ndjson(&data, &facts, NULL, NULL), 0);
    assert_int_equal(wp_single_file(&data, &(struct wp_page_context){.facts = &facts},
                         &(struct wp_single_file_options){.compare = NULL}, NULL),
        0);
    assert_int_equal(wp_format_perfetto(&data, &facts, NULL), -ENOENT);
    wp_buffer_fini(&text);
    wp_buffer_fini(&json);
    wp_buffer_fini(&folded);
    wp_buffer_fini(&data);
    wp_facts_fini(&facts);
}

/* Nothing that a name holds may look like markup: no '<' but of our own elements, and no hostile text in clear. */
static void check_html(const struct wp_buffer *html)
{
    const char *text = (const char *)html->data;
    assert_null(strstr(text, "<script>alert"));
    assert_null(strstr(text, "<img"));
    assert_null(strstr(text, "<svg/onload"));
    assert_null(strstr(text, "\"onmouseover"));
    assert_null(strstr(text, "<b>LLL"));
    assert_null(strstr(text, "src=\"http"));
    assert_null(strstr(text, "href=\"http"));
    assert_null(strstr(text, "href=\"javascript"));
    assert_null(strstr(text, "\x1b"));
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strstr(text, "LLLLLLLLLL LLLL"));
    for (size_t i = 0; i < html->size; i++)
        assert_true(html->data[i] >= 0x20 || html->data[i] == '\n');
}

static void build_page(struct wp_display *display, const struct wp_facts *facts, int page)
{
    struct wp_calls calls;
    wp_display_init(display, &(struct wp_page_id){(enum wp_page_kind)page, "v1", "main"});
    if (page == WP_PAGE_SOURCE) { /* without a text, and with one that is hostile */
        struct wp_source_text source = {.why_not = sample_hostile_names[0]};
        struct wp_source_physical all[64] = {0};
        const char *name = sample_hostile_names[display->pool.failed];
        wp_source_physical_build(&all[0], &display->pool, &facts->source, 0, name, strlen(name));
        assert_true(facts->source.file_count < 64);
        assert_int_equal(wp_page_source(display, facts, &source, all, 1, NULL), 0);
        return;
    }
    if (!wp_page_in_parts(page)) {
        assert_int_equal(wp_page_build(display, facts, NULL), 0);
        return;
    }
    if (page != WP_PAGE_FUNCTION) {
        assert_int_equal(wp_page_exemplar(display, facts, 1, NULL), 0);
        return;
    }
    assert_int_equal(wp_calls_build(&calls, facts, NULL), 0);
    assert_int_equal(wp_page_function(display, facts, &calls, 1, NULL), 0);
    wp_calls_fini(&calls);
}

static void hostile_names_stay_text_on_every_page(void **state)
{
    (void)state;
    struct wp_facts facts;
    build(&facts, sample_hostile_report(), sample_hostile_trace());
    for (int page = WP_PAGE_OVERVIEW; page < WP_PAGES; page++) {
        if (page == WP_PAGE_COMPARE || page == WP_PAGE_CANARY) /* rests on two sides: compare_test.c */
            continue;
        struct wp_display display;
        struct wp_buffer html = {0}, text = {0};
        build_page(&display, &facts, page);
        assert_int_equal(wp_format_html(&html, &display, NULL), 0);
        check_html(&html);
        assert_true(html.size < 2000000); /* 10 KB names are cut */
        assert_int_equal(wp_format_text(&text, &display, NULL), 0);
        assert_null(strchr((const char *)text.data, '\x1b'));
        wp_buffer_fini(&html);
        wp_buffer_fini(&text);
        wp_display_fini(&display);
    }
    struct wp_buffer data = {0};
    const struct wp_metadata_fact selector = {.key = WP_BUCKET_PREFIX "selector", .value = "comm=</script><script>"};
    facts.metadata = (struct wp_metadata){&selector, 1};
    assert_int_equal(wp_view_data_flame(&data, &facts, NULL), 0);
    assert_int_equal(wp_view_data_trace(&data, &facts, NULL), 0);
    facts.metadata = (struct wp_metadata){0};
    assert_non_null(strstr((const char *)data.data, "\"interest\""));
    assert_null(strchr((const char *)data.data, '<')); /* one file holds all this within a script */
    assert_true(data.size < 400000);
    wp_buffer_fini(&data);
    wp_facts_fini(&facts);
}

static void siblings_stand_by_duration(void **state)
{
    (void)state;
    struct wp_facts facts;
    build(&facts, sample_large_report(3000), NULL);
    const struct wp_flame *flame = &facts.flame;
    for (uint32_t i = 1; i < flame->count; i++) {
        uint32_t next = flame->nodes[i].end;
        assert_true(flame->nodes[i].parent < i && next > i && next <= flame->nodes[flame->nodes[i].parent].end);
        if (next < flame->nodes[flame->nodes[i].parent].end)
            assert_true(flame->nodes[next].total_ns <= flame->nodes[i].total_ns);
    }
    wp_facts_fini(&facts);
}

/* f calls itself: its inclusive time counts once a stack. */
static void recursion_counts_once(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create();
    uint32_t f = wp_report_frame(report, WP_STYLE_USER, "f", "x");
    uint32_t node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[p]", ""));
    for (int i = 0; i < 3; i++) {
        node = wp_report_child(report, node, f);
        wp_report_add(report, node, WP_UNDERSTOOD_FUNCTIONS, 100, 1);
    }
    struct wp_facts facts;
    build(&facts, report, NULL);
    assert_int_equal(facts.function_count, 1);
    assert_int_equal(facts.functions[0].inclusive_ns, 300);
    assert_int_equal(facts.functions[0].running_ns, 300);
    assert_int_equal(facts.functions[0].count, 3);
    wp_facts_fini(&facts);
}

/* A process that waits for its like, and that for its like: one edge, and the stack counts once in it. */
static void a_wait_for_its_like_counts_once(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create();
    wp_report_add(
        report, sample_node(report, "[p];sleep:wait4;[p];sleep:wait4;[p];main@p"), WP_UNDERSTOOD_FUNCTIONS, 100, 1);
    wp_report_add(report, sample_node(report, "[p];sleep:wait4;[p];sleep:read;io:read vda"), WP_BLOCKING_IO, 30, 2);
    struct wp_facts facts;
    struct wp_wait_edges edges;
    build(&facts, report, NULL);
    assert_int_equal(wp_wait_edges_build(&edges, &facts, NULL), 0);
    assert_int_equal(edges.count, 2);
    assert_int_equal(edges.rows[0].ns, 130);
    assert_int_equal(edges.rows[0].waiter, edges.rows[0].target);
    assert_int_equal(edges.rows[1].ns, 30);
    assert_int_equal(edges.rows[1].count, 2);
    assert_string_equal(wp_facts_frame_name(&facts, edges.rows[1].target), "io:read vda");
    wp_wait_edges_fini(&edges);
    wp_facts_fini(&facts);
}

static void findings_name_who_was_waited_for(void **state)
{
    (void)state;
    struct wp_facts facts;
    size_t first[3];
    build(&facts, sample_report(), NULL);
    assert_int_equal(wp_findings_first(&facts, first), 3);
    assert_non_null(strstr(facts.findings[first[0]].sentence, "make spends 46 % of its time"));
    assert_non_null(strstr(facts.findings[first[0]].sentence, "waiting for cc1"));
    assert_string_equal(facts.findings[first[2]].kind, "unaccounted");
    assert_int_equal(facts.findings[first[2]].page, WP_PAGE_UNEXPLAINED);
    for (size_t i = 1; i < facts.finding_count; i++)
        assert_true(facts.findings[i].rank_ns <= facts.findings[i - 1].rank_ns);
    wp_facts_fini(&facts);
}

static void json_has_no_controls(void **state)
{
    (void)state;
    struct wp_buffer out = {0};
    struct wp_json json = {.out = &out, .style = WP_JSON_SPACED};
    struct json_object *again;
    wp_json_object(&json, NULL);
    wp_json_text(&json, "name",
        "a\x7f"
        "b\xc2\x9b"
        "31mc\xc2\xa0");
    wp_json_end(&json);
    assert_int_equal(wp_json_finish(&json, "a test", NULL), 0);
    assert_null(strstr((const char *)out.data, "\xc2\x9b"));
    assert_null(strchr((const char *)out.data, 0x7f));
    again = json_tokener_parse((const char *)out.data);
    assert_string_equal(json_object_get_string(json_object_object_get(again, "name")),
        "a\x7f"
        "b\xc2\x9b"
        "31mc\xc2\xa0");
    json_object_put(again);
    wp_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_no_controls),
        cmocka_unit_test(formats_match_golden_files),
        cmocka_unit_test(folded_and_categories_sum_to_the_total),
        cmocka_unit_test(json_keeps_its_schema),
        cmocka_unit_test(an_empty_report_is_whole),
        cmocka_unit_test(hostile_names_stay_text_on_every_page),
        cmocka_unit_test(siblings_stand_by_duration),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(a_wait_for_its_like_counts_once),
        cmocka_unit_test(findings_name_who_was_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
