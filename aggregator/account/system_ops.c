/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/system_ops.h"

#include "aggregator/net/message_ring.h"
#include "aggregator/net/message_roles.h"
#include "aggregator/net/messages.h"
#include "aggregator/timeline/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The window's host while its operations are gathered. */
struct gathering {
    struct wp_system_ops *ops;
    struct wp_exemplar *rows;
    const struct wp_timeline *timeline;
    uint64_t from_ns, until_ns;
};

/* One more is left out then, before texts are made for it: they would stay in the trace. */
static bool is_full(const struct wp_exemplar *rows)
{
    bool has_room = rows->trace->op_count < rows->row_limit;
    rows->trace->omitted += !has_room;
    return !has_room;
}

static void add_op(struct wp_exemplar *rows, struct wp_trace_op row, uint64_t end_ns)
{
    struct wp_trace *trace = rows->trace;
    if (row.start_ns < rows->origin_ns)
        row.start_ns = rows->origin_ns;
    row.length_ns = end_ns > row.start_ns ? end_ns - row.start_ns : 0;
    row.start_ns -= rows->origin_ns;
    if (row.place == UINT32_MAX || row.label == UINT32_MAX)
        trace->omitted++;
    else
        wp_trace_add_op(trace, &row);
}

/* Index + 1 of the thread's row; 0: it has none. */
static uint32_t row_of(const struct gathering *g, uint32_t thread, uint64_t at_ns)
{
    return wp_exemplar_thread_at(g->rows, g->rows->home, thread, at_ns) + 1;
}

/* --- block requests --- */

static void add_block(const struct gathering *g, const struct wp_blockop *op)
{
    char name[WP_STRING_BYTES + 64];
    struct wp_trace *trace = g->rows->trace;
    wp_name_io(g->timeline->dictionary, op, name, sizeof(name)); /* "io:vda read /var/lib/db/wal" */
    char *place = name + 3, *label = strchr(place, ' ');
    if (label)
        *label++ = 0;
    uint64_t start_ns = op->insert_ns ? op->insert_ns : op->issue_ns;
    add_op(g->rows,
        (struct wp_trace_op){.kind = WP_OP_BLOCK,
            .place = wp_trace_string(trace, place),
            .label = wp_trace_string(trace, label ? label : ""),
            .thread = op->thread ? row_of(g, op->thread, start_ns) : 0,
            .start_ns = start_ns},
        op->done_ns);
}

/* Those that are not done are looked at again. */
static void add_blocks(const struct gathering *g, uint64_t *number)
{
    const struct wp_blockops *blocks = &g->timeline->blockops;
    bool is_behind = false;
    for (uint64_t at = *number < blocks->first ? blocks->first + 1 : *number + 1; at <= blocks->count; at++) {
        const struct wp_blockop *op = wp_blockops_at(blocks, at);
        bool is_done = !op || (op->done_ns && op->done_ns <= g->until_ns);
        if (op && is_done && op->done_ns > g->from_ns && !is_full(g->rows))
            add_block(g, op);
        is_behind |= !is_done;
        if (!is_behind)
            *number = at;
    }
}

/* --- messages --- */

struct end {
    uint32_t id, place; /* place: its name in the trace */
};

static uint32_t name_end(const struct gathering *g, uint32_t id)
{
    char name[160];
    const struct wp_socket_entry *entry = wp_dictionary_socket(g->timeline->dictionary, id);
    if (!entry)
        return wp_trace_string(g->rows->trace, "network");
    wp_name_socket(entry, wp_messages_opener(&g->timeline->messages, id), name, sizeof(name));
    return wp_trace_string(g->rows->trace, name);
}

/* Those of too many that went to ends that are not seen here, mostly on other hosts, have no end; should that leave
 * little room, the older half of the others, too, and they are counted. */
static void forget_unread(const struct gathering *g)
{
    struct wp_system_ops *ops = g->ops;
    uint32_t left = 0;
    for (uint32_t i = 0; i < ops->unread_count; i++)
        if (wp_messages_peer(&g->timeline->messages, ops->unread[i].sender))
            ops->unread[left++] = ops->unread[i];
    ops->unread_count = left;
    if (left <= WP_UNREAD_MESSAGES / 4 * 3)
        return;
    g->rows->trace->omitted += left / 2;
    ops->unread_count = left - left / 2;
    memmove(ops->unread, ops->unread + left / 2, ops->unread_count * sizeof(*ops->unread));
}

/* The last op is such a message. */
static void keep_unread(const struct gathering *g, uint32_t sender, const struct wp_send *send)
{
    struct wp_system_ops *ops = g->ops;
    if (!ops->unread && !(ops->unread = malloc(WP_UNREAD_MESSAGES * sizeof(*ops->unread))))
        return;
    if (ops->unread_count == WP_UNREAD_MESSAGES)
        forget_unread(g);
    ops->unread[ops->unread_count++] = (struct wp_unread_message){
        .sent_ns = send->time_ns, .op = g->rows->trace->op_count - 1, .sender = sender, .end = (uint32_t)send->end};
}

