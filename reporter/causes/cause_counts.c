/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/cause_counts.h"

#include "reporter/evidence/cause_lock.h"

#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

static uint32_t location_frame(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t node)
{
    return causes->locations[node] ? facts->flame.nodes[causes->locations[node]].frame : 0;
}

static uint32_t outermost_sleep(const struct wp_facts *facts, uint32_t node)
{
    uint32_t found = 0;
    for (; node; node = facts->flame.nodes[node].parent)
        if (wp_facts_frame_style(facts, facts->flame.nodes[node].frame) == WP_STYLE_SLEEP)
            found = node;
    return found;
}

uint64_t wp_cause_wakings(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, bool is_outer)
{
    const struct wp_flame *flame = &facts->flame;
    bool *is_its = calloc(flame->count + 1u, sizeof(*is_its));
    uint64_t count = 0;
    for (uint32_t i = 0; is_its && i < flame->cell_count; i++)
        if (causes->cell_cause[i] == row + 1)
            is_its[is_outer ? outermost_sleep(facts, flame->cells[i].node) : causes->cell_sleep[i]] = true;
    if (is_its)
        is_its[0] = false;
    for (uint32_t i = 0; is_its && i < flame->cell_count; i++)
        if (flame->cells[i].category == WP_SCHEDULER && is_its[wp_facts_below_scheduler(facts, flame->cells[i].node)])
            count += flame->cells[i].count;
    facts->pool.failed |= !is_its;
    free(is_its);
    return count;
}

uint64_t wp_cause_wakings_of_caller(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, bool is_outer)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    bool *is_its = calloc(flame->count + 1u, sizeof(*is_its));
    uint64_t *counts = calloc(frames + 1u, sizeof(*counts)), most = 0;
    for (uint32_t i = 0; is_its && i < flame->cell_count; i++)
        if (causes->cell_cause[i] == row + 1)
            is_its[is_outer ? outermost_sleep(facts, flame->cells[i].node) : causes->cell_sleep[i]] = true;
    for (uint32_t i = 0; is_its && counts && i < flame->cell_count; i++) {
        uint32_t sleep = wp_facts_below_scheduler(facts, flame->cells[i].node);
        if (!sleep || flame->cells[i].category != WP_SCHEDULER || !is_its[sleep])
            continue;
        uint32_t frame = flame->nodes[wp_code_location_caller(facts, causes->locations, sleep)].frame;
        uint64_t *count = &counts[frame < frames ? frame : 0];
        *count += flame->cells[i].count;
        most = *count > most ? *count : most;
    }
    facts->pool.failed |= !is_its || !counts;
    free(is_its);
    free(counts);
    return most;
}

/* Where one has no name it is not known: they may be. */
static bool is_same_lock(const struct wp_facts *facts, uint32_t one, uint32_t other)
{
    const char *name, *other_name;
    return wp_cause_is_lock(facts, one, &name) && wp_cause_is_lock(facts, other, &other_name) &&
        (!*name || !*other_name || !strcmp(name, other_name));
}

/* Whether who holds the lock of `outermost` queued for that one. */
static bool has_queue(const struct wp_facts *facts, uint32_t node, uint32_t outermost)
{
    for (; node && node != outermost; node = facts->flame.nodes[node].parent)
        if (wp_cause_is_after_condition(facts, node) && is_same_lock(facts, node, outermost))
            return true;
    return false;
}

uint64_t wp_cause_woken_together(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++)
        if (causes->cell_cause[i] == row + 1 && has_queue(facts, facts->flame.cells[i].node, causes->cell_sleep[i]))
            ns += facts->flame.cells[i].ns;
    return ns;
}

/* Of "sleep:read tcp 10.0.0.7:5432". */
static const char *peer_of(const char *name)
{
    const char *blank = strncmp(name, "sleep:", 6) ? NULL : strchr(name, ' '), *what = blank ? blank + 1 : "";
    return !strncmp(what, "tcp ", 4) || !strncmp(what, "udp ", 4) || !strncmp(what, "unix", 4) ? what : NULL;
}

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
}

