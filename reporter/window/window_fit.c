/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/window/window_fit.h"

#include "reporter/window/window_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS 256u /* of a kind: below that it is names that make it large, and those are short */
#define ROUNDS 8

/* Which rows of a kind stay. */
struct choice {
    uint64_t shortest_ns; /* longer ones all stay */
    uint32_t ties;        /* of that length: so many, the first ones */
};

struct copying {
    const struct wp_trace *from;
    struct wp_trace *to;
    struct choice pieces, runs, sleeps, links, ops;
    uint32_t *threads, *paths, *nodes; /* owned; new id by old one, UINT32_MAX: none yet */
    bool *has_thread, *has_path;       /* owned; whether a row that stays is of it */
};

static int compare_lengths(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

static int choose(struct choice *choice, const struct wp_trace *trace, uint32_t count, uint32_t kept,
    uint64_t (*length)(const struct wp_trace *trace, uint32_t row))
{
    *choice = (struct choice){0, UINT32_MAX};
    if (kept >= count)
        return 0;
    uint64_t *lengths = calloc(count + 1u, sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        lengths[i] = length(trace, i);
    qsort(lengths, count, sizeof(*lengths), compare_lengths);
    choice->shortest_ns = kept ? lengths[kept - 1] : UINT64_MAX;
    choice->ties = 0;
    for (uint32_t i = kept; i > 0 && lengths[i - 1] == choice->shortest_ns; i--)
        choice->ties++;
    free(lengths);
    return 0;
}

static bool stays(struct choice *choice, uint64_t length_ns)
{
    if (length_ns != choice->shortest_ns)
        return length_ns > choice->shortest_ns;
    return choice->ties && choice->ties-- > 0;
}

static uint64_t piece_length(const struct wp_trace *trace, uint32_t row)
{
    return trace->pieces[row].length_ns;
}

static uint64_t run_length(const struct wp_trace *trace, uint32_t row)
{
    return trace->runs[row].length_ns;
}

static uint64_t sleep_length(const struct wp_trace *trace, uint32_t row)
{
    return trace->sleeps[row].length_ns;
}

static uint64_t link_length(const struct wp_trace *trace, uint32_t row)
{
    const struct wp_trace_link *link = &trace->links[row];
    return link->to_ns > link->from_ns ? link->to_ns - link->from_ns : 0;
}

static uint64_t op_length(const struct wp_trace *trace, uint32_t row)
{
    return trace->ops[row].length_ns;
}

static uint32_t string_of(struct copying *copying, uint32_t string)
{
    return wp_trace_string(copying->to, wp_intern_text(copying->from->strings, string));
}

/* A thread's row in the new trace, made when it is first needed. */
static uint32_t thread_of(struct copying *copying, uint32_t thread)
{
    if (thread >= copying->from->thread_count)
        return UINT32_MAX;
    if (copying->threads[thread] == UINT32_MAX) {
        struct wp_trace_thread row = copying->from->threads[thread];
        row.host = string_of(copying, row.host);
        row.comm = string_of(copying, row.comm);
        row.group = string_of(copying, row.group);
        if (!wp_trace_add_thread(copying->to, &row))
            copying->threads[thread] = copying->to->thread_count - 1;
    }
    return copying->threads[thread];
}

static uint32_t path_of(struct copying *copying, uint32_t path)
{
    if (path >= copying->from->path_count)
        return UINT32_MAX;
    if (copying->paths[path] == UINT32_MAX) {
        struct wp_trace_path row = copying->from->paths[path];
        row.thread = thread_of(copying, row.thread);
        if (row.thread != UINT32_MAX && !wp_trace_add_path(copying->to, &row))
            copying->paths[path] = copying->to->path_count - 1;
    }
    return copying->paths[path];
}

/* Parents stand before their children, so this ends. */
static uint32_t node_of(struct copying *copying, uint32_t node)
{
    const struct wp_trace *from = copying->from;
    if (!node || node >= from->node_count)
        return 0;
    if (copying->nodes[node] == UINT32_MAX) {
        const struct wp_frame_info *frame = &from->frames[from->nodes[node].frame];
        uint32_t parent = node_of(copying, from->nodes[node].parent);
        uint32_t copy = wp_trace_frame(copying->to, (enum wp_frame_style)frame->style,
            wp_intern_text(from->strings, frame->name), wp_intern_text(from->strings, frame->object));
        if (parent != UINT32_MAX && copy != UINT32_MAX)
            copying->nodes[node] = wp_trace_child(copying->to, parent, copy);
    }
    return copying->nodes[node];
}

static void need_thread(struct copying *copying, uint32_t thread)
{
    if (thread < copying->from->thread_count)
        copying->has_thread[thread] = true;
}

static void need_path(struct copying *copying, uint32_t path)
{
    if (path >= copying->from->path_count)
        return;
    copying->has_path[path] = true;
    need_thread(copying, copying->from->paths[path].thread);
}

static void find_needed(struct copying *copying)
{
    const struct wp_trace *from = copying->from;
    struct choice pieces = copying->pieces, runs = copying->runs, sleeps = copying->sleeps, links = copying->links,
                  ops = copying->ops;
    for (uint32_t i = 0; i < from->piece_count; i++)
        if (stays(&pieces, from->pieces[i].length_ns))
            need_path(copying, from->pieces[i].path);
    for (uint32_t i = 0; i < from->run_count; i++)
        if (stays(&runs, from->runs[i].length_ns))
            need_thread(copying, from->runs[i].thread);
    for (uint32_t i = 0; i < from->sleep_count; i++)
        if (stays(&sleeps, from->sleeps[i].length_ns))
            need_thread(copying, from->sleeps[i].thread);
    for (uint32_t i = 0; i < from->link_count; i++)
        if (stays(&links, link_length(from, i))) {
            need_thread(copying, from->links[i].from_thread);
            need_thread(copying, from->links[i].to_thread);
        }
    for (uint32_t i = 0; i < from->op_count; i++)
        if (stays(&ops, op_length(from, i)) && from->ops[i].thread)
            need_thread(copying, from->ops[i].thread - 1);
}

/* In the order of the old ones, since views draw them so. */
static int copy_threads(struct copying *copying)
{
    int rc = 0;
    for (uint32_t i = 0; i < copying->from->thread_count && !rc; i++)
        rc = copying->has_thread[i] && thread_of(copying, i) == UINT32_MAX ? -ENOMEM : 0;
    for (uint32_t i = 0; i < copying->from->path_count && !rc; i++)
        rc = copying->has_path[i] && path_of(copying, i) == UINT32_MAX ? -ENOMEM : 0;
    return rc;
}

static int copy_pieces(struct copying *copying)
{
    int rc = 0;
    for (uint32_t i = 0; i < copying->from->piece_count && !rc; i++) {
        struct wp_trace_piece row = copying->from->pieces[i];
        if (!stays(&copying->pieces, row.length_ns))
            continue;
        row.path = path_of(copying, row.path);
        row.node = node_of(copying, row.node);
        rc = row.path == UINT32_MAX || row.node == UINT32_MAX ? -ENOMEM : wp_trace_add_piece(copying->to, &row);
    }
    return rc;
}

static int copy_rows(struct copying *copying)
{
    const struct wp_trace *from = copying->from;
    int rc = 0;
    for (uint32_t i = 0; i < from->run_count && !rc; i++) {
        struct wp_trace_run row = from->runs[i];
        if (!stays(&copying->runs, row.length_ns))
            continue;
        row.thread = thread_of(copying, row.thread);
        row.comm = string_of(copying, row.comm);
        rc = row.thread == UINT32_MAX || row.comm == UINT32_MAX ? -ENOMEM : wp_trace_add_run(copying->to, &row);
    }
    for (uint32_t i = 0; i < from->sleep_count && !rc; i++) {
        struct wp_trace_sleep row = from->sleeps[i];
        if (!stays(&copying->sleeps, row.length_ns))
            continue;
        row.thread = thread_of(copying, row.thread);
        row.label = string_of(copying, row.label);
        rc = row.thread == UINT32_MAX || row.label == UINT32_MAX ? -ENOMEM : wp_trace_add_sleep(copying->to, &row);
    }
    for (uint32_t i = 0; i < from->link_count && !rc; i++) {
        struct wp_trace_link row = from->links[i];
        if (!stays(&copying->links, link_length(from, i)))
            continue;
        row.from_thread = thread_of(copying, row.from_thread);
        row.to_thread = thread_of(copying, row.to_thread);
        rc = row.from_thread == UINT32_MAX || row.to_thread == UINT32_MAX ? -ENOMEM
                                                                          : wp_trace_add_link(copying->to, &row);
    }
    return rc;
}

static int copy_ops(struct copying *copying)
{
    int rc = 0;
    for (uint32_t i = 0; i < copying->from->op_count && !rc; i++) {
        struct wp_trace_op row = copying->from->ops[i];
        if (!stays(&copying->ops, row.length_ns))
            continue;
        row.place = string_of(copying, row.place);
        row.label = string_of(copying, row.label);
        row.thread = row.thread ? thread_of(copying, row.thread - 1) + 1 : 0;
        rc = row.place == UINT32_MAX || row.label == UINT32_MAX ? -ENOMEM : wp_trace_add_op(copying->to, &row);
    }
    return rc;
}

static uint32_t part(uint32_t count, double share)
{
    uint32_t kept = (uint32_t)((double)count * share);
    return kept < LEAST_ROWS ? LEAST_ROWS : kept;
}

static uint32_t *no_ids(uint32_t count)
{
    uint32_t *ids = calloc(count + 1u, sizeof(*ids));
    for (uint32_t i = 0; ids && i < count; i++)
        ids[i] = UINT32_MAX;
    return ids;
}

static int choose_all(struct copying *copying, double share)
{
    const struct wp_trace *from = copying->from;
    int rc = choose(&copying->pieces, from, from->piece_count, part(from->piece_count, share), piece_length);
    if (!rc)
        rc = choose(&copying->runs, from, from->run_count, part(from->run_count, share), run_length);
    if (!rc)
        rc = choose(&copying->sleeps, from, from->sleep_count, part(from->sleep_count, share), sleep_length);
    if (!rc)
        rc = choose(&copying->ops, from, from->op_count, part(from->op_count, share), op_length);
    return rc ? rc : choose(&copying->links, from, from->link_count, part(from->link_count, share), link_length);
}

static uint64_t longest(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* The largest `share` of the rows of each kind. */
static struct wp_trace *shrink(const struct wp_trace *from, double share)
{
    struct copying copying = {.from = from,
        .to = wp_trace_create(),
        .threads = no_ids(from->thread_count),
        .paths = no_ids(from->path_count),
        .nodes = no_ids(from->node_count),
        .has_thread = calloc(from->thread_count + 1u, sizeof(bool)),
        .has_path = calloc(from->path_count + 1u, sizeof(bool))};
    bool is_ready =
        copying.to && copying.threads && copying.paths && copying.nodes && copying.has_thread && copying.has_path;
    int rc = is_ready ? choose_all(&copying, share) : -ENOMEM;
    if (!rc) {
        find_needed(&copying);
        rc = copy_threads(&copying);
    }
    if (!rc)
        rc = copy_pieces(&copying);
    if (!rc)
        rc = copy_rows(&copying);
    if (!rc)
        rc = copy_ops(&copying);
    if (!rc) {
        struct wp_trace *to = copying.to;
        to->start_ns = from->start_ns;
        to->length_ns = from->length_ns;
        to->omitted = from->omitted + (from->piece_count - to->piece_count) + (from->run_count - to->run_count) +
            (from->sleep_count - to->sleep_count) + (from->link_count - to->link_count) +
            (from->op_count - to->op_count);
        to->grain_ns = longest(from->grain_ns, longest(copying.runs.shortest_ns, copying.sleeps.shortest_ns));
    }
    free(copying.threads);
    free(copying.paths);
    free(copying.nodes);
    free(copying.has_thread);
    free(copying.has_path);
    if (rc)
        wp_trace_destroy(copying.to);
    return rc ? NULL : copying.to;
}

static int measure(const struct wp_trace *trace, size_t *size, struct wp_error *err)
{
    struct wp_buffer data = {0};
    int rc = wp_window_data(&data, trace, "trace", err);
    *size = data.size;
    wp_buffer_fini(&data);
    return rc;
}

static size_t name_size(const struct wp_trace *trace, uint32_t string)
{
    return 6 * strlen(wp_intern_text(trace->strings, string)) + 4; /* a byte that is escaped takes six */
}

/* Most windows are small, and need not be written to see it: five numbers a row at most, of eleven digits, and the
 * names. */
static bool is_surely_small(const struct wp_trace *trace, size_t limit)
{
    size_t rows = (size_t)trace->piece_count + trace->run_count + trace->sleep_count + trace->link_count +
        trace->op_count + trace->node_count + trace->thread_count;
    size_t size = rows * 56, strings = wp_intern_count(trace->strings);
    for (uint32_t i = 0; i < strings && size < limit; i++)
        size += name_size(trace, i);
    for (uint32_t i = 0; i < trace->frame_count && size < limit; i++)
        size += name_size(trace, trace->frames[i].name) + name_size(trace, trace->frames[i].object);
    return size < limit;
}

int wp_window_fit(struct wp_trace **trace, size_t limit, struct wp_error *err)
{
    size_t size = 0;
    double share = 1;
    struct wp_trace *fitting = NULL;
    int rc = *trace && !is_surely_small(*trace, limit) ? measure(*trace, &size, err) : 0;
    for (int round = 0; round < ROUNDS && !rc && size > limit; round++) {
        share *= 0.95 * (double)limit / (double)size;
        wp_trace_destroy(fitting);
        fitting = shrink(*trace, share);
        rc = fitting ? measure(fitting, &size, err) : wp_error_set(err, -ENOMEM, "out of memory for a smaller window");
    }
    if (rc) {
        wp_trace_destroy(fitting);
    } else if (fitting) {
        wp_trace_destroy(*trace);
        *trace = fitting;
    }
    return rc;
}
