/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/trace_encode.h"

#include "proto/store.pb-c.h"
#include "storage/report/trace.h"
#include "storage/value/columns.h"

#include <errno.h>

struct encoder {
    const struct wp_trace *trace;
    struct wp_columns columns;
    Wakepath__Store__Trace message;
};

#define COLUMN(encoder, kind, field, count)                                                                            \
    do {                                                                                                               \
        (encoder)->message.n_##field = (count);                                                                        \
        (encoder)->message.field = wp_columns_##kind(&(encoder)->columns, count);                                      \
    } while (0)

#define BYTES(encoder, field, count)                                                                                   \
    (encoder)->message.field = (ProtobufCBinaryData)                                                                   \
    {                                                                                                                  \
        (count), wp_columns_bytes(&(encoder)->columns, (count))                                                        \
    }

static void put_texts(struct encoder *encoder)
{
    uint32_t count = wp_intern_count(encoder->trace->strings) - 1;
    COLUMN(encoder, texts, strings, count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < count; i++) {
        encoder->message.strings[i].data = (uint8_t *)(uintptr_t)wp_intern_text(encoder->trace->strings, i + 1);
        encoder->message.strings[i].len = wp_intern_size(encoder->trace->strings, i + 1);
    }
}

static void put_tree(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    BYTES(encoder, frame_style, trace->frame_count - 1);
    COLUMN(encoder, u32, frame_name, trace->frame_count - 1);
    COLUMN(encoder, u32, frame_object, trace->frame_count - 1);
    COLUMN(encoder, u32, node_up, trace->node_count - 1);
    COLUMN(encoder, u32, node_frame, trace->node_count - 1);
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 1; i < trace->frame_count; i++) {
        message->frame_style.data[i - 1] = (uint8_t)trace->frames[i].style;
        message->frame_name[i - 1] = trace->frames[i].name;
        message->frame_object[i - 1] = trace->frames[i].object;
    }
    for (uint32_t i = 1; i < trace->node_count; i++) {
        message->node_up[i - 1] = i - trace->nodes[i].parent;
        message->node_frame[i - 1] = trace->nodes[i].frame;
    }
}

static void put_pieces(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    uint64_t last = 0;
    COLUMN(encoder, u32, piece_path, trace->piece_count);
    COLUMN(encoder, u32, piece_node, trace->piece_count);
    COLUMN(encoder, s64, piece_start_step, trace->piece_count);
    COLUMN(encoder, u64, piece_length_ns, trace->piece_count);
    BYTES(encoder, piece_category, trace->piece_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < trace->piece_count; i++) {
        const struct wp_trace_piece *row = &trace->pieces[i];
        message->piece_path[i] = row->path;
        message->piece_node[i] = row->node;
        message->piece_start_step[i] = (int64_t)(row->start_ns - last);
        message->piece_length_ns[i] = row->length_ns;
        message->piece_category.data[i] = (uint8_t)row->category;
        last = row->start_ns;
    }
}

static void put_threads(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    COLUMN(encoder, u32, thread_host, trace->thread_count);
    COLUMN(encoder, u32, thread_comm, trace->thread_count);
    COLUMN(encoder, u32, thread_pid, trace->thread_count);
    COLUMN(encoder, u32, thread_tid, trace->thread_count);
    BYTES(encoder, thread_is_base, trace->thread_count);
    COLUMN(encoder, u32, path_thread, trace->path_count);
    BYTES(encoder, path_is_base, trace->path_count);
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        const struct wp_trace_thread *row = &trace->threads[i];
        message->thread_host[i] = row->host;
        message->thread_comm[i] = row->comm;
        message->thread_pid[i] = row->pid;
        message->thread_tid[i] = row->tid;
        message->thread_is_base.data[i] = row->is_base != 0;
    }
    for (uint32_t i = 0; i < trace->path_count; i++) {
        message->path_thread[i] = trace->paths[i].thread;
        message->path_is_base.data[i] = trace->paths[i].is_base != 0;
    }
}

static void put_runs(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    uint64_t last = 0;
    COLUMN(encoder, u32, run_thread, trace->run_count);
    COLUMN(encoder, u32, run_comm, trace->run_count);
    COLUMN(encoder, s64, run_start_step, trace->run_count);
    COLUMN(encoder, u64, run_length_ns, trace->run_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < trace->run_count; i++) {
        const struct wp_trace_run *row = &trace->runs[i];
        message->run_thread[i] = row->thread;
        message->run_comm[i] = row->comm;
        message->run_start_step[i] = (int64_t)(row->start_ns - last);
        message->run_length_ns[i] = row->length_ns;
        last = row->start_ns;
    }
}

