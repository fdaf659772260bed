/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/window/window_data.h"

#include "reporter/display/number_column.h"
#include "reporter/display/view_names.h"

#include <errno.h>
#include <inttypes.h>

#define COLUMN(function, field)                                                                                        \
    static uint64_t function(const void *context, uint32_t row)                                                        \
    {                                                                                                                  \
        return ((const struct wp_trace *)context)->field;                                                              \
    }

COLUMN(trace_parent, nodes[row].parent)
COLUMN(trace_frame, nodes[row].frame)
COLUMN(piece_path, pieces[row].path)
COLUMN(piece_node, pieces[row].node)
COLUMN(piece_start, pieces[row].start_ns)
COLUMN(piece_length, pieces[row].length_ns)
COLUMN(piece_category, pieces[row].category)
COLUMN(thread_pid, threads[row].pid)
COLUMN(thread_tid, threads[row].tid)
COLUMN(thread_base, threads[row].is_base)
COLUMN(run_thread, runs[row].thread)
COLUMN(run_start, runs[row].start_ns)
COLUMN(run_length, runs[row].length_ns)
COLUMN(sleep_thread, sleeps[row].thread)
COLUMN(sleep_category, sleeps[row].category)
COLUMN(sleep_start, sleeps[row].start_ns)
COLUMN(sleep_length, sleeps[row].length_ns)
COLUMN(link_kind, links[row].kind)
COLUMN(link_from, links[row].from_thread)
COLUMN(link_to, links[row].to_thread)
COLUMN(link_start, links[row].from_ns)
COLUMN(link_end, links[row].to_ns)
COLUMN(path_thread, paths[row].thread)
COLUMN(path_base, paths[row].is_base)
COLUMN(thread_host, threads[row].host)
COLUMN(thread_comm, threads[row].comm)
COLUMN(run_comm, runs[row].comm)
COLUMN(sleep_label, sleeps[row].label)
COLUMN(thread_group, threads[row].group)
COLUMN(thread_path, threads[row].is_on_path)
COLUMN(run_cpu, runs[row].cpu)
COLUMN(op_kind, ops[row].kind)
COLUMN(op_place, ops[row].place)
COLUMN(op_label, ops[row].label)
COLUMN(op_thread, ops[row].thread)
COLUMN(op_start, ops[row].start_ns)
COLUMN(op_length, ops[row].length_ns)

struct trace_column {
    const char *name;
    uint64_t (*value)(const void *context, uint32_t row);
};

static void put_columns(
    struct wp_buffer *out, const struct wp_trace *trace, const struct trace_column *columns, uint32_t count)
{
    for (; columns->name; columns++)
        wp_number_column_put(out, columns->name, count, columns->value, trace);
}

static void put_names(struct wp_buffer *out, const struct wp_trace *trace)
{
    wp_buffer_puts(out, "\"names\":[");
    uint32_t names = wp_intern_count(trace->strings);
    for (uint32_t i = 0; i < names; i++) {
        wp_buffer_puts(out, i ? ",\n" : "");
        wp_view_name_put(out, wp_intern_text(trace->strings, i));
    }
    wp_buffer_puts(out, "],\n\"frames\":[");
    for (uint32_t i = 0; i < trace->frame_count; i++) {
        wp_buffer_puts(out, i ? ",\n" : "");
        wp_view_frame_put(out, trace->frames[i].style, wp_intern_text(trace->strings, trace->frames[i].name),
            wp_intern_text(trace->strings, trace->frames[i].object));
    }
    wp_buffer_puts(out, "],\n");
}

/* What only a window of the whole system has. */
static void put_system(struct wp_buffer *out, const struct wp_trace *trace)
{
    static const struct trace_column threads[] = {
        {"thread_group", thread_group}, {"thread_path", thread_path}, {NULL, NULL}};
    static const struct trace_column runs[] = {{"run_cpu", run_cpu}, {NULL, NULL}};
    static const struct trace_column ops[] = {{"op_kind", op_kind}, {"op_place", op_place}, {"op_label", op_label},
        {"op_thread", op_thread}, {"op_start", op_start}, {"op_length", op_length}, {NULL, NULL}};
    uint32_t cpus = 0;
    for (uint32_t i = 0; i < trace->run_count; i++)
        cpus |= trace->runs[i].cpu;
    if (!cpus)
        return;
    wp_buffer_printf(out, "\"grain\":%" PRIu64 ",\n", trace->grain_ns);
    put_columns(out, trace, threads, trace->thread_count);
    put_columns(out, trace, runs, trace->run_count);
    put_columns(out, trace, ops, trace->op_count);
}

int wp_window_data(struct wp_buffer *out, const struct wp_trace *trace, const char *name, struct wp_error *err)
{
    static const struct trace_column nodes[] = {
        {"node_parent", trace_parent}, {"node_frame", trace_frame}, {NULL, NULL}};
    static const struct trace_column pieces[] = {{"piece_path", piece_path}, {"piece_node", piece_node},
        {"piece_start", piece_start}, {"piece_length", piece_length}, {"piece_category", piece_category}, {NULL, NULL}};
    static const struct trace_column threads[] = {{"thread_host", thread_host}, {"thread_comm", thread_comm},
        {"thread_pid", thread_pid}, {"thread_tid", thread_tid}, {"thread_base", thread_base}, {NULL, NULL}};
    static const struct trace_column runs[] = {{"run_thread", run_thread}, {"run_comm", run_comm},
        {"run_start", run_start}, {"run_length", run_length}, {NULL, NULL}};
    static const struct trace_column sleeps[] = {{"sleep_thread", sleep_thread}, {"sleep_label", sleep_label},
        {"sleep_category", sleep_category}, {"sleep_start", sleep_start}, {"sleep_length", sleep_length}, {NULL, NULL}};
    static const struct trace_column links[] = {{"link_kind", link_kind}, {"link_from", link_from},
        {"link_to", link_to}, {"link_start", link_start}, {"link_end", link_end}, {NULL, NULL}};
    static const struct trace_column paths[] = {{"path_thread", path_thread}, {"path_base", path_base}, {NULL, NULL}};
    wp_buffer_printf(out,
        "wakepath.data(\"%s\",{\n\"start\":\"%" PRIu64 "\",\n\"length\":%" PRIu64 ",\n\"omitted\":%" PRIu64 ",\n", name,
        trace->start_ns, trace->length_ns, trace->omitted);
    wp_view_categories_put(out);
    put_names(out, trace);
    put_columns(out, trace, nodes, trace->node_count);
    put_columns(out, trace, pieces, trace->piece_count);
    put_columns(out, trace, threads, trace->thread_count);
    put_columns(out, trace, runs, trace->run_count);
    put_columns(out, trace, sleeps, trace->sleep_count);
    put_columns(out, trace, links, trace->link_count);
    put_columns(out, trace, paths, trace->path_count);
    put_system(out, trace);
    wp_buffer_puts(out, "\"end\":0});\n");
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the trace's data") : 0;
}
