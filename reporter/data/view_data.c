/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/data/view_data.h"

#include "common/intmap.h"
#include "reporter/display/escape.h"
#include "reporter/display/number_column.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 400u

static void put_name(struct wp_buffer *out, const char *name)
{
    struct wp_pool pool = {0};
    wp_escape_js(out, wp_pool_clip(&pool, name, NAME_BYTES));
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

static void put_frame(struct wp_buffer *out, uint32_t style, const char *name, const char *object)
{
    wp_buffer_printf(out, "[%" PRIu32 ",", style);
    put_name(out, name);
    wp_buffer_putc(out, ',');
    put_name(out, object);
    wp_buffer_putc(out, ']');
}

static void put_categories(struct wp_buffer *out)
{
    wp_buffer_puts(out, "\"categories\":[");
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        wp_buffer_printf(out, "%s[", i ? "," : "");
        wp_escape_js(out, wp_category_key((enum wp_category)i));
        wp_buffer_putc(out, ',');
        wp_escape_js(out, wp_category_title((enum wp_category)i));
        wp_buffer_putc(out, ']');
    }
    wp_buffer_puts(out, "],\n");
}

/* Frames that the flame uses, in the order of their first use: ids do not depend on how the report was built. */
struct frame_ids {
    const struct wp_facts *facts;
    uint32_t *ids;   /* by frame id of the report: own id + 1 */
    uint32_t *order; /* own id -> frame id */
    uint32_t count;
};

static int number_frames(struct frame_ids *ids, const struct wp_facts *facts)
{
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    ids->facts = facts;
    ids->ids = calloc(frames + 1u, sizeof(*ids->ids));
    ids->order = calloc(frames + 1u, sizeof(*ids->order));
    if (!ids->ids || !ids->order)
        return -ENOMEM;
    for (uint32_t i = 1; i < facts->flame.count; i++) {
        uint32_t frame = facts->flame.nodes[i].frame;
        if (!ids->ids[frame]) {
            ids->order[ids->count++] = frame;
            ids->ids[frame] = ids->count;
        }
    }
    return 0;
}

static uint64_t node_depth(const void *context, uint32_t row)
{
    return ((const struct frame_ids *)context)->facts->flame.nodes[row + 1].depth;
}

static uint64_t node_frame(const void *context, uint32_t row)
{
    const struct frame_ids *ids = context;
    return ids->ids[ids->facts->flame.nodes[row + 1].frame] - 1;
}

static uint64_t node_permalink(const void *context, uint32_t row)
{
    return ((const struct frame_ids *)context)->facts->flame.nodes[row + 1].permalink;
}

static uint64_t cell_node(const void *context, uint32_t row)
{
    return ((const struct frame_ids *)context)->facts->flame.cells[row].node;
}

static uint64_t cell_category(const void *context, uint32_t row)
{
    return ((const struct frame_ids *)context)->facts->flame.cells[row].category;
}

static uint64_t cell_ns(const void *context, uint32_t row)
{
    return ((const struct frame_ids *)context)->facts->flame.cells[row].ns;
}

static uint64_t cell_pieces(const void *context, uint32_t row)
{
    return ((const struct frame_ids *)context)->facts->flame.cells[row].count;
}

/* Whether a node's function was inlined into the one that it stands on, as far as their lines say so. Texts are the
 * report's. */
static int find_inlined(struct wp_intmap *pairs, const struct wp_facts *facts)
{
    for (uint32_t i = 0; i < facts->source.call_count; i++) {
        const struct wp_source_call *call = &facts->source.calls[i];
        const char *from = facts->source.sites[call->site].function;
        if (call->is_inlined && wp_intmap_put(pairs, (struct wp_intkey){(uintptr_t)from, (uintptr_t)call->name}, 1))
            return -ENOMEM;
    }
    return 0;
}

/* "inlined": the nodes, each as the step from the one before. */
static int put_inlined(struct wp_buffer *out, const struct wp_facts *facts)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    struct wp_intmap pairs = {0};
    uint32_t last = 0, found;
    int rc = find_inlined(&pairs, facts);
    wp_buffer_puts(out, "\"inlined\":[");
    for (uint32_t i = 1; i < facts->flame.count && pairs.count && !rc; i++) {
        uint32_t below = nodes[nodes[i].parent].frame;
        if (!below || wp_facts_frame_style(facts, nodes[i].frame) != WP_STYLE_USER ||
            wp_facts_frame_style(facts, below) != WP_STYLE_USER)
            continue;
        struct wp_intkey key = {
            (uintptr_t)wp_facts_frame_name(facts, below), (uintptr_t)wp_facts_frame_name(facts, nodes[i].frame)};
        if (!wp_intmap_get(&pairs, key, &found))
            continue;
        wp_buffer_printf(out, "%s%" PRIu32, last ? "," : "", i - last);
        last = i;
    }
    wp_buffer_puts(out, "],\n");
    wp_intmap_fini(&pairs);
    return rc;
}

