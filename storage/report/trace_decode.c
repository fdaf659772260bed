/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a trace. They may be anything: lengths and ids are checked before a row is made of them. */
#include "storage/report/trace_decode.h"

#include "proto/store.pb-c.h"
#include "storage/report/trace.h"
#include "storage/report/tree_columns.h"

#include <errno.h>

typedef Wakepath__Store__Trace message_type;

static int check_columns(const message_type *m, struct wp_error *err)
{
    int rc = WP_LENGTHS("pieces", err, m->n_piece_path, m->n_piece_node, m->n_piece_start_step, m->n_piece_length_ns,
        m->piece_category.len);
    if (!rc)
        rc = WP_LENGTHS("threads", err, m->n_thread_host, m->n_thread_comm, m->n_thread_pid, m->n_thread_tid,
            m->thread_is_base.len);
    if (!rc)
        rc = WP_LENGTHS("runs", err, m->n_run_thread, m->n_run_comm, m->n_run_start_step, m->n_run_length_ns);
    if (!rc)
        rc = WP_LENGTHS("sleeps", err, m->n_sleep_thread, m->n_sleep_label, m->sleep_category.len,
            m->n_sleep_start_step, m->n_sleep_length_ns);
    if (!rc)
        rc = WP_LENGTHS("links", err, m->link_kind.len, m->n_link_from_thread, m->n_link_to_thread, m->n_link_from_step,
            m->n_link_duration_ns);
    if (!rc)
        rc = WP_LENGTHS("paths", err, m->n_path_thread, m->path_is_base.len);
    if (!rc)
        rc = WP_LENGTHS("operations", err, m->op_kind.len, m->n_op_place, m->n_op_label, m->n_op_thread,
            m->n_op_start_step, m->n_op_length_ns);
    if (!rc && m->n_thread_group)
        rc = WP_LENGTHS("groups of threads", err, m->n_thread_group, m->n_thread_pid);
    if (!rc && m->thread_is_on_path.len)
        rc = WP_LENGTHS("threads on paths", err, m->thread_is_on_path.len, m->n_thread_pid);
    if (!rc && m->n_run_cpu)
        rc = WP_LENGTHS("processors of runs", err, m->n_run_cpu, m->n_run_thread);
    return rc;
}

static int check_threads(
    const uint32_t *rows, size_t count, const message_type *m, const char *what, struct wp_error *err)
{
    if (count && !m->n_thread_pid)
        return wp_error_set(err, -EBADMSG, "%s: there are no threads", what);
    return count ? wp_ids_check(rows, count, m->n_thread_pid - 1, what, err) : 0;
}

static int check_ids(const message_type *m, struct wp_error *err)
{
    const struct wp_id_column columns[] = {
        {m->piece_node, m->n_piece_node, m->n_node_up, "node of a piece"},
        {m->thread_host, m->n_thread_host, m->n_strings, "host of a thread"},
        {m->thread_comm, m->n_thread_comm, m->n_strings, "name of a thread"},
        {m->run_comm, m->n_run_comm, m->n_strings, "name of a run"},
        {m->sleep_label, m->n_sleep_label, m->n_strings, "label of a sleep"},
        {m->thread_group, m->n_thread_group, m->n_strings, "group of a thread"},
        {m->op_place, m->n_op_place, m->n_strings, "place of an operation"},
        {m->op_label, m->n_op_label, m->n_strings, "label of an operation"},
        {m->op_thread, m->n_op_thread, m->n_thread_pid, "thread of an operation"},
        {m->run_cpu, m->n_run_cpu, UINT16_MAX, "processor of a run"},
    };
    const struct {
        const uint32_t *rows;
        size_t count;
        const char *what;
    } threads[] = {{m->run_thread, m->n_run_thread, "thread of a run"},
        {m->sleep_thread, m->n_sleep_thread, "thread of a sleep"},
        {m->link_from_thread, m->n_link_from_thread, "start of a link"},
        {m->link_to_thread, m->n_link_to_thread, "end of a link"},
        {m->path_thread, m->n_path_thread, "thread of a path"}};
    int rc = wp_id_columns_check(columns, sizeof(columns) / sizeof(*columns), err);
    for (size_t i = 0; !rc && i < sizeof(threads) / sizeof(*threads); i++)
        rc = check_threads(threads[i].rows, threads[i].count, m, threads[i].what, err);
    for (size_t i = 0; !rc && i < m->n_piece_path; i++)
        if (m->piece_path[i] >= m->n_path_thread)
            rc = wp_error_set(
                err, -EBADMSG, "piece %zu is on path %u, there are %zu", i, m->piece_path[i], m->n_path_thread);
    if (!rc)
        rc = wp_bytes_check(m->piece_category, 0, WP_CATEGORIES - 1, "category of a piece", err);
    if (!rc)
        rc = wp_bytes_check(m->sleep_category, 0, WP_CATEGORIES - 1, "category of a sleep", err);
    if (!rc)
        rc = wp_bytes_check(m->link_kind, WP_LINK_WAKING, WP_LINK_KINDS - 1, "kind of a link", err);
    if (!rc)
        rc = wp_bytes_check(m->op_kind, WP_OP_BLOCK, WP_OP_KINDS - 1, "kind of an operation", err);
    return rc;
}

