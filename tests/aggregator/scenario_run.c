/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_run FILE...: runs each scenario through a session and holds what comes out against what stands below its "--".
 * Prints the difference and exits 1 when one differs; --print shows what comes out.
 */
#include "aggregator/host_session.h"
#include "common/path.h"
#include "tests/aggregator/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_stack(const struct wp_report *report, uint32_t node, struct wp_buffer *out)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    if (nodes[node].parent)
        put_stack(report, nodes[node].parent, out);
    wp_buffer_printf(out, "%s%s", nodes[node].parent ? ";" : "", wp_report_text(report, frames[nodes[node].frame].name));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "total N", "wall N", "unsure N" when there is some, then "STACK CATEGORY US" sorted; times in microseconds. */
static char *describe(const struct wp_report *report)
{
    uint32_t count;
    const struct wp_cell *cells = wp_report_cells(report, &count);
    char **lines = calloc(count + 1, sizeof(*lines));
    struct wp_buffer out = {0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct wp_buffer line = {0};
        put_stack(report, cells[i].node, &line);
        wp_buffer_printf(&line, " %s %g", wp_category_key((enum wp_category)cells[i].category), (double)cells[i].ns / 1000);
        lines[i] = (char *)line.data;
        sum += cells[i].ns;
    }
    qsort(lines, count, sizeof(*lines), compare_lines);
    wp_buffer_printf(&out, "total %g\nwall %g\n", (double)wp_report_total(report) / 1000, (double)wp_report_wall(report) / 1000);
    if (sum != wp_report_total(report))
        wp_buffer_printf(&out, "CATEGORIES SUM TO %g\n", (double)sum / 1000);
    if (wp_report_uncertain_ns(report))
        wp_buffer_printf(&out, "uncertain %g\n", (double)wp_report_uncertain_ns(report) / 1000);
    for (uint32_t i = 0; i < count; i++) {
        wp_buffer_printf(&out, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
    return (char *)out.data;
}

static char *run(struct scenario *scenario, struct wp_error *err)
{
    struct wp_aggregate_rule rule = {.name = "main"};
    struct wp_host_session_options options = {.rules = &rule, .rule_count = 1, .epoch_ns = 1000000000, .lateness_ns = 2000000000,
        .history_ns = 10000000000};
    struct wp_hello hello = {.hostname = (char *)"h1", .release = (char *)"v1"};
    struct wp_host_session *session;
    if (wp_selector_parse(&rule.selector, "command", err) || wp_host_session_create(&session, &hello, "v1", &options, NULL, err))
        return NULL;
    char *text = NULL;
    if (!wp_host_session_take(session, &scenario->batch, err)) {
        wp_host_session_close(session);
        text = describe(session->aggregates[0]->report);
    }
    wp_host_session_destroy(session);
    wp_selector_fini(&rule.selector);
    return text;
}

static int run_file(const char *path, bool print)
{
    struct wp_buffer file = {0};
    struct wp_error err = {0};
    struct scenario scenario = {0};
    char *text = NULL;
    int bad = 1;
    if (!wp_file_read(path, 1 << 20, &file, &err) && !scenario_parse(&scenario, (const char *)file.data, &err))
        text = run(&scenario, &err);
    if (!text)
        fprintf(stderr, "%s: %s\n", path, err.text);
    else if (print)
        fputs(text, stdout);
    else if (strcmp(text, scenario.expected))
        fprintf(stderr, "%s: expected\n%scame\n%s", path, scenario.expected, text);
    bad = !text || (!print && strcmp(text, scenario.expected));
    free(text);
    scenario_fini(&scenario);
    wp_buffer_fini(&file);
    return bad;
}

int main(int argc, char **argv)
{
    bool print = argc > 1 && !strcmp(argv[1], "--print");
    int bad = 0, first = print ? 2 : 1;
    if (argc <= first)
        return 64;
    for (int i = first; i < argc; i++)
        bad |= run_file(argv[i], print);
    return bad;
}
