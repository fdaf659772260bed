/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/trace_encode.h"

#include "storage/report/trace.h"
#include "storage/value/packed.h"

/* Field numbers of message Trace (proto/store.proto), in whose order they are written. */
enum {
    START_NS = 1,
    LENGTH_NS,
    OMITTED,
    STRINGS,
    FRAME_STYLE,
    FRAME_NAME,
    FRAME_OBJECT,
    NODE_UP,
    NODE_FRAME,
    PIECE_PATH,
    PIECE_NODE,
    PIECE_START_STEP,
    PIECE_LENGTH_NS,
    PIECE_CATEGORY,
    THREAD_HOST,
    THREAD_COMM,
    THREAD_PID,
    THREAD_TID,
    THREAD_IS_BASE,
    RUN_THREAD,
    RUN_COMM,
    RUN_START_STEP,
    RUN_LENGTH_NS,
    SLEEP_THREAD,
    SLEEP_LABEL,
    SLEEP_CATEGORY,
    SLEEP_START_STEP,
    SLEEP_LENGTH_NS,
    LINK_KIND,
    LINK_FROM_THREAD,
    LINK_TO_THREAD,
    LINK_FROM_STEP,
    LINK_DURATION_NS,
    PATH_THREAD,
    PATH_IS_BASE,
    GRAIN_NS,
    THREAD_GROUP,
    THREAD_IS_ON_PATH,
    RUN_CPU,
    OP_KIND,
    OP_PLACE,
    OP_LABEL,
    OP_THREAD,
    OP_START_STEP,
    OP_LENGTH_NS
};

/* The column of that number: `write(at, value)` of each row i of rows [first, end). */
#define COLUMN(packed, number, first, end, write, value)                                                               \
    do {                                                                                                               \
        uint8_t *at_ = wp_packed_begin(packed, (end) - (first));                                                       \
        for (uint32_t i = (first); at_ && i < (end); i++)                                                              \
            at_ = write(at_, value);                                                                                   \
        if (at_)                                                                                                       \
            wp_packed_end(packed, number, at_);                                                                        \
    } while (0)

/* A value of a byte; for the others wp_packed_put. */
static inline uint8_t *put_byte(uint8_t *at, uint32_t value)
{
    *at = (uint8_t)value;
    return at + 1;
}

static inline uint8_t *put_flag(uint8_t *at, uint32_t value)
{
    return put_byte(at, value != 0);
}

/* How far a time lies behind that of the row before it, or before it. */
#define STEP(rows, field) wp_packed_signed((rows)[i].field - (i ? (rows)[i - 1].field : 0))

static void put_tree(struct wp_packed *packed, const struct wp_trace *t)
{
    for (uint32_t i = 1, count = wp_intern_count(t->strings); i < count; i++)
        wp_packed_bytes(packed, STRINGS, wp_intern_text(t->strings, i), wp_intern_size(t->strings, i));
    COLUMN(packed, FRAME_STYLE, 1, t->frame_count, put_byte, (uint32_t)t->frames[i].style);
    COLUMN(packed, FRAME_NAME, 1, t->frame_count, wp_packed_put, t->frames[i].name);
    COLUMN(packed, FRAME_OBJECT, 1, t->frame_count, wp_packed_put, t->frames[i].object);
    COLUMN(packed, NODE_UP, 1, t->node_count, wp_packed_put, i - t->nodes[i].parent);
    COLUMN(packed, NODE_FRAME, 1, t->node_count, wp_packed_put, t->nodes[i].frame);
}

static void put_pieces(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, PIECE_PATH, 0, t->piece_count, wp_packed_put, t->pieces[i].path);
    COLUMN(packed, PIECE_NODE, 0, t->piece_count, wp_packed_put, t->pieces[i].node);
    COLUMN(packed, PIECE_START_STEP, 0, t->piece_count, wp_packed_put, STEP(t->pieces, start_ns));
    COLUMN(packed, PIECE_LENGTH_NS, 0, t->piece_count, wp_packed_put, t->pieces[i].length_ns);
    COLUMN(packed, PIECE_CATEGORY, 0, t->piece_count, put_byte, t->pieces[i].category);
}

static void put_threads(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, THREAD_HOST, 0, t->thread_count, wp_packed_put, t->threads[i].host);
    COLUMN(packed, THREAD_COMM, 0, t->thread_count, wp_packed_put, t->threads[i].comm);
    COLUMN(packed, THREAD_PID, 0, t->thread_count, wp_packed_put, t->threads[i].pid);
    COLUMN(packed, THREAD_TID, 0, t->thread_count, wp_packed_put, t->threads[i].tid);
    COLUMN(packed, THREAD_IS_BASE, 0, t->thread_count, put_flag, t->threads[i].is_base);
}

