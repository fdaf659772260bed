/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/shard_wire.h"

#include "common/path.h"
#include "proto/session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define TEXT_BYTES 256u
#define TIME_LIMIT (UINT64_MAX / 4)

int wp_shard_pack(const ProtobufCMessage *message, struct wp_buffer *out)
{
    if (wp_buffer_reserve(out, protobuf_c_message_get_packed_size(message)))
        return -ENOMEM;
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    return 0;
}

static bool bad(struct wp_error *err, const char *message, const char *what)
{
    wp_error_set(err, -EINVAL, "bad %s of a shard: %s", message, what);
    return false;
}

static void *unpack(
    const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    void *message = size > WP_SHARD_MESSAGE_BYTES ? NULL : protobuf_c_message_unpack(descriptor, NULL, size, bytes);
    if (!message)
        wp_error_set(err, size > WP_SHARD_MESSAGE_BYTES ? -E2BIG : -EINVAL, "bad message of a shard: %s",
            size > WP_SHARD_MESSAGE_BYTES ? "it is too long" : "it cannot be read");
    return message;
}

static bool is_time(uint64_t ns)
{
    return ns < TIME_LIMIT;
}

static bool is_uuid(const ProtobufCBinaryData *data)
{
    return data->len == 16;
}

/* --- hello --- */

static bool check_hello(const Wakepath__Shard__Hello *m, struct wp_error *err)
{
    if (m->wire_major != WP_WIRE_MAJOR) {
        wp_error_set(err, -EPROTONOSUPPORT, "a shard of wire version %u.%u, this side speaks %u.%u", m->wire_major,
            m->wire_minor, WP_WIRE_MAJOR, WP_WIRE_MINOR);
        return false;
    }
    if (!is_uuid(&m->run))
        return bad(err, "hello", "no run");
    return wp_id_valid(m->shard) || bad(err, "hello", "its name is not a shard id");
}

Wakepath__Shard__Hello *wp_shard_hello_unpack(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Shard__Hello *m = unpack(&wakepath__shard__hello__descriptor, bytes, size, err);
    if (m && !check_hello(m, err)) {
        wakepath__shard__hello__free_unpacked(m, NULL);
        m = NULL;
    }
    return m;
}

/* --- facts --- */

static bool check_host(const Wakepath__Shard__Host *m, struct wp_error *err)
{
    if (m->is_gone)
        return true;
    if (!is_uuid(&m->session) || !is_uuid(&m->host))
        return bad(err, "host", "no session or no host");
    if (strlen(m->hostname) > TEXT_BYTES)
        return bad(err, "host", "a name that is too long");
    if (!is_time(m->start_ns) || !is_time(m->known_ns) || !is_time(m->resolved_ns) ||
        m->real_offset_ns > (int64_t)TIME_LIMIT || m->real_offset_ns < -(int64_t)TIME_LIMIT)
        return bad(err, "host", "an absurd time");
    if (m->n_probe != 0 && m->n_probe != 4)
        return bad(err, "host", "a probe of other than four times");
    for (size_t i = 0; i < m->n_probe; i++)
        if (!is_time(m->probe[i]))
            return bad(err, "host", "an absurd time");
    return true;
}

static bool check_marks(const uint64_t *times, size_t count, size_t positions, struct wp_error *err)
{
    if (count != positions || count > WP_SHARD_MARKS)
        return bad(err, "end", "too many marks, or without a position");
    for (size_t i = 0; i < count; i++)
        if (!is_time(times[i]))
            return bad(err, "end", "an absurd time");
    return true;
}

static bool check_end(const Wakepath__Shard__End *m, struct wp_error *err)
{
    size_t bytes = m->family == AF_INET ? 4 : 16;
    if (m->is_closed)
        return true;
    if ((m->family != AF_INET && m->family != AF_INET6) || m->local.len != bytes || m->remote.len != bytes)
        return bad(err, "end", "no address");
    if (!m->socket || !m->remote_port || m->local_port > 65535 || m->remote_port > 65535)
        return bad(err, "end", "no port or no socket");
    return check_marks(m->left_ns, m->n_left_ns, m->n_left, err) &&
        check_marks(m->arrived_ns, m->n_arrived_ns, m->n_arrived, err);
}

