/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/cause_pieces.h"

#include "common/intmap.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CRUMB_PART 20u   /* of the longest piece */
#define EVEN_PART 10u    /* of the mean that the longest may be longer where they are alike */
#define WHOLE_PART 50u   /* of the cause's time, which may lie beside the window */
#define BREAK_NS 100u    /* times are in steps of 32 ns */
#define FEW_PIECES 64u   /* whose sleeps are looked for: of many, the longest is whole */
#define EDGE_NS 1000000u /* by which a piece may reach beyond its sleep */

static struct wp_intkey key_of(uint32_t parent, uint32_t style, const char *name)
{
    return (struct wp_intkey){XXH3_64bits_withSeed(name, strlen(name), style), parent};
}

/* The row's cells and all that they stand on, by parent and frame. */
static bool index_nodes(
    struct wp_intmap *index, const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t found;
    for (uint32_t i = 0; i < flame->cell_count; i++)
        for (uint32_t at = causes->cell_cause[i] == row + 1 ? flame->cells[i].node : 0; at;
             at = flame->nodes[at].parent) {
            const struct wp_flame_node *node = &flame->nodes[at];
            struct wp_intkey key =
                key_of(node->parent, wp_facts_frame_style(facts, node->frame), wp_facts_frame_name(facts, node->frame));
            if (wp_intmap_get(index, key, &found))
                break;
            if (wp_intmap_put(index, key, at))
                return false;
        }
    return true;
}

/* By node of the trace: that of the flame, 0 none of the row's. */
static uint32_t *map_nodes(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_trace *trace = facts->trace;
    struct wp_intmap index = {0};
    uint32_t *nodes = calloc(trace->node_count + 1u, sizeof(*nodes));
    bool is_done = nodes && index_nodes(&index, causes, facts, row);
    for (uint32_t i = 1; is_done && i < trace->node_count; i++) {
        const struct wp_frame_info *frame = &trace->frames[trace->nodes[i].frame];
        uint32_t parent = trace->nodes[i].parent;
        if (!parent || nodes[parent])
            wp_intmap_get(
                &index, key_of(nodes[parent], frame->style, wp_intern_text(trace->strings, frame->name)), &nodes[i]);
    }
    wp_intmap_fini(&index);
    if (is_done)
        return nodes;
    free(nodes);
    return NULL;
}

static int by_time(const void *left, const void *right)
{
    const struct wp_trace_piece *a = left, *b = right;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Those of the row, by time; parts of one are joined. */
static uint32_t collect(
    struct wp_trace_piece *pieces, const bool *is_its, const uint32_t *nodes, const struct wp_trace *trace)
{
    uint32_t found = 0, count = 0;
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        if (piece->node < trace->node_count && is_its[nodes[piece->node]] &&
            (piece->category == WP_DELIBERATE_SLEEP || piece->category == WP_TIMEOUT))
            pieces[found++] = *piece;
    }
    qsort(pieces, found, sizeof(*pieces), by_time);
    for (uint32_t i = 0; i < found; i++) {
        struct wp_trace_piece *last = count ? &pieces[count - 1] : NULL;
        if (last && last->path == pieces[i].path && last->start_ns + last->length_ns + BREAK_NS >= pieces[i].start_ns)
            last->length_ns += pieces[i].length_ns;
        else
            pieces[count++] = pieces[i];
    }
    return count;
}

/* What the window calls a sleep there: the innermost user function, else the system call; a string id. */
static uint32_t label_of(const struct wp_trace *trace, uint32_t node)
{
    uint32_t call = 0;
    for (; node; node = trace->nodes[node].parent) {
        const struct wp_frame_info *info = &trace->frames[trace->nodes[node].frame];
        if (info->style == WP_STYLE_USER)
            return info->name;
        if (info->style == WP_STYLE_PROCESS)
            break;
        call = info->style == WP_STYLE_SLEEP ? info->name : call;
    }
    return call;
}

