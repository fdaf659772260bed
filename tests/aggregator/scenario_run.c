/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_run FILE...: runs each scenario through a session a host and holds what comes out against what stands below
 * its
 * "--".
 * Prints the difference and exits 1 when one differs; --print shows what comes out.
 */
#include "aggregator/fleet/fleet.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "common/path.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"
#include "tests/aggregator/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBES_NS 250000000u

static void put_stack(const struct wp_report *report, uint32_t node, struct wp_buffer *out)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    if (nodes[node].parent)
        put_stack(report, nodes[node].parent, out);
    const struct wp_frame_info *frame = &frames[nodes[node].frame];
    const char *name = wp_report_text(report, frame->name), *of = wp_report_text(report, frame->object);
    if (frame->style == WP_STYLE_PROCESS && *of) /* a thread that names itself */
        wp_buffer_printf(out, "%s[%s>%s", nodes[node].parent ? ";" : "", of, name + 1);
    else
        wp_buffer_printf(out, "%s%s", nodes[node].parent ? ";" : "", name);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "edge FROM TO messages N transit US bound US", sorted; of the clocks no more is known than microseconds. */
static void describe_edges(const struct wp_report *report, struct wp_buffer *out)
{
    uint32_t count;
    const struct wp_report_edge *edges = wp_report_edges(report, &count);
    char **lines = calloc(count + 1, sizeof(*lines));
    for (uint32_t i = 0; i < count; i++) {
        struct wp_buffer line = {0};
        wp_buffer_printf(&line, "edge %s %s messages %llu transit %.0f bound %.0f",
            wp_report_text(report, edges[i].from), wp_report_text(report, edges[i].to),
            (unsigned long long)edges[i].messages, (double)edges[i].transit_ns / 1000,
            (double)edges[i].bound_max_ns / 1000);
        lines[i] = (char *)line.data;
    }
    qsort(lines, count, sizeof(*lines), compare_lines);
    for (uint32_t i = 0; i < count; i++) {
        wp_buffer_printf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
}

static void put_us(struct wp_buffer *out, uint64_t ns, bool is_exact);

/* "transactions SERVICE N US" and "in WHO WHAT PART US" of them, all latencies together, sorted. */
static void describe_transactions(const struct wp_report *report, struct wp_buffer *out, bool is_exact)
{
    uint32_t count, used = 0;
    const struct wp_transaction *rows = wp_report_transactions(report, &count);
    char **lines = calloc(count + 1, sizeof(*lines));
    for (uint32_t i = 0; i < count; i++) {
        struct wp_buffer line = {0};
        uint64_t ns = 0, number = 0;
        bool is_first = true;
        for (uint32_t j = 0; j < count; j++)
            if (rows[j].service == rows[i].service && rows[j].who == rows[i].who && rows[j].what == rows[i].what &&
                rows[j].part == rows[i].part) {
                is_first &= j >= i;
                ns += rows[j].ns;
                number += rows[j].count;
            }
        if (!is_first)
            continue;
        wp_buffer_printf(&line, "transactions %s ", wp_report_text(report, rows[i].service));
        if (rows[i].part == WP_PART_WHOLE)
            wp_buffer_printf(&line, "%llu ", (unsigned long long)number);
        else
            wp_buffer_printf(&line, "in %s,%s,%s ", wp_report_text(report, rows[i].who),
                wp_report_text(report, rows[i].what), wp_transaction_part_key(rows[i].part));
        put_us(&line, ns, is_exact);
        lines[used++] = (char *)line.data;
    }
    qsort(lines, used, sizeof(*lines), compare_lines);
    for (uint32_t i = 0; i < used; i++) {
        wp_buffer_printf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
}

/* Of several hosts to the microsecond: that much the clocks' model rounds. */
static void put_us(struct wp_buffer *out, uint64_t ns, bool is_exact)
{
    if (is_exact)
        wp_buffer_printf(out, "%g", (double)ns / 1000);
    else
        wp_buffer_printf(out, "%llu", (unsigned long long)(ns + 500) / 1000);
}

/* "limit NAME COUNT US": a bound bit so often, and touched so much. */
static void describe_limits(const struct wp_report *report, struct wp_buffer *out)
{
    uint32_t count;
    const struct wp_limit_count *limits = wp_report_limits(report, &count);
    for (uint32_t i = 0; i < count; i++)
        if (limits[i].ns)
            wp_buffer_printf(out, "limit %s %llu %g\n", wp_report_text(report, limits[i].name),
                (unsigned long long)limits[i].count, (double)limits[i].ns / 1000);
}

/* "asks WHO > PEER N", and "opens WHO > PEER N". */
static void describe_asks(const struct wp_report *report, struct wp_buffer *out)
{
    static const char *const kinds[] = {WP_REPORT_ASKS, WP_REPORT_OPENS};
    uint32_t count;
    const struct wp_limit_count *rows = wp_report_limits(report, &count);
    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < count; i++) {
            const char *name = wp_report_text(report, rows[i].name), *colon = strchr(name, ':');
            if (!strncmp(name, kinds[k], strlen(kinds[k])))
                wp_buffer_printf(
                    out, "%.*s%s %llu\n", (int)(colon - name), name, colon + 1, (unsigned long long)rows[i].count);
        }
}

/* "detached N", and its pieces: "detached STACK CATEGORY US". */
static void describe_detached(const struct wp_report *report, struct wp_buffer *out)
{
    uint32_t count = 0, used = 0;
    const struct wp_report *work = wp_report_detached_work(report);
    const struct wp_cell *cells = work ? wp_report_cells(work, &count) : NULL;
    char **lines = calloc(count + 1, sizeof(*lines));
    if (wp_report_detached_ns(report))
        wp_buffer_printf(out, "detached %g\n", (double)wp_report_detached_ns(report) / 1000);
    for (uint32_t i = 0; i < count; i++) {
        struct wp_buffer line = {0};
        wp_buffer_puts(&line, "detached ");
        put_stack(work, cells[i].node, &line);
        wp_buffer_printf(&line, " %s ", wp_category_key((enum wp_category)cells[i].category));
        put_us(&line, cells[i].ns, true);
        lines[used++] = (char *)line.data;
    }
    qsort(lines, used, sizeof(*lines), compare_lines);
    for (uint32_t i = 0; i < used; i++) {
        wp_buffer_printf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
    if (work && wp_report_total(work) != wp_report_detached_ns(report))
        wp_buffer_printf(out, "DETACHED WORK SUMS TO %g\n", (double)wp_report_total(work) / 1000);
}

/* "total N", "wall N", "uncertain N" and "detached N" when there is some, then "STACK CATEGORY US" sorted, then the
 * edges and the transactions; times in microseconds. */
static char *describe(const struct wp_report *report, bool is_exact, bool has_asks)
{
    uint32_t count, used = 0;
    const struct wp_cell *cells = wp_report_cells(report, &count);
    char **lines = calloc(count + 1, sizeof(*lines));
    struct wp_buffer out = {0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct wp_buffer line = {0};
        sum += cells[i].ns;
        if (!is_exact && cells[i].ns < 500)
            continue;
        put_stack(report, cells[i].node, &line);
        wp_buffer_printf(&line, " %s ", wp_category_key((enum wp_category)cells[i].category));
        put_us(&line, cells[i].ns, is_exact);
        lines[used++] = (char *)line.data;
    }
    qsort(lines, used, sizeof(*lines), compare_lines);
    wp_buffer_printf(
        &out, "total %g\nwall %g\n", (double)wp_report_total(report) / 1000, (double)wp_report_wall(report) / 1000);
    if (sum != wp_report_total(report))
        wp_buffer_printf(&out, "CATEGORIES SUM TO %g\n", (double)sum / 1000);
    if (wp_report_uncertain_ns(report))
        wp_buffer_printf(&out, "uncertain %g\n", (double)wp_report_uncertain_ns(report) / 1000);
    describe_detached(report, &out);
    describe_limits(report, &out);
    if (has_asks)
        describe_asks(report, &out);
    for (uint32_t i = 0; i < used; i++) {
        wp_buffer_printf(&out, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
    describe_edges(report, &out);
    describe_transactions(report, &out, is_exact);
    return (char *)out.data;
}

/* --- hosts --- */

struct stage {
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options;
    struct wp_fleet *fleet;
    struct wp_host_session *sessions[SCENARIO_HOSTS];
};

static int set_up(struct stage *stage, const struct scenario *scenario, struct wp_error *err)
{
    *stage = (struct stage){.rule = {.name = "main"}};
    stage->options = (struct wp_host_session_options){.rules = &stage->rule,
        .rule_count = 1,
        .epoch_ns = 1000000000,
        .lateness_ns = 2000000000,
        .history_ns = scenario->history_ns ? scenario->history_ns : 10000000000,
        .lookback_ns = scenario->lookback_ns,
        .lookback_bytes = scenario->lookback_bytes ? scenario->lookback_bytes : 1ull << 30,
        .fit_ns = scenario->fit_ns,
        .join_ns = scenario->join_ns,
        .late_sample_ns = scenario->late_sample_ns,
        .depth = scenario->depth,
        .width = scenario->width,
        .budget = scenario->budget};
    int rc = wp_fleet_create(&stage->fleet);
    if (rc)
        return wp_error_set(err, rc, "out of memory");
    stage->options.fleet = stage->fleet;
    stage->fleet->expected = scenario->host_count;
    char selector[96];
    snprintf(selector, sizeof(selector), "%s%s%s", *scenario->selector ? scenario->selector : "command",
        *scenario->view ? "," : "", scenario->view);
    rc = wp_selector_parse(&stage->rule.selector, selector, err);
    for (unsigned i = 0; i < scenario->host_count && !rc; i++) {
        struct wp_hello hello = {.hostname = scenario->hosts[i].name, .release = (char *)(uintptr_t) "v1"};
        rc = wp_host_session_create(&stage->sessions[i], &hello, "v1", &stage->options, NULL, err);
    }
    return rc;
}

static void tear_down(struct stage *stage)
{
    for (unsigned i = 0; i < SCENARIO_HOSTS; i++)
        wp_host_session_destroy(stage->sessions[i]);
    wp_fleet_destroy(stage->fleet);
    wp_selector_fini(&stage->rule.selector);
}

/* Asks the clock of the host from a second before the first event to a second after the last one. */
static void probe(struct stage *stage, const struct scenario *scenario, unsigned i, uint64_t end_ns)
{
    const struct scenario_host *host = &scenario->hosts[i];
    uint32_t clock = stage->fleet->hosts[wp_host_session_source(stage->sessions[i])->home].clock,
             reference = stage->fleet->reference;
    for (uint64_t at_ns = 0; host->probe_ns && at_ns < end_ns; at_ns += PROBES_NS) {
        uint64_t there_ns = (uint64_t)((int64_t)(at_ns + host->probe_ns) + host->offset_ns);
        wp_clocks_message(stage->fleet->clocks, reference, at_ns, clock, there_ns);
        wp_clocks_message(stage->fleet->clocks, clock, there_ns, reference, at_ns + 2 * host->probe_ns);
    }
}

static uint64_t end_of(const struct scenario *scenario)
{
    uint64_t end_ns = 0;
    for (unsigned i = 0; i < scenario->host_count; i++) {
        const struct wp_batch *batch = &scenario->hosts[i].batch;
        int64_t last_ns = batch->event_count ? (int64_t)batch->events[batch->event_count - 1].time_ns : 0;
        last_ns -= scenario->hosts[i].offset_ns;
        if (last_ns > (int64_t)end_ns)
            end_ns = (uint64_t)last_ns;
    }
    return end_ns;
}

static char *run(struct scenario *scenario, struct wp_error *err)
{
    struct stage stage;
    char *text = NULL;
    int rc = set_up(&stage, scenario, err);
    for (unsigned i = 0; i < scenario->host_count && !rc; i++)
        probe(&stage, scenario, i, end_of(scenario) + 1000000000);
    for (unsigned i = 0; i < scenario->host_count && !rc; i++)
        rc = wp_host_session_take(stage.sessions[i], &scenario->hosts[i].batch, err);
    for (unsigned i = 0; i < scenario->host_count && !rc; i++)
        wp_host_session_close(stage.sessions[i]);
    if (!rc) {
        wp_host_session_resolve(stage.sessions[0]); /* it may have waited for those that were closed after it */
        if (!wp_host_session_progress(stage.sessions[0])->is_ended)
            wp_error_set(err, -EBUSY, "the first host still waits for others");
        else
            text = describe(closed_report_of(stage.sessions[0], 0), scenario->host_count == 1, scenario->has_asks);
    }
    tear_down(&stage);
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