static uint32_t outermost_process(const struct wp_facts *facts, uint32_t node)
{
    while (facts->flame.nodes[node].parent)
        node = facts->flame.nodes[node].parent;
    return facts->flame.nodes[node].frame;
}

uint64_t wp_cause_wakings_for(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t first = causes->rows[row].first, process = outermost_process(facts, first);
    const char *peer = peer_of(name_at(facts, first));
    uint64_t count = 0;
    for (uint32_t i = 0; peer && i < flame->cell_count; i++) {
        uint32_t sleep =
            flame->cells[i].category == WP_SCHEDULER ? wp_facts_below_scheduler(facts, flame->cells[i].node) : 0;
        if (!sleep || sleep != outermost_sleep(facts, sleep) || outermost_process(facts, sleep) != process)
            continue;
        const char *other = peer_of(name_at(facts, sleep));
        count += other && !strcmp(other, peer) ? flame->cells[i].count : 0;
    }
    return count;
}

const char *wp_cause_peer(const struct wp_facts *facts, uint32_t sleep)
{
    return wp_facts_frame_style(facts, facts->flame.nodes[sleep].frame) == WP_STYLE_SLEEP
        ? peer_of(wp_facts_frame_name(facts, facts->flame.nodes[sleep].frame))
        : NULL;
}

bool wp_cause_is_unreachable(const struct wp_facts *facts, const struct wp_cause_fact *cause)
{
    const struct wp_flame_node *node = &facts->flame.nodes[cause->node];
    return cause->kind == WP_CAUSE_KIND_PEER && wp_facts_frame_style(facts, node->frame) == WP_STYLE_NET &&
        strstr(wp_facts_frame_name(facts, node->frame), " (unreachable)");
}

const char *wp_cause_due(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t frames, most = 0;
    wp_report_frames(facts->report, &frames);
    uint64_t *sums = causes->rows[row].kind == WP_CAUSE_KIND_TIMEOUT ? calloc(frames + 1u, sizeof(*sums)) : NULL;
    facts->pool.failed |= !sums && causes->rows[row].kind == WP_CAUSE_KIND_TIMEOUT;
    for (uint32_t i = 0; sums && i < flame->cell_count; i++) {
        uint32_t frame = flame->nodes[flame->cells[i].node].frame;
        if (causes->cell_cause[i] != row + 1 || frame >= frames || wp_facts_frame_style(facts, frame) != WP_STYLE_NET)
            continue;
        sums[frame] += flame->cells[i].ns;
        most = !most || sums[frame] > sums[most] ? frame : most;
    }
    bool is_known = sums && most && sums[most] >= causes->rows[row].ns / 2;
    free(sums);
    const char *name = wp_facts_frame_name(facts, most), *colon = is_known ? strchr(name, ':') : NULL;
    return colon ? wp_pool_printf(&facts->pool, "%.*s %s", (int)(colon - name), name, colon + 1) : NULL;
}

/* Frame of the block operation that the node is, or stands on, in its layer; 0 none. */
static uint32_t block_frame(const struct wp_facts *facts, uint32_t node)
{
    for (; node; node = facts->flame.nodes[node].parent) {
        uint32_t frame = facts->flame.nodes[node].frame, style = wp_facts_frame_style(facts, frame);
        if (style == WP_STYLE_IO && !strncmp(wp_facts_frame_name(facts, frame), "io:", 3) &&
            strstr(wp_facts_frame_name(facts, frame), " /"))
            return frame;
        if (style == WP_STYLE_SLEEP)
            break;
    }
    return 0;
}

/* "nginx.service" of "sleep:fault file, memory of nginx.service"; NULL: another sleep. */
static const char *short_group(const char *sleep)
{
    static const char again[] = "sleep:fault file, memory of ";
    return strncmp(sleep, again, sizeof(again) - 1) ? NULL : sleep + sizeof(again) - 1;
}

