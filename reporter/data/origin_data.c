/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/data/origin_data.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/intmap.h"
#include "reporter/display/escape.h"
#include "reporter/display/view_names.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define PROCESSES 4000u /* names and hosts */

/* From an origin's own ids to the flame's. */
struct mapping {
    const struct wp_facts *facts;
    const struct wp_report *report;
    struct wp_intern *names;   /* owned; of the flame's frames: style, name, object */
    struct wp_intmap children; /* (node of the flame, frame) -> its child with that frame */
    struct wp_buffer text;
    uint32_t *frame_by_name;                   /* owned; id in names -> frame of the aggregate's report */
    uint32_t *frames, *nodes;                  /* owned; by the origin's ids; NONE: not in the flame */
    uint64_t (*times)[WP_REPORT_BUCKETS + 1u]; /* owned; by row below: ns, then by bucket */
    uint32_t *row;                             /* owned; by cell of the flame: row + 1 */
    uint32_t row_count;
};

static uint32_t name_id(
    struct mapping *mapping, const struct wp_report *report, const struct wp_frame_info *frame, bool is_new)
{
    struct wp_buffer *text = &mapping->text;
    const char *name = wp_report_text(report, frame->name);
    wp_buffer_clear(text);
    wp_buffer_putc(text, (char)frame->style);
    wp_buffer_append(text, name, strlen(name) + 1);
    wp_buffer_puts(text, wp_report_text(report, frame->object));
    if (text->failed)
        return NONE;
    return is_new ? wp_intern_id(mapping->names, (const char *)text->data, text->size)
                  : wp_intern_find(mapping->names, (const char *)text->data, text->size);
}

static int map_frames(struct mapping *mapping)
{
    uint32_t count, own_count;
    const struct wp_frame_info *frames = wp_report_frames(mapping->facts->report, &count);
    const struct wp_frame_info *own = wp_report_frames(mapping->report, &own_count);
    mapping->frame_by_name = calloc(count + 1u, sizeof(*mapping->frame_by_name));
    mapping->frames = calloc(own_count + 1u, sizeof(*mapping->frames));
    if (!mapping->frame_by_name || !mapping->frames)
        return -ENOMEM;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t id = name_id(mapping, mapping->facts->report, &frames[i], true);
        if (id == NONE || id > count)
            return -ENOMEM;
        mapping->frame_by_name[id] = i;
    }
    for (uint32_t i = 1; i < own_count; i++) {
        uint32_t id = name_id(mapping, mapping->report, &own[i], false);
        mapping->frames[i] = id == NONE ? NONE : mapping->frame_by_name[id];
    }
    return mapping->text.failed ? -ENOMEM : 0;
}

static int map_nodes(struct mapping *mapping)
{
    const struct wp_flame *flame = &mapping->facts->flame;
    uint32_t count;
    const struct wp_node *own = wp_report_nodes(mapping->report, &count);
    for (uint32_t i = 1; i < flame->count; i++)
        if (wp_intmap_put(&mapping->children, (struct wp_intkey){flame->nodes[i].parent, flame->nodes[i].frame}, i))
            return -ENOMEM;
    mapping->nodes = calloc(count + 1u, sizeof(*mapping->nodes));
    if (!mapping->nodes)
        return -ENOMEM;
    for (uint32_t i = 1; i < count; i++) { /* parents come first */
        uint32_t parent = mapping->nodes[own[i].parent], found;
        struct wp_intkey key = {parent, mapping->frames[own[i].frame]};
        mapping->nodes[i] = parent != NONE && wp_intmap_get(&mapping->children, key, &found) ? found : NONE;
    }
    return 0;
}

/* The flame's cell of a node and category; NONE. */
static uint32_t cell_of(const struct mapping *mapping, uint32_t node, uint32_t category)
{
    const struct wp_flame *flame = &mapping->facts->flame;
    if (node == NONE)
        return NONE;
    for (uint32_t i = flame->nodes[node].cell; i < flame->nodes[node].cell + flame->nodes[node].cell_count; i++)
        if (flame->cells[i].category == category)
            return i;
    return NONE;
}

static void add_samples(struct mapping *mapping, const uint32_t *rows)
{
    uint32_t samples, buckets, own_buckets;
    unsigned shift, own_shift;
    const struct wp_cell_sample *sample = wp_report_samples(mapping->report, &samples);
    const uint64_t *bucket = wp_report_buckets(mapping->facts->report, &buckets, &shift);
    wp_report_buckets(mapping->report, &own_buckets, &own_shift);
    if (own_shift > shift)
        return; /* never: the sum is as wide as its widest part */
    for (uint32_t i = 0; i < samples; i++) {
        uint64_t wanted = sample[i].bucket >> (shift - own_shift);
        uint32_t low = WP_LOWER_BOUND(middle, 0, buckets, bucket[middle] < wanted);
        if (rows[sample[i].cell] != NONE && low < buckets && bucket[low] == wanted)
            mapping->times[rows[sample[i].cell]][low + 1] += sample[i].ns;
    }
}

static int sum_cells(struct mapping *mapping)
{
    uint32_t count;
    const struct wp_cell *cells = wp_report_cells(mapping->report, &count);
    uint32_t *rows = calloc(count + 1u, sizeof(*rows));
    mapping->times = calloc(count + 1u, sizeof(*mapping->times));
    mapping->row = calloc(mapping->facts->flame.cell_count + 1u, sizeof(*mapping->row));
    if (!rows || !mapping->times || !mapping->row) {
        free(rows);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t cell = cell_of(mapping, mapping->nodes[cells[i].node], cells[i].category);
        rows[i] = NONE;
        if (cell == NONE || !cells[i].ns)
            continue;
        if (!mapping->row[cell])
            mapping->row[cell] = ++mapping->row_count;
        rows[i] = mapping->row[cell] - 1;
        mapping->times[rows[i]][0] += cells[i].ns;
    }
    add_samples(mapping, rows);
    free(rows);
    return 0;
}

