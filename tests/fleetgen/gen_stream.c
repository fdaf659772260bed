/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_stream.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SEGMENT 60000u     /* bytes, with segmentation offload */
#define LEAVE_NS 10000000u /* the collector tells of one departure in so long */
#define RETRANSMIT_NS 200000000u
#define SEND_COST_NS 1500u /* twice */
#define READ_COST_NS 2000u
#define SYS_CONNECT 42
#define SYS_RECVFROM 45

static struct gen_end *other_end(struct gen_end *end)
{
    return &end->stream->ends[end == &end->stream->ends[0]];
}

static uint32_t position(const struct gen_end *sender, uint32_t offset)
{
    return sender->first + 1 + offset;
}

static void tell(
    const struct gen_end *end, enum wp_event_kind kind, uint16_t cpu, uint32_t thread, uint32_t at, uint32_t bytes)
{
    if (end->host)
        gen_host_tell(end->host,
            (struct wp_event){
                .kind = (uint8_t)kind, .cpu = cpu, .thread = thread, .d = end->socket, .a = at, .c = bytes});
}

/* --- addresses --- */

static void put_address(uint8_t *to, uint32_t host, bool is_translated, const struct gen_stream_options *options)
{
    uint8_t v4[4] = {10, is_translated ? 200 : 1, (uint8_t)(host >> 8), (uint8_t)host};
    if (options->is_mapped) {
        to[10] = to[11] = 0xff;
        memcpy(to + 12, v4, 4);
    } else if (options->is_v6) {
        to[0] = 0xfd;
        memcpy(to + 12, v4, 4);
    } else {
        memcpy(to, v4, 4);
    }
}

static uint16_t next_port(struct gen_host *host) /* the kernel uses them again: each host has few */
{
    host->next_port = host->next_port >= 60999 ? 32768 : host->next_port + 1;
    return (uint16_t)host->next_port;
}

static void add_socket(
    struct gen_stream *stream, int side, uint32_t own_number, uint32_t far_number, uint16_t own_port, uint16_t far_port)
{
    struct gen_end *end = &stream->ends[side];
    const struct gen_stream_options *options = &stream->options;
    /* A client may see its socket as IPv6 with a mapped address while the server has plain IPv4. */
    struct gen_stream_options plain = *options;
    plain.is_mapped = options->is_mapped && side == 0;
    struct wp_socket_entry entry = {.family = options->is_v6 || plain.is_mapped ? AF_INET6 : AF_INET,
        .protocol = IPPROTO_TCP,
        .local_port = own_port,
        .remote_port = options->is_translated && side ? (uint16_t)(far_port ^ 0x155u) : far_port,
        .netns = 4026531840u};
    put_address(entry.local, own_number, false, &plain);
    put_address(entry.remote, far_number, options->is_translated, &plain);
    if (end->host)
        end->socket = gen_host_socket(end->host, &entry);
}

struct gen_stream *gen_stream_create(struct gen_sim *sim, struct gen_host *client, struct gen_host *server,
    uint32_t number, uint16_t port, const struct gen_stream_options *options, struct gen_traffic *traffic)
{
    struct gen_stream *stream = gen_new(sizeof(*stream));
    *stream = (struct gen_stream){.options = *options, .sim = sim, .traffic = traffic, .number = number};
    struct gen_host *hosts[2] = {client, server};
    uint32_t numbers[2] = {client ? client->number : 60000 + number, server ? server->number : 60000 + number};
    uint16_t from = client ? next_port(client) : (uint16_t)(1024 + number % 60000);
    for (int i = 0; i < 2; i++) {
        struct gen_end *end = &stream->ends[i];
        *end = (struct gen_end){.stream = stream, .host = hosts[i]};
        /* Every eighth one is about to wrap. */
        end->first = gen_chance(sim, 125) ? UINT32_MAX - gen_below(sim, 100000) : (uint32_t)gen_random(sim);
        end->inbox_last = &end->inbox;
    }
    add_socket(stream, 0, numbers[0], numbers[1], from, port);
    add_socket(stream, 1, numbers[1], numbers[0], port, from);
    return stream;
}

