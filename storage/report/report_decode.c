/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a report. They may be anything: lengths, ids and order are checked before a row is made of them. */
#include "storage/report/report_decode.h"

#include "proto/store.pb-c.h"
#include "storage/report/report_body.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_rows.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "storage/report/tree_columns.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <string.h>

typedef Wakepath__Store__Report message_type;

static int check_columns(const message_type *m, struct wp_error *err)
{
    int rc = WP_LENGTHS("times", err, m->n_cell_node_step, m->cell_category.len, m->n_cell_ns, m->n_cell_count);
    if (!rc && m->n_cell_samples)
        rc = WP_LENGTHS("samples of the times", err, m->n_cell_ns, m->n_cell_samples);
    if (!rc)
        rc = WP_LENGTHS("samples", err, m->sample_bucket.len, m->n_sample_ns);
    if (!rc)
        rc = WP_LENGTHS("processes", err, m->n_process_host, m->n_process_comm, m->n_process_pid, m->n_process_start_ns,
            m->n_process_total_ns, m->n_process_running_ns);
    if (!rc)
        rc = WP_LENGTHS("unexplained waits", err, m->n_unexplained_node, m->n_unexplained_reason, m->n_unexplained_ns,
            m->n_unexplained_count);
    if (!rc)
        rc = WP_LENGTHS("threads of unexplained waits", err, m->n_unexplained_tid, m->n_unexplained_longest_ns);
    if (!rc && m->n_unexplained_tid)
        rc = WP_LENGTHS("threads of unexplained waits", err, m->n_unexplained_tid, m->n_unexplained_node);
    if (!rc)
        rc = WP_LENGTHS("spans", err, m->n_span_gap_ns, m->n_span_length_ns);
    if (!rc)
        rc = WP_LENGTHS("events", err, m->n_event_kind, m->n_event_total, m->n_event_dropped);
    if (!rc)
        rc = WP_LENGTHS("limits", err, m->n_limit_name, m->n_limit_count, m->n_limit_ns);
    if (!rc)
        rc = WP_LENGTHS("edges", err, m->n_edge_from, m->n_edge_to, m->n_edge_messages, m->n_edge_waited_ns,
            m->n_edge_transit_ns, m->n_edge_transit_max_ns, m->n_edge_bound_max_ns);
    if (!rc)
        rc = WP_LENGTHS("transactions", err, m->n_transaction_service, m->n_transaction_who, m->n_transaction_what,
            m->transaction_part.len, m->transaction_bucket.len, m->n_transaction_ns, m->n_transaction_count);
    if (!rc)
        rc = WP_LENGTHS("slowest transactions", err, m->n_slowest_service, m->n_slowest_start_ns, m->n_slowest_ns);
    if (!rc)
        rc = WP_LENGTHS("places", err, m->n_site_file, m->n_site_line, m->n_site_function);
    if (!rc)
        rc = WP_LENGTHS("lines", err, m->n_line_site_step, m->line_category.len, m->n_line_total_ns, m->n_line_run_ns,
            m->n_line_self_ns);
    if (!rc)
        rc = WP_LENGTHS("calls", err, m->n_call_site_step, m->n_call_callee, m->call_style.len, m->call_inlined.len,
            m->n_call_total_ns, m->n_call_run_ns);
    return rc;
}

