/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/export_table.h"

#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"

#include <string.h>

static size_t one(const struct wp_export_source *source)
{
    (void)source;
    return 1;
}

static void read_report(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_facts *facts = source->facts;
    const uint64_t numbers[] = {facts->total_ns, facts->wall_ns, facts->uncertain_ns, facts->detached_ns,
        facts->first_ns, facts->last_ns, facts->host_count};
    (void)row;
    fields[0].text = facts->release;
    fields[1].text = facts->aggregate;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        fields[2 + i].number = numbers[i];
}

static size_t process_count(const struct wp_export_source *source)
{
    return source->facts->process_count;
}

static void read_process(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_process_fact *fact = &source->facts->processes[row];
    fields[0].text = fact->host;
    fields[1].text = fact->comm;
    fields[2].number = fact->pid;
    fields[3].number = fact->start_ns;
    fields[4].number = fact->total_ns;
    fields[5].number = fact->running_ns;
}

static size_t function_count(const struct wp_export_source *source)
{
    return source->facts->function_count;
}

static void read_function(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_function_fact *fact = &source->facts->functions[row];
    fields[0].text = fact->name;
    fields[1].text = fact->object;
    fields[2].text = fact->style == WP_STYLE_KERNEL ? "kernel" : "user";
    fields[3].number = fact->inclusive_ns;
    fields[4].number = fact->running_ns;
    fields[5].number = fact->waiting_ns;
    fields[6].number = fact->count;
}

static size_t category_count(const struct wp_export_source *source)
{
    (void)source;
    return WP_CATEGORIES;
}

static void read_category(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    fields[0].text = wp_category_key((enum wp_category)row);
    fields[1].number = source->facts->categories[row];
}

static size_t edge_count(const struct wp_export_source *source)
{
    return source->facts->edge_count;
}

static void read_edge(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_edge_fact *fact = &source->facts->edges[row];
    fields[0].text = fact->from;
    fields[1].text = fact->to;
    fields[2].number = fact->messages;
    fields[3].number = fact->waited_ns;
    fields[4].number = fact->transit_ns;
    fields[5].number = fact->transit_max_ns;
    fields[6].number = fact->bound_ns;
}

static size_t transaction_count(const struct wp_export_source *source)
{
    uint32_t count;
    wp_report_transactions(source->facts->report, &count);
    return count;
}

static void read_transaction(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    uint32_t count;
    const struct wp_report *report = source->facts->report;
    const struct wp_transaction *fact = &wp_report_transactions(report, &count)[row];
    fields[0].text = wp_report_text(report, fact->service);
    fields[1].text = wp_report_text(report, fact->who);
    fields[2].text = wp_report_text(report, fact->what);
    fields[3].text = wp_transaction_part_key(fact->part);
    fields[4].number = wp_latency_floor(fact->bucket);
    fields[5].number = fact->ns;
    fields[6].number = fact->count;
}

static size_t unexplained_count(const struct wp_export_source *source)
{
    uint32_t count;
    wp_report_unexplained_rows(source->facts->report, &count);
    return count;
}

static void read_unexplained(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    uint32_t count;
    const struct wp_unexplained *rows = wp_report_unexplained_rows(source->facts->report, &count);
    fields[0].number = rows[row].node;
    fields[1].text = wp_report_text(source->facts->report, rows[row].reason);
    fields[2].number = rows[row].ns;
    fields[3].number = rows[row].count;
    fields[4].number = rows[row].longest_ns;
    fields[5].number = rows[row].tid;
}

static size_t wait_count(const struct wp_export_source *source)
{
    return source->waits.count;
}

static void read_wait(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_wait_edge *edge = &source->waits.rows[row];
    fields[0].text = wp_facts_frame_name(source->facts, edge->waiter);
    fields[1].text = wp_facts_frame_name(source->facts, edge->target);
    fields[2].text = wp_wait_kind(wp_facts_frame_style(source->facts, edge->target));
    fields[3].number = edge->ns;
    fields[4].number = edge->count;
}

static size_t stack_count(const struct wp_export_source *source)
{
    return source->facts->flame.cell_count;
}

static void read_stack(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_cell *cell = &source->facts->flame.cells[row];
    fields[0].number = source->facts->flame.nodes[cell->node].source;
    fields[1].text = wp_category_key((enum wp_category)cell->category);
    fields[2].number = cell->ns;
    fields[3].number = cell->count;
}

static size_t line_count(const struct wp_export_source *source)
{
    size_t count = 0;
    while (count < source->facts->source.site_count && source->facts->source.sites[count].file != UINT32_MAX)
        count++;
    return count;
}

static void read_line(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_source_lines *lines = &source->facts->source;
    const struct wp_source_site *site = &lines->sites[row];
    fields[0].text = lines->files[site->file].path;
    fields[1].number = site->line;
    fields[2].text = site->function;
    fields[3].number = site->total_ns;
    fields[4].number = site->run_ns;
    fields[5].number = site->total_ns - site->run_ns;
    fields[6].number = site->self_ns;
    fields[7].number = site->own_ns;
}