enum what { CELLS, TIMES, COUNTS, PLACES, SAMPLES };

static void put_column(struct wp_buffer *out, const struct mapping *mapping, const char *name, enum what what)
{
    const char *comma = "";
    uint32_t last = 0;
    wp_buffer_printf(out, "\"%s\":[", name);
    for (uint32_t cell = 0; cell < mapping->facts->flame.cell_count; cell++) {
        if (!mapping->row[cell])
            continue;
        const uint64_t *times = mapping->times[mapping->row[cell] - 1];
        uint32_t used = 0;
        for (uint32_t i = 1; i <= WP_REPORT_BUCKETS; i++) {
            if (!times[i])
                continue;
            used++;
            if (what == PLACES || what == SAMPLES) {
                wp_buffer_printf(out, "%s%" PRIu64, comma, what == PLACES ? i - 1u : times[i]);
                comma = ",";
            }
        }
        if (what > COUNTS)
            continue;
        wp_buffer_printf(out, "%s%" PRIu64, comma, what == CELLS ? cell - last : what == TIMES ? times[0] : used);
        comma = ",";
        last = cell;
    }
    wp_buffer_puts(out, "],\n");
}

int wp_origin_data(struct wp_buffer *out, const struct wp_page_context *context, size_t origin, struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    struct mapping mapping = {
        .facts = facts, .report = context->origins.rows[origin].report, .names = wp_intern_create()};
    int rc = mapping.names ? map_frames(&mapping) : -ENOMEM;
    if (!rc)
        rc = map_nodes(&mapping);
    if (!rc)
        rc = sum_cells(&mapping);
    if (!rc) {
        wp_buffer_printf(out, "wakepath.data(\"origin-%zu\",{\n", origin + 1);
        put_column(out, &mapping, "cell", CELLS);
        put_column(out, &mapping, "ns", TIMES);
        put_column(out, &mapping, "samples", COUNTS);
        put_column(out, &mapping, "place", PLACES);
        put_column(out, &mapping, "time", SAMPLES);
        wp_buffer_puts(out, "\"end\":0});\n");
    }
    wp_intern_destroy(mapping.names);
    wp_intmap_fini(&mapping.children);
    wp_buffer_fini(&mapping.text);
    free(mapping.frame_by_name);
    free(mapping.frames);
    free(mapping.nodes);
    free(mapping.times);
    free(mapping.row);
    return !rc && !out->failed ? 0 : wp_error_set(err, -ENOMEM, "out of memory for the shares of hosts");
}

/* Processes of one name and host, together. */
struct namesakes {
    const char *host, *comm;
    uint64_t total_ns, running_ns;
    uint32_t count;
};

static int by_name(const void *left, const void *right)
{
    const struct namesakes *a = left, *b = right;
    int rc = strcmp(a->comm, b->comm);
    return rc ? rc : strcmp(a->host, b->host);
}

static int by_time(const void *left, const void *right)
{
    const struct namesakes *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return by_name(left, right);
}

/* Of several hosts: which of them a process's time is of, which every report says, whatever its shard sums up. */
static int put_processes(struct wp_buffer *out, const struct wp_facts *facts)
{
    struct namesakes *rows = calloc(facts->process_count + 1, sizeof(*rows));
    size_t kept = 0;
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < facts->process_count; i++)
        rows[i] = (struct namesakes){facts->processes[i].host, facts->processes[i].comm, facts->processes[i].total_ns,
            facts->processes[i].running_ns, 1};
    qsort(rows, facts->process_count, sizeof(*rows), by_name);
    for (size_t i = 0; i < facts->process_count; i++) {
        if (kept && !by_name(&rows[kept - 1], &rows[i])) {
            rows[kept - 1].total_ns += rows[i].total_ns;
            rows[kept - 1].running_ns += rows[i].running_ns;
            rows[kept - 1].count++;
        } else {
            rows[kept++] = rows[i];
        }
    }
    qsort(rows, kept, sizeof(*rows), by_time);
    for (size_t i = 0; i < kept && i < PROCESSES; i++) {
        wp_buffer_puts(out, i ? ",\n[" : "[");
        wp_view_name_put(out, rows[i].comm);
        wp_buffer_putc(out, ',');
        wp_view_name_put(out, rows[i].host);
        wp_buffer_printf(
            out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 "]", rows[i].total_ns, rows[i].running_ns, rows[i].count);
    }
    free(rows);
    return 0;
}

int wp_origin_list(struct wp_buffer *out, const struct wp_page_context *context, struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    const struct wp_origins *origins = &context->origins;
    wp_buffer_puts(out, "wakepath.data(\"origins\",{\"rows\":[\n");
    for (size_t i = 0; i < origins->count; i++) {
        const struct wp_host_origin *origin = &origins->rows[i];
        wp_buffer_puts(out, i ? ",\n[" : "[");
        wp_escape_js(out, origin->name);
        wp_buffer_putc(out, ',');
        wp_escape_js(out, origin->hosts);
        wp_buffer_printf(out, ",%" PRIu64 ",%d]", origin->total_ns, origin->report != NULL);
    }
    wp_buffer_puts(out, "],\n\"processes\":[");
    int rc = facts->host_count > 1 ? put_processes(out, facts) : 0;
    wp_buffer_printf(out, "],\n\"missing\":%" PRIu64 "});\n", origins->missing_ns);
    return rc || out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the list of hosts") : 0;
}