static bool check_facts(const Wakepath__Shard__Facts *m, struct wp_error *err)
{
    bool is_good = is_uuid(&m->run) || bad(err, "facts", "no run");
    if (m->n_hosts > WP_SHARD_HOSTS || m->n_ends > WP_SHARD_ENDS || m->n_taken > WP_SHARD_DATAGRAMS ||
        m->n_sent > WP_SHARD_DATAGRAMS || m->n_taken != m->n_taken_place || m->n_sent != m->n_sent_place)
        is_good = bad(err, "facts", "too many");
    for (size_t i = 0; is_good && i < m->n_hosts; i++)
        is_good = check_host(m->hosts[i], err);
    for (size_t i = 0; is_good && i < m->n_ends; i++)
        is_good = check_end(m->ends[i], err);
    return is_good;
}

Wakepath__Shard__Facts *wp_shard_facts_unpack(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Shard__Facts *m = unpack(&wakepath__shard__facts__descriptor, bytes, size, err);
    if (m && !check_facts(m, err)) {
        wakepath__shard__facts__free_unpacked(m, NULL);
        m = NULL;
    }
    return m;
}

/* --- questions --- */

static bool check_question(const Wakepath__Shard__Question *m, struct wp_error *err)
{
    const uint64_t times[] = {m->from_ns, m->to_ns, m->arrival_ns, m->start_ns, m->request_ns, m->bound_ns,
        m->wait_bound_ns, m->horizon_ns, m->lateness_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (!is_time(times[i]))
            return bad(err, "question", "an absurd time");
    if (!is_uuid(&m->session) || !is_uuid(&m->asker))
        return bad(err, "question", "no host");
    if (m->from_ns >= m->to_ns || m->to_ns > m->horizon_ns || m->lateness_ns > m->horizon_ns)
        return bad(err, "question", "times in the wrong order");
    if (m->hops > WP_SHARD_HOPS || m->depth > WP_SHARD_LAYERS || m->syscall > UINT16_MAX)
        return bad(err, "question", "it goes too deep");
    return (wp_id_valid(m->aggregate) && wp_id_valid(m->release)) || bad(err, "question", "no aggregate");
}

Wakepath__Shard__Questions *wp_shard_questions_unpack(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Shard__Questions *m = unpack(&wakepath__shard__questions__descriptor, bytes, size, err);
    bool is_good = m && (m->n_questions <= WP_SHARD_QUESTIONS || bad(err, "questions", "too many"));
    for (size_t i = 0; is_good && i < m->n_questions; i++)
        is_good = check_question(m->questions[i], err);
    if (m && !is_good) {
        wakepath__shard__questions__free_unpacked(m, NULL);
        m = NULL;
    }
    return m;
}

/* --- answers --- */

static bool all_below(const uint32_t *ids, size_t count, size_t limit)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= limit)
            return false;
    return true;
}

/* Row i (from 1) names one before it, or 0: no cycle can be written. */
static bool parents_first(const uint32_t *parents, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (parents[i] > i)
            return false;
    return true;
}

static bool check_texts(const Wakepath__Shard__Answer *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_strings; i++)
        if (m->strings[i].len >= WP_SHARD_STRING_BYTES ||
            memchr(m->strings[i].data ? (const char *)m->strings[i].data : "", 0, m->strings[i].len))
            return bad(err, "answer", "a text that is too long, or has a zero byte");
    return true;
}