static uint64_t node_was(const void *context, uint32_t row)
{
    return ((const struct wp_compare_flame *)context)->other_ns[row];
}

static uint64_t node_mark(const void *context, uint32_t row)
{
    return ((const struct wp_compare_flame *)context)->marks[row];
}

static int put_flame(struct wp_buffer *out, const char *name, const struct wp_facts *facts,
    const struct wp_compare *compare, int operand, struct wp_error *err)
{
    struct frame_ids ids = {0};
    const struct wp_flame *flame = &facts->flame;
    int rc = number_frames(&ids, facts);
    if (!rc) {
        wp_buffer_printf(out, "wakepath.data(\"%s\",{\n", name);
        put_categories(out);
        wp_buffer_puts(out, "\"frames\":[");
        for (uint32_t i = 0; i < ids.count; i++) {
            uint32_t frame = ids.order[i], count;
            const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
            wp_buffer_puts(out, i ? ",\n" : "");
            put_frame(out, frames[frame].style, wp_facts_frame_name(facts, frame),
                wp_report_text(facts->report, frames[frame].object));
        }
        wp_buffer_puts(out, "],\n");
        wp_number_column_put(out, "depth", flame->count - 1, node_depth, &ids);
        wp_number_column_put(out, "frame", flame->count - 1, node_frame, &ids);
        wp_number_column_put(out, "link", flame->count - 1, node_permalink, &ids);
        wp_number_column_put(out, "cell_node", flame->cell_count, cell_node, &ids);
        wp_number_column_put(out, "cell_category", flame->cell_count, cell_category, &ids);
        wp_number_column_put(out, "cell_ns", flame->cell_count, cell_ns, &ids);
        wp_number_column_put(out, "cell_pieces", flame->cell_count, cell_pieces, &ids);
        rc = put_inlined(out, facts);
        if (compare) {
            wp_number_column_put(out, "was", compare->flames[operand].count, node_was, &compare->flames[operand]);
            wp_number_column_put(out, "mark", compare->flames[operand].count, node_mark, &compare->flames[operand]);
            wp_buffer_puts(out, "\"own\":");
            put_name(out, compare->operand[operand].label);
            wp_buffer_puts(out, ",\n\"before\":");
            put_name(out, compare->operand[!operand].label);
            wp_buffer_printf(out, ",\n\"older\":%d,\n", operand == WP_BEFORE);
        }
        wp_buffer_puts(out, "\"end\":0});\n");
    }
    free(ids.ids);
    free(ids.order);
    return !rc && !out->failed ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the flame's data");
}

int wp_view_data_flame(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return put_flame(out, "flame", facts, NULL, 0, err);
}

int wp_view_data_compare(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_compare *compare, struct wp_error *err)
{
    int rc = put_flame(out, "compare", facts, compare, WP_AFTER, err);
    return rc ? rc : put_flame(out, "older", compare->facts[WP_BEFORE], compare, WP_BEFORE, err);
}

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
        put_name(out, wp_intern_text(trace->strings, i));
    }
    wp_buffer_puts(out, "],\n\"frames\":[");
    for (uint32_t i = 0; i < trace->frame_count; i++) {
        wp_buffer_puts(out, i ? ",\n" : "");
        put_frame(out, trace->frames[i].style, wp_intern_text(trace->strings, trace->frames[i].name),
            wp_intern_text(trace->strings, trace->frames[i].object));
    }
    wp_buffer_puts(out, "],\n");
}

int wp_view_data_window(struct wp_buffer *out, const struct wp_trace *trace, const char *name, struct wp_error *err)
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
    wp_buffer_printf(out, "wakepath.data(\"%s\",{\n\"length\":%" PRIu64 ",\n\"omitted\":%" PRIu64 ",\n", name,
        trace->length_ns, trace->omitted);
    put_categories(out);
    put_names(out, trace);
    put_columns(out, trace, nodes, trace->node_count);
    put_columns(out, trace, pieces, trace->piece_count);
    put_columns(out, trace, threads, trace->thread_count);
    put_columns(out, trace, runs, trace->run_count);
    put_columns(out, trace, sleeps, trace->sleep_count);
    put_columns(out, trace, links, trace->link_count);
    put_columns(out, trace, paths, trace->path_count);
    wp_buffer_puts(out, "\"end\":0});\n");
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the trace's data") : 0;
}

int wp_view_data_trace(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return wp_view_data_window(out, facts->trace, "trace", err);
}