/* Those that have been read since have a length; the other end of a connection may be seen by that alone. */
static void end_messages(const struct gathering *g)
{
    const struct wp_messages *messages = &g->timeline->messages;
    struct wp_system_ops *ops = g->ops;
    struct wp_trace *trace = g->rows->trace;
    uint32_t left = 0;
    for (uint32_t i = 0; i < ops->unread_count; i++) {
        const struct wp_unread_message *message = &ops->unread[i];
        uint32_t peer = wp_messages_peer(messages, message->sender);
        struct wp_receive read;
        if (peer && wp_messages_taken(messages, peer, message->end, message->sent_ns, &read)) {
            uint64_t start_ns = trace->ops[message->op].start_ns + g->rows->origin_ns;
            trace->ops[message->op].length_ns = read.time_ns > start_ns ? read.time_ns - start_ns : 0;
        } else if (g->until_ns < message->sent_ns + WP_MESSAGE_HISTORY_NS) {
            ops->unread[left++] = *message;
        }
    }
    ops->unread_count = left;
}

/* From when it was sent until it was read, where that was on this host. */
static void add_send(const struct gathering *g, const struct end *end, const struct wp_send *send)
{
    const struct wp_messages *messages = &g->timeline->messages;
    struct wp_trace *trace = g->rows->trace;
    struct wp_receive read;
    uint32_t peer = wp_messages_peer(messages, end->id);
    char label[48];
    snprintf(label, sizeof(label), "send %u B", send->bytes);
    bool is_read = peer && wp_messages_taken(messages, peer, (uint32_t)send->end, send->time_ns, &read);
    uint32_t before = trace->op_count;
    add_op(g->rows,
        (struct wp_trace_op){.kind = WP_OP_NETWORK,
            .place = end->place,
            .label = wp_trace_string(trace, label),
            .thread = send->thread ? row_of(g, send->thread, send->time_ns) : 0,
            .start_ns = send->time_ns},
        is_read ? read.time_ns : send->time_ns);
    if (!is_read && trace->op_count > before)
        keep_unread(g, end->id, send);
}

/* What came from another host: from when it was there until it was read. */
static void add_receive(const struct gathering *g, const struct end *end, const struct wp_receive *receive)
{
    struct wp_trace *trace = g->rows->trace;
    uint64_t start_ns =
        receive->arrived_ns && receive->arrived_ns < receive->time_ns ? receive->arrived_ns : receive->time_ns;
    add_op(g->rows,
        (struct wp_trace_op){.kind = WP_OP_NETWORK,
            .place = end->place,
            .label = wp_trace_string(trace, "receive"),
            .thread = receive->thread ? row_of(g, receive->thread, receive->time_ns) : 0,
            .start_ns = start_ns},
        receive->time_ns);
}

static bool is_now(const struct gathering *g, uint64_t time_ns)
{
    return time_ns > g->from_ns && time_ns <= g->until_ns;
}

static void add_messages(const struct gathering *g, uint32_t id, const struct wp_socket *socket)
{
    struct end end = {id, UINT32_MAX};
    const struct wp_message_ring *sends = &socket->send_ring, *reads = &socket->receive_ring;
    for (uint32_t at = sends->first; socket->sends && at != sends->end; at++) {
        const struct wp_send *send = &socket->sends[at & sends->mask];
        if (!is_now(g, send->time_ns) || is_full(g->rows))
            continue;
        end.place = end.place == UINT32_MAX ? name_end(g, id) : end.place;
        add_send(g, &end, send);
    }
    if (wp_messages_peer(&g->timeline->messages, id))
        return;
    for (uint32_t at = reads->first; socket->receives && at != reads->end; at++) {
        const struct wp_receive *receive = &socket->receives[at & reads->mask];
        if (!is_now(g, receive->time_ns) || is_full(g->rows))
            continue;
        end.place = end.place == UINT32_MAX ? name_end(g, id) : end.place;
        add_receive(g, &end, receive);
    }
}

void wp_system_ops_extend(struct wp_system_ops *ops, struct wp_exemplar *rows, uint64_t from_ns, uint64_t until_ns)
{
    struct gathering g = {ops, rows, rows->fleet->hosts[rows->home].timeline, from_ns, until_ns};
    uint32_t sockets = wp_dictionary_socket_count(g.timeline->dictionary);
    add_blocks(&g, &ops->block_number);
    end_messages(&g);
    for (uint32_t id = 1; id <= sockets; id++) {
        const struct wp_socket *socket = wp_messages_socket(&g.timeline->messages, id);
        if (socket)
            add_messages(&g, id, socket);
    }
}

void wp_system_ops_fini(struct wp_system_ops *ops)
{
    free(ops->unread);
    *ops = (struct wp_system_ops){0};
}

/* --- interrupts --- */

void wp_system_ops_interrupt(struct wp_exemplar *rows, uint32_t thread, const struct wp_slice *slice)
{
    static const char *const vectors[] = {
        "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"};
    char place[32];
    bool is_soft = slice->cause == WP_CAUSE_SOFTIRQ;
    if ((!is_soft && slice->cause != WP_CAUSE_IRQ) || slice->is_inferred || slice->wake_ns < rows->origin_ns ||
        is_full(rows))
        return;
    if (is_soft && slice->cause_d < sizeof(vectors) / sizeof(*vectors))
        snprintf(place, sizeof(place), "softirq %s", vectors[slice->cause_d]);
    else
        snprintf(place, sizeof(place), "%s %u", is_soft ? "softirq" : "irq", slice->cause_d);
    add_op(rows,
        (struct wp_trace_op){.kind = WP_OP_INTERRUPT,
            .place = wp_trace_string(rows->trace, place),
            .label = wp_trace_string(rows->trace, "wakes"),
            .thread = thread + 1,
            .start_ns = slice->wake_ns},
        slice->wake_ns);
}