void gen_stream_destroy(struct gen_stream *stream)
{
    for (int i = 0; stream && i < 2; i++)
        for (struct gen_message *m; (m = stream->ends[i].inbox);) {
            stream->ends[i].inbox = m->next;
            free(m);
        }
    free(stream);
}

/* --- handshake and end --- */

static void tell_state(
    struct gen_end *end, uint16_t cpu, uint32_t thread, uint32_t before, uint32_t after, bool has_first)
{
    uint64_t first = has_first ? end->first | (uint64_t)other_end(end)->first << 32 : 0;
    if (end->host)
        gen_host_tell(end->host,
            (struct wp_event){.kind = WP_EVENT_SOCK_STATE,
                .cpu = cpu,
                .thread = thread,
                .d = end->socket,
                .c = after,
                .b = before,
                .a = first});
}

static void accepted(void *context, uint64_t argument)
{
    struct gen_end *end = context;
    uint32_t thread = 0;
    (void)argument;
    uint16_t cpu = end->host ? gen_host_interrupt(end->host, &thread) : 0;
    tell_state(end, cpu, thread, 3, 1, true); /* SYN_RECV to ESTABLISHED */
}

static void connected(void *context, uint64_t argument)
{
    struct gen_thread *thread = context;
    struct gen_end *end = thread->waits_on;
    struct wp_event waking = {
        .c = WP_CAUSE_MESSAGE, .flags = WP_CONTEXT_SOFTIRQ, .d = end->socket, .a = position(other_end(end), 0)};
    (void)argument;
    waking.cpu = gen_host_interrupt(thread->host, &waking.thread);
    tell_state(end, waking.cpu, waking.thread, 2, 1, true);
    gen_trace_add(thread->trace, thread->service, WP_MESSAGE_IN_FLIGHT, thread->since_ns, end->stream->sim->now_ns);
    gen_thread_wake(thread, waking);
}

static uint64_t delay(const struct gen_end *from)
{
    const struct gen_stream_options *o = &from->stream->options;
    uint64_t base = o->backward_slower && from == &from->stream->ends[1] ? 2 * o->delay_ns : o->delay_ns;
    return base + gen_about(from->stream->sim, o->jitter_ns, 100);
}

void gen_stream_connect(struct gen_thread *thread, struct gen_stream *stream, gen_step then)
{
    struct gen_end *end = &stream->ends[0], *far = &stream->ends[1];
    uint64_t there = stream->sim->now_ns + delay(end), back = there + delay(far);
    tell_state(end, thread->cpu, thread->entry, 7, 2, false);
    thread->waits_on = end;
    stream->is_connected = true;
    gen_at(stream->sim, back, connected, thread, 0);
    gen_at(stream->sim, back + delay(end), accepted, far, 0);
    end->last_arrival_ns = back;
    far->last_arrival_ns = back + delay(end);
    gen_thread_block(thread, GEN_SPOT_SEND, SYS_CONNECT, WP_STATE_INTERRUPTIBLE, 2000, then);
}

static void finished(void *context, uint64_t argument)
{
    struct gen_end *end = context;
    uint32_t thread = 0;
    (void)argument;
    uint16_t cpu = end->host ? gen_host_interrupt(end->host, &thread) : 0;
    tell_state(end, cpu, thread, 1, 8, false); /* CLOSE_WAIT, then its owner closes it */
    tell_state(end, cpu, thread, 8, 9, false);
    tell_state(end, cpu, thread, 9, 7, false);
}

void gen_stream_close(struct gen_thread *thread, struct gen_stream *stream)
{
    struct gen_end *end = &stream->ends[0];
    tell_state(end, thread->cpu, thread->entry, 1, 4, false); /* FIN_WAIT1 */
    gen_at(stream->sim, stream->sim->now_ns + delay(end), finished, &stream->ends[1], 0);
    stream->is_closed = true;
}

