/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/data/exemplar_data.h"

#include "common/clock.h"
#include "reporter/display/escape.h"
#include "reporter/display/view_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct node_time {
    uint64_t ns;                /* on top of the node, on paths of interest */
    uint64_t longest_ns, at_ns; /* the longest piece, and where in the window it begins */
    uint32_t category;          /* of that piece */
};

static struct node_time *times_of(const struct wp_trace *trace)
{
    struct node_time *times = calloc(trace->node_count + 1u, sizeof(*times));
    for (uint32_t i = 0; times && i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        struct node_time *time = &times[piece->node];
        if (!trace->paths[piece->path].is_base)
            continue;
        time->ns += piece->length_ns;
        if (piece->length_ns > time->longest_ns) {
            time->longest_ns = piece->length_ns;
            time->at_ns = piece->start_ns;
            time->category = piece->category;
        }
    }
    return times;
}

static void put_tree(struct wp_buffer *out, const struct wp_trace *trace)
{
    wp_buffer_puts(out, "\"frames\":[");
    for (uint32_t i = 0; i < trace->frame_count; i++) {
        wp_buffer_puts(out, i ? ",\n" : "");
        wp_view_frame_put(out, trace->frames[i].style, wp_intern_text(trace->strings, trace->frames[i].name),
            wp_intern_text(trace->strings, trace->frames[i].object));
    }
    wp_buffer_puts(out, "],\n\"node_parent\":[");
    for (uint32_t i = 0; i < trace->node_count; i++)
        wp_buffer_printf(out, i ? ",%" PRIu32 : "%" PRIu32, trace->nodes[i].parent);
    wp_buffer_puts(out, "],\n\"node_frame\":[");
    for (uint32_t i = 0; i < trace->node_count; i++)
        wp_buffer_printf(out, i ? ",%" PRIu32 : "%" PRIu32, trace->nodes[i].frame);
    wp_buffer_puts(out, "],\n");
}

/* [ns, where the longest piece begins, its length and category] by node. */
static int put_times(struct wp_buffer *out, const struct wp_trace *trace)
{
    struct node_time *times = times_of(trace);
    if (!times)
        return -ENOMEM;
    wp_buffer_puts(out, "\"times\":[");
    for (uint32_t i = 0; i < trace->node_count; i++)
        if (times[i].ns)
            wp_buffer_printf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 "]", i ? "," : "", times[i].ns,
                times[i].at_ns, times[i].longest_ns, times[i].category);
        else
            wp_buffer_puts(out, i ? ",0" : "0");
    wp_buffer_puts(out, "]");
    free(times);
    return 0;
}

int wp_exemplar_data(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    int rc = 0;
    wp_buffer_puts(out, "wakepath.data(\"exemplars\",{\"windows\":[\n");
    for (size_t i = 0; i < facts->exemplars.count && !rc; i++) {
        const struct wp_exemplar_fact *fact = &facts->exemplars.rows[i];
        if (fact->is_beginning) /* they are the last, and too large to be looked through */
            break;
        wp_buffer_printf(out,
            "%s{\"number\":%zu,\"start\":%" PRIu64 ",\"length\":%" PRIu64 ",\"rank\":%u,\"typical\":%d,\"title\":",
            i ? ",\n" : "", i + 1, fact->start_ns / WP_NS_PER_MS, fact->length_ns, fact->rank, fact->is_typical);
        wp_view_name_put(out, fact->title);
        wp_buffer_puts(out, ",\"host\":");
        wp_view_name_put(out, fact->host);
        wp_buffer_puts(out, ",\n");
        put_tree(out, fact->trace);
        rc = put_times(out, fact->trace);
        wp_buffer_puts(out, "}");
    }
    wp_buffer_puts(out, "]});\n");
    return !rc && !out->failed ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the exemplars' data");
}
