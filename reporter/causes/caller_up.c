/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/caller_up.h"

#include "common/code_rank.h"
#include "reporter/evidence/callers.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

void wp_caller_sums_init(struct wp_caller_sums *sums, const struct wp_causes *causes, struct wp_facts *facts)
{
    *sums = (struct wp_caller_sums){.causes = causes, .facts = facts};
    wp_report_frames(facts->report, &sums->frames);
    sums->ns = calloc(sums->frames + 1u, sizeof(*sums->ns));
    sums->last = calloc(sums->frames + 1u, sizeof(*sums->last));
    facts->pool.failed |= !sums->ns || !sums->last;
}

void wp_caller_sums_fini(struct wp_caller_sums *sums)
{
    free(sums->ns);
    free(sums->last);
    *sums = (struct wp_caller_sums){0};
}

void wp_caller_sums_add(struct wp_caller_sums *sums, const struct wp_cell *cell, uint32_t node)
{
    const struct wp_flame_node *nodes = sums->facts->flame.nodes;
    const uint32_t *locations = sums->causes->locations;
    if (!sums->ns || !sums->last)
        return;
    sums->pieces++;
    sums->all_ns += cell->ns;
    for (uint32_t at = locations[node]; at; at = locations[nodes[at].parent]) {
        uint32_t frame = nodes[at].frame;
        if (frame >= sums->frames || sums->last[frame] == sums->pieces)
            continue;
        sums->last[frame] = sums->pieces;
        sums->ns[frame] += cell->ns;
    }
}

/* The file of the layer's outermost function of the program, which calls `place` or who does so; NULL: not known. */
static const char *outermost_file(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t place)
{
    uint32_t below = place, at = place, next;
    while ((next = wp_code_location_caller(facts, causes->locations, at)) != 0) {
        below = at;
        at = next;
    }
    return wp_code_location_call(facts, at, below).file;
}

bool wp_caller_is_helper(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t place)
{
    uint32_t own = causes->locations[place], caller = wp_code_location_caller(facts, causes->locations, place);
    if (causes->callers[facts->flame.nodes[own].frame] == WP_CALLERS_SEVERAL)
        return true;
    if (!caller)
        return false;
    const char *call = wp_code_location_call(facts, caller, place).file;
    struct wp_code_location location = wp_code_location_at(facts, causes->locations, place);
    const char *outermost = outermost_file(causes, facts, place);
    return location.file && call && outermost && strcmp(location.file, call) != 0 &&
        strcmp(location.file, outermost) != 0;
}

static const char *object_at(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
}

/* Whether it is a function of the script's engine: what a script calls, and has no file. */
static bool is_of_engine(const struct wp_facts *facts, uint32_t node, uint32_t callee)
{
    return !*object_at(facts, node) && wp_code_rank_of_source(object_at(facts, callee));
}

uint32_t wp_caller_up(const struct wp_caller_sums *sums, uint32_t node)
{
    const struct wp_facts *facts = sums->facts;
    const uint32_t *locations = sums->causes->locations;
    uint32_t best = 0, at = node;
    while (sums->ns && sums->last && (at = wp_code_location_caller(facts, locations, at)) != 0) {
        if (is_of_engine(facts, at, locations[node]))
            continue;
        uint32_t frame = facts->flame.nodes[at].frame;
        bool is_most = frame < sums->frames && sums->ns[frame] >= sums->all_ns / 5 * 4;
        bool is_begin = !wp_code_location_caller(facts, locations, at);
        if (!is_most || wp_code_location_is_entry(wp_facts_frame_name(facts, frame)) ||
            (is_begin && !wp_caller_is_helper(sums->causes, facts, best ? best : node)))
            break;
        best = at;
        if (!wp_caller_is_helper(sums->causes, facts, at))
            break;
    }
    return best;
}
