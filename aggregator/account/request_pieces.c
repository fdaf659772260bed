/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/request_pieces.h"

#include "common/array.h"

#include <stdlib.h>

#define PIECES_LIMIT ((size_t)1 << 20) /* 32 MB */

void wp_request_pieces_clear(struct wp_request_pieces *p)
{
    p->request_count = p->part_count = p->apart_first = 0;
    p->has_apart = false;
    p->piece_count = 0;
    p->ahead = 0;
    p->is_open = p->is_full = false;
}

void wp_request_pieces_fini(struct wp_request_pieces *p)
{
    free(p->requests);
    free(p->parts);
    free(p->pieces);
    *p = (struct wp_request_pieces){0};
}

/* --- which are wanted --- */

void wp_request_pieces_expect(struct wp_request_pieces *p, uint32_t *first, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t least_ns = *first ? p->requests[*first - 1].least_ns : UINT64_MAX;
    if (WP_ARRAY_FIT(p->requests, p->request_room, p->request_count + 1))
        return; /* it is explained by itself */
    p->requests[p->request_count++] =
        (struct wp_request){from_ns, to_ns, from_ns < least_ns ? from_ns : least_ns, *first};
    *first = p->request_count;
}

void wp_request_pieces_begin(struct wp_request_pieces *p, uint32_t first)
{
    p->ahead = first;
}

/* Does a request of the thread overlap [from, to)? */
static bool is_wanted(struct wp_request_pieces *p, uint64_t from_ns, uint64_t to_ns)
{
    while (p->ahead && p->requests[p->ahead - 1].to_ns <= from_ns)
        p->ahead = p->requests[p->ahead - 1].next;
    return p->ahead && p->requests[p->ahead - 1].least_ns < to_ns;
}

/* --- what is explained --- */

static void open_part(struct wp_request_pieces *p, const struct wp_request_part *part)
{
    p->is_full = WP_ARRAY_FIT(p->parts, p->part_room, p->part_count + 1);
    p->is_open = !p->is_full;
    if (!p->is_open)
        return;
    p->parts[p->part_count] = *part;
    p->parts[p->part_count].first = p->parts[p->part_count].end = p->piece_count;
    p->part_count++;
}

void wp_request_pieces_open(struct wp_request_pieces *p, uint64_t from_ns, uint64_t to_ns, bool is_window)
{
    if (!wp_request_pieces_may_keep(p, is_window) || !(is_wanted(p, from_ns, to_ns) || is_window))
        return;
    open_part(p, &(struct wp_request_part){.from_ns = from_ns, .to_ns = to_ns});
}

bool wp_request_pieces_open_apart(struct wp_request_pieces *p, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
    if (p->is_full)
        return false;
    if (!p->has_apart)
        p->apart_first = p->part_count;
    p->has_apart = true;
    open_part(p, &(struct wp_request_part){.from_ns = from_ns, .to_ns = to_ns, .thread = thread});
    return p->is_open;
}

void wp_request_pieces_keep(struct wp_request_pieces *p, const struct wp_piece *piece)
{
    if (p->piece_count >= PIECES_LIMIT || WP_ARRAY_FIT(p->pieces, p->piece_room, p->piece_count + 1)) {
        p->is_full = true;
        p->is_open = false;
        p->part_count--;
        return;
    }
    p->pieces[p->piece_count++] = wp_piece_row_of(piece);
}

void wp_request_pieces_close(struct wp_request_pieces *p)
{
    if (p->is_open)
        p->parts[p->part_count - 1].end = p->piece_count;
    p->is_open = false;
}

/* --- read --- */

struct wp_request_parts wp_request_pieces_apart(const struct wp_request_pieces *p, uint32_t thread, uint64_t to_ns)
{
    for (uint32_t i = p->apart_first; p->has_apart && i < p->part_count; i++)
        if (p->parts[i].thread == thread && p->parts[i].to_ns == to_ns)
            return (struct wp_request_parts){i, i + 1};
    return (struct wp_request_parts){0};
}

/* The first of a thread's parts that begins at `to_ns` or later. */
static uint32_t end_before(const struct wp_request_pieces *p, const struct wp_request_parts *parts, uint64_t to_ns)
{
    return WP_LOWER_BOUND(at, parts->first, parts->end, p->parts[at].from_ns < to_ns);
}

/* The parts that hold [from, to) without a gap; none: there is one. */
static struct wp_request_parts whole(
    const struct wp_request_pieces *p, const struct wp_request_parts *parts, uint64_t from_ns, uint64_t to_ns)
{
    struct wp_request_parts found = {.end = end_before(p, parts, to_ns)};
    if (found.end == parts->first || p->parts[found.end - 1].to_ns < to_ns)
        return (struct wp_request_parts){0};
    found.first = found.end - 1;
    while (p->parts[found.first].from_ns > from_ns) {
        if (found.first == parts->first || p->parts[found.first - 1].to_ns != p->parts[found.first].from_ns)
            return (struct wp_request_parts){0};
        found.first--;
    }
    return found;
}

static void tell_part(const struct wp_request_pieces *p, const struct wp_request_part *part,
    const struct wp_request *request, const struct wp_sink *sink)
{
    for (size_t i = part->first; i < part->end; i++) {
        const struct wp_piece_row *kept = &p->pieces[i];
        struct wp_piece piece = {.node = kept->node,
            .host = kept->host,
            .thread = kept->thread,
            .category = kept->category,
            .start_ns = kept->start_ns > request->from_ns ? kept->start_ns : request->from_ns,
            .end_ns = kept->end_ns < request->to_ns ? kept->end_ns : request->to_ns};
        if (piece.start_ns < piece.end_ns)
            wp_sink_piece(sink, &piece);
    }
}

uint32_t wp_request_pieces_tell(const struct wp_request_pieces *p, const struct wp_request_parts *parts,
    uint64_t from_ns, uint64_t to_ns, const struct wp_sink *sink)
{
    const struct wp_request_parts found = whole(p, parts, from_ns, to_ns);
    const struct wp_request request = {.from_ns = from_ns, .to_ns = to_ns};
    for (uint32_t i = found.end; i-- > found.first;)
        tell_part(p, &p->parts[i], &request, sink);
    return found.end - found.first;
}