static uint32_t add_child(void *context, uint32_t parent, uint32_t frame)
{
    return wp_tree_child(context, parent, frame);
}

static int take_tree(struct wp_trace *trace, const struct wp_tree_columns *columns, struct wp_error *err)
{
    struct wp_tree_rows tree = {trace->index, &trace->frames, &trace->nodes, &trace->frame_count, &trace->frame_room,
        &trace->node_count, &trace->node_room};
    return wp_tree_columns_take(columns, trace->strings, &tree, add_child, &tree, err);
}

static int take_rows(struct wp_trace *trace, const message_type *m)
{
    uint64_t at = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_piece_node; i++) {
        at += (uint64_t)m->piece_start_step[i];
        rc = wp_trace_add_piece(trace,
            &(struct wp_trace_piece){
                m->piece_path[i], m->piece_node[i], at, m->piece_length_ns[i], m->piece_category.data[i]});
    }
    for (size_t i = 0; !rc && i < m->n_thread_pid; i++)
        rc = wp_trace_add_thread(trace,
            &(struct wp_trace_thread){m->thread_host[i], m->thread_comm[i], m->thread_pid[i], m->thread_tid[i],
                m->thread_is_base.data[i] != 0, m->n_thread_group ? m->thread_group[i] : 0,
                m->thread_is_on_path.len && m->thread_is_on_path.data[i]});
    at = 0;
    for (size_t i = 0; !rc && i < m->n_run_thread; i++) {
        at += (uint64_t)m->run_start_step[i];
        rc = wp_trace_add_run(trace,
            &(struct wp_trace_run){
                m->run_thread[i], m->run_comm[i], at, m->run_length_ns[i], m->n_run_cpu ? m->run_cpu[i] : 0});
    }
    at = 0;
    for (size_t i = 0; !rc && i < m->n_sleep_thread; i++) {
        at += (uint64_t)m->sleep_start_step[i];
        rc = wp_trace_add_sleep(trace,
            &(struct wp_trace_sleep){
                m->sleep_thread[i], m->sleep_label[i], m->sleep_category.data[i], at, m->sleep_length_ns[i]});
    }
    at = 0;
    for (size_t i = 0; !rc && i < m->n_link_from_thread; i++) {
        at += (uint64_t)m->link_from_step[i];
        rc = wp_trace_add_link(trace,
            &(struct wp_trace_link){m->link_kind.data[i], m->link_from_thread[i], m->link_to_thread[i], at,
                at + (uint64_t)m->link_duration_ns[i]});
    }
    for (size_t i = 0; !rc && i < m->n_path_thread; i++)
        rc = wp_trace_add_path(trace, &(struct wp_trace_path){m->path_thread[i], m->path_is_base.data[i] != 0});
    return rc;
}

static int take_ops(struct wp_trace *trace, const message_type *m)
{
    uint64_t at = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_op_place; i++) {
        at += (uint64_t)m->op_start_step[i];
        rc = wp_trace_add_op(trace,
            &(struct wp_trace_op){
                m->op_kind.data[i], m->op_place[i], m->op_label[i], m->op_thread[i], at, m->op_length_ns[i]});
    }
    return rc;
}

int wp_trace_decode(struct wp_trace **out, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    *out = NULL;
    ProtobufCMessage *message = wp_message_unpack(&wakepath__store__trace__descriptor, bytes, size, "trace", err);
    if (!message)
        return -errno;
    const message_type *m = (const message_type *)message;
    struct wp_trace *trace = NULL;
    struct wp_tree_columns columns = WP_TREE_COLUMNS(m);
    int rc = check_columns(m, err);
    if (!rc)
        rc = wp_tree_columns_check(&columns, "trace", err);
    if (!rc)
        rc = check_ids(m, err);
    if (!rc && !(trace = wp_trace_create()))
        rc = wp_error_set(err, -ENOMEM, "out of memory for a trace");
    if (!rc)
        rc = take_tree(trace, &columns, err);
    if (!rc && (take_rows(trace, m) || take_ops(trace, m)))
        rc = wp_error_set(err, -ENOMEM, "out of memory for a trace of %zu pieces", m->n_piece_node);
    if (!rc) {
        trace->start_ns = m->start_ns;
        trace->length_ns = m->length_ns;
        trace->omitted = m->omitted;
        trace->grain_ns = m->grain_ns;
    }
    protobuf_c_message_free_unpacked(message, NULL);
    if (rc)
        wp_trace_destroy(trace);
    else
        *out = trace;
    return rc;
}