static int check_ids(const message_type *m, struct wp_error *err)
{
    const struct wp_id_column columns[] = {
        {m->process_host, m->n_process_host, m->n_strings, "host of a process"},
        {m->process_comm, m->n_process_comm, m->n_strings, "name of a process"},
        {m->unexplained_node, m->n_unexplained_node, m->n_node_up, "node of an unexplained wait"},
        {m->unexplained_reason, m->n_unexplained_reason, m->n_strings, "reason of an unexplained wait"},
        {m->hosts, m->n_hosts, m->n_strings, "host"},
        {m->event_kind, m->n_event_kind, m->n_strings, "event kind"},
        {m->limit_name, m->n_limit_name, m->n_strings, "limit"},
        {m->edge_from, m->n_edge_from, m->n_strings, "host of an edge"},
        {m->edge_to, m->n_edge_to, m->n_strings, "host of an edge"},
        {m->transaction_service, m->n_transaction_service, m->n_strings, "service of a transaction"},
        {m->transaction_who, m->n_transaction_who, m->n_strings, "process of a transaction"},
        {m->transaction_what, m->n_transaction_what, m->n_strings, "function of a transaction"},
        {m->slowest_service, m->n_slowest_service, m->n_strings, "service of a transaction"},
        {m->site_file, m->n_site_file, m->n_strings, "file of a place"},
        {m->site_function, m->n_site_function, m->n_strings, "function of a place"},
        {m->call_callee, m->n_call_callee, m->n_strings, "function that is called"},
    };
    int rc = wp_bytes_check(m->cell_category, 0, WP_CATEGORIES - 1, "category", err);
    if (!rc)
        rc = wp_bytes_check(m->transaction_part, 0, WP_PARTS - 1, "part of a transaction", err);
    if (!rc)
        rc = wp_bytes_check(m->line_category, 0, WP_CATEGORIES - 1, "category of a line", err);
    if (!rc)
        rc = wp_bytes_check(m->call_style, 1, WP_STYLES - 1, "style of what is called", err);
    if (!rc)
        rc = wp_bytes_check(m->call_inlined, 0, 1, "whether it is inlined", err);
    return rc ? rc : wp_id_columns_check(columns, sizeof(columns) / sizeof(*columns), err);
}

static uint32_t add_child(void *context, uint32_t parent, uint32_t frame)
{
    return wp_report_child(context, parent, frame);
}

static int take_tree(struct wp_report *report, const struct wp_tree_columns *columns, struct wp_error *err)
{
    struct wp_tree_rows tree = wp_report_tree(report);
    return wp_tree_columns_take(columns, report->strings, &tree, add_child, report, err);
}

static int take_cells(struct wp_report *report, const message_type *m, struct wp_error *err)
{
    uint64_t node = 0;
    for (size_t i = 0; i < m->n_cell_ns; i++) {
        node += m->cell_node_step[i];
        if (node >= report->node_count)
            return wp_error_set(
                err, -EBADMSG, "time on node %llu, there are %u", (unsigned long long)node, report->node_count);
        wp_report_add(report, (uint32_t)node, m->cell_category.data[i], m->cell_ns[i], m->cell_count[i]);
        if (report->cell_count != i + 1)
            return wp_error_set(
                err, -EBADMSG, "time on node %llu is there twice for a category", (unsigned long long)node);
    }
    return 0;
}

/* The buckets' numbers; WP_REPORT_BUCKETS of them at most. */
static int take_buckets(const message_type *m, uint64_t buckets[WP_REPORT_BUCKETS], struct wp_error *err)
{
    uint64_t bucket = 0;
    if (m->n_bucket_step > WP_REPORT_BUCKETS)
        return wp_error_set(err, -EBADMSG, "%zu buckets of time, at most %u", m->n_bucket_step, WP_REPORT_BUCKETS);
    if (m->n_bucket_step ? m->bucket_shift < WP_REPORT_BUCKET_SHIFT || m->bucket_shift > WP_REPORT_BUCKET_SHIFT_LIMIT
                         : m->bucket_shift != 0)
        return wp_error_set(err, -EBADMSG, "buckets of 2^%u ns", m->bucket_shift);
    for (size_t i = 0; i < m->n_bucket_step; i++) {
        if ((i && !m->bucket_step[i]) || m->bucket_step[i] > (UINT64_MAX >> m->bucket_shift) - bucket)
            return wp_error_set(err, -EBADMSG, "bucket %zu is there twice or after the end of time", i);
        buckets[i] = bucket += m->bucket_step[i];
    }
    return 0;
}

