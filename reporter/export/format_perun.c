/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_perun.h"

#include "common/clock.h"
#include "common/json.h"
#include "reporter/display/escape.h"
#include "reporter/export/format_model.h"
#include "reporter/export/perun_models.h"
#include "reporter/facts/call_lines.h"
#include "reporter/recording/recorded_title.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTIMED UINT64_MAX

/* The time of a cell in one snapshot. */
struct resource {
    uint64_t bucket; /* UNTIMED sorts last */
    uint32_t cell;   /* of the flame */
    uint64_t ns;
};

/* What a resource's time is of. */
struct uid {
    uint32_t node, callee; /* of the flame; callee 0: none */
};

struct writer {
    struct wp_json json;
    const struct wp_facts *facts;
    struct resource *resources;  /* owned; by bucket, then cell */
    uint32_t *uses;              /* owned; by node of the flame: resources with its trace */
    struct wp_call_lines *lines; /* owned */
    size_t resource_count;
    unsigned shift;
    bool is_whole;                 /* no chunks: every resource has its trace */
    uint64_t start_ns;             /* what snapshots count their time from */
    struct wp_perun_model *models; /* owned, WP_PERUN_MODELS of them; function: a frame's number */
    size_t model_count;
    struct uid *uids; /* owned; of a frame: where it is the resource's uid first */
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

/* A node's frame, with the line from which it called what stands on `callee` (0: which it ran itself). */
static void put_frame(struct writer *writer, const char *key, uint32_t node, uint32_t callee)
{
    const struct wp_facts *facts = writer->facts;
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *object = frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
    const char *name = wp_facts_frame_name(facts, frame);
    if (!*object && wp_facts_frame_style(facts, frame) == WP_STYLE_KERNEL)
        object = "[kernel]";
    wp_json_object(&writer->json, key);
    wp_json_text(&writer->json, "source", object);
    wp_json_text(&writer->json, "function", *name ? name : "?");
    wp_json_number(&writer->json, "line",
        wp_call_line(
            writer->lines, name, callee ? wp_facts_frame_name(facts, facts->flame.nodes[callee].frame) : NULL));
    wp_json_end(&writer->json);
}

/* Who the time is of: the innermost function of the top layer, else its innermost frame. *callee: what stands on it. */
static uint32_t uid_node(const struct wp_facts *facts, uint32_t node, uint32_t *callee)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    *callee = 0;
    for (uint32_t at = node; at; *callee = at, at = nodes[at].parent) {
        uint32_t style = wp_facts_frame_style(facts, nodes[at].frame);
        if (style == WP_STYLE_USER || style == WP_STYLE_KERNEL)
            return at;
        if (style == WP_STYLE_PROCESS)
            break;
    }
    *callee = 0;
    return node;
}

/* Sums of each frame in each snapshot with a time. `x` gets the middles of those, in seconds. */
static void sum_amounts(struct writer *writer, uint64_t *ns, double *x, size_t snapshots)
{
    const struct wp_flame *flame = &writer->facts->flame;
    uint32_t frames;
    size_t at = 0;
    wp_report_frames(writer->facts->report, &frames);
    for (size_t i = 0; i < writer->resource_count && writer->resources[i].bucket != UNTIMED; i++) {
        const struct resource *resource = &writer->resources[i];
        at += i && resource->bucket != resource[-1].bucket;
        struct uid uid = {.callee = 0};
        uid.node = uid_node(writer->facts, flame->cells[resource->cell].node, &uid.callee);
        uint32_t frame = flame->nodes[uid.node].frame;
        uint64_t middle_ns = (resource->bucket << writer->shift) + ((uint64_t)1 << writer->shift) / 2;
        x[at] = (double)(middle_ns - writer->start_ns) / WP_NS_PER_S;
        if (frame >= frames)
            continue;
        ns[frame * snapshots + at] += resource->ns;
        if (!writer->uids[frame].node)
            writer->uids[frame] = uid;
    }
}

static size_t timed_snapshots(const struct writer *writer)
{
    size_t count = 0;
    for (size_t i = 0; i < writer->resource_count && writer->resources[i].bucket != UNTIMED; i++)
        count += !i || writer->resources[i].bucket != writer->resources[i - 1].bucket;
    return count;
}