/* --- sending --- */

struct segment {
    struct gen_end *to;
    uint32_t end, bytes; /* offset behind its last byte; how many are told of */
    bool is_told;        /* by the one behind it, at once */
};

static void arrive(void *context, uint64_t argument)
{
    struct segment *segment = context;
    struct gen_end *to = segment->to, *from = other_end(to);
    struct gen_host *host = to->host;
    uint64_t now_ns = to->stream->sim->now_ns;
    (void)argument;
    to->arrived = segment->end;
    for (struct gen_message *m = to->inbox; m; m = m->next)
        if (!m->arrived_ns && (int32_t)(m->end - (uint32_t)m->size - segment->end) < 0)
            m->arrived_ns = now_ns;
    uint32_t thread = 0;
    uint16_t cpu = host ? gen_host_interrupt(host, &thread) : 0;
    tell(to, WP_EVENT_SOCK_ARRIVE, cpu, thread, position(from, segment->end), segment->bytes);
    free(segment);
    struct gen_thread *reader = to->reader;
    if (!reader) {
        if (to->readable)
            to->readable(to);
        return;
    }
    const struct gen_message *m = to->inbox;
    to->reader = NULL;
    if (!from->host) {
        gen_trace_add(reader->trace, reader->service, WP_REMOTE_NOT_TRACED, reader->since_ns, now_ns);
    } else if (m) { /* up to the send what was done there, since then on its way */
        uint64_t sent_ns = m->is_leaving || m->sent_ns > now_ns ? now_ns : m->sent_ns;
        gen_trace_splice(reader->trace, m->trace, reader->since_ns, sent_ns);
        gen_trace_add(reader->trace, reader->service, WP_MESSAGE_IN_FLIGHT,
            sent_ns > reader->since_ns ? sent_ns : reader->since_ns, now_ns);
    }
    gen_thread_wake(reader,
        (struct wp_event){.c = WP_CAUSE_MESSAGE,
            .flags = WP_CONTEXT_SOFTIRQ,
            .cpu = cpu,
            .thread = thread,
            .d = to->socket,
            .a = position(from, to->arrived)});
}

static void retransmit(void *context, uint64_t offset)
{
    struct gen_end *from = context;
    uint32_t thread = 0;
    uint16_t cpu = from->host ? gen_host_interrupt(from->host, &thread) : 0;
    tell(from, WP_EVENT_SOCK_RETRANSMIT, cpu, thread, position(from, (uint32_t)offset), 1448);
    from->stream->traffic->retransmits++;
}

/* Segments in order: one that is late holds up those behind it. */
static void depart(struct gen_end *from, uint64_t bytes, uint32_t thread, uint16_t cpu)
{
    struct gen_stream *stream = from->stream;
    struct gen_end *to = other_end(from);
    uint64_t now_ns = stream->sim->now_ns;
    uint32_t together = 0;
    for (uint64_t done = 0; done < bytes;) {
        uint32_t size = bytes - done < SEGMENT ? (uint32_t)(bytes - done) : SEGMENT;
        done += size;
        from->sent += size;
        together += size;
        if (done < bytes && gen_chance(stream->sim, stream->options.coalesce_per_mille)) {
            stream->traffic->coalesced++;
            continue; /* told of with the next one */
        }
        uint64_t at_ns = now_ns + delay(from);
        if (gen_chance(stream->sim, stream->options.retransmit_per_mille)) {
            gen_at(stream->sim, now_ns + RETRANSMIT_NS, retransmit, from, from->sent);
            at_ns += RETRANSMIT_NS;
        }
        if (at_ns < to->last_arrival_ns + 1000)
            at_ns = to->last_arrival_ns + 1000;
        to->last_arrival_ns = at_ns;
        struct segment *segment = gen_new(sizeof(*segment));
        *segment = (struct segment){to, from->sent, together, false};
        together = 0;
        gen_at(stream->sim, at_ns, arrive, segment, 0);
    }
    if (!from->host || now_ns - from->left_told_ns < LEAVE_NS)
        return;
    from->left_told_ns = now_ns;
    tell(from, WP_EVENT_SOCK_LEAVE, cpu, thread, position(from, from->sent), 0);
}

