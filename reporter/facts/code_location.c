/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/code_location.h"

#include "common/code_rank.h"
#include "storage/report/report_read.h"

#include <stdbool.h>
#include <string.h>

#define NAME_BYTES 80u

unsigned wp_code_location_rank(uint32_t style, const char *name, const char *object)
{
    return style == WP_STYLE_USER ? wp_code_rank(name, object) : 0;
}

bool wp_code_location_is_entry(const char *function)
{
    static const char *const names[] = {"main", "<main>", "<module>", "{main}", "<top (required)>"};
    size_t size = strlen(function);
    if (!strncmp(function, "py::<module>:", 13))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(function, names[i]))
            return true;
    return size > 5 && (!strcmp(function + size - 5, ".main") || !strcmp(function + size - 5, ":main"));
}

bool wp_code_location_is_one(const char *function)
{
    const char *end = strstr(function, " in <main>");
    bool is_nameless = *function == '<' || *function == '{' || !strcmp(function, "__ANON__") || (end && !end[10]);
    return !is_nameless && !wp_code_location_is_entry(function);
}

static unsigned rank_of(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    if (!node || frame >= count)
        return 0;
    return wp_code_location_rank(frames[frame].style, wp_report_text(facts->report, frames[frame].name),
        wp_report_text(facts->report, frames[frame].object));
}

uint32_t wp_code_location_running(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, own = facts->flame.nodes[node].frame, at = node;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    while (at && wp_facts_frame_style(facts, facts->flame.nodes[at].frame) == WP_STYLE_KERNEL)
        at = facts->flame.nodes[at].parent;
    if (wp_facts_frame_style(facts, facts->flame.nodes[at].frame) == WP_STYLE_USER) {
        node = at; /* what the kernel does there, it does for that function */
        own = facts->flame.nodes[at].frame;
    }
    const char *object = own < count ? wp_report_text(facts->report, frames[own].object) : "";
    const char *slash = strrchr(object, '/');
    if (own >= count || frames[own].style != WP_STYLE_USER || wp_code_rank_of_source(object) ||
        !wp_code_rank_is_runtime(slash ? slash + 1 : object))
        return own;
    while ((node = facts->flame.nodes[node].parent)) {
        uint32_t frame = facts->flame.nodes[node].frame;
        if (frame >= count || frames[frame].style != WP_STYLE_USER)
            break;
        if (wp_code_rank_of_source(wp_report_text(facts->report, frames[frame].object)) || rank_of(facts, node) == 3)
            return frame;
    }
    return own;
}

uint32_t *wp_code_locations_build(struct wp_pool *pool, const struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t *locations = wp_pool_alloc(pool, (flame->count + 1u) * sizeof(*locations));
    for (uint32_t i = 1; locations && i < flame->count; i++) {
        uint32_t below = locations[flame->nodes[i].parent];
        if (wp_facts_frame_style(facts, flame->nodes[i].frame) == WP_STYLE_PROCESS)
            continue;
        unsigned rank = rank_of(facts, i);
        locations[i] = rank >= 2 && rank >= rank_of(facts, below) ? i : below;
    }
    return locations;
}

static const char *object_of(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
}

static bool is_interpreter(const struct wp_facts *facts, uint32_t node)
{
    uint32_t frame = facts->flame.nodes[node].frame;
    return wp_facts_frame_style(facts, frame) == WP_STYLE_USER &&
        wp_code_rank_is_interpreter(wp_source_base(object_of(facts, frame)));
}

static uint64_t into(const struct wp_source_lines *lines, const struct wp_source_site *site, const char *callee)
{
    uint64_t most = callee ? 0 : site->own_ns;
    for (uint32_t k = 0; callee && k < site->call_count; k++) {
        const struct wp_source_call *call = &lines->calls[site->first_call + k];
        if (!strcmp(call->name, callee) && call->total_ns > most)
            most = call->total_ns;
    }
    return most;
}

