/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_speedscope.h"

#include "common/array.h"
#include "common/json.h"
#include "reporter/display/escape.h"
#include "reporter/facts/frame_table.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct writer {
    struct wp_json json;
    const struct wp_facts *facts;
    struct wp_frame_table frames; /* of the flame; those of the trace come after them */
    uint64_t *weights;            /* owned; of the samples of the profile that is being written */
    size_t weight_count, weight_room;
};

static void put_frame(struct wp_json *json, const char *name, const char *object)
{
    wp_json_line(json);
    wp_json_object(json, NULL);
    wp_json_text(json, "name", *name ? name : "?");
    if (*object)
        wp_json_text(json, "file", object);
    wp_json_end(json);
}

static void put_frames(struct writer *writer)
{
    const struct wp_facts *facts = writer->facts;
    const struct wp_trace *trace = facts->trace;
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, "shared");
    wp_json_array(&writer->json, "frames");
    for (uint32_t i = 0; i < writer->frames.count; i++) {
        const struct wp_frame_info *frame = &frames[writer->frames.frames[i]];
        put_frame(
            &writer->json, wp_report_text(facts->report, frame->name), wp_report_text(facts->report, frame->object));
    }
    for (uint32_t i = 0; trace && i < trace->frame_count; i++)
        put_frame(&writer->json, wp_intern_text(trace->strings, trace->frames[i].name),
            wp_intern_text(trace->strings, trace->frames[i].object));
    wp_json_end(&writer->json);
    wp_json_end(&writer->json);
}

static void begin_profile(struct writer *writer, const char *name)
{
    wp_json_line(&writer->json);
    wp_json_object(&writer->json, NULL);
    wp_json_text(&writer->json, "type", "sampled");
    wp_json_text(&writer->json, "unit", "nanoseconds");
    wp_json_text(&writer->json, "name", name);
    wp_json_line(&writer->json);
    wp_json_array(&writer->json, "samples");
    writer->weight_count = 0;
}

static void begin_sample(struct writer *writer, uint64_t weight)
{
    wp_json_line(&writer->json);
    wp_json_array(&writer->json, NULL);
    if (WP_ARRAY_FIT(writer->weights, writer->weight_room, writer->weight_count + 1))
        writer->json.out->failed = true;
    else
        writer->weights[writer->weight_count++] = weight;
}

static void end_profile(struct writer *writer, uint64_t start_ns)
{
    uint64_t end_ns = start_ns;
    wp_json_end(&writer->json);
    wp_json_line(&writer->json);
    wp_json_array(&writer->json, "weights");
    for (size_t i = 0; i < writer->weight_count; end_ns += writer->weights[i++])
        wp_json_number(&writer->json, NULL, writer->weights[i]);
    wp_json_end(&writer->json);
    wp_json_line(&writer->json);
    wp_json_number(&writer->json, "startValue", start_ns);
    wp_json_number(&writer->json, "endValue", end_ns);
    wp_json_end(&writer->json);
}

static int put_flame(struct writer *writer, struct wp_error *err)
{
    const struct wp_flame *flame = &writer->facts->flame;
    struct wp_stack_walk walk;
    begin_profile(writer, "all control paths, gathered");
    wp_stack_walk_init(&walk, flame);
    while (wp_stack_walk_next(&walk)) {
        begin_sample(writer, walk.cell->ns);
        for (uint32_t i = 0; i < walk.depth; i++)
            wp_json_number(&writer->json, NULL, writer->frames.numbers[flame->nodes[walk.stack[i]].frame] - 1);
        wp_json_end(&writer->json);
    }
    bool failed = walk.failed;
    wp_stack_walk_fini(&walk);
    end_profile(writer, 0);
    return failed ? wp_error_set(err, -ENOMEM, "out of memory for the deepest stack") : 0;
}

/* The stack of a node of the trace, outermost first; a stored tree has parents before children, so this ends. */
static void put_trace_stack(struct writer *writer, uint32_t node, uint32_t *room)
{
    const struct wp_trace *trace = writer->facts->trace;
    uint32_t depth = 0;
    for (; node && node < trace->node_count; node = trace->nodes[node].parent)
        room[depth++] = trace->nodes[node].frame;
    while (depth--)
        wp_json_number(&writer->json, NULL, writer->frames.count + room[depth]);
}