/* The sleep that the piece is of, index + 1: of several the one that ends nearest to it; 0 not known. */
static uint32_t sleep_of(const struct wp_trace *trace, const struct wp_trace_piece *piece)
{
    uint32_t label = label_of(trace, piece->node), best = 0;
    uint64_t end_ns = piece->start_ns + piece->length_ns, nearest_ns = UINT64_MAX;
    for (uint32_t i = 0; i < trace->sleep_count; i++) {
        const struct wp_trace_sleep *sleep = &trace->sleeps[i];
        uint64_t until_ns = sleep->start_ns + sleep->length_ns;
        if (sleep->label != label || sleep->category != piece->category || until_ns + EDGE_NS < end_ns ||
            sleep->start_ns > piece->start_ns + EDGE_NS)
            continue;
        uint64_t away_ns = until_ns > end_ns ? until_ns - end_ns : end_ns - until_ns;
        if (away_ns >= nearest_ns)
            continue;
        nearest_ns = away_ns;
        best = i + 1;
    }
    return best;
}

/* Few pieces: what is of one sleep is one; *longest_ns: the longest of these sleeps, part of which may be nobody's
 * wait. The number left. */
static uint32_t join_sleeps(
    struct wp_trace_piece *pieces, uint32_t count, const struct wp_trace *trace, uint64_t *longest_ns)
{
    uint32_t sleeps[FEW_PIECES], kept = 0;
    *longest_ns = 0;
    for (uint32_t i = 0; count <= FEW_PIECES && i < count; i++) {
        uint32_t sleep = sleep_of(trace, &pieces[i]), at = kept;
        if (sleep && trace->sleeps[sleep - 1].length_ns > *longest_ns)
            *longest_ns = trace->sleeps[sleep - 1].length_ns;
        for (uint32_t before = 0; before < kept && sleep; before++)
            at = sleeps[before] == sleep ? before : at;
        if (at < kept) {
            pieces[at].length_ns += pieces[i].length_ns;
            continue;
        }
        sleeps[kept] = sleep;
        pieces[kept++] = pieces[i];
    }
    return count <= FEW_PIECES ? kept : count;
}

static int by_length(const void *left, const void *right)
{
    const struct wp_trace_piece *a = left, *b = right;
    return a->length_ns < b->length_ns ? -1 : a->length_ns > b->length_ns;
}

static struct wp_cause_pieces sum_up(
    struct wp_trace_piece *pieces, uint32_t count, uint64_t whole_ns, uint64_t longest_sleep_ns)
{
    uint64_t all_ns = 0, ns = 0, longest_ns;
    uint32_t whole = 0;
    qsort(pieces, count, sizeof(*pieces), by_length);
    longest_ns = count ? pieces[count - 1].length_ns : 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_crumb = pieces[i].length_ns < longest_ns / CRUMB_PART;
        all_ns += pieces[i].length_ns;
        ns += is_crumb ? 0 : pieces[i].length_ns;
        whole += !is_crumb;
    }
    if (!whole || all_ns < whole_ns - whole_ns / WHOLE_PART)
        return (struct wp_cause_pieces){0};
    return (struct wp_cause_pieces){.count = whole,
        .longest_ns = longest_sleep_ns > longest_ns && longest_ns > ns / whole + ns / whole / EVEN_PART
            ? longest_sleep_ns
            : longest_ns,
        .usual_ns = pieces[count - whole + whole / 2].length_ns,
        .mean_ns = ns / whole};
}

struct wp_cause_pieces wp_cause_pieces(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    const struct wp_trace *trace = facts->trace;
    struct wp_cause_pieces sum = {0};
    if (!trace)
        return sum;
    uint32_t *nodes = map_nodes(causes, facts, row);
    bool *is_its = calloc(flame->count + 1u, sizeof(*is_its));
    struct wp_trace_piece *pieces = malloc((trace->piece_count + 1u) * sizeof(*pieces));
    facts->pool.failed |= !nodes || !is_its || !pieces;
    if (nodes && is_its && pieces) {
        for (uint32_t i = 0; i < flame->cell_count; i++)
            is_its[flame->cells[i].node] |= causes->cell_cause[i] == row + 1;
        is_its[0] = false;
        uint64_t longest_ns;
        uint32_t count = join_sleeps(pieces, collect(pieces, is_its, nodes, trace), trace, &longest_ns);
        sum = sum_up(pieces, count, causes->rows[row].ns, longest_ns);
    }
    free(nodes);
    free(is_its);
    free(pieces);
    return sum;
}