const char *wp_cause_file(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    const struct wp_cause_fact *cause = &causes->rows[row];
    const char *sleep = wp_facts_frame_name(facts, flame->nodes[cause->sleep].frame);
    uint32_t frames, most = 0;
    bool is_file = !strcmp(sleep, "sleep:fault file") || short_group(sleep);
    if (cause->kind != WP_CAUSE_KIND_DISK || !is_file)
        return NULL;
    wp_report_frames(facts->report, &frames);
    uint64_t *sums = calloc(frames + 1u, sizeof(*sums));
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < flame->cell_count; i++) {
        uint32_t frame = causes->cell_cause[i] == row + 1 ? block_frame(facts, flame->cells[i].node) : 0;
        if (!frame || frame >= frames)
            continue;
        sums[frame] += flame->cells[i].ns;
        most = !most || sums[frame] > sums[most] ? frame : most;
    }
    bool is_known = sums && most && sums[most] >= cause->ns / 2;
    free(sums);
    return is_known ? wp_pool_text(&facts->pool, strstr(wp_facts_frame_name(facts, most), " /") + 1) : NULL;
}

const char *wp_cause_read_again(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint64_t *ns)
{
    const struct wp_flame *flame = &facts->flame;
    const char *most = NULL;
    uint64_t most_ns = 0;
    *ns = 0;
    for (uint32_t i = 0; causes->rows[row].kind == WP_CAUSE_KIND_DISK && i < flame->cell_count; i++) {
        uint32_t sleep = causes->cell_cause[i] == row + 1 ? causes->cell_sleep[i] : 0;
        const char *group = sleep ? short_group(wp_facts_frame_name(facts, flame->nodes[sleep].frame)) : NULL;
        if (!group)
            continue;
        *ns += flame->cells[i].ns;
        if (flame->cells[i].ns > most_ns) {
            most_ns = flame->cells[i].ns;
            most = group;
        }
    }
    return most;
}

/* --- threads, of a trace --- */

/* What is looked for in the outermost layers of a trace; NULL: whatever it is. */
struct wanted {
    const char *sleep, *location, *caller;
    const char *process; /* its thread's name */
};

/* Of a node of the trace: what the outermost layer up to it holds. */
struct on_path {
    uint32_t process, role; /* frames of the trace; role: the outermost function of the program */
    uint32_t place, caller; /* ... the innermost one, and who calls that */
    unsigned rank;          /* of `place` */
    bool has_location;      /* the location is among its functions, called from the caller that is looked for */
    bool is_match;          /* the sleep stands on it or below */
    bool is_over;           /* a second layer has begun */
};

static const char *frame_name(const struct wp_trace *trace, uint32_t frame)
{
    return wp_intern_text(trace->strings, trace->frames[frame].name);
}

/* A function of the layer. */
static void look_at_function(
    const struct wp_trace *trace, struct on_path *at, uint32_t frame, const struct wanted *wanted)
{
    const struct wp_frame_info *info = &trace->frames[frame];
    const char *name = frame_name(trace, frame);
    unsigned rank = wp_code_location_rank(info->style, name, wp_intern_text(trace->strings, info->object));
    if (!at->role && rank == 3)
        at->role = frame;
    if (rank >= 2 && rank >= at->rank && frame != at->place) {
        at->caller = at->rank == 3 ? at->place : 0;
        at->place = frame;
        at->rank = rank;
    }
    bool is_called = !wanted->caller || (at->caller && !strcmp(frame_name(trace, at->caller), wanted->caller));
    at->has_location |= wanted->location && !strcmp(name, wanted->location) && is_called;
}

static void look_at_node(const struct wp_trace *trace, struct on_path *on, uint32_t node, const struct wanted *wanted)
{
    uint32_t frame = trace->nodes[node].frame, style = trace->frames[frame].style;
    struct on_path *at = &on[node];
    *at = on[trace->nodes[node].parent];
    if (style == WP_STYLE_PROCESS) {
        at->is_over = at->process != 0;
        at->process = frame;
    }
    if (at->is_over)
        return;
    if (style == WP_STYLE_USER)
        look_at_function(trace, at, frame, wanted);
    bool is_whose = !wanted->process || (at->process && !strcmp(frame_name(trace, at->process), wanted->process));
    at->is_match |= style == WP_STYLE_SLEEP && !strcmp(frame_name(trace, frame), wanted->sleep) && is_whose &&
        (at->has_location || !wanted->location);
}

