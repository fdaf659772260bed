/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_location.h"

#include "reporter/compare/compare_idle.h"
#include "reporter/facts/code_location.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 5u      /* hops that are reported */
#define MOST_OF_IT 0.5 /* of the difference */
#define OWN_RANK 3u    /* of the program's own functions */

struct search {
    struct wp_compare_build *build;
    const struct wp_report *tree;
    uint8_t *rank;    /* by frame: how near to the program it is; owned, as the next four */
    double *by_frame; /* what each has of the row, ns a unit, the newer side less the older one */
    uint32_t *caller; /* by frame: the one frame that calls it, UINT32_MAX several */
    uint32_t *seen;   /* by frame: the last cell that has it, and how many calls deep it stands at most */
    uint32_t *depth;
    uint32_t *locations; /* of the newer flame; in the comparison's pool */
};

/* Which function of a node's stack is asked for: the innermost of the application in a layer, or who calls `of`. */
struct asked {
    bool is_base;  /* of the process of interest, not of the one on top */
    uint32_t of;   /* frame; 0: the innermost */
    bool is_under; /* `of` itself, wherever it stands in the layer */
};

static uint32_t frame_at(const struct search *search, uint32_t node)
{
    uint32_t count;
    return wp_report_nodes(search->tree, &count)[node].frame;
}

static uint32_t parent_of(const struct search *search, uint32_t node)
{
    uint32_t count;
    return wp_report_nodes(search->tree, &count)[node].parent;
}

static bool is_process(const struct search *search, uint32_t node)
{
    uint32_t count;
    return wp_report_frames(search->tree, &count)[frame_at(search, node)].style == WP_STYLE_PROCESS;
}

/* The node of the application's innermost function from there outwards in its layer; 0 none. */
static uint32_t application_node(const struct search *search, uint32_t node)
{
    uint32_t best = 0;
    unsigned rank = 1;
    for (; node && !is_process(search, node); node = parent_of(search, node))
        if (search->rank[frame_at(search, node)] > rank) {
            rank = search->rank[frame_at(search, node)];
            best = node;
        }
    return best;
}

/* The node of the program's own function that calls the one there, no call of itself; 0 none. */
static uint32_t caller_node(const struct search *search, uint32_t node)
{
    uint32_t at = application_node(search, parent_of(search, node));
    while (at && frame_at(search, at) == frame_at(search, node))
        at = application_node(search, parent_of(search, at));
    return at && search->rank[frame_at(search, at)] >= OWN_RANK ? at : 0;
}

/* The node of what is asked for; 0: not in that stack. */
static uint32_t asked_node(const struct search *search, const struct asked *asked, uint32_t node)
{
    while (asked->is_base && search->build->tree.layer[node] > 1)
        node = parent_of(search, node);
    while (asked->is_under && node && !is_process(search, node) && frame_at(search, node) != asked->of)
        node = parent_of(search, node);
    if (asked->is_under)
        return node && !is_process(search, node) ? node : 0;
    uint32_t at = application_node(search, node);
    if (!asked->of || !at)
        return at;
    return frame_at(search, at) == asked->of ? caller_node(search, at) : 0;
}

static bool is_of(const struct search *search, const struct wp_change *change, int operand, uint32_t cell)
{
    const struct wp_compare_operand *from = &search->build->tree.operand[operand];
    uint32_t node = from->node[from->cells[cell].node], category = from->cells[cell].category;
    return search->build->tree.hop[node] == change->hop && (int)category == change->category &&
        !wp_compare_idle_is(search->build->tree.waits[node], category, true);
}

/* A cell of the row in what a unit has of it, the newer side less the older one. */
static double difference_of(const struct search *search, const struct wp_change *change, int side, uint32_t cell)
{
    const struct wp_compare_tree *tree = &search->build->tree;
    const struct wp_operand *operand = &search->build->compare->operand[side];
    bool is_apart = tree->apart && tree->apart[change->hop] >> change->category & 1; /* requests do not part it */
    double ns =
        (double)tree->operand[side].cells[cell].ns / (is_apart ? (double)operand->wall_ns / 1e9 : operand->units);
    return side == WP_AFTER ? ns : -ns;
}

