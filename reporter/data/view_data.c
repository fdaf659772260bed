/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/data/view_data.h"

#include "common/intmap.h"
#include "common/selector.h"
#include "reporter/display/escape.h"
#include "reporter/display/number_column.h"
#include "reporter/display/view_names.h"
#include "reporter/window/window_data.h"
#include "storage/report/report_read.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
        wp_view_categories_put(out);
        wp_buffer_puts(out, "\"frames\":[");
        for (uint32_t i = 0; i < ids.count; i++) {
            uint32_t frame = ids.order[i], count;
            const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
            wp_buffer_puts(out, i ? ",\n" : "");
            wp_view_frame_put(out, frames[frame].style, wp_facts_frame_name(facts, frame),
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
            wp_view_name_put(out, compare->operand[operand].label);
            wp_buffer_puts(out, ",\n\"before\":");
            wp_view_name_put(out, compare->operand[!operand].label);
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

/* A long one is cut in the store. */
static bool is_whole(const char *selector)
{
    struct wp_selector parsed;
    bool is_one = strlen(selector) < WP_BUCKET_TEXT && !wp_selector_parse(&parsed, selector, NULL);
    if (is_one)
        wp_selector_fini(&parsed);
    return is_one;
}

int wp_view_data_trace(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    int rc = wp_window_data(out, facts->trace, "trace", err);
    const char *selector = wp_metadata_text(&facts->metadata, WP_BUCKET_PREFIX "selector");
    if (rc || !selector || !is_whole(selector))
        return rc;
    wp_buffer_puts(out, "wakepath.data(\"interest\",{\"selector\":");
    wp_escape_js(out, selector); /* one file holds this within a script */
    wp_buffer_puts(out, "});\n");
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the selector") : 0;
}
