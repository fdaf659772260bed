/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_perun.h"

#include "common/clock.h"
#include "reporter/display/escape.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define UNTIMED UINT64_MAX

/* The time of a cell in one snapshot. */
struct resource {
    uint64_t bucket; /* UNTIMED sorts last */
    uint32_t cell;   /* of the flame */
    uint64_t ns;
};

struct writer {
    struct wp_buffer *out;
    const struct wp_facts *facts;
    struct resource *resources; /* owned; by bucket, then cell */
    uint32_t *uses;             /* owned; by node of the flame: resources with its trace */
    size_t resource_count;
    unsigned shift;
    bool is_whole;     /* no chunks: every resource has its trace */
    uint64_t start_ns; /* what snapshots count their time from */
};

static int compare_resources(const void *left, const void *right)
{
    const struct resource *a = left, *b = right;
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

/* The flame's cell of a report's cell; UINT32_MAX: left out there. */
static uint32_t flame_cell(const struct wp_facts *facts, const struct wp_cell *cell)
{
    uint32_t node = facts->flame.by_source[cell->node];
    const struct wp_flame_node *at = &facts->flame.nodes[node];
    for (uint32_t i = at->cell; i < at->cell + at->cell_count; i++)
        if (facts->flame.cells[i].category == cell->category && at->source == cell->node)
            return i;
    return UINT32_MAX;
}

static void add(struct writer *writer, uint64_t bucket, uint32_t cell, uint64_t ns)
{
    if (!ns)
        return;
    writer->resources[writer->resource_count++] = (struct resource){bucket, cell, ns};
    writer->uses[writer->facts->flame.cells[cell].node]++;
}

static int take_resources(struct writer *writer)
{
    const struct wp_facts *facts = writer->facts;
    uint32_t cell_count, sample_count, bucket_count;
    const struct wp_cell *cells = wp_report_cells(facts->report, &cell_count);
    const struct wp_cell_sample *samples = wp_report_samples(facts->report, &sample_count);
    const uint64_t *buckets = wp_report_buckets(facts->report, &bucket_count, &writer->shift);
    uint64_t *left = calloc(facts->flame.cell_count + 1u, sizeof(*left));
    writer->resources = calloc((size_t)sample_count + facts->flame.cell_count + 1, sizeof(*writer->resources));
    writer->uses = calloc(facts->flame.count + 1u, sizeof(*writer->uses));
    if (!left || !writer->resources || !writer->uses) {
        free(left);
        return -ENOMEM;
    }
    writer->start_ns = bucket_count ? buckets[0] << writer->shift : facts->first_ns;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++)
        left[i] = facts->flame.cells[i].ns;
    for (uint32_t i = 0; i < sample_count; i++) {
        uint32_t cell = samples[i].cell < cell_count ? flame_cell(facts, &cells[samples[i].cell]) : UINT32_MAX;
        if (cell == UINT32_MAX)
            continue;
        uint64_t ns = samples[i].ns < left[cell] ? samples[i].ns : left[cell];
        left[cell] -= ns;
        add(writer, samples[i].bucket, cell, ns);
    }
    for (uint32_t i = 0; i < facts->flame.cell_count; i++)
        add(writer, UNTIMED, i, left[i]);
    qsort(writer->resources, writer->resource_count, sizeof(*writer->resources), compare_resources);
    free(left);
    return 0;
}

static void put_frame(struct writer *writer, uint32_t frame)
{
    const struct wp_facts *facts = writer->facts;
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *object = frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
    const char *name = wp_facts_frame_name(facts, frame);
    wp_buffer_puts(writer->out, "{\"source\":");
    wp_escape_json(writer->out,
        *object                                                     ? object
            : wp_facts_frame_style(facts, frame) == WP_STYLE_KERNEL ? "[kernel]"
                                                                    : "");
    wp_buffer_puts(writer->out, ",\"function\":");
    wp_escape_json(writer->out, *name ? name : "?");
    wp_buffer_puts(writer->out, ",\"line\":0}");
}

/* Who the time is of: the innermost function of the top layer, else its innermost frame. */
static uint32_t uid_frame(const struct wp_facts *facts, uint32_t node)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t at = node; at; at = nodes[at].parent) {
        uint32_t style = wp_facts_frame_style(facts, nodes[at].frame);
        if (style == WP_STYLE_USER || style == WP_STYLE_KERNEL)
            return nodes[at].frame;
        if (style == WP_STYLE_PROCESS)
            break;
    }
    return nodes[node].frame;
}

static void put_trace(struct writer *writer, uint32_t node)
{
    const struct wp_flame_node *nodes = writer->facts->flame.nodes;
    wp_buffer_putc(writer->out, '[');
    for (uint32_t at = node; at; at = nodes[at].parent) {
        if (at != node)
            wp_buffer_putc(writer->out, ',');
        put_frame(writer, nodes[at].frame);
    }
    wp_buffer_putc(writer->out, ']');
}

static void put_resource(struct writer *writer, const struct resource *resource)
{
    const struct wp_cell *cell = &writer->facts->flame.cells[resource->cell];
    wp_buffer_printf(writer->out, "{\"type\":\"time\",\"subtype\":\"%s\",\"amount\":%" PRIu64 ",\"uid\":",
        wp_category_key((enum wp_category)cell->category), resource->ns);
    put_frame(writer, uid_frame(writer->facts, cell->node));
    wp_buffer_puts(writer->out, ",\"trace\":");
    if (writer->uses[cell->node] > 1 && !writer->is_whole)
        wp_buffer_printf(writer->out, "\"trace-%" PRIu32 "\"", cell->node);
    else
        put_trace(writer, cell->node);
    wp_buffer_putc(writer->out, '}');
}

