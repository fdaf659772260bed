/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_rows.h"

#include "common/json.h"
#include "reporter/display/escape.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALL_COLUMNS (WP_EXPORT_TABLES * WP_EXPORT_COLUMNS)

struct writer {
    struct wp_buffer *out;
    struct wp_export_source source;
    struct wp_export_choice choice;
    uint32_t *stack;                  /* owned; room for the deepest of the report */
    const char *columns[ALL_COLUMNS]; /* of all tables, each name once */
    size_t column_count;
};

/* Frames of a node's stack into writer->stack, innermost first. Parents come before children, so this ends. */
static uint32_t find_stack(struct writer *writer, uint64_t node)
{
    uint32_t count, depth = 0;
    const struct wp_node *nodes = wp_report_nodes(writer->source.facts->report, &count);
    for (; node && node < count; node = nodes[node].parent)
        writer->stack[depth++] = nodes[node].frame;
    return depth;
}

static const char *frame_name(const struct writer *writer, uint32_t depth)
{
    const char *name = wp_facts_frame_name(writer->source.facts, writer->stack[depth]);
    return *name ? name : "?";
}

static void put_csv_stack(struct writer *writer, uint64_t node)
{
    struct wp_buffer text = {0};
    wp_buffer_puts(&text, "");
    for (uint32_t depth = find_stack(writer, node); depth--;) {
        wp_escape_folded(&text, frame_name(writer, depth));
        wp_buffer_puts(&text, depth ? ";" : "");
    }
    wp_escape_csv(writer->out, text.data ? (const char *)text.data : "");
    writer->out->failed |= text.failed;
    wp_buffer_fini(&text);
}

static void put_csv_field(struct writer *writer, enum wp_export_column_kind kind, const struct wp_export_field *field)
{
    if (kind == WP_EXPORT_NUMBER)
        wp_buffer_printf(writer->out, "%" PRIu64, field->number);
    else if (kind == WP_EXPORT_TEXT)
        wp_escape_csv(writer->out, field->text);
    else
        put_csv_stack(writer, field->number);
}

/* A row's place and what the rows are ordered by. */
struct place {
    size_t row;
    uint64_t number;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->number != b->number)
        return a->number > b->number ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* The rows that are wanted of a table, in their order; *count of them. The caller's to free; NULL: out of memory. */
static struct place *choose_rows(struct writer *writer, const struct wp_export_table *table, size_t *count)
{
    size_t all = table->count(&writer->source), column = 0;
    struct place *places = calloc(all + 1, sizeof(*places));
    double least_of_total = writer->choice.limit.percent * (double)writer->source.facts->total_ns;
    writer->out->failed |= !places;
    while (writer->choice.order && table->columns[column].name &&
        strcmp(table->columns[column].name, writer->choice.order) != 0)
        column++;
    size_t left = 0;
    for (size_t row = 0; places && row < all; row++) {
        struct wp_export_field fields[WP_EXPORT_COLUMNS] = {0};
        if (writer->choice.order)
            table->read(&writer->source, row, fields);
        uint64_t number = column < WP_EXPORT_COLUMNS ? fields[column].number : 0;
        if (number >= writer->choice.limit.least && (double)number * 100 >= least_of_total)
            places[left++] = (struct place){row, number};
    }
    if (left && writer->choice.order)
        qsort(places, left, sizeof(*places), compare_places);
    *count = writer->choice.top && writer->choice.top < left ? writer->choice.top : left;
    return places;
}

static void put_csv_table(struct writer *writer, const struct wp_export_table *table)
{
    size_t count;
    struct place *places = choose_rows(writer, table, &count);
    for (size_t i = 0; table->columns[i].name; i++)
        wp_buffer_printf(writer->out, i ? ",%s" : "%s", table->columns[i].name);
    wp_buffer_puts(writer->out, "\r\n");
    for (size_t row = 0; row < count && !writer->out->failed; row++) {
        struct wp_export_field fields[WP_EXPORT_COLUMNS] = {0};
        table->read(&writer->source, places[row].row, fields);
        for (size_t i = 0; table->columns[i].name; i++) {
            wp_buffer_puts(writer->out, i ? "," : "");
            put_csv_field(writer, table->columns[i].kind, &fields[i]);
        }
        wp_buffer_puts(writer->out, "\r\n");
    }
    free(places);
}

static void gather_columns(struct writer *writer)
{
    for (size_t i = 0; i < WP_EXPORT_TABLES; i++)
        for (const struct wp_export_column *column = wp_export_tables[i].columns; column->name; column++) {
            size_t at = 0;
            while (at < writer->column_count && strcmp(writer->columns[at], column->name))
                at++;
            if (at == writer->column_count)
                writer->columns[writer->column_count++] = column->name;
        }
}

