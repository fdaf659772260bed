/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_json.h"

#include "reporter/display/escape.h"
#include "reporter/display/json_writer.h"
#include "reporter/facts/beside.h"
#include "reporter/facts/recording_cost.h"
#include "reporter/facts/slow_requests.h"
#include "reporter/facts/unsampled.h"
#include "storage/kind/report_store.h"

#include <string.h>

#define JSON_PROCESSES 10000u
#define JSON_FUNCTIONS 200u

#define LINES 200u

static struct json_object *categories_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *object = json_object_new_object();
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        wp_writer_number(writer, object, wp_category_key((enum wp_category)i), facts->categories[i]);
    return object;
}

static struct json_object *processes_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->process_count && i < JSON_PROCESSES; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "host", fact->host);
        wp_writer_text(writer, row, "comm", fact->comm);
        wp_writer_number(writer, row, "pid", fact->pid);
        wp_writer_number(writer, row, "total_ns", fact->total_ns);
        wp_writer_number(writer, row, "running_ns", fact->running_ns);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static void put_kind(struct wp_json_writer *writer, struct json_object *object, const struct wp_event_fact *fact)
{
    struct wp_buffer clean = {0};
    wp_escape_utf8(&clean, fact->kind);
    writer->failed |= clean.failed;
    if (clean.size)
        wp_writer_number(writer, object, (const char *)clean.data, fact->total);
    wp_buffer_fini(&clean);
}

static struct json_object *events_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *object = json_object_new_object();
    wp_writer_number(writer, object, "total", facts->events_total);
    wp_writer_number(writer, object, "dropped", facts->events_dropped);
    for (size_t i = 0; i < facts->event_count; i++)
        if (strcmp(facts->events[i].kind, "total") && strcmp(facts->events[i].kind, "dropped"))
            put_kind(writer, object, &facts->events[i]);
    return object;
}

static struct json_object *functions_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->function_count && i < JSON_FUNCTIONS; i++) {
        const struct wp_function_fact *fact = &facts->functions[i];
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "function", fact->name);
        wp_writer_text(writer, row, "object", fact->object);
        wp_writer_number(writer, row, "inclusive_ns", fact->inclusive_ns);
        wp_writer_number(writer, row, "running_ns", fact->running_ns);
        wp_writer_number(writer, row, "waiting_ns", fact->waiting_ns);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static struct json_object *unexplained_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->unexplained_count; i++) {
        const struct wp_unexplained_fact *fact = &facts->unexplained[i];
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "stack", fact->stack);
        wp_writer_text(writer, row, "reason", fact->reason);
        wp_writer_number(writer, row, "ns", fact->ns);
        wp_writer_number(writer, row, "count", fact->count);
        wp_writer_number(writer, row, "longest_ns", fact->longest_ns);
        wp_writer_number(writer, row, "tid", fact->tid);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static struct json_object *edges_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *rows = json_object_new_array();
    for (size_t i = 0; i < facts->edge_count; i++) {
        const struct wp_edge_fact *edge = &facts->edges[i];
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "from", edge->from);
        wp_writer_text(writer, row, "to", edge->to);
        wp_writer_number(writer, row, "messages", edge->messages);
        wp_writer_number(writer, row, "waited_ns", edge->waited_ns);
        wp_writer_number(writer, row, "transit_ns", edge->transit_ns);
        wp_writer_number(writer, row, "transit_max_ns", edge->transit_max_ns);
        wp_writer_number(writer, row, "clock_bound_ns", edge->bound_ns);
        wp_writer_append(writer, rows, row);
    }
    return rows;
}