static int compare_pieces(const void *left, const void *right)
{
    const struct wp_trace_piece *const *a = left, *const *b = right;
    if ((*a)->path != (*b)->path)
        return (*a)->path < (*b)->path ? -1 : 1;
    if ((*a)->start_ns != (*b)->start_ns)
        return (*a)->start_ns < (*b)->start_ns ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static void begin_path(struct writer *writer, uint32_t path)
{
    const struct wp_trace *trace = writer->facts->trace;
    uint32_t thread = path < trace->path_count ? trace->paths[path].thread : UINT32_MAX;
    struct wp_pool pool = {0};
    if (thread < trace->thread_count)
        begin_profile(writer,
            wp_pool_printf(&pool, "path %" PRIu32 ": %s %" PRIu32, path,
                wp_intern_text(trace->strings, trace->threads[thread].comm), trace->threads[thread].tid));
    else
        begin_profile(writer, wp_pool_printf(&pool, "path %" PRIu32, path));
    writer->json.out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

/* Pieces of one path follow each other: one that begins before the last has ended is cut to what is left of it. */
static void put_path(struct writer *writer, const struct wp_trace_piece *const *pieces, uint32_t count, uint32_t *room)
{
    uint64_t start_ns = pieces[0]->start_ns, at_ns = start_ns;
    begin_path(writer, pieces[0]->path);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end_ns = pieces[i]->start_ns + pieces[i]->length_ns;
        if (pieces[i]->start_ns > at_ns) {
            begin_sample(writer, pieces[i]->start_ns - at_ns);
            wp_json_end(&writer->json);
            at_ns = pieces[i]->start_ns;
        }
        if (end_ns <= at_ns)
            continue;
        begin_sample(writer, end_ns - at_ns);
        put_trace_stack(writer, pieces[i]->node, room);
        wp_json_end(&writer->json);
        at_ns = end_ns;
    }
    end_profile(writer, start_ns);
}

static int put_paths(struct writer *writer, struct wp_error *err)
{
    const struct wp_trace *trace = writer->facts->trace;
    uint32_t count = trace ? trace->piece_count : 0;
    const struct wp_trace_piece **sorted = calloc(count + 1u, sizeof(*sorted));
    uint32_t *room = calloc((trace ? trace->node_count : 0) + 1u, sizeof(*room));
    int rc = sorted && room ? 0 : wp_error_set(err, -ENOMEM, "out of memory for %u pieces", count);
    for (uint32_t i = 0; i < count && !rc; i++)
        sorted[i] = &trace->pieces[i];
    if (count && !rc)
        qsort(sorted, count, sizeof(*sorted), compare_pieces);
    for (uint32_t first = 0, i = 1; i <= count && !rc; i++)
        if (i == count || sorted[i]->path != sorted[first]->path) {
            put_path(writer, sorted + first, i - first, room);
            first = i;
        }
    free(sorted);
    free(room);
    return rc;
}

int wp_format_speedscope(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct writer writer = {.json = {.out = out, .put_text = wp_escape_json}, .facts = facts};
    struct wp_json *json = &writer.json;
    struct wp_pool pool = {0};
    int rc = wp_frame_table_build(&writer.frames, facts, err);
    if (rc)
        return rc;
    wp_json_object(json, NULL);
    wp_json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    wp_json_text(json, "exporter", "wakepath");
    wp_json_line(json);
    wp_json_text(json, "name", wp_pool_printf(&pool, "%s in release %s", facts->aggregate, facts->release));
    wp_json_number(json, "activeProfileIndex", 0);
    put_frames(&writer);
    wp_json_line(json);
    wp_json_array(json, "profiles");
    rc = put_flame(&writer, err);
    if (!rc)
        rc = put_paths(&writer, err);
    wp_json_end(json);
    wp_json_end(json);
    out->failed |= pool.failed;
    if (!rc)
        rc = wp_json_finish(json, "the speedscope file", err);
    wp_pool_fini(&pool);
    free(writer.weights);
    wp_frame_table_fini(&writer.frames);
    return rc;
}