static struct gen_message *post(struct gen_end *from, uint64_t bytes, struct gen_trace *trace)
{
    struct gen_end *to = other_end(from);
    struct gen_message *m = gen_new(sizeof(*m));
    *m = (struct gen_message){.trace = trace, .end = from->sent + (uint32_t)bytes, .size = bytes, .is_leaving = true};
    *to->inbox_last = m;
    to->inbox_last = &m->next;
    return m;
}

static void sent(struct gen_thread *thread)
{
    struct gen_end *from = thread->waits_on;
    struct gen_message *m = thread->message;
    m->is_leaving = false;
    m->sent_ns = from->stream->sim->now_ns;
    tell(from, WP_EVENT_SOCK_SEND, thread->cpu, thread->entry, position(from, from->sent), (uint32_t)m->size);
    thread->message = NULL;
    thread->after(thread);
}

static void leave(struct gen_thread *thread)
{
    struct gen_end *from = thread->waits_on;
    struct gen_message *m = thread->message;
    depart(from, m->size, thread->entry, thread->cpu);
    gen_thread_compute(thread, GEN_SPOT_SEND, SEND_COST_NS, sent);
}

void gen_stream_send(
    struct gen_thread *thread, struct gen_end *from, uint64_t bytes, struct gen_trace *trace, gen_step then)
{
    thread->waits_on = from;
    thread->message = post(from, bytes, trace);
    thread->after = then;
    gen_thread_compute(thread, GEN_SPOT_SEND, SEND_COST_NS, leave);
}

void gen_stream_send_unseen(struct gen_end *from, uint64_t bytes)
{
    struct gen_message *m = post(from, bytes, NULL);
    m->is_leaving = false;
    m->sent_ns = from->stream->sim->now_ns;
    depart(from, bytes, 0, 0);
}

/* --- reading --- */

static void try_to_read(struct gen_thread *thread);

static void have_read(struct gen_thread *thread)
{
    struct gen_end *end = thread->waits_on;
    const struct gen_stream_options *options = &end->stream->options;
    uint32_t there = end->arrived - end->read;
    struct gen_message *m = end->inbox;
    if (there > m->end - end->read)
        there = m->end - end->read;
    if (options->read_limit && there > options->read_limit) {
        there = options->read_limit;
        end->stream->traffic->partial_reads++;
    }
    end->read += there;
    tell(end, WP_EVENT_SOCK_RECV, thread->cpu, thread->entry, position(other_end(end), end->read), there);
    if (end->stream->traffic->read)
        end->stream->traffic->read(end->stream->traffic->context, end, there);
    if (end->read != m->end) {
        try_to_read(thread);
        return;
    }
    thread->message = m;
    thread->after(thread);
}

static void try_to_read(struct gen_thread *thread)
{
    struct gen_end *end = thread->waits_on;
    if (end->arrived != end->read) {
        gen_thread_compute(thread, GEN_SPOT_READ, READ_COST_NS, have_read);
        return;
    }
    end->reader = thread;
    gen_thread_block(thread, GEN_SPOT_READ, SYS_RECVFROM, WP_STATE_INTERRUPTIBLE, READ_COST_NS, have_read);
}

void gen_stream_read(struct gen_thread *thread, struct gen_end *end, gen_step then)
{
    thread->waits_on = end;
    thread->after = then;
    try_to_read(thread);
}

void gen_message_drop(struct gen_end *end)
{
    struct gen_message *m = end->inbox;
    end->inbox = m->next;
    if (!end->inbox)
        end->inbox_last = &end->inbox;
    free(m);
}