/* One row under the columns of all tables. */
static void put_wide_row(
    struct writer *writer, const struct wp_export_table *table, const struct wp_export_field *fields)
{
    wp_buffer_puts(writer->out, table->name);
    for (size_t at = 0; at < writer->column_count; at++) {
        wp_buffer_putc(writer->out, ',');
        for (size_t i = 0; table->columns[i].name; i++)
            if (!strcmp(table->columns[i].name, writer->columns[at]))
                put_csv_field(writer, table->columns[i].kind, &fields[i]);
    }
    wp_buffer_puts(writer->out, "\r\n");
}

static void put_csv_all(struct writer *writer)
{
    gather_columns(writer);
    wp_buffer_puts(writer->out, "table");
    for (size_t i = 0; i < writer->column_count; i++)
        wp_buffer_printf(writer->out, ",%s", writer->columns[i]);
    wp_buffer_puts(writer->out, "\r\n");
    for (size_t i = 0; i < WP_EXPORT_TABLES; i++) {
        size_t count;
        struct place *places = choose_rows(writer, &wp_export_tables[i], &count);
        for (size_t row = 0; row < count && !writer->out->failed; row++) {
            struct wp_export_field fields[WP_EXPORT_COLUMNS] = {0};
            wp_export_tables[i].read(&writer->source, places[row].row, fields);
            put_wide_row(writer, &wp_export_tables[i], fields);
        }
        free(places);
    }
}

static void put_json_field(struct writer *writer, struct wp_json *json, const struct wp_export_column *column,
    const struct wp_export_field *field)
{
    if (column->kind == WP_EXPORT_NUMBER) {
        wp_json_number(json, column->name, field->number);
    } else if (column->kind == WP_EXPORT_TEXT) {
        wp_json_text(json, column->name, field->text);
    } else {
        wp_json_array(json, column->name);
        for (uint32_t depth = find_stack(writer, field->number); depth--;)
            wp_json_text(json, NULL, frame_name(writer, depth));
        wp_json_end(json);
    }
}

static void put_json_table(struct writer *writer, const struct wp_export_table *table)
{
    size_t count;
    struct place *places = choose_rows(writer, table, &count);
    for (size_t row = 0; row < count && !writer->out->failed; row++) {
        struct wp_export_field fields[WP_EXPORT_COLUMNS] = {0};
        table->read(&writer->source, places[row].row, fields);
        struct wp_json json = {.out = writer->out, .put_text = wp_escape_json};
        wp_json_object(&json, NULL);
        wp_json_text(&json, "table", table->name);
        for (size_t i = 0; table->columns[i].name; i++)
            put_json_field(writer, &json, &table->columns[i], &fields[i]);
        wp_json_end(&json);
        wp_buffer_putc(writer->out, '\n');
    }
    free(places);
}

static int begin(struct writer *writer, struct wp_buffer *out, const struct wp_facts *facts,
    const struct wp_export_choice *choice, struct wp_error *err)
{
    uint32_t count;
    *writer = (struct writer){.out = out};
    if (choice)
        writer->choice = *choice;
    wp_report_nodes(facts->report, &count); /* no stack is deeper than all nodes in a row */
    writer->stack = calloc(count + 1u, sizeof(*writer->stack));
    if (!writer->stack)
        return wp_error_set(err, -ENOMEM, "out of memory for stacks of %u frames", count);
    return wp_export_source_init(&writer->source, facts, err);
}

static int end(struct writer *writer, int rc, struct wp_error *err)
{
    wp_export_source_fini(&writer->source);
    free(writer->stack);
    return rc ? rc : writer->out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the tables") : 0;
}

int wp_format_csv(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_export_choice *choice, struct wp_error *err)
{
    struct writer writer;
    int rc = begin(&writer, out, facts, choice, err);
    if (!rc && writer.choice.table)
        put_csv_table(&writer, writer.choice.table);
    else if (!rc)
        put_csv_all(&writer);
    return end(&writer, rc, err);
}

int wp_format_ndjson(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_export_choice *choice, struct wp_error *err)
{
    struct writer writer;
    int rc = begin(&writer, out, facts, choice, err);
    for (size_t i = 0; i < WP_EXPORT_TABLES && !rc; i++)
        if (!writer.choice.table || writer.choice.table == &wp_export_tables[i])
            put_json_table(&writer, &wp_export_tables[i]);
    return end(&writer, rc, err);
}