static void put_sleeps(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    uint64_t last = 0;
    COLUMN(encoder, u32, sleep_thread, trace->sleep_count);
    COLUMN(encoder, u32, sleep_label, trace->sleep_count);
    BYTES(encoder, sleep_category, trace->sleep_count);
    COLUMN(encoder, s64, sleep_start_step, trace->sleep_count);
    COLUMN(encoder, u64, sleep_length_ns, trace->sleep_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < trace->sleep_count; i++) {
        const struct wp_trace_sleep *row = &trace->sleeps[i];
        message->sleep_thread[i] = row->thread;
        message->sleep_label[i] = row->label;
        message->sleep_category.data[i] = (uint8_t)row->category;
        message->sleep_start_step[i] = (int64_t)(row->start_ns - last);
        message->sleep_length_ns[i] = row->length_ns;
        last = row->start_ns;
    }
}

static void put_links(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    uint64_t last = 0;
    BYTES(encoder, link_kind, trace->link_count);
    COLUMN(encoder, u32, link_from_thread, trace->link_count);
    COLUMN(encoder, u32, link_to_thread, trace->link_count);
    COLUMN(encoder, s64, link_from_step, trace->link_count);
    COLUMN(encoder, s64, link_duration_ns, trace->link_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < trace->link_count; i++) {
        const struct wp_trace_link *row = &trace->links[i];
        message->link_kind.data[i] = (uint8_t)row->kind;
        message->link_from_thread[i] = row->from_thread;
        message->link_to_thread[i] = row->to_thread;
        message->link_from_step[i] = (int64_t)(row->from_ns - last);
        message->link_duration_ns[i] = (int64_t)(row->to_ns - row->from_ns);
        last = row->from_ns;
    }
}

static void put_ops(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    uint64_t last = 0;
    BYTES(encoder, op_kind, trace->op_count);
    COLUMN(encoder, u32, op_place, trace->op_count);
    COLUMN(encoder, u32, op_label, trace->op_count);
    COLUMN(encoder, u32, op_thread, trace->op_count);
    COLUMN(encoder, s64, op_start_step, trace->op_count);
    COLUMN(encoder, u64, op_length_ns, trace->op_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < trace->op_count; i++) {
        const struct wp_trace_op *row = &trace->ops[i];
        message->op_kind.data[i] = (uint8_t)row->kind;
        message->op_place[i] = row->place;
        message->op_label[i] = row->label;
        message->op_thread[i] = row->thread;
        message->op_start_step[i] = (int64_t)(row->start_ns - last);
        message->op_length_ns[i] = row->length_ns;
        last = row->start_ns;
    }
}

/* What only a window of the whole system has; in others these columns stay empty. */
static void put_system(struct encoder *encoder)
{
    const struct wp_trace *trace = encoder->trace;
    Wakepath__Store__Trace *message = &encoder->message;
    uint32_t groups = 0, on_path = 0, cpus = 0;
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        groups |= trace->threads[i].group;
        on_path |= trace->threads[i].is_on_path;
    }
    for (uint32_t i = 0; i < trace->run_count; i++)
        cpus |= trace->runs[i].cpu;
    COLUMN(encoder, u32, thread_group, groups ? trace->thread_count : 0);
    BYTES(encoder, thread_is_on_path, on_path ? trace->thread_count : 0);
    COLUMN(encoder, u32, run_cpu, cpus ? trace->run_count : 0);
    if (encoder->columns.has_failed)
        return;
    for (size_t i = 0; i < message->n_thread_group; i++)
        message->thread_group[i] = trace->threads[i].group;
    for (size_t i = 0; i < message->thread_is_on_path.len; i++)
        message->thread_is_on_path.data[i] = trace->threads[i].is_on_path != 0;
    for (size_t i = 0; i < message->n_run_cpu; i++)
        message->run_cpu[i] = trace->runs[i].cpu;
}

int wp_trace_encode(const struct wp_trace *trace, struct wp_buffer *out, struct wp_error *err)
{
    struct encoder encoder = {.trace = trace};
    wakepath__store__trace__init(&encoder.message);
    encoder.message.start_ns = trace->start_ns;
    encoder.message.length_ns = trace->length_ns;
    encoder.message.omitted = trace->omitted;
    encoder.message.grain_ns = trace->grain_ns;
    put_texts(&encoder);
    put_tree(&encoder);
    put_pieces(&encoder);
    put_threads(&encoder);
    put_runs(&encoder);
    put_sleeps(&encoder);
    put_links(&encoder);
    put_ops(&encoder);
    put_system(&encoder);
    int rc = encoder.columns.has_failed
        ? wp_error_set(err, -ENOMEM, "out of memory for a trace of %u pieces", trace->piece_count)
        : wp_message_pack(&encoder.message.base, out, err);
    wp_columns_fini(&encoder.columns);
    return rc;
}
