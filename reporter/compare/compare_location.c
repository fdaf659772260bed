/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_location.h"

#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 5u        /* hops that are reported */
#define MOST_OF_IT 0.5   /* of the difference */
#define PLACE_BYTES 160u /* of a function's name, of a file's */

/* Shared objects are libraries and run-time systems; what has no object is not known. */
static bool is_application(const char *object)
{
    const char *base = strrchr(object, '/'), *library = strstr(base ? base : object, ".so");
    return *object && *object != '[' && !(library && (!library[3] || library[3] == '.'));
}

/* The innermost function of the application in the layer that the node stands in; 0 none. */
static uint32_t application_frame(const struct wp_compare_tree *tree, uint32_t node)
{
    uint32_t count, frame_count;
    const struct wp_node *nodes = wp_report_nodes(tree->tree, &count);
    const struct wp_frame_info *frames = wp_report_frames(tree->tree, &frame_count);
    for (; node && frames[nodes[node].frame].style != WP_STYLE_PROCESS; node = nodes[node].parent) {
        const struct wp_frame_info *frame = &frames[nodes[node].frame];
        if (frame->style == WP_STYLE_USER && is_application(wp_report_text(tree->tree, frame->object)))
            return nodes[node].frame;
    }
    return 0;
}

/* What each function has of the row, ns a unit, the newer side less the older one. */
static void sum_frames(const struct wp_compare_build *build, const struct wp_change *change, double *by_frame)
{
    for (int i = 0; i < 2; i++) {
        const struct wp_compare_operand *operand = &build->tree.operand[i];
        double units = build->compare->operand[i].units;
        for (uint32_t cell = 0; cell < operand->cell_count; cell++) {
            uint32_t node = operand->node[operand->cells[cell].node];
            if (build->tree.hop[node] != change->hop || (int)operand->cells[cell].category != change->category)
                continue;
            double ns = (double)operand->cells[cell].ns / units;
            by_frame[application_frame(&build->tree, node)] += i == WP_AFTER ? ns : -ns;
        }
    }
}

/* "shop.c:12": the function's line with most time of that category on the newer side; NULL: no line is known. */
static const char *line_of(const struct wp_compare_build *build, const char *function, int category)
{
    const struct wp_source_lines *lines = &build->facts[WP_AFTER]->source;
    const struct wp_source_site *most = NULL;
    for (uint32_t i = 0; i < lines->site_count; i++) {
        const struct wp_source_site *site = &lines->sites[i];
        if (site->file < lines->file_count && site->line && site->categories[category] &&
            !strcmp(site->function, function) && (!most || site->categories[category] > most->categories[category]))
            most = site;
    }
    if (!most)
        return NULL;
    return wp_pool_printf(&build->compare->pool, "%s:%u",
        wp_pool_clip(&build->compare->pool, wp_source_base(lines->files[most->file].path), PLACE_BYTES), most->line);
}

static void place_row(struct wp_compare_build *build, struct wp_change *change, const double *by_frame)
{
    struct wp_pool *pool = &build->compare->pool;
    uint32_t most = 0, count;
    for (uint32_t i = 1; i < build->tree.frame_count; i++)
        if (by_frame[i] > (most ? by_frame[most] : 0))
            most = i;
    if (!most || by_frame[most] < MOST_OF_IT * change->delta)
        return;
    const struct wp_frame_info *frames = wp_report_frames(build->tree.tree, &count);
    const char *function = wp_report_text(build->tree.tree, frames[most].name);
    const char *line = line_of(build, function, change->category);
    const char *name = wp_pool_clip(pool, function, PLACE_BYTES);
    change->place = line ? wp_pool_printf(pool, "%s (%s)", name, line) : name;
}

int wp_compare_locations(struct wp_compare_build *build)
{
    struct wp_changes *hops = &build->compare->changes[WP_CHANGE_HOPS];
    size_t room = build->tree.frame_count + (size_t)1;
    double *by_frame = calloc(room, sizeof(*by_frame));
    if (!by_frame)
        return -ENOMEM;
    for (size_t i = 0; i < hops->count && i < PLACES; i++) {
        if (hops->rows[i].delta <= 0)
            continue;
        memset(by_frame, 0, room * sizeof(*by_frame));
        sum_frames(build, &hops->rows[i], by_frame);
        place_row(build, &hops->rows[i], by_frame);
    }
    free(by_frame);
    return 0;
}