/* Adds a cell to each function of its layer that has it, with all that these call. */
static void add_under(struct search *search, uint32_t node, double ns, uint32_t stamp)
{
    uint32_t depth = 0;
    for (uint32_t at = node; at && !is_process(search, at); at = parent_of(search, at))
        depth++;
    for (; node && !is_process(search, node); node = parent_of(search, node), depth--) {
        uint32_t frame = frame_at(search, node);
        if (search->seen[frame] != stamp)
            search->by_frame[frame] += ns;
        search->seen[frame] = stamp;
        if (search->depth[frame] < depth)
            search->depth[frame] = depth;
    }
}

/* Where many functions share the difference: the innermost of the program's that has half of it with all that it calls;
 * 0: none but where all begins. */
static uint32_t find_under(struct search *search, const struct wp_change *change)
{
    const struct wp_compare_tree *tree = &search->build->tree;
    size_t size = (tree->frame_count + (size_t)1) * sizeof(uint32_t);
    double whole = 0;
    uint32_t best = 0, stamp = 0;
    memset(search->by_frame, 0, (tree->frame_count + (size_t)1) * sizeof(*search->by_frame));
    memset(search->seen, 0, size);
    memset(search->depth, 0, size);
    for (int i = 0; i < 2; i++)
        for (uint32_t cell = 0; cell < tree->operand[i].cell_count; cell++) {
            if (!is_of(search, change, i, cell))
                continue;
            double ns = difference_of(search, change, i, cell);
            add_under(search, tree->operand[i].node[tree->operand[i].cells[cell].node], ns, ++stamp);
            whole += ns;
        }
    for (uint32_t i = 1; i < tree->frame_count; i++) {
        if (search->rank[i] < OWN_RANK || search->by_frame[i] < MOST_OF_IT * whole)
            continue;
        double less = best ? search->by_frame[best] - search->by_frame[i] : 1;
        if (less > 1e-9 * whole || (less > -1e-9 * whole && search->depth[i] > search->depth[best]))
            best = i;
    }
    return best;
}

/* What each function has of the row; the frame with most of it, 0: none has half of the difference. */
static uint32_t find_most(struct search *search, const struct wp_change *change, const struct asked *asked)
{
    const struct wp_compare_tree *tree = &search->build->tree;
    double whole = 0;
    memset(search->by_frame, 0, (tree->frame_count + (size_t)1) * sizeof(*search->by_frame));
    for (int i = 0; i < 2; i++) {
        const struct wp_compare_operand *from = &tree->operand[i];
        for (uint32_t cell = 0; cell < from->cell_count; cell++) {
            if (!is_of(search, change, i, cell))
                continue;
            double ns = difference_of(search, change, i, cell);
            uint32_t at = asked_node(search, asked, from->node[from->cells[cell].node]);
            search->by_frame[at ? frame_at(search, at) : 0] += ns;
            whole += ns;
        }
    }
    uint32_t most = 0;
    for (uint32_t i = 1; i < tree->frame_count; i++)
        if (search->by_frame[i] > (most ? search->by_frame[most] : 0))
            most = i;
    return most && search->by_frame[most] >= MOST_OF_IT * whole ? most : 0;
}

/* The node of the newer flame with most time of the row in which the function that is asked for is `frame`; 0 none. */
static uint32_t largest_node(
    const struct search *search, const struct wp_change *change, const struct asked *asked, uint32_t frame)
{
    const struct wp_compare_operand *from = &search->build->tree.operand[WP_AFTER];
    uint64_t most = 0;
    uint32_t found = 0;
    for (uint32_t cell = 0; cell < from->cell_count; cell++) {
        if (!is_of(search, change, WP_AFTER, cell) || from->cells[cell].ns <= most)
            continue;
        uint32_t node = from->node[from->cells[cell].node], at = asked_node(search, asked, node);
        while (asked->is_base && search->build->tree.layer[node] > 1)
            node = parent_of(search, node);
        if (!at || frame_at(search, at) != frame)
            continue;
        most = from->cells[cell].ns;
        found = search->build->tree.place[WP_AFTER][asked->is_under ? at : node];
    }
    return found;
}

/* A place as findings have it, without the marks of code; NULL not known. */
static const char *plain(struct wp_pool *pool, const struct wp_code_location *location)
{
    const char *text = wp_code_location_text(pool, location), *end = *text == '`' ? strchr(text + 1, '`') : NULL;
    return end ? wp_pool_printf(pool, "%.*s%s", (int)(end - text - 1), text + 1, end + 1) : NULL;
}

