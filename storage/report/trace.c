/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/trace.h"

#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>

static struct wp_tree_rows tree_of(struct wp_trace *trace)
{
    return (struct wp_tree_rows){trace->index, &trace->frames, &trace->nodes, &trace->frame_count, &trace->frame_room,
        &trace->node_count, &trace->node_room};
}

struct wp_trace *wp_trace_create(void)
{
    struct wp_trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return NULL;
    trace->strings = wp_intern_create();
    trace->index = calloc(1, sizeof(*trace->index));
    struct wp_tree_rows tree = tree_of(trace);
    if (!trace->strings || !trace->index || wp_tree_start(&tree)) {
        wp_trace_destroy(trace);
        return NULL;
    }
    return trace;
}

void wp_trace_destroy(struct wp_trace *trace)
{
    if (!trace)
        return;
    if (trace->index) {
        wp_intmap_fini(&trace->index->frames);
        wp_intmap_fini(&trace->index->children);
    }
    free(trace->index);
    wp_intern_destroy(trace->strings);
    free(trace->frames);
    free(trace->nodes);
    free(trace->pieces);
    free(trace->threads);
    free(trace->runs);
    free(trace->sleeps);
    free(trace->links);
    free(trace->paths);
    free(trace->ops);
    free(trace);
}

size_t wp_trace_bytes(const struct wp_trace *t)
{
    return wp_intern_bytes(t->strings) + t->frame_room * sizeof(*t->frames) + t->node_room * sizeof(*t->nodes) +
        t->piece_room * sizeof(*t->pieces) + t->thread_room * sizeof(*t->threads) + t->run_room * sizeof(*t->runs) +
        t->sleep_room * sizeof(*t->sleeps) + t->link_room * sizeof(*t->links) + t->path_room * sizeof(*t->paths) +
        t->op_room * sizeof(*t->ops) + wp_intmap_bytes(&t->index->frames) + wp_intmap_bytes(&t->index->children);
}

void wp_trace_clear(struct wp_trace *trace)
{
    struct wp_intern *strings = wp_intern_create();
    if (strings) { /* else the old ones serve: ids stay valid */
        wp_intern_destroy(trace->strings);
        trace->strings = strings;
    }
    wp_intmap_clear(&trace->index->frames);
    wp_intmap_clear(&trace->index->children);
    trace->frame_count = trace->node_count = 1;
    trace->piece_count = trace->thread_count = trace->run_count = 0;
    trace->sleep_count = trace->link_count = trace->path_count = trace->op_count = 0;
    trace->start_ns = trace->length_ns = trace->omitted = 0;
    trace->grain_ns = trace->run_grain_ns = trace->sleep_grain_ns = 0;
}

uint32_t wp_trace_string(struct wp_trace *trace, const char *text)
{
    return wp_rows_string(trace->strings, text);
}

uint32_t wp_trace_frame(struct wp_trace *trace, enum wp_frame_style style, const char *name, const char *object)
{
    struct wp_frame_info info = {style, wp_trace_string(trace, name), wp_trace_string(trace, object)};
    struct wp_tree_rows tree = tree_of(trace);
    return info.name == UINT32_MAX || info.object == UINT32_MAX ? UINT32_MAX : wp_tree_frame(&tree, info);
}

uint32_t wp_trace_child(struct wp_trace *trace, uint32_t parent, uint32_t frame)
{
    struct wp_tree_rows tree = tree_of(trace);
    return wp_tree_child(&tree, parent, frame);
}

#define APPEND(trace, noun, row)                                                                                       \
    do {                                                                                                               \
        if (wp_rows_grow(&(trace)->noun##s, &(trace)->noun##_room, (trace)->noun##_count, sizeof(*(row))))             \
            return -ENOMEM;                                                                                            \
        (trace)->noun##s[(trace)->noun##_count++] = *(row);                                                            \
        return 0;                                                                                                      \
    } while (0)

int wp_trace_add_piece(struct wp_trace *trace, const struct wp_trace_piece *piece)
{
    APPEND(trace, piece, piece);
}

int wp_trace_add_thread(struct wp_trace *trace, const struct wp_trace_thread *thread)
{
    APPEND(trace, thread, thread);
}

int wp_trace_add_run(struct wp_trace *trace, const struct wp_trace_run *run)
{
    APPEND(trace, run, run);
}

int wp_trace_add_sleep(struct wp_trace *trace, const struct wp_trace_sleep *sleep)
{
    APPEND(trace, sleep, sleep);
}

int wp_trace_add_link(struct wp_trace *trace, const struct wp_trace_link *link)
{
    APPEND(trace, link, link);
}

int wp_trace_add_path(struct wp_trace *trace, const struct wp_trace_path *path)
{
    APPEND(trace, path, path);
}

int wp_trace_add_op(struct wp_trace *trace, const struct wp_trace_op *op)
{
    APPEND(trace, op, op);
}