static struct json_object *slow_of(struct wp_json_writer *writer, const struct wp_service_fact *service)
{
    struct json_object *rows = json_object_new_array();
    for (size_t i = 0; i < service->row_count && i < JSON_FUNCTIONS; i++) {
        const struct wp_slow_row *part = &service->rows[i];
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "who", part->who);
        wp_writer_text(writer, row, "function", part->what);
        wp_writer_text(writer, row, "part",
            part->part == WP_PART_UNREAD ? "unread" : wp_category_key((enum wp_category)part->part));
        wp_writer_number(writer, row, "usual_ns", part->usual_ns);
        wp_writer_number(writer, row, "slow_ns", part->slow_ns);
        wp_writer_append(writer, rows, row);
    }
    return rows;
}

static struct json_object *requests_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *rows = json_object_new_array();
    struct wp_pool pool = {0};
    size_t count;
    const struct wp_service_fact *services = wp_slow_requests_build(&pool, facts, &count);
    for (size_t i = 0; i < count; i++) {
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "service", services[i].name);
        wp_writer_number(writer, row, "count", services[i].count);
        wp_writer_number(writer, row, "sum_ns", services[i].sum_ns);
        wp_writer_number(writer, row, "median_ns", services[i].median_ns);
        wp_writer_number(writer, row, "p90_ns", services[i].p90_ns);
        wp_writer_number(writer, row, "p95_ns", services[i].p95_ns);
        wp_writer_number(writer, row, "p99_ns", services[i].p99_ns);
        wp_writer_number(writer, row, "slowest_ns", services[i].slowest_ns);
        wp_writer_number(writer, row, "slowest_start_ns", services[i].slowest_start_ns);
        wp_writer_put(writer, row, "consists_of", slow_of(writer, &services[i]));
        wp_writer_append(writer, rows, row);
    }
    wp_pool_fini(&pool);
    return rows;
}

static struct json_object *beside_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->beside_count; i++) {
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "threads", facts->beside[i].who);
        wp_writer_number(writer, row, "idle_ns", facts->beside[i].idle_ns);
        wp_writer_number(writer, row, "unwaited_ns", facts->beside[i].unwaited_ns);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static struct json_object *limits_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->limit_count; i++) {
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "name", facts->limits[i].name);
        wp_writer_number(writer, row, "count", facts->limits[i].count);
        wp_writer_number(writer, row, "ns", facts->limits[i].ns);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static struct json_object *damage_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->damage_count; i++) {
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "key", facts->damage[i].key);
        wp_writer_text(writer, row, "reason", facts->damage[i].reason);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static struct json_object *unsampled_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->unsampled_count; i++) {
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "host", facts->unsampled[i].host);
        wp_writer_text(writer, row, "why", facts->unsampled[i].why);
        wp_writer_append(writer, array, row);
    }
    return array;
}

static struct json_object *explanations_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->finding_count && i < 5; i++) {
        const struct wp_finding *finding = &facts->findings[i];
        struct json_object *row = json_object_new_object();
        wp_writer_text(writer, row, "kind", finding->kind);
        wp_writer_text(writer, row, "sentence", finding->sentence);
        wp_writer_number(writer, row, "ns", finding->ns);
        wp_writer_double(
            writer, row, "percent", facts->total_ns ? 100.0 * (double)finding->ns / (double)facts->total_ns : 0);
        wp_writer_append(writer, array, row);
    }
    return array;
}

/* Lines with a thousandth of the total as own time, of the files with most of it first; LINES of them. */
static struct json_object *lines_of(struct wp_json_writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    const struct wp_source_lines *source = &facts->source;
    for (uint32_t count = 0, file = 0; file < source->file_count; file++)
        for (uint32_t i = 0; i < source->files[file].site_count && count < LINES; i++) {
            const struct wp_source_site *site = &source->sites[source->files[file].first_site + i];
            if (site->own_ns < facts->total_ns / 1000)
                continue;
            struct json_object *row = json_object_new_object();
            wp_writer_text(writer, row, "file", source->files[file].path);
            wp_writer_number(writer, row, "line", site->line);
            wp_writer_text(writer, row, "function", site->function);
            wp_writer_number(writer, row, "inclusive_ns", site->total_ns);
            wp_writer_number(writer, row, "run_ns", site->run_ns);
            wp_writer_number(writer, row, "self_ns", site->self_ns);
            wp_writer_number(writer, row, "own_ns", site->own_ns);
            wp_writer_append(writer, array, row);
            count++;
        }
    return array;
}