static void count_paths(
    struct wp_cause_threads *threads, struct wp_facts *facts, const struct on_path *on, uint8_t *is_counted)
{
    const struct wp_trace *trace = facts->by_threads;
    uint32_t role = 0;
    bool is_mixed = false;
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        if (piece->node >= trace->node_count || piece->path >= trace->path_count || is_counted[piece->path] ||
            !on[piece->node].is_match || !trace->paths[piece->path].is_base)
            continue;
        is_counted[piece->path] = 1;
        is_mixed |= threads->count++ && role != on[piece->node].role;
        role = on[piece->node].role;
    }
    threads->is_least = trace->omitted > 0;
    if (role && !is_mixed && role < trace->frame_count)
        threads->role = wp_pool_text(&facts->pool, wp_intern_text(trace->strings, trace->frames[role].name));
}

static bool is_asked(const char *name)
{
    const char *peer = peer_of(name);
    return peer && !wp_cause_is_accepted(peer);
}

/* The window is of one recording: another one may have the same services at other ports. */
uint32_t wp_cause_peers(const struct wp_causes *causes, struct wp_facts *facts, uint32_t sleep)
{
    const struct wp_trace *trace = facts->trace;
    uint32_t location = location_frame(causes, facts, sleep), count = 0;
    struct on_path *on = trace && location ? calloc(trace->node_count + 1u, sizeof(*on)) : NULL;
    bool *is_seen = trace && location ? calloc(trace->frame_count + 1u, sizeof(*is_seen)) : NULL;
    const struct wanted wanted = {.sleep = "", .location = wp_facts_frame_name(facts, location)};
    for (uint32_t i = 1; on && is_seen && i < trace->node_count; i++) {
        uint32_t frame = trace->nodes[i].frame;
        look_at_node(trace, on, i, &wanted);
        if (!on[i].has_location || on[i].is_over || is_seen[frame] || trace->frames[frame].style != WP_STYLE_SLEEP ||
            !is_asked(wp_intern_text(trace->strings, trace->frames[frame].name)))
            continue;
        is_seen[frame] = true;
        count++;
    }
    facts->pool.failed |= trace && location && (!on || !is_seen);
    free(on);
    free(is_seen);
    return count;
}

struct wp_cause_threads wp_cause_threads(
    const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint32_t caller)
{
    const struct wp_trace *trace = facts->by_threads;
    const struct wp_cause_fact *cause = &causes->rows[row];
    const struct wp_flame_node *nodes = facts->flame.nodes;
    struct wp_cause_threads threads = {0};
    uint32_t location = location_frame(causes, facts, cause->sleep);
    const char *call;
    size_t size = wp_cause_call(facts, cause->sleep, &call);
    if (!location && !call[size]) /* a call that any thread may sleep in, for anything */
        return threads;
    bool is_of_one = !cause->has_threads && wp_cause_is_own(facts, cause);
    const struct wanted wanted = {.sleep = wp_facts_frame_name(facts, nodes[cause->sleep].frame),
        .location = location ? wp_facts_frame_name(facts, location) : NULL,
        .caller = caller ? wp_facts_frame_name(facts, nodes[caller].frame) : NULL,
        .process = is_of_one ? wp_facts_frame_name(facts, nodes[cause->process].frame) : NULL};
    struct on_path *on = trace ? calloc(trace->node_count + 1u, sizeof(*on)) : NULL;
    uint8_t *is_counted = trace ? calloc(trace->path_count + 1u, 1) : NULL;
    if (on && is_counted) {
        for (uint32_t i = 1; i < trace->node_count; i++)
            look_at_node(trace, on, i, &wanted);
        count_paths(&threads, facts, on, is_counted);
    }
    facts->pool.failed |= trace && (!on || !is_counted);
    free(on);
    free(is_counted);
    return threads;
}
