/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/format_json.h"

#include "reporter/escape.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define JSON_PROCESSES 10000u
#define JSON_FUNCTIONS 200u

/* json-c returns NULL when out of memory and then prints "null": remembered, so that half a summary never goes out. */
struct writer {
    bool failed;
};

static void put(struct writer *writer, struct json_object *object, const char *key, struct json_object *value)
{
    if (!object || !value || json_object_object_add(object, key, value)) {
        json_object_put(value);
        writer->failed = true;
    }
}

static void append(struct writer *writer, struct json_object *array, struct json_object *value)
{
    if (!array || !value || json_object_array_add(array, value)) {
        json_object_put(value);
        writer->failed = true;
    }
}

static void put_text(struct writer *writer, struct json_object *object, const char *key, const char *text)
{
    struct wp_buffer clean = {0};
    wp_escape_utf8(&clean, text);
    writer->failed |= clean.failed;
    put(writer, object, key, json_object_new_string_len(clean.data ? (char *)clean.data : "", (int)clean.size));
    wp_buffer_fini(&clean);
}

static void put_number(struct writer *writer, struct json_object *object, const char *key, uint64_t number)
{
    put(writer, object, key, json_object_new_uint64(number));
}

/* Six digits after the point, the same on every run and machine. */
static void put_double(struct writer *writer, struct json_object *object, const char *key, double value)
{
    char text[48];
    int size = snprintf(text, sizeof(text), "%.6f", value);
    while (size > 2 && text[size - 1] == '0' && text[size - 2] != '.')
        text[--size] = 0;
    put(writer, object, key, json_object_new_double_s(value, text));
}

static struct json_object *categories_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *object = json_object_new_object();
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        put_number(writer, object, wp_category_key((enum wp_category)i), facts->categories[i]);
    return object;
}

static struct json_object *processes_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->process_count && i < JSON_PROCESSES; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "host", fact->host);
        put_text(writer, row, "comm", fact->comm);
        put_number(writer, row, "pid", fact->pid);
        put_number(writer, row, "total_ns", fact->total_ns);
        put_number(writer, row, "running_ns", fact->running_ns);
        append(writer, array, row);
    }
    return array;
}

static void put_kind(struct writer *writer, struct json_object *object, const struct wp_event_fact *fact)
{
    struct wp_buffer clean = {0};
    wp_escape_utf8(&clean, fact->kind);
    writer->failed |= clean.failed;
    if (clean.size)
        put_number(writer, object, (const char *)clean.data, fact->total);
    wp_buffer_fini(&clean);
}

static struct json_object *events_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *object = json_object_new_object();
    put_number(writer, object, "total", facts->events_total);
    put_number(writer, object, "dropped", facts->events_dropped);
    for (size_t i = 0; i < facts->event_count; i++)
        if (strcmp(facts->events[i].kind, "total") && strcmp(facts->events[i].kind, "dropped"))
            put_kind(writer, object, &facts->events[i]);
    return object;
}

static struct json_object *functions_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->function_count && i < JSON_FUNCTIONS; i++) {
        const struct wp_function_fact *fact = &facts->functions[i];
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "function", fact->name);
        put_text(writer, row, "object", fact->object);
        put_number(writer, row, "inclusive_ns", fact->inclusive_ns);
        put_number(writer, row, "running_ns", fact->running_ns);
        put_number(writer, row, "waiting_ns", fact->waiting_ns);
        append(writer, array, row);
    }
    return array;
}

static struct json_object *unexplained_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->unexplained_count; i++) {
        const struct wp_unexplained_fact *fact = &facts->unexplained[i];
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "stack", fact->stack);
        put_text(writer, row, "reason", fact->reason);
        put_number(writer, row, "ns", fact->ns);
        put_number(writer, row, "count", fact->count);
        append(writer, array, row);
    }
    return array;
}

static struct json_object *edges_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *rows = json_object_new_array();
    for (size_t i = 0; i < facts->edge_count; i++) {
        const struct wp_edge_fact *edge = &facts->edges[i];
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "from", edge->from);
        put_text(writer, row, "to", edge->to);
        put_number(writer, row, "messages", edge->messages);
        put_number(writer, row, "waited_ns", edge->waited_ns);
        put_number(writer, row, "transit_ns", edge->transit_ns);
        put_number(writer, row, "transit_max_ns", edge->transit_max_ns);
        put_number(writer, row, "clock_bound_ns", edge->bound_ns);
        append(writer, rows, row);
    }
    return rows;
}

static struct json_object *limits_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->limit_count; i++) {
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "name", facts->limits[i].name);
        put_number(writer, row, "count", facts->limits[i].count);
        put_number(writer, row, "ns", facts->limits[i].ns);
        append(writer, array, row);
    }
    return array;
}

static struct json_object *damage_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->damage_count; i++) {
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "key", facts->damage[i].key);
        put_text(writer, row, "reason", facts->damage[i].reason);
        append(writer, array, row);
    }
    return array;
}

static struct json_object *explanations_of(struct writer *writer, const struct wp_facts *facts)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < facts->finding_count && i < 5; i++) {
        const struct wp_finding *finding = &facts->findings[i];
        struct json_object *row = json_object_new_object();
        put_text(writer, row, "kind", finding->kind);
        put_text(writer, row, "sentence", finding->sentence);
        put_number(writer, row, "ns", finding->ns);
        put_double(writer, row, "percent",
            facts->total_ns ? 100.0 * (double)finding->ns / (double)facts->total_ns : 0);
        append(writer, array, row);
    }
    return array;
}

static void put_all(struct writer *writer, struct json_object *root, const struct wp_facts *facts)
{
    put_number(writer, root, "schema", 1);
    put_text(writer, root, "release", facts->release);
    put_text(writer, root, "aggregate", facts->aggregate);
    put_number(writer, root, "hosts", facts->host_count);
    put_number(writer, root, "wall_ns", facts->wall_ns);
    put_number(writer, root, "total_ns", facts->total_ns);
    put_double(writer, root, "accounted_percent", facts->accounted_percent);
    put(writer, root, "categories", categories_of(writer, facts));
    put(writer, root, "processes", processes_of(writer, facts));
    put(writer, root, "events", events_of(writer, facts));
    put_double(writer, root, "coverage", facts->coverage);
    put_number(writer, root, "uncertain_ns", facts->uncertain_ns);
    put_number(writer, root, "detached_ns", facts->detached_ns);
    put_number(writer, root, "first_ns", facts->first_ns);
    put_number(writer, root, "last_ns", facts->last_ns);
    put(writer, root, "explanations", explanations_of(writer, facts));
    put(writer, root, "unexplained", unexplained_of(writer, facts));
    put(writer, root, "functions", functions_of(writer, facts));
    put(writer, root, "limits", limits_of(writer, facts));
    put(writer, root, "edges", edges_of(writer, facts));
    put(writer, root, "damage", damage_of(writer, facts));
}

int wp_format_json(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct writer writer = {0};
    struct json_object *root = json_object_new_object();
    put_all(&writer, root, facts);
    const char *text = writer.failed ? NULL
        : json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
              JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text) {
        wp_buffer_puts(out, text);
        wp_buffer_putc(out, '\n');
    }
    json_object_put(root);
    return text && !out->failed ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the summary");
}