/* The line in the function from which most time went into `callee` (NULL: the one with most time of its own), and its
 * file alone where another line has half as much: which of them is meant is not known. Functions of scripts are of the
 * file that they are in: many have one name. */
static void find_line(
    const struct wp_facts *facts, uint32_t caller, const char *callee, struct wp_code_location *location)
{
    const struct wp_source_lines *lines = &facts->source;
    const char *object = object_of(facts, facts->flame.nodes[caller].frame);
    uint64_t most = 0, second = 0;
    for (uint32_t i = 0; i < lines->site_count; i++) {
        const struct wp_source_site *site = &lines->sites[i];
        if (site->file == UINT32_MAX || strcmp(site->function, location->function) ||
            (wp_code_rank_of_source(object) && strcmp(lines->files[site->file].path, object)))
            continue;
        uint64_t ns = into(lines, site, callee);
        if (ns > most) {
            second = most;
            most = ns;
            location->file = lines->files[site->file].path;
            location->line = site->line;
        } else if (ns > second) {
            second = ns;
        }
    }
    if (second > most / 2)
        location->line = 0;
}

uint32_t wp_code_location_caller(const struct wp_facts *facts, const uint32_t *locations, uint32_t node)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t own = locations[node], at = own ? locations[nodes[own].parent] : 0;
    while (at && nodes[at].frame == nodes[own].frame)
        at = locations[nodes[at].parent];
    return rank_of(facts, at) == 3 ? at : 0;
}

struct wp_code_location wp_code_location_call(const struct wp_facts *facts, uint32_t caller, uint32_t node)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t callee = node, beyond = 0; /* ... the interpreter */
    struct wp_code_location location = {.function = wp_facts_frame_name(facts, nodes[caller].frame)};
    for (uint32_t at = node; at != caller; at = nodes[at].parent) {
        beyond = is_interpreter(facts, at) ? beyond : at;
        callee = at;
    }
    if (callee != caller) {
        const char *name = wp_facts_frame_name(facts, nodes[callee].frame);
        if (wp_facts_frame_style(facts, nodes[callee].frame) == WP_STYLE_USER && *name != '[' &&
            !is_interpreter(facts, callee))
            location.call = name;
        if (beyond)
            find_line(facts, caller, wp_facts_frame_name(facts, nodes[beyond].frame), &location);
        if (!location.file)
            find_line(facts, caller, name, &location);
    }
    if (!location.file)
        find_line(facts, caller, NULL, &location);
    return location;
}

struct wp_code_location wp_code_location_at(const struct wp_facts *facts, const uint32_t *locations, uint32_t node)
{
    return locations[node] ? wp_code_location_call(facts, locations[node], node) : (struct wp_code_location){0};
}

const char *wp_code_location_text(struct wp_pool *pool, const struct wp_code_location *location)
{
    if (!location->function)
        return "";
    const char *end = strncmp(location->function, "py::", 4) ? NULL : strchr(location->function + 4, ':');
    if (end)
        return wp_pool_printf(pool, "`%s` (%s)",
            wp_pool_clip(pool,
                wp_pool_printf(pool, "%.*s", (int)(end - location->function - 4), location->function + 4), NAME_BYTES),
            wp_pool_clip(pool, wp_source_base(end + 1), NAME_BYTES));
    const char *function = wp_pool_clip(pool, location->function, NAME_BYTES);
    if (!location->file)
        return wp_pool_printf(pool, "`%s`", function);
    if (!location->line) /* code that was compiled as the program ran may not know */
        return wp_pool_printf(
            pool, "`%s` (%s)", function, wp_pool_clip(pool, wp_source_base(location->file), NAME_BYTES));
    return wp_pool_printf(
        pool, "`%s` (%s:%u)", function, wp_pool_clip(pool, wp_source_base(location->file), NAME_BYTES), location->line);
}