static int take_samples(struct wp_report *report, const message_type *m, struct wp_error *err)
{
    uint64_t buckets[WP_REPORT_BUCKETS];
    size_t at = 0;
    int rc = take_buckets(m, buckets, err);
    for (size_t i = 0; !rc && i < m->n_cell_samples; i++) {
        uint64_t left = m->cell_ns[i];
        if (m->cell_samples[i] > m->n_sample_ns - at)
            return wp_error_set(err, -EBADMSG, "time %zu has samples that are not there", i);
        for (size_t end = at + m->cell_samples[i], first = at; at < end; at++) {
            if (m->sample_bucket.data[at] >= m->n_bucket_step ||
                (at > first && m->sample_bucket.data[at] <= m->sample_bucket.data[at - 1]))
                return wp_error_set(err, -EBADMSG, "sample %zu is in no bucket or not after the one before", at);
            bool is_full = m->cell_ns[i] == UINT64_MAX; /* a sum at its limit says nothing about its parts */
            if (!m->sample_ns[at] || (!is_full && m->sample_ns[at] > left))
                return wp_error_set(err, -EBADMSG, "the samples of time %zu are more than it", i);
            left -= m->sample_ns[at];
            wp_report_sample_add(
                report, (uint32_t)i, buckets[m->sample_bucket.data[at]], m->bucket_shift, m->sample_ns[at]);
        }
    }
    if (!rc && at != m->n_sample_ns)
        return wp_error_set(err, -EBADMSG, "%zu samples belong to no time", m->n_sample_ns - at);
    return rc;
}

static int take_spans(struct wp_report *report, const message_type *m, struct wp_error *err)
{
    uint64_t at = 0;
    for (size_t i = 0; i < m->n_span_gap_ns; i++) {
        uint64_t start = wp_sum(at, m->span_gap_ns[i]), end = wp_sum(start, m->span_length_ns[i]);
        if (end <= start || end == UINT64_MAX || (i && start == at))
            return wp_error_set(
                err, -EBADMSG, "span %zu is empty, touches the one before or ends after the end of time", i);
        wp_report_activity(report, start, end);
        at = end;
    }
    return 0;
}

static void take_rows(struct wp_report *report, const message_type *m)
{
    for (size_t i = 0; i < m->n_process_pid; i++) {
        struct wp_report_process key = {.host = m->process_host[i],
            .comm = m->process_comm[i],
            .pid = m->process_pid[i],
            .start_ns = m->process_start_ns[i]};
        wp_report_process_add(
            report, wp_report_process_row(report, &key), m->process_total_ns[i], m->process_running_ns[i]);
    }
    for (size_t i = 0; i < m->n_unexplained_ns; i++)
        wp_report_unexplained_add(report,
            &(struct wp_unexplained){m->unexplained_node[i], m->unexplained_reason[i], m->unexplained_ns[i],
                m->unexplained_count[i], m->n_unexplained_tid ? m->unexplained_longest_ns[i] : 0,
                m->n_unexplained_tid ? m->unexplained_tid[i] : 0});
    for (size_t i = 0; i < m->n_hosts; i++)
        wp_report_host_add(report, m->hosts[i]);
    for (size_t i = 0; i < m->n_event_kind; i++)
        wp_report_event_add(report, &(struct wp_event_count){m->event_kind[i], m->event_total[i], m->event_dropped[i]});
    for (size_t i = 0; i < m->n_limit_name; i++)
        wp_report_limit_add(report, &(struct wp_limit_count){m->limit_name[i], m->limit_count[i], m->limit_ns[i]});
    for (size_t i = 0; i < m->n_edge_from; i++)
        wp_report_edge_add(report,
            &(struct wp_report_edge){m->edge_from[i], m->edge_to[i], m->edge_messages[i], m->edge_waited_ns[i],
                m->edge_transit_ns[i], m->edge_transit_max_ns[i], m->edge_bound_max_ns[i]});
    for (size_t i = 0; i < m->n_transaction_ns; i++)
        wp_report_transaction_add(report,
            &(struct wp_transaction){m->transaction_service[i], m->transaction_who[i], m->transaction_what[i],
                m->transaction_part.data[i], m->transaction_bucket.data[i], m->transaction_ns[i],
                m->transaction_count[i]});
    for (size_t i = 0; i < m->n_slowest_ns; i++)
        wp_report_slowest_add(
            report, &(struct wp_slowest){m->slowest_service[i], m->slowest_start_ns[i], m->slowest_ns[i]});
    wp_report_window(report, m->recorded_ns, m->window_ns);
    wp_report_uncertain(report, m->uncertain_ns);
    wp_report_detached(report, m->detached_ns);
}