static bool check_tables(
    const Wakepath__Shard__Answer *m, const struct wp_shard_vocabulary *words, struct wp_error *err)
{
    size_t strings = m->n_strings ? m->n_strings : 1;
    if (m->n_strings > WP_SHARD_STRINGS || m->n_frame_style > WP_SHARD_STRINGS || m->n_node_parent > WP_SHARD_STRINGS ||
        m->n_process_host > WP_SHARD_STRINGS || m->n_layer_parent > WP_SHARD_STRINGS)
        return bad(err, "answer", "a table that is too long");
    if (m->n_frame_name != m->n_frame_style || m->n_frame_object != m->n_frame_style ||
        m->n_node_frame != m->n_node_parent || m->n_process_comm != m->n_process_host ||
        m->n_process_pid != m->n_process_host || m->n_process_start_ns != m->n_process_host ||
        m->n_layer_process != m->n_layer_parent)
        return bad(err, "answer", "columns of unequal length");
    for (size_t i = 0; i < m->n_frame_style; i++)
        if (!m->frame_style[i] || m->frame_style[i] >= words->styles)
            return bad(err, "answer", "a frame of no known style");
    for (size_t i = 0; i < m->n_node_frame; i++)
        if (!m->node_frame[i] || m->node_frame[i] > m->n_frame_style)
            return bad(err, "answer", "a node without a frame");
    bool are_ids = all_below(m->frame_name, m->n_frame_name, strings) &&
        all_below(m->frame_object, m->n_frame_object, strings) &&
        all_below(m->process_host, m->n_process_host, strings) &&
        all_below(m->process_comm, m->n_process_comm, strings) &&
        all_below(m->layer_process, m->n_layer_process, m->n_process_host);
    if (!are_ids || !parents_first(m->node_parent, m->n_node_parent) ||
        !parents_first(m->layer_parent, m->n_layer_parent))
        return bad(err, "answer", "an id of nothing");
    return true;
}

static bool check_pieces(
    const Wakepath__Shard__Answer *m, const struct wp_shard_vocabulary *words, struct wp_error *err)
{
    size_t count = m->n_piece_ns, strings = m->n_strings ? m->n_strings : 1;
    if (count > WP_SHARD_PIECES || m->n_piece_node != count || m->n_piece_layer != count ||
        m->n_piece_category != count || m->n_piece_flags != count || m->n_piece_reason != count)
        return bad(err, "answer", "too many pieces, or columns of unequal length");
    for (size_t i = 0; i < count; i++)
        if (!is_time(m->piece_ns[i]))
            return bad(err, "answer", "an absurd time");
    if (!all_below(m->piece_node, count, m->n_node_parent + 1) ||
        !all_below(m->piece_layer, count, m->n_layer_parent + 1) ||
        !all_below(m->piece_category, count, words->categories) || !all_below(m->piece_reason, count, strings))
        return bad(err, "answer", "an id of nothing");
    return true;
}

static bool check_rest(const Wakepath__Shard__Answer *m, struct wp_error *err)
{
    size_t count = m->n_edge_from, strings = m->n_strings ? m->n_strings : 1;
    if (count > WP_SHARD_PIECES || m->n_edge_to != count || m->n_edge_waited_ns != count ||
        m->n_edge_transit_ns != count || m->n_edge_bound_ns != count || m->n_limit_count > 16 ||
        m->n_limit_ns != m->n_limit_count || strlen(m->missing) > TEXT_BYTES)
        return bad(err, "answer", "columns of unequal length");
    for (size_t i = 0; i < count; i++)
        if (!is_time(m->edge_waited_ns[i]) || !is_time(m->edge_transit_ns[i]) || !is_time(m->edge_bound_ns[i]))
            return bad(err, "answer", "an absurd time");
    for (size_t i = 0; i < m->n_limit_ns; i++)
        if (!is_time(m->limit_ns[i]) || !is_time(m->limit_count[i]))
            return bad(err, "answer", "an absurd count");
    return (all_below(m->edge_from, count, strings) && all_below(m->edge_to, count, strings)) ||
        bad(err, "answer", "an id of nothing");
}

Wakepath__Shard__Answers *wp_shard_answers_unpack(
    const uint8_t *bytes, size_t size, const struct wp_shard_vocabulary *vocabulary, struct wp_error *err)
{
    Wakepath__Shard__Answers *m = unpack(&wakepath__shard__answers__descriptor, bytes, size, err);
    bool is_good = m && (m->n_answers <= WP_SHARD_QUESTIONS || bad(err, "answers", "too many"));
    for (size_t i = 0; is_good && i < m->n_answers; i++)
        is_good = check_texts(m->answers[i], err) && check_tables(m->answers[i], vocabulary, err) &&
            check_pieces(m->answers[i], vocabulary, err) && check_rest(m->answers[i], err);
    if (m && !is_good) {
        wakepath__shard__answers__free_unpacked(m, NULL);
        m = NULL;
    }
    return m;
}