static void put_runs(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, RUN_THREAD, 0, t->run_count, wp_packed_put, t->runs[i].thread);
    COLUMN(packed, RUN_COMM, 0, t->run_count, wp_packed_put, t->runs[i].comm);
    COLUMN(packed, RUN_START_STEP, 0, t->run_count, wp_packed_put, STEP(t->runs, start_ns));
    COLUMN(packed, RUN_LENGTH_NS, 0, t->run_count, wp_packed_put, t->runs[i].length_ns);
}

static void put_sleeps(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, SLEEP_THREAD, 0, t->sleep_count, wp_packed_put, t->sleeps[i].thread);
    COLUMN(packed, SLEEP_LABEL, 0, t->sleep_count, wp_packed_put, t->sleeps[i].label);
    COLUMN(packed, SLEEP_CATEGORY, 0, t->sleep_count, put_byte, t->sleeps[i].category);
    COLUMN(packed, SLEEP_START_STEP, 0, t->sleep_count, wp_packed_put, STEP(t->sleeps, start_ns));
    COLUMN(packed, SLEEP_LENGTH_NS, 0, t->sleep_count, wp_packed_put, t->sleeps[i].length_ns);
}

static void put_links(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, LINK_KIND, 0, t->link_count, put_byte, t->links[i].kind);
    COLUMN(packed, LINK_FROM_THREAD, 0, t->link_count, wp_packed_put, t->links[i].from_thread);
    COLUMN(packed, LINK_TO_THREAD, 0, t->link_count, wp_packed_put, t->links[i].to_thread);
    COLUMN(packed, LINK_FROM_STEP, 0, t->link_count, wp_packed_put, STEP(t->links, from_ns));
    COLUMN(packed, LINK_DURATION_NS, 0, t->link_count, wp_packed_put,
        wp_packed_signed(t->links[i].to_ns - t->links[i].from_ns));
}

static void put_paths(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, PATH_THREAD, 0, t->path_count, wp_packed_put, t->paths[i].thread);
    COLUMN(packed, PATH_IS_BASE, 0, t->path_count, put_flag, t->paths[i].is_base);
}

/* What only a window of the whole system has; in others these columns stay empty. */
static void put_system(struct wp_packed *packed, const struct wp_trace *t)
{
    uint32_t groups = 0, on_path = 0, cpus = 0;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        groups |= t->threads[i].group;
        on_path |= t->threads[i].is_on_path;
    }
    for (uint32_t i = 0; i < t->run_count; i++)
        cpus |= t->runs[i].cpu;
    if (groups)
        COLUMN(packed, THREAD_GROUP, 0, t->thread_count, wp_packed_put, t->threads[i].group);
    if (on_path)
        COLUMN(packed, THREAD_IS_ON_PATH, 0, t->thread_count, put_flag, t->threads[i].is_on_path);
    if (cpus)
        COLUMN(packed, RUN_CPU, 0, t->run_count, wp_packed_put, t->runs[i].cpu);
}

static void put_ops(struct wp_packed *packed, const struct wp_trace *t)
{
    COLUMN(packed, OP_KIND, 0, t->op_count, put_byte, t->ops[i].kind);
    COLUMN(packed, OP_PLACE, 0, t->op_count, wp_packed_put, t->ops[i].place);
    COLUMN(packed, OP_LABEL, 0, t->op_count, wp_packed_put, t->ops[i].label);
    COLUMN(packed, OP_THREAD, 0, t->op_count, wp_packed_put, t->ops[i].thread);
    COLUMN(packed, OP_START_STEP, 0, t->op_count, wp_packed_put, STEP(t->ops, start_ns));
    COLUMN(packed, OP_LENGTH_NS, 0, t->op_count, wp_packed_put, t->ops[i].length_ns);
}

int wp_trace_encode(const struct wp_trace *trace, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_packed packed = {.out = out};
    size_t before = out->size;
    wp_packed_number(&packed, START_NS, trace->start_ns);
    wp_packed_number(&packed, LENGTH_NS, trace->length_ns);
    wp_packed_number(&packed, OMITTED, trace->omitted);
    put_tree(&packed, trace);
    put_pieces(&packed, trace);
    put_threads(&packed, trace);
    put_runs(&packed, trace);
    put_sleeps(&packed, trace);
    put_links(&packed, trace);
    put_paths(&packed, trace);
    wp_packed_number(&packed, GRAIN_NS, trace->grain_ns);
    put_system(&packed, trace);
    put_ops(&packed, trace);
    return wp_packed_fini(&packed, before, "Trace", err);
}