static size_t call_count(const struct wp_export_source *source)
{
    return source->facts->source.call_count;
}

static void read_call(const struct wp_export_source *source, size_t row, struct wp_export_field *fields)
{
    const struct wp_source_lines *lines = &source->facts->source;
    const struct wp_source_call *call = &lines->calls[row];
    const struct wp_source_site *site = &lines->sites[call->site];
    fields[0].text = site->file == UINT32_MAX ? "" : lines->files[site->file].path;
    fields[1].number = site->line;
    fields[2].text = site->function;
    fields[3].text = call->name;
    fields[4].text = call->is_inlined    ? "inlined"
        : call->style == WP_STYLE_USER   ? "function"
        : call->style == WP_STYLE_KERNEL ? "kernel"
                                         : "wait";
    fields[5].number = call->total_ns;
    fields[6].number = call->run_ns;
}

#define TEXT(name)                                                                                                     \
    {                                                                                                                  \
        name, WP_EXPORT_TEXT                                                                                           \
    }
#define NUMBER(name)                                                                                                   \
    {                                                                                                                  \
        name, WP_EXPORT_NUMBER                                                                                         \
    }
#define STACK(name)                                                                                                    \
    {                                                                                                                  \
        name, WP_EXPORT_STACK                                                                                          \
    }

const struct wp_export_table wp_export_tables[WP_EXPORT_TABLES] = {
    {"report",
        {TEXT("release"), TEXT("aggregate"), NUMBER("total_ns"), NUMBER("wall_ns"), NUMBER("uncertain_ns"),
            NUMBER("detached_ns"), NUMBER("first_ns"), NUMBER("last_ns"), NUMBER("hosts")},
        one, read_report},
    {"categories", {TEXT("category"), NUMBER("ns")}, category_count, read_category},
    {"processes",
        {TEXT("host"), TEXT("process"), NUMBER("pid"), NUMBER("start_ns"), NUMBER("total_ns"), NUMBER("running_ns")},
        process_count, read_process},
    {"functions",
        {TEXT("function"), TEXT("object"), TEXT("kind"), NUMBER("inclusive_ns"), NUMBER("running_ns"),
            NUMBER("waiting_ns"), NUMBER("count")},
        function_count, read_function},
    {"waits", {TEXT("waiter"), TEXT("waits_for"), TEXT("kind"), NUMBER("ns"), NUMBER("count")}, wait_count, read_wait},
    {"edges",
        {TEXT("from"), TEXT("to"), NUMBER("messages"), NUMBER("waited_ns"), NUMBER("transit_ns"),
            NUMBER("transit_max_ns"), NUMBER("clock_bound_ns")},
        edge_count, read_edge},
    {"requests",
        {TEXT("service"), TEXT("who"), TEXT("function"), TEXT("part"), NUMBER("latency_at_least_ns"), NUMBER("ns"),
            NUMBER("count")},
        transaction_count, read_transaction},
    {"unexplained",
        {STACK("stack"), TEXT("reason"), NUMBER("ns"), NUMBER("count"), NUMBER("longest_ns"), NUMBER("tid")},
        unexplained_count, read_unexplained},
    {"stacks", {STACK("stack"), TEXT("category"), NUMBER("ns"), NUMBER("count")}, stack_count, read_stack},
    {"lines",
        {TEXT("file"), NUMBER("line"), TEXT("function"), NUMBER("inclusive_ns"), NUMBER("run_ns"), NUMBER("wait_ns"),
            NUMBER("self_ns"), NUMBER("own_ns")},
        line_count, read_line},
    {"calls",
        {TEXT("file"), NUMBER("line"), TEXT("function"), TEXT("callee"), TEXT("kind"), NUMBER("inclusive_ns"),
            NUMBER("run_ns")},
        call_count, read_call},
};

bool wp_export_table_has_number(const struct wp_export_table *table, const char *column)
{
    for (size_t i = 0; table->columns[i].name; i++)
        if (table->columns[i].kind == WP_EXPORT_NUMBER && !strcmp(table->columns[i].name, column))
            return true;
    return false;
}

const struct wp_export_table *wp_export_table_find(const char *name)
{
    for (size_t i = 0; i < WP_EXPORT_TABLES; i++)
        if (!strcmp(wp_export_tables[i].name, name))
            return &wp_export_tables[i];
    return NULL;
}

int wp_export_source_init(struct wp_export_source *source, const struct wp_facts *facts, struct wp_error *err)
{
    source->facts = facts;
    return wp_wait_edges_build(&source->waits, facts, err);
}

void wp_export_source_fini(struct wp_export_source *source)
{
    wp_wait_edges_fini(&source->waits);
}
