/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_json.h"

#include "common/json.h"
#include "reporter/export/format_findings.h"
#include "reporter/facts/beside.h"
#include "reporter/recording/process_tree.h"
#include "reporter/recording/recorded_title.h"
#include "reporter/recording/recording_cost.h"
#include "reporter/recording/unsampled.h"
#include "reporter/requests/slow_requests.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_transactions.h"
#include "storage/value/recorded_keys.h"

#include <stdlib.h>
#include <string.h>

#define JSON_PROCESSES 10000u
#define JSON_FUNCTIONS 200u

#define LINES 200u
#define EXPLANATIONS 5u

static void put_categories(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_object(json, "categories");
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        wp_json_number(json, wp_category_key((enum wp_category)i), facts->categories[i]);
    wp_json_end(json);
}

/* Nothing where it is not known. */
static void put_parent(struct wp_json *json, const struct wp_facts *facts, size_t process)
{
    const struct wp_tree_process *parent = wp_process_tree_parent(facts, process);
    if (!parent)
        return;
    wp_json_number(json, "parent_pid", parent->pid);
    wp_json_text(json, "parent", parent->comm);
}

static void put_tree(struct wp_json *json, const struct wp_facts *facts)
{
    struct wp_pool pool = {0};
    if (!facts->tree)
        return;
    wp_json_array(json, "process_tree");
    for (size_t i = 0; i < facts->tree->count; i++) {
        const struct wp_tree_process *row = &facts->tree->rows[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "host", row->host);
        wp_json_number(json, "pid", row->pid);
        wp_json_text(json, "comm", row->comm);
        wp_json_text(json, "programs", row->programs);
        wp_json_text(json, "exe", row->exe);
        wp_json_number(json, "parent_pid", row->parent ? facts->tree->rows[row->parent - 1].pid : 0);
        wp_json_number(json, "depth", row->depth);
        wp_json_number(json, "start_ns", row->start_ns);
        wp_json_number(json, "end_ns", row->end_ns);
        wp_json_text(json, "ending", wp_process_tree_ending(&pool, row->ending));
        if (*row->memory)
            wp_json_text(json, "killed_for_memory_of", row->memory);
        wp_json_number(json, "total_ns", row->total_ns);
        wp_json_number(json, "running_ns", row->running_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
    json->out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

static void put_processes(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "processes");
    for (size_t i = 0; i < facts->process_count && i < JSON_PROCESSES; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "host", fact->host);
        wp_json_text(json, "comm", fact->comm);
        wp_json_number(json, "pid", fact->pid);
        wp_json_number(json, "total_ns", fact->total_ns);
        wp_json_number(json, "running_ns", fact->running_ns);
        put_parent(json, facts, i);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_events(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_object(json, "events");
    wp_json_number(json, "total", facts->events_total);
    wp_json_number(json, "dropped", facts->events_dropped);
    for (size_t i = 0; i < facts->event_count; i++)
        if (*facts->events[i].kind && strcmp(facts->events[i].kind, "total") &&
            strcmp(facts->events[i].kind, "dropped"))
            wp_json_number(json, facts->events[i].kind, facts->events[i].total);
    wp_json_end(json);
}

static void put_functions(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "functions");
    for (size_t i = 0; i < facts->function_count && i < JSON_FUNCTIONS; i++) {
        const struct wp_function_fact *fact = &facts->functions[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "function", fact->name);
        wp_json_text(json, "object", fact->object);
        wp_json_number(json, "inclusive_ns", fact->inclusive_ns);
        wp_json_number(json, "running_ns", fact->running_ns);
        wp_json_number(json, "waiting_ns", fact->waiting_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_unexplained(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "unexplained");
    for (size_t i = 0; i < facts->unexplained_count; i++) {
        const struct wp_unexplained_fact *fact = &facts->unexplained[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "stack", fact->stack);
        wp_json_text(json, "reason", fact->reason);
        wp_json_number(json, "ns", fact->ns);
        wp_json_number(json, "count", fact->count);
        wp_json_number(json, "longest_ns", fact->longest_ns);
        wp_json_number(json, "tid", fact->tid);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_edges(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "edges");
    for (size_t i = 0; i < facts->edge_count; i++) {
        const struct wp_edge_fact *edge = &facts->edges[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "from", edge->from);
        wp_json_text(json, "to", edge->to);
        wp_json_number(json, "messages", edge->messages);
        wp_json_number(json, "waited_ns", edge->waited_ns);
        wp_json_number(json, "transit_ns", edge->transit_ns);
        wp_json_number(json, "transit_max_ns", edge->transit_max_ns);
        wp_json_number(json, "clock_bound_ns", edge->bound_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_slow(struct wp_json *json, const struct wp_service_fact *service)
{
    wp_json_array(json, "consists_of");
    for (size_t i = 0; i < service->row_count && i < JSON_FUNCTIONS; i++) {
        const struct wp_slow_row *part = &service->rows[i];
        wp_json_object(json, NULL);
        wp_json_text(json, "who", part->who);
        wp_json_text(json, "function", part->what);
        wp_json_text(json, "part", wp_transaction_part_key(part->part));
        wp_json_number(json, "usual_ns", part->usual_ns);
        wp_json_number(json, "slow_ns", part->slow_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_requests(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "requests");
    struct wp_pool pool = {0};
    size_t count;
    const struct wp_service_fact *services = wp_slow_requests_build(&pool, facts, &count);
    for (size_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "service", services[i].name);
        wp_json_number(json, "count", services[i].count);
        wp_json_number(json, "sum_ns", services[i].sum_ns);
        wp_json_number(json, "median_ns", services[i].median_ns);
        wp_json_number(json, "p90_ns", services[i].p90_ns);
        wp_json_number(json, "p95_ns", services[i].p95_ns);
        wp_json_number(json, "p99_ns", services[i].p99_ns);
        wp_json_number(json, "slowest_ns", services[i].slowest_ns);
        wp_json_number(json, "slowest_start_ns", services[i].slowest_start_ns);
        put_slow(json, &services[i]);
        wp_json_end(json);
    }
    wp_pool_fini(&pool);
    wp_json_end(json);
}

static void put_beside(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "beside");
    for (size_t i = 0; i < facts->beside_count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "threads", facts->beside[i].who);
        wp_json_number(json, "idle_ns", facts->beside[i].idle_ns);
        wp_json_number(json, "unwaited_ns", facts->beside[i].unwaited_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_limits(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "limits");
    for (size_t i = 0; i < facts->limit_count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "name", facts->limits[i].name);
        wp_json_number(json, "count", facts->limits[i].count);
        wp_json_number(json, "ns", facts->limits[i].ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_damage(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "damage");
    for (size_t i = 0; i < facts->damage_count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "key", facts->damage[i].key);
        wp_json_text(json, "reason", facts->damage[i].reason);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_unsampled(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "unsampled");
    for (size_t i = 0; i < facts->unsampled_count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "host", facts->unsampled[i].host);
        wp_json_text(json, "why", facts->unsampled[i].why);
        wp_json_end(json);
    }
    wp_json_end(json);
}

/* Lines with a thousandth of the total as own time, of the files with most of it first; LINES of them. */
static void put_lines(struct wp_json *json, const struct wp_facts *facts)
{
    wp_json_array(json, "lines");
    const struct wp_source_lines *source = &facts->source;
    for (uint32_t count = 0, file = 0; file < source->file_count; file++)
        for (uint32_t i = 0; i < source->files[file].site_count && count < LINES; i++) {
            const struct wp_source_site *site = &source->sites[source->files[file].first_site + i];
            if (site->own_ns < facts->total_ns / 1000)
                continue;
            wp_json_object(json, NULL);
            wp_json_text(json, "file", source->files[file].path);
            wp_json_number(json, "line", site->line);
            wp_json_text(json, "function", site->function);
            wp_json_number(json, "inclusive_ns", site->total_ns);
            wp_json_number(json, "run_ns", site->run_ns);
            wp_json_number(json, "self_ns", site->self_ns);
            wp_json_number(json, "own_ns", site->own_ns);
            wp_json_end(json);
            count++;
        }
    wp_json_end(json);
}

static void put_recording(struct wp_json *json, const struct wp_recording_cost *cost)
{
    wp_json_object(json, "recording");
    wp_json_number(json, "cpu_ns", cost->cpu_ns);
    if (cost->programs_ns)
        wp_json_number(json, "programs_ns", cost->programs_ns);
    wp_json_fixed(json, "machine_percent", wp_recording_cost_percent(cost));
    wp_json_end(json);
}

/* What was run, of the newest recording; numbers that nobody told are left out. */
static void put_command(struct wp_json *json, const struct wp_facts *facts)
{
    static const struct {
        const char *key, *name;
    } numbers[] = {{WP_RECORDED_EXIT, "exit_status"}, {WP_RECORDED_WALL, "wall_ns"}, {WP_RECORDED_USER, "user_ns"},
        {WP_RECORDED_SYSTEM, "system_ns"}, {WP_RECORDED_RSS, "max_rss_bytes"},
        {WP_RECORDED_MINOR_FAULTS, "minor_faults"}, {WP_RECORDED_MAJOR_FAULTS, "major_faults"},
        {WP_RECORDED_VOLUNTARY, "voluntary_switches"}, {WP_RECORDED_INVOLUNTARY, "involuntary_switches"}};
    const char *line = wp_recorded_line(facts), *workload = wp_recorded_workload(facts);
    const char *directory = facts->is_command ? wp_recorded_text(facts, WP_RECORDED_DIRECTORY) : NULL;
    if (!line && !workload && !directory)
        return;
    wp_json_object(json, "command");
    wp_json_text_or_null(json, "line", line);
    wp_json_text_or_null(json, "workload", workload);
    wp_json_text_or_null(json, "directory", directory);
    for (size_t i = 0; facts->is_command && i < sizeof(numbers) / sizeof(*numbers); i++) {
        const char *text = wp_recorded_text(facts, numbers[i].key);
        if (text)
            wp_json_number(json, numbers[i].name, strtoull(text, NULL, 10));
    }
    wp_json_end(json);
}

static void put_title(struct wp_json *json, const struct wp_facts *facts)
{
    struct wp_pool pool = {0};
    wp_json_text(json, "title", wp_recorded_title(&pool, facts));
    wp_pool_fini(&pool);
}

static void put_all(struct wp_json *json, const struct wp_facts *facts, const struct wp_finding *findings)
{
    wp_json_number(json, "schema", 1);
    wp_json_text(json, "release", facts->release);
    wp_json_text(json, "aggregate", facts->aggregate);
    put_title(json, facts);
    put_command(json, facts);
    wp_json_number(json, "hosts", facts->host_count);
    wp_json_number(json, "wall_ns", facts->wall_ns);
    wp_json_number(json, "total_ns", facts->total_ns);
    wp_json_text(json, "base", wp_beside_word(facts));
    if (facts->beside_count) {
        wp_json_number(json, "idle_ns", facts->idle_ns);
        wp_json_number(json, "unwaited_ns", facts->unwaited_ns);
        put_beside(json, facts);
    }
    wp_json_fixed(json, "accounted_percent", facts->accounted_percent);
    if (facts->unsampled_count)
        put_unsampled(json, facts);
    put_categories(json, facts);
    if (facts->contour)
        wp_json_text(json, "contour", facts->contour);
    put_processes(json, facts);
    put_tree(json, facts);
    put_events(json, facts);
    wp_json_fixed(json, "coverage", facts->coverage);
    wp_json_number(json, "estimated_total_ns", facts->estimated_ns);
    wp_json_number(json, "uncertain_ns", facts->uncertain_ns);
    struct wp_recording_cost cost = wp_recording_cost(&facts->release_metadata);
    if (cost.cpu_ns)
        put_recording(json, &cost);
    if (facts->late.total_ns) {
        wp_json_number(json, "late_ns", facts->late.total_ns);
        wp_json_number(json, "late_last_s", facts->late.last_s);
    }
    wp_json_number(json, "detached_ns", facts->detached_ns);
    wp_json_number(json, "stack_ns", facts->stack_ends.stack_ns);
    wp_json_number(json, "whole_stack_ns", facts->stack_ends.whole_ns);
    wp_json_number(json, "first_ns", facts->first_ns);
    wp_json_number(json, "last_ns", facts->last_ns);
    wp_format_findings(json, "explanations", facts, findings, EXPLANATIONS);
    put_unexplained(json, facts);
    put_functions(json, facts);
    put_lines(json, facts);
    put_limits(json, facts);
    put_edges(json, facts);
    put_requests(json, facts);
    put_damage(json, facts);
}

int wp_format_summary(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_finding *findings, struct wp_error *err)
{
    struct wp_json json = {.out = out, .style = WP_JSON_SPACED};
    wp_json_object(&json, NULL);
    put_all(&json, facts, findings ? findings : facts->findings);
    wp_json_end(&json);
    return wp_json_finish(&json, "the summary", err);
}

int wp_format_json(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return wp_format_summary(out, facts, NULL, err);
}