static int take_lines(struct wp_report *report, const message_type *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_site_file; i++)
        if (wp_report_site_row(
                report, &(struct wp_report_site){m->site_file[i], m->site_line[i], m->site_function[i]}) != i)
            return wp_error_set(err, -EBADMSG, "place %zu is there twice", i + 1);
    uint64_t site = 0;
    for (size_t i = 0; i < m->n_line_site_step; i++) {
        site += m->line_site_step[i];
        if (!site || site > report->site_count)
            return wp_error_set(err, -EBADMSG, "line %zu is at a place that is not there", i);
        if (m->line_run_ns[i] > m->line_total_ns[i] || m->line_self_ns[i] > m->line_run_ns[i])
            return wp_error_set(err, -EBADMSG, "a part of line %zu is more than it", i);
        wp_report_line_add(report,
            &(struct wp_report_line){(uint32_t)site - 1, m->line_category.data[i], m->line_total_ns[i],
                m->line_run_ns[i], m->line_self_ns[i]});
    }
    site = 0;
    for (size_t i = 0; i < m->n_call_site_step; i++) {
        site += m->call_site_step[i];
        if (!site || site > report->site_count)
            return wp_error_set(err, -EBADMSG, "call %zu is at a place that is not there", i);
        if (m->call_run_ns[i] > m->call_total_ns[i])
            return wp_error_set(err, -EBADMSG, "a part of call %zu is more than it", i);
        wp_report_call_add(report,
            &(struct wp_report_call){(uint32_t)site - 1, m->call_callee[i], m->call_style.data[i],
                m->call_inlined.data[i], m->call_total_ns[i], m->call_run_ns[i]});
    }
    if (!report->has_failed && (report->line_count != m->n_line_site_step || report->call_count != m->n_call_site_step))
        return wp_error_set(err, -EBADMSG, "a line or a call is there twice");
    return 0;
}

static int decode(struct wp_report **out, const uint8_t *bytes, size_t size, bool is_work, struct wp_error *err);

/* The report of detached work; one in another is refused, so that this ends. */
static int decode_work(struct wp_report *report, const message_type *m, bool is_work, struct wp_error *err)
{
    if (!m->detached_work.len)
        return 0;
    if (is_work)
        return wp_error_set(err, -EBADMSG, "a report of detached work has another one in it");
    int rc = decode(&report->detached, m->detached_work.data, m->detached_work.len, true, err);
    return rc ? wp_error_wrap(err, rc, "detached work") : 0;
}

static int decode(struct wp_report **out, const uint8_t *bytes, size_t size, bool is_work, struct wp_error *err)
{
    *out = NULL;
    ProtobufCMessage *message = wp_message_unpack(&wakepath__store__report__descriptor, bytes, size, "report", err);
    if (!message)
        return -errno;
    const message_type *m = (const message_type *)message;
    struct wp_report *report = NULL;
    struct wp_tree_columns columns = WP_TREE_COLUMNS(m);
    int rc = check_columns(m, err);
    if (!rc)
        rc = wp_tree_columns_check(&columns, "report", err);
    if (!rc)
        rc = check_ids(m, err);
    if (!rc && !(report = wp_report_create()))
        rc = wp_error_set(err, -ENOMEM, "out of memory for a report");
    if (!rc)
        rc = take_tree(report, &columns, err);
    if (!rc)
        rc = take_cells(report, m, err);
    if (!rc)
        rc = take_samples(report, m, err);
    if (!rc)
        rc = take_spans(report, m, err);
    if (!rc)
        rc = take_lines(report, m, err);
    if (!rc)
        take_rows(report, m);
    if (!rc)
        rc = decode_work(report, m, is_work, err);
    if ((!rc || rc == -EBADMSG) && report && wp_report_failed(report)) /* what is missing for that is no damage */
        rc = wp_error_set(err, -ENOMEM, "out of memory for a report of %u stacks", report->node_count);
    protobuf_c_message_free_unpacked(message, NULL);
    if (rc)
        wp_report_destroy(report);
    else
        *out = report;
    return rc;
}

int wp_report_decode(struct wp_report **out, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    return decode(out, bytes, size, false, err);
}