/* "ExecScan and what it calls"; NULL not known. */
static const char *place_under(struct search *search, const struct wp_change *change)
{
    struct wp_pool *pool = &search->build->compare->pool;
    struct asked asked = {.of = find_under(search, change), .is_under = true};
    uint32_t node = asked.of ? largest_node(search, change, &asked, asked.of) : 0;
    if (!node)
        return NULL;
    struct wp_code_location location = wp_code_location_at(search->build->facts[WP_AFTER], search->locations, node);
    if (!location.function || wp_code_location_is_entry(location.function))
        return NULL;
    location.file = NULL; /* of all its lines */
    const char *place = plain(pool, &location);
    return place ? wp_pool_printf(pool, "%s" WP_COMPARE_CALLS, place) : NULL;
}

/* "find_orders (shop.py:18)", and ", called from check_stock (shop.py:40)" where several call it; NULL not known. */
static const char *place_of(struct search *search, const struct wp_change *change, bool is_base)
{
    struct wp_pool *pool = &search->build->compare->pool;
    const struct wp_facts *facts = search->build->facts[WP_AFTER];
    struct asked asked = {.is_base = is_base};
    uint32_t most = find_most(search, change, &asked), node = most ? largest_node(search, change, &asked, most) : 0;
    if (!node)
        return NULL;
    struct wp_code_location location = wp_code_location_at(facts, search->locations, node);
    if (is_base && location.function && wp_code_location_is_entry(location.function))
        return NULL;
    const char *place = plain(pool, &location);
    struct asked caller = {.is_base = is_base, .of = most};
    uint32_t by = place && search->caller[most] == UINT32_MAX ? find_most(search, change, &caller) : 0;
    node = by ? largest_node(search, change, &caller, by) : 0;
    uint32_t at = node ? wp_code_location_caller(facts, search->locations, node) : 0;
    if (!at)
        return place;
    location = wp_code_location_call(facts, at, search->locations[node]);
    const char *text = plain(pool, &location);
    return text ? wp_pool_printf(pool, "%s, called from %s", place, text) : place;
}

static void find_callers(struct search *search)
{
    uint32_t count;
    wp_report_nodes(search->tree, &count);
    for (uint32_t i = 1; i < count; i++) {
        uint32_t frame = frame_at(search, i);
        uint32_t at = search->rank[frame] >= OWN_RANK ? caller_node(search, i) : 0, by = at ? frame_at(search, at) : 0;
        if (by && search->caller[frame] != by)
            search->caller[frame] = search->caller[frame] ? UINT32_MAX : by;
    }
}

static int init(struct search *search, struct wp_compare_build *build)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(build->tree.tree, &count);
    *search = (struct search){.build = build, .tree = build->tree.tree};
    search->rank = calloc(count + (size_t)1, sizeof(*search->rank));
    search->by_frame = calloc(count + (size_t)1, sizeof(*search->by_frame));
    search->caller = calloc(count + (size_t)1, sizeof(*search->caller));
    search->locations = wp_code_locations_build(&build->compare->pool, build->facts[WP_AFTER]);
    search->seen = calloc(count + (size_t)1, sizeof(*search->seen));
    search->depth = calloc(count + (size_t)1, sizeof(*search->depth));
    if (!search->rank || !search->by_frame || !search->caller || !search->seen || !search->depth || !search->locations)
        return -ENOMEM;
    for (uint32_t i = 1; i < count; i++)
        search->rank[i] = (uint8_t)wp_code_location_rank(frames[i].style,
            wp_report_text(build->tree.tree, frames[i].name), wp_report_text(build->tree.tree, frames[i].object));
    find_callers(search);
    return 0;
}

int wp_compare_locations(struct wp_compare_build *build)
{
    struct wp_changes *hops = &build->compare->changes[WP_CHANGE_HOPS];
    struct search search;
    int rc = init(&search, build);
    for (size_t i = 0; i < hops->count && i < PLACES && !rc; i++) {
        struct wp_change *change = &hops->rows[i];
        if (change->delta <= 0)
            continue;
        change->place = place_of(&search, change, false);
        if (!change->place)
            change->place = place_under(&search, change);
        change->caller = strstr(change->name, " › ") ? place_of(&search, change, true) : NULL;
    }
    free(search.rank);
    free(search.by_frame);
    free(search.caller);
    free(search.seen);
    free(search.depth);
    return rc;
}
