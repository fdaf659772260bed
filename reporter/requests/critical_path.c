/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/requests/critical_path.h"

#include "storage/report/trace.h"

#include <stdlib.h>
#include <string.h>

#define PARTS 240u /* of the window, before neighbours that are alike are put together */
#define NAME_BYTES 40u

/* What a part of the window was: a name of the trace's and a category, and how much of the part. */
struct share {
    uint32_t name, category;
    uint64_t ns;
};

#define SHARES 24u /* of a part: what comes after them is not the largest */

struct part_shares {
    struct share rows[SHARES];
    uint32_t count;
};

/* The path of interest with most time; UINT32_MAX: there is none. */
static uint32_t main_path(const struct wp_trace *trace)
{
    uint64_t *sums = calloc(trace->path_count + (size_t)1, sizeof(*sums));
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; sums && i < trace->piece_count; i++)
        if (trace->pieces[i].path < trace->path_count)
            sums[trace->pieces[i].path] += trace->pieces[i].length_ns;
    for (uint32_t i = 0; sums && i < trace->path_count; i++)
        if (trace->paths[i].is_base && sums[i] && (best == UINT32_MAX || sums[i] > sums[best]))
            best = i;
    free(sums);
    return best;
}

/* The name of the nearest process below a node, 0 none. */
static uint32_t process_of(const struct wp_trace *trace, uint32_t node)
{
    for (; node && node < trace->node_count; node = trace->nodes[node].parent) {
        const struct wp_frame_info *frame = &trace->frames[trace->nodes[node].frame];
        if (frame->style == WP_STYLE_PROCESS)
            return frame->name;
    }
    return 0;
}

static void add_share(struct part_shares *part, struct share share)
{
    for (uint32_t i = 0; i < part->count; i++)
        if (part->rows[i].name == share.name && part->rows[i].category == share.category) {
            part->rows[i].ns += share.ns;
            return;
        }
    if (part->count < SHARES)
        part->rows[part->count++] = share;
}

static void add_piece(struct part_shares *parts, const struct wp_trace *trace, const struct wp_trace_piece *piece)
{
    uint64_t width = trace->length_ns / PARTS + 1, from = piece->start_ns, to = from + piece->length_ns;
    uint32_t name = process_of(trace, piece->node);
    to = to < from || to > trace->length_ns ? trace->length_ns : to;
    for (uint64_t at = from / width; at < PARTS && at * width < to; at++) {
        uint64_t low = at * width > from ? at * width : from, high = (at + 1) * width < to ? (at + 1) * width : to;
        if (high > low)
            add_share(&parts[at], (struct share){name, piece->category, high - low});
    }
}

static struct share largest(const struct part_shares *part)
{
    struct share best = {.category = WP_CATEGORIES};
    for (uint32_t i = 0; i < part->count; i++)
        if (part->rows[i].ns > best.ns)
            best = part->rows[i];
    return best;
}

/* "[cc1]@db" as "cc1@db". */
static const char *plain_name(struct wp_pool *pool, const char *name)
{
    const char *end = *name == '[' ? strchr(name, ']') : NULL;
    return wp_pool_clip(
        pool, end ? wp_pool_printf(pool, "%.*s%s", (int)(end - name - 1), name + 1, end + 1) : name, NAME_BYTES);
}

static void join_parts(
    struct wp_critical_path *path, struct wp_pool *pool, const struct wp_trace *trace, const struct part_shares *parts)
{
    uint64_t width = trace->length_ns / PARTS + 1;
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < PARTS && i * width < trace->length_ns; i++) {
        struct share share = largest(&parts[i]);
        uint64_t start = i * width, end = start + width < trace->length_ns ? start + width : trace->length_ns;
        struct wp_path_part *last = path->count ? &path->parts[path->count - 1] : NULL;
        if (share.category >= WP_CATEGORIES) {
            before = UINT32_MAX; /* nothing was kept of it */
            continue;
        }
        if (last && before == share.name && last->category == (enum wp_category)share.category) {
            last->length_ns = end - last->start_ns;
            continue;
        }
        path->parts[path->count++] = (struct wp_path_part){start, end - start,
            plain_name(pool, wp_intern_text(trace->strings, share.name)), (enum wp_category)share.category};
        before = share.name;
    }
}

void wp_critical_path_build(struct wp_critical_path *path, struct wp_pool *pool, const struct wp_facts *facts)
{
    const struct wp_trace *trace = facts->trace;
    uint32_t main = trace ? main_path(trace) : UINT32_MAX;
    *path = (struct wp_critical_path){0};
    if (main == UINT32_MAX || !trace->length_ns)
        return;
    struct part_shares *parts = calloc(PARTS, sizeof(*parts));
    path->parts = wp_pool_alloc(pool, PARTS * sizeof(*path->parts));
    path->length_ns = trace->length_ns;
    path->thread = trace->paths[main].thread < trace->thread_count
        ? wp_pool_clip(pool, wp_intern_text(trace->strings, trace->threads[trace->paths[main].thread].comm), NAME_BYTES)
        : "";
    pool->failed |= !parts;
    for (uint32_t i = 0; parts && i < trace->piece_count; i++)
        if (trace->pieces[i].path == main)
            add_piece(parts, trace, &trace->pieces[i]);
    if (parts && path->parts)
        join_parts(path, pool, trace, parts);
    free(parts);
}