static void begin_snapshot(struct writer *writer, uint64_t bucket, bool is_first)
{
    const struct wp_facts *facts = writer->facts;
    uint64_t at_ns = bucket == UNTIMED ? facts->last_ns : bucket << writer->shift;
    if (at_ns < writer->start_ns || (bucket == UNTIMED && is_first))
        at_ns = writer->start_ns;
    at_ns -= writer->start_ns;
    wp_buffer_printf(writer->out, "%s\n{\"time\":\"%" PRIu64 ".%06u\",\"resources\":[",
        is_first ? "" : "],\"models\":[]},", at_ns / WP_NS_PER_S, (unsigned)(at_ns % WP_NS_PER_S / 1000u));
}

static void put_snapshots(struct writer *writer)
{
    wp_buffer_puts(writer->out, "\"snapshots\":[");
    for (size_t i = 0; i < writer->resource_count; i++) {
        bool is_new = !i || writer->resources[i].bucket != writer->resources[i - 1].bucket;
        if (is_new)
            begin_snapshot(writer, writer->resources[i].bucket, !i);
        wp_buffer_puts(writer->out, is_new ? "\n" : ",\n");
        put_resource(writer, &writer->resources[i]);
    }
    wp_buffer_puts(writer->out, writer->resource_count ? "],\"models\":[]}],\n" : "],\n");
}

static void put_chunks(struct writer *writer)
{
    bool has_chunk = false;
    wp_buffer_puts(writer->out, "\"chunks\":{");
    for (uint32_t i = 0; i < writer->facts->flame.count && !writer->is_whole; i++) {
        if (writer->uses[i] < 2)
            continue;
        wp_buffer_printf(writer->out, "%s\n\"trace-%" PRIu32 "\":", has_chunk ? "," : "", i);
        put_trace(writer, i);
        has_chunk = true;
    }
    wp_buffer_puts(writer->out, "}");
}

static void put_text(struct writer *writer, const char *key, const char *text)
{
    wp_buffer_printf(writer->out, "\"%s\":", key);
    wp_escape_json(writer->out, text);
}

/* What the host's collector said of it, between `before` and `after`; nothing when it said nothing. */
static void put_said(struct writer *writer, const char *host, const char *key, const char *before, const char *after)
{
    struct wp_pool pool = {0};
    const char *value =
        wp_metadata_text(&writer->facts->release_metadata, wp_pool_printf(&pool, "host.%s.%s", host, key));
    if (value && *value) {
        wp_buffer_puts(writer->out, before);
        wp_escape_json(writer->out, value);
        wp_buffer_puts(writer->out, after);
    }
    writer->out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

/* What Perun notes of where it measured; its comparisons of two profiles ask for the host. */
static void put_machine(struct writer *writer)
{
    const struct wp_facts *facts = writer->facts;
    char several[32];
    snprintf(several, sizeof(several), "%zu hosts", facts->host_count);
    const char *host = facts->host_count == 1 ? facts->hosts[0] : several;
    wp_buffer_puts(writer->out, "\"machine\":{");
    put_text(writer, "host", host);
    put_said(writer, host, "machine", ",\"architecture\":", "");
    put_said(writer, host, "kernel", ",\"release\":", "");
    put_said(writer, host, "cpus", ",\"cpu\":{\"total\":", "}");
    wp_buffer_puts(writer->out, "},\n");
}

static void put_head(struct writer *writer)
{
    const struct wp_facts *facts = writer->facts;
    wp_buffer_putc(writer->out, '{');
    put_text(writer, "origin", facts->release);
    wp_buffer_puts(writer->out, ",\n\"header\":{\"type\":\"time\",\"units\":{\"time\":\"ns\"},");
    put_text(writer, "cmd", facts->aggregate);
    wp_buffer_puts(
        writer->out, ",\"args\":\"\",\"workload\":\"\"},\n\"collector_info\":{\"name\":\"wakepath\",\"params\":{");
    put_text(writer, "release", facts->release);
    wp_buffer_putc(writer->out, ',');
    put_text(writer, "aggregate", facts->aggregate);
    wp_buffer_puts(writer->out, ",\"hosts\":[");
    for (size_t i = 0; i < facts->host_count; i++) {
        wp_buffer_puts(writer->out, i ? "," : "");
        wp_escape_json(writer->out, facts->hosts[i]);
    }
    wp_buffer_printf(writer->out, "],\"start_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}},\n",
        writer->start_ns, facts->wall_ns, facts->total_ns);
    put_machine(writer);
    wp_buffer_puts(writer->out, "\"postprocessors\":[],\n");
}

static int put_profile(struct wp_buffer *out, const struct wp_facts *facts, bool is_whole, struct wp_error *err)
{
    struct writer writer = {.out = out, .facts = facts, .is_whole = is_whole};
    int rc = take_resources(&writer);
    if (!rc) {
        put_head(&writer);
        put_snapshots(&writer);
        put_chunks(&writer);
        wp_buffer_puts(out, "}\n");
    }
    free(writer.resources);
    free(writer.uses);
    return rc || out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the Perun profile") : 0;
}

int wp_format_perun(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return put_profile(out, facts, false, err);
}

int wp_format_perun_whole(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return put_profile(out, facts, true, err);
}