static struct json_object *recording_of(struct wp_json_writer *writer, const struct wp_recording_cost *cost)
{
    struct json_object *object = json_object_new_object();
    wp_writer_number(writer, object, "cpu_ns", cost->cpu_ns);
    wp_writer_double(writer, object, "machine_percent", wp_recording_cost_percent(cost));
    return object;
}

static void put_all(struct wp_json_writer *writer, struct json_object *root, const struct wp_facts *facts)
{
    wp_writer_number(writer, root, "schema", 1);
    wp_writer_text(writer, root, "release", facts->release);
    wp_writer_text(writer, root, "aggregate", facts->aggregate);
    wp_writer_number(writer, root, "hosts", facts->host_count);
    wp_writer_number(writer, root, "wall_ns", facts->wall_ns);
    wp_writer_number(writer, root, "total_ns", facts->total_ns);
    wp_writer_text(writer, root, "base", wp_beside_word(facts));
    if (facts->beside_count) {
        wp_writer_number(writer, root, "idle_ns", facts->idle_ns);
        wp_writer_number(writer, root, "unwaited_ns", facts->unwaited_ns);
        wp_writer_put(writer, root, "beside", beside_of(writer, facts));
    }
    wp_writer_double(writer, root, "accounted_percent", facts->accounted_percent);
    if (facts->unsampled_count)
        wp_writer_put(writer, root, "unsampled", unsampled_of(writer, facts));
    wp_writer_put(writer, root, "categories", categories_of(writer, facts));
    wp_writer_put(writer, root, "processes", processes_of(writer, facts));
    wp_writer_put(writer, root, "events", events_of(writer, facts));
    wp_writer_double(writer, root, "coverage", facts->coverage);
    wp_writer_number(writer, root, "estimated_total_ns", facts->estimated_ns);
    wp_writer_number(writer, root, "uncertain_ns", facts->uncertain_ns);
    struct wp_recording_cost cost = wp_recording_cost(&facts->release_metadata);
    if (cost.cpu_ns)
        wp_writer_put(writer, root, "recording", recording_of(writer, &cost));
    if (facts->late.total_ns) {
        wp_writer_number(writer, root, "late_ns", facts->late.total_ns);
        wp_writer_number(writer, root, "late_last_s", facts->late.last_s);
    }
    wp_writer_number(writer, root, "detached_ns", facts->detached_ns);
    wp_writer_number(writer, root, "stack_ns", facts->stack_ends.stack_ns);
    wp_writer_number(writer, root, "whole_stack_ns", facts->stack_ends.whole_ns);
    wp_writer_number(writer, root, "first_ns", facts->first_ns);
    wp_writer_number(writer, root, "last_ns", facts->last_ns);
    wp_writer_put(writer, root, "explanations", explanations_of(writer, facts));
    wp_writer_put(writer, root, "unexplained", unexplained_of(writer, facts));
    wp_writer_put(writer, root, "functions", functions_of(writer, facts));
    wp_writer_put(writer, root, "lines", lines_of(writer, facts));
    wp_writer_put(writer, root, "limits", limits_of(writer, facts));
    wp_writer_put(writer, root, "edges", edges_of(writer, facts));
    wp_writer_put(writer, root, "requests", requests_of(writer, facts));
    wp_writer_put(writer, root, "damage", damage_of(writer, facts));
}

int wp_format_json(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_json_writer writer = {0};
    struct json_object *root = json_object_new_object();
    put_all(&writer, root, facts);
    return wp_writer_finish(&writer, root, out, err);
}