static int fit_models(struct writer *writer)
{
    uint32_t frames;
    size_t snapshots = timed_snapshots(writer);
    wp_report_frames(writer->facts->report, &frames);
    uint64_t *ns = calloc(frames * snapshots + 1, sizeof(*ns));
    double *x = calloc(2 * snapshots + 1, sizeof(*x));
    writer->uids = calloc(frames + (size_t)1, sizeof(*writer->uids));
    writer->models = calloc(WP_PERUN_MODELS, sizeof(*writer->models));
    bool has_memory = ns && x && writer->uids && writer->models;
    if (has_memory) {
        sum_amounts(writer, ns, x, snapshots);
        const struct wp_perun_amounts amounts = {ns, x, frames, snapshots};
        writer->model_count = wp_perun_models_fit(writer->models, &amounts, x + snapshots);
    }
    free(ns);
    free(x);
    return has_memory ? 0 : -ENOMEM;
}

static void put_models(struct writer *writer)
{
    for (size_t i = 0; i < writer->model_count; i++) {
        const struct wp_perun_model *model = &writer->models[i];
        const struct uid *uid = &writer->uids[model->function];
        wp_json_line(&writer->json);
        wp_json_object(&writer->json, NULL);
        put_frame(writer, "uid", uid->node, uid->callee);
        wp_format_model(&writer->json, &model->fitted);
        wp_json_end(&writer->json);
    }
}

static void put_trace(struct writer *writer, const char *key, uint32_t node)
{
    const struct wp_flame_node *nodes = writer->facts->flame.nodes;
    wp_json_array(&writer->json, key);
    for (uint32_t at = node, callee = 0; at; callee = at, at = nodes[at].parent)
        put_frame(writer, NULL, at, callee);
    wp_json_end(&writer->json);
}

static void put_resource(struct writer *writer, const struct resource *resource)
{
    const struct wp_cell *cell = &writer->facts->flame.cells[resource->cell];
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, NULL);
    wp_json_text(&writer->json, "type", "time");
    wp_json_text(&writer->json, "subtype", wp_category_key((enum wp_category)cell->category));
    wp_json_number(&writer->json, "amount", resource->ns);
    uint32_t callee, node = uid_node(writer->facts, cell->node, &callee);
    put_frame(writer, "uid", node, callee);
    if (writer->uses[cell->node] > 1 && !writer->is_whole)
        wp_json_raw(&writer->json, "trace", "\"trace-%" PRIu32 "\"", cell->node);
    else
        put_trace(writer, "trace", cell->node);
    wp_json_end(&writer->json);
}

/* The last one has the models, which are of all. */
static void end_snapshot(struct writer *writer, bool is_last)
{
    wp_json_end(&writer->json);
    wp_json_array(&writer->json, "models");
    if (is_last)
        put_models(writer);
    wp_json_end(&writer->json);
    wp_json_end(&writer->json);
}

static void begin_snapshot(struct writer *writer, uint64_t bucket, bool is_first)
{
    const struct wp_facts *facts = writer->facts;
    uint64_t at_ns = bucket == UNTIMED ? facts->last_ns : bucket << writer->shift;
    if (at_ns < writer->start_ns || (bucket == UNTIMED && is_first))
        at_ns = writer->start_ns;
    at_ns -= writer->start_ns;
    if (!is_first)
        end_snapshot(writer, false);
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, NULL);
    wp_json_raw(&writer->json, "time", "\"%" PRIu64 ".%06u\"", at_ns / WP_NS_PER_S,
        (unsigned)(at_ns % WP_NS_PER_S / WP_NS_PER_US));
    wp_json_array(&writer->json, "resources");
}

static void put_snapshots(struct writer *writer)
{
    wp_json_line(&writer->json);
    wp_json_array(&writer->json, "snapshots");
    for (size_t i = 0; i < writer->resource_count; i++) {
        bool is_new = !i || writer->resources[i].bucket != writer->resources[i - 1].bucket;
        if (is_new)
            begin_snapshot(writer, writer->resources[i].bucket, !i);
        put_resource(writer, &writer->resources[i]);
    }
    if (writer->resource_count)
        end_snapshot(writer, true);
    wp_json_end(&writer->json);
}

static void put_chunks(struct writer *writer)
{
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, "chunks");
    for (uint32_t i = 0; i < writer->facts->flame.count && !writer->is_whole; i++) {
        if (writer->uses[i] < 2)
            continue;
        char key[32];
        snprintf(key, sizeof(key), "trace-%" PRIu32, i);
        wp_json_line(&writer->json);
        put_trace(writer, key, i);
    }
    wp_json_end(&writer->json);
}

/* What the host's collector said of it, under `name`, in an object `in` (NULL: none); nothing when it said nothing. */
static void put_host_fact(struct writer *writer, const char *host, const char *key, const char *in, const char *name)
{
    struct wp_pool pool = {0};
    const char *value =
        wp_metadata_text(&writer->facts->release_metadata, wp_pool_printf(&pool, "host.%s.%s", host, key));
    if (value && *value) {
        if (in)
            wp_json_object(&writer->json, in);
        wp_json_text(&writer->json, name, value);
        if (in)
            wp_json_end(&writer->json);
    }
    writer->json.out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

/* What Perun notes of where it measured; its comparisons of two profiles ask for the host. */
static void put_machine(struct writer *writer)
{
    const struct wp_facts *facts = writer->facts;
    char several[32];
    snprintf(several, sizeof(several), "%zu hosts", facts->host_count);
    const char *host = facts->host_count == 1 ? facts->hosts[0] : several;
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, "machine");
    wp_json_text(&writer->json, "host", host);
    put_host_fact(writer, host, "machine", NULL, "architecture");
    put_host_fact(writer, host, "kernel", NULL, "release");
    put_host_fact(writer, host, "cpus", "cpu", "total");
    wp_json_end(&writer->json);
}

static void put_header(struct writer *writer)
{
    struct wp_json *json = &writer->json;
    const struct wp_facts *facts = writer->facts;
    const char *line = wp_recorded_line(facts), *workload = wp_recorded_workload(facts);
    const char *command = line ? line : facts->aggregate;
    size_t size = line ? wp_recorded_word(line) : strlen(command);
    wp_json_line(json);
    wp_json_object(json, "header");
    wp_json_text(json, "type", "time");
    wp_json_object(json, "units");
    wp_json_text(json, "time", "ns");
    wp_json_end(json);
    struct wp_pool pool = {0};
    wp_json_text(json, "cmd", wp_pool_printf(&pool, "%.*s", (int)size, command));
    wp_json_text(json, "args", command[size] ? command + size + 1 : "");
    wp_json_text(json, "workload", workload ? workload : "");
    json->out->failed |= pool.failed;
    wp_pool_fini(&pool);
    wp_json_end(json);
}

static void put_collector(struct writer *writer)
{
    const struct wp_facts *facts = writer->facts;
    struct wp_json *json = &writer->json;
    wp_json_line(json);
    wp_json_object(json, "collector_info");
    wp_json_text(json, "name", "wakepath");
    wp_json_object(json, "params");
    wp_json_text(json, "release", facts->release);
    wp_json_text(json, "aggregate", facts->aggregate);
    wp_json_array(json, "hosts");
    for (size_t i = 0; i < facts->host_count; i++)
        wp_json_text(json, NULL, facts->hosts[i]);
    wp_json_end(json);
    wp_json_number(json, "start_ns", writer->start_ns);
    wp_json_number(json, "wall_ns", facts->wall_ns);
    wp_json_number(json, "total_ns", facts->total_ns);
    wp_json_end(json);
    wp_json_end(json);
}

/* How the models were made, by the names of Perun's own regression analysis. */
static void put_regression(struct wp_json *json)
{
    wp_json_object(json, NULL);
    wp_json_text(json, "name", "regression_analysis");
    wp_json_object(json, "params");
    wp_json_text(json, "method", "full");
    wp_json_text(json, "of_key", "amount");
    wp_json_text(json, "depending_on", "time");
    wp_json_array(json, "models");
    for (int kind = 0; kind < WP_MODELS; kind++)
        wp_json_text(json, NULL, wp_model_key((enum wp_model_kind)kind));
    wp_json_end(json);
    wp_json_end(json);
    wp_json_end(json);
}

static void put_head(struct writer *writer)
{
    wp_json_text(&writer->json, "origin", writer->facts->release);
    put_header(writer);
    put_collector(writer);
    put_machine(writer);
    wp_json_line(&writer->json);
    wp_json_array(&writer->json, "postprocessors");
    if (writer->model_count)
        put_regression(&writer->json);
    wp_json_end(&writer->json);
}

static int put_profile(struct wp_buffer *out, const struct wp_facts *facts, bool is_whole, struct wp_error *err)
{
    struct writer writer = {.json = {.out = out, .put_text = wp_escape_json}, .facts = facts, .is_whole = is_whole};
    int rc = take_resources(&writer);
    if (!rc)
        rc = fit_models(&writer);
    if (!rc)
        rc = wp_call_lines_create(&writer.lines, &facts->source);
    if (!rc) {
        wp_json_object(&writer.json, NULL);
        put_head(&writer);
        put_snapshots(&writer);
        put_chunks(&writer);
        wp_json_end(&writer.json);
        rc = wp_json_finish(&writer.json, "the Perun profile", err);
    }
    wp_call_lines_destroy(writer.lines);
    free(writer.resources);
    free(writer.uses);
    free(writer.models);
    free(writer.uids);
    return rc ? wp_error_set(err, -ENOMEM, "out of memory for the Perun profile") : 0;
}

int wp_format_perun(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return put_profile(out, facts, false, err);
}

int wp_format_perun_whole(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    return put_profile(out, facts, true, err);
}
