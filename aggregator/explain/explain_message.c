/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sleep that a message ended: the message's transit, then the sender's time back to the request that it answers, on
 * this host or on another one. Times of another host are translated at once by the clocks as they stand at the arrival;
 * what lies within their bound of an end (and the fit) is taken to be at that end.
 */
#include "aggregator/explain/explain_message.h"

#include "aggregator/explain/explain_asleep.h"
#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_hops.h"
#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/explain/explain_shard.h"
#include "aggregator/explain/explain_thread.h"
#include "aggregator/net/message_datagrams.h"
#include "aggregator/net/message_roles.h"
#include "aggregator/peer/shard_peers.h"
#include "aggregator/timeline/names.h"
#include "aggregator/timeline/process_ends.h"
#include "aggregator/timeline/slices.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define SYSCALL_CONNECT 42
#define READS_LIMIT 32u /* requests of others that one waits behind, the last ones */

/* The other end of a socket: where, and what to add to a time here to get the time there. */
struct far {
    uint32_t host, socket; /* socket 0: a datagram's sender */
    uint64_t datagram;     /* its number there; of another host its key */
    uint32_t node;         /* what the wait for it stands on */
    struct wp_offset clock;
    const struct wp_timeline *timeline;
    const char *missing;                  /* why there is none */
    bool is_unanswered;                   /* it has not sent what the sleeper waits for */
    const struct wp_explain_asked *asked; /* another shard asks, and says what its host had sent; NULL: look there */
};

static bool find_datagram(const struct wp_explainer *x, uint64_t number_or_key, struct far *far)
{
    *far = (struct far){.host = x->host, .datagram = number_or_key & ~WP_DATAGRAM_ELSEWHERE};
    if (!(number_or_key & WP_DATAGRAM_ELSEWHERE))
        return true;
    return wp_connections_datagram_host(x->fleet->connections, far->datagram, &far->host) && far->host != x->host &&
        far->host < x->fleet->count && x->fleet->hosts[far->host].timeline;
}

static bool is_lost(const struct wp_explainer *x, uint32_t socket)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(x->timeline->dictionary, socket);
    return x->fleet->shards && entry && wp_shards_is_lost(x->fleet->shards, entry);
}

static bool find_stream(const struct wp_explainer *x, uint32_t socket, struct far *far)
{
    struct wp_far_end end;
    *far = (struct far){.host = x->host};
    enum wp_pairing pairing = wp_connections_peer(x->fleet->connections, x->host, socket, &end);
    if (pairing == WP_PAIR_FOUND) {
        far->host = end.host;
        far->socket = end.socket;
    } else {
        far->socket = wp_messages_peer(&x->timeline->messages, socket);
        far->missing = pairing == WP_PAIR_AMBIGUOUS ? "ambiguous" : is_lost(x, socket) ? WP_SHARD_SILENT : "not traced";
    }
    return far->socket;
}

static bool find_far(struct wp_explainer *x, uint32_t socket, uint64_t position, uint64_t arrival_ns, struct far *far)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(x->timeline->dictionary, socket);
    bool is_datagram = entry && entry->protocol == IPPROTO_UDP;
    if (!(is_datagram ? find_datagram(x, position, far) : find_stream(x, socket, far))) {
        if (!far->missing)
            far->missing = "not traced";
        return false;
    }
    const struct wp_fleet_host *host = &x->fleet->hosts[far->host];
    far->timeline = host->timeline;
    far->missing = NULL;
    if (!wp_fleet_offset(x->fleet, x->host, arrival_ns, far->host, &far->clock))
        far->missing = "clock not known";
    else if (far->host != x->host && !host->is_over && host->known_ns < arrival_ns + (uint64_t)far->clock.offset_ns)
        far->missing = "not told in time";
    return !far->missing;
}

/* Two times of different hosts that are so close are taken to be one. */
static uint64_t slack(const struct wp_explainer *x, const struct far *far)
{
    return far->clock.bound_ns < x->options.fit_ns ? far->clock.bound_ns : x->options.fit_ns;
}

static uint64_t there(const struct far *far, uint64_t time_ns)
{
    return time_ns + (uint64_t)far->clock.offset_ns;
}

static uint64_t here(const struct far *far, uint64_t time_ns)
{
    return time_ns - (uint64_t)far->clock.offset_ns;
}

/* The horizon holds here, too: that a call returns after it was reported must not matter. */
static bool find_send(
    const struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, struct wp_send *send)
{
    const struct wp_messages *messages = &far->timeline->messages;
    uint64_t arrival = there(far, wait->slice->wake_ns) + far->clock.bound_ns;
    bool is_found;
    if (!far->socket && far->host == x->host)
        is_found = wp_messages_datagram(messages, far->datagram, send);
    else if (!far->socket)
        is_found = wp_messages_datagram_by(messages, far->datagram, arrival, send);
    else if (wp_wait_is_sending(wait->slice) || wait->slice->cause_a & WP_POSITION_ACKNOWLEDGES)
        is_found = wp_messages_drained(messages, far->socket, arrival, send);
    else
        is_found = wp_messages_sent(messages, far->socket, (uint32_t)wait->slice->cause_a, arrival, send);
    return is_found && (far->host == x->host || send->time_ns <= x->fleet->hosts[far->host].horizon_ns);
}

bool wp_wait_is_for_others(struct wp_explainer *x, const struct wp_wait *wait)
{
    const struct wp_slice *slice = wait->slice;
    struct far far;
    struct wp_send send;
    if (slice->cause != WP_CAUSE_MESSAGE || slice->cause_a & WP_POSITION_ACKNOWLEDGES || !slice->wake_ns ||
        !wp_wait_is_choosing(slice) || slice->flags & WP_SLICE_PREEMPTED ||
        wp_messages_asker(&x->timeline->messages, slice->cause_d) != WP_OPENER_THERE ||
        !find_far(x, slice->cause_d, slice->cause_a, slice->wake_ns, &far) || !find_send(x, wait, &far, &send))
        return false;
    uint32_t process = far.timeline->identities[far.timeline->threads[send.thread].identity].process;
    for (uint32_t i = 0; i < x->depth; i++)
        if (x->layers[i].host == far.host && x->layers[i].process == process)
            return false;
    return true;
}

/* --- the sender's time --- */

/* A part of the wait for a thread of the far host, in the clock here. */
static void on_far_thread(
    struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, const struct wp_wait_part *part)
{
    if (far->host == x->host) {
        wp_wait_on_thread(x, wait, part);
        return;
    }
    struct wp_wait there_wait = *wait;
    struct wp_wait_part there_part = *part;
    there_part.from_ns = there(far, part->from_ns);
    there_part.to_ns = there(far, part->to_ns);
    there_wait.is_far = true;
    there_wait.thread = part->waker;
    there_wait.start_ns = there(far, wait->start_ns);
    there_wait.bound_ns = wait->bound_ns + far->clock.bound_ns;
    struct wp_explain_place place = wp_explain_enter(x, far->host, far->clock.offset_ns);
    wp_wait_on_thread(x, &there_wait, &there_part);
    wp_explain_leave(x, &place);
}

/* Who sent that request, of the host where it was read; 0: not known, or the sleeper's own process. */
static uint32_t client_of(const struct wp_explainer *x, const struct wp_read *read)
{
    const struct wp_messages *messages = &x->timeline->messages;
    const struct wp_layer *sleeper = x->depth ? &x->layers[x->depth - 1] : NULL;
    uint32_t peer = wp_messages_peer(messages, read->socket);
    struct wp_send sent;
    if (!peer || !wp_messages_last_send(messages, peer, read->time_ns, &sent) || !sent.thread)
        return 0;
    uint32_t process = x->timeline->identities[wp_explain_identity_at(x, sent.thread, sent.time_ns - 1)].process;
    return sleeper && sleeper->host == x->host && sleeper->process == process ? 0 : sent.thread;
}

/* [low, high) of that thread of the present host, which is busy with others: whose request it worked for in half of it
 * or more, by what it read; 0: nobody's that is known. */
static uint32_t served_mostly(const struct wp_explainer *x, uint32_t thread, uint64_t low, uint64_t high)
{
    uint64_t since = high, most = (high - low) / 2;
    struct wp_reads_back back = wp_reads_before(&x->timeline->messages.reads, thread, since);
    const struct wp_read *read = wp_reads_previous(&back);
    struct wp_read longest = {0};
    for (uint32_t i = 0; read && low < since && i < READS_LIMIT; i++, read = wp_reads_previous(&back)) {
        uint64_t begin = read->time_ns > low ? read->time_ns : low;
        if (since - begin > most) {
            most = since - begin;
            longest = *read;
        }
        since = begin;
    }
    return longest.socket ? client_of(x, &longest) : 0;
}

/* [from, to) of that thread, which is busy with others. */
static void on_far_path(struct wp_explainer *x, const struct far *far, uint32_t thread, uint64_t from, uint64_t to)
{
    struct wp_explain_place place = wp_explain_enter(x, far->host, far->clock.offset_ns);
    const struct wp_interval part = {x->host, thread, there(far, from), there(far, to)};
    if (part.start_ns < part.end_ns) {
        uint32_t client = served_mostly(x, thread, part.start_ns, part.end_ns);
        wp_explain_on_path_of(x, far->node, &part, wp_explain_identity_at(x, thread, part.end_ns - 1),
            &(struct wp_handover){WP_ORIGIN_OTHER, client, part.end_ns});
    }
    wp_explain_leave(x, &place);
}

/*
 * [from, to) of the request's reader, which was done with others by then. A sleep for several connections that a
 * message of another one ended tells nothing of the request: it lay there, and what sent that message is not what it
 * waited for.
 */
static void on_reader(struct wp_explainer *x, const struct wp_wait *wait, const struct far *far,
    const struct wp_receive *read, uint64_t from, uint64_t to)
{
    const struct wp_thread *reader = &far->timeline->threads[read->thread];
    uint64_t ordinal = from < to ? wp_thread_find(reader, there(far, to) - 1) : reader->slice_end;
    for (uint32_t seen = 0; ordinal != reader->slice_end && seen < x->options.width; seen++) {
        const struct wp_slice *slice = wp_thread_slice(reader, ordinal);
        uint64_t out = here(far, slice->out_ns), woken = slice->wake_ns ? here(far, slice->wake_ns) : out;
        if (slice->cause == WP_CAUSE_MESSAGE && slice->cause_d != far->socket && wp_wait_is_choosing(slice) &&
            woken > from && woken < to) {
            on_far_thread(
                x, wait, far, &(struct wp_wait_part){far->node, read->thread, woken, to, read->others_ns != 0});
            to = out > from ? out : from;
            wp_wait_emit(x, wait, far->node, WP_MESSAGE_IN_FLIGHT, to, woken);
        }
        if (out <= from)
            break;
        ordinal = ordinal == reader->first_slice ? reader->slice_end : ordinal - 1;
    }
    on_far_thread(x, wait, far, &(struct wp_wait_part){far->node, read->thread, from, to, read->others_ns != 0});
}

/* When the reader came back from what it last sent to the sleeper: on that connection before that read, or on one
 * before, as is seen on one host. 0: it sent nothing. */
static uint64_t own_end(const struct wp_explainer *x, const struct wp_wait *wait, const struct far *far,
    const struct wp_receive *read, uint64_t from)
{
    struct wp_send sent;
    if (!wp_messages_last_send(&far->timeline->messages, far->socket, read->time_ns, &sent) ||
        sent.thread != read->thread)
        return far->host == x->host && !far->asked ? wp_explain_own_end(x, wait, read->thread, from, 0) : 0;
    return here(far, wp_explain_answer_end(&far->timeline->threads[read->thread], sent.time_ns, x->options.fit_ns));
}

/*
 * The request was sent and not yet read: first it was on its way. Then, up to what its reader last did on another
 * connection, the reader was busy with others, however many sleeps part that from this, unless it was still in the call
 * that answered the sleeper's request before; since then it was on its way to the request.
 */
static void in_queue(struct wp_explainer *x, const struct wp_wait *wait, const struct far *far,
    const struct wp_receive *read, uint64_t from, uint64_t to)
{
    uint64_t others = 0;
    if (read->thread && read->others_ns)
        others =
            here(far, wp_explain_answer_end(&far->timeline->threads[read->thread], read->others_ns, x->options.fit_ns));
    uint64_t arrived = read->arrived_ns ? here(far, read->arrived_ns) : from;
    if (others > to)
        others = to;
    if (read->thread && others > from) {
        if (others < to)
            on_reader(x, wait, far, read, others, to);
        arrived = arrived < from + slack(x, far) ? from : arrived < others ? arrived : others;
        uint64_t own = own_end(x, wait, far, read, from);
        own = own < arrived ? arrived : own < others ? own : others;
        on_far_path(x, far, read->thread, own, others);
        on_far_thread(x, wait, far, &(struct wp_wait_part){far->node, read->thread, arrived, own, true});
        to = arrived;
    } else if (read->thread &&
        from < to) { /* done with others since before: however it lost its CPU, it was on its way here */
        on_reader(x, wait, far, read, from, to);
        return;
    }
    if (from < to)
        wp_wait_emit(x, wait, far->node, WP_MESSAGE_IN_FLIGHT, from, to);
}

/* What was sent last, here, before the wait. */
static bool find_request(
    const struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, struct wp_send *request)
{
    if (far->asked) {
        *request = (struct wp_send){.time_ns = far->asked->request_ns, .end = far->asked->request_end};
        return far->asked->has_request;
    }
    return wp_messages_last_send(
        &x->timeline->messages, wait->slice->cause_d, wait->start_ns + x->options.fit_ns, request);
}

/* An acknowledgement says nothing to who reads, or waits for several while all that it sent has been read: it waits for
 * an answer that has not come yet, not for room. */
static bool is_unanswered(const struct wp_explainer *x, const struct wp_wait *wait, const struct far *far)
{
    const struct wp_slice *slice = wait->slice;
    struct wp_send request, read;
    if (slice->cause != WP_CAUSE_MESSAGE || !(slice->cause_a & WP_POSITION_ACKNOWLEDGES))
        return false;
    if (!wp_wait_is_choosing(slice) || !find_request(x, wait, far, &request))
        return wp_wait_is_reading(slice);
    return far->socket &&
        wp_messages_drained(&far->timeline->messages, far->socket, there(far, slice->wake_ns), &read) &&
        (int32_t)((uint32_t)read.end - (uint32_t)request.end) >= 0;
}

/* Where the sleeper's request was read: before what was sent, which of a loop may be behind `to`, or at any time that
 * is known where nothing was sent. */
static bool find_read(const struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, uint64_t to,
    struct wp_receive *read)
{
    uint64_t sent = wait->is_outstanding ? wait->slice->wake_ns : to;
    struct wp_send request;
    return far->socket && find_request(x, wait, far, &request) &&
        wp_messages_taken(
            &far->timeline->messages, far->socket, (uint32_t)request.end, there(far, request.time_ns), read) &&
        (far->is_unanswered ? read->time_ns <= x->fleet->hosts[far->host].horizon_ns : here(far, read->time_ns) < sent);
}

static void on_far_hop(
    struct wp_explainer *x, const struct far *far, const struct wp_hop_part *part, uint64_t from, uint64_t to)
{
    struct wp_explain_place place = wp_explain_enter(x, far->host, far->clock.offset_ns);
    wp_wait_on_hop(x, far->node, part, there(far, from), there(far, to));
    wp_explain_leave(x, &place);
}

/* What a request went through since it was read, up to its answer: the answering thread's time, or where that worked
 * for others as well, what is known of the request itself. */
static void on_request(struct wp_explainer *x, const struct wp_wait *wait, const struct far *far,
    const struct wp_receive *read, const struct wp_wait_part *answer)
{
    struct wp_hops hops;
    struct wp_hop_part part;
    struct wp_explain_place place = wp_explain_enter(x, far->host, far->clock.offset_ns);
    bool is_known = wp_hops_find(x, &hops, far->socket, read, answer->waker, there(far, answer->to_ns));
    wp_explain_leave(x, &place);
    struct wp_wait_part left = *answer; /* what is not told yet */
    x->doubts += is_known && hops.is_guess;
    while (is_known && left.from_ns < left.to_ns && wp_hops_next(&hops, &part)) {
        uint64_t from = here(far, part.from_ns);
        from = from > left.from_ns ? from : left.from_ns;
        if (from >= left.to_ns)
            continue;
        if (part.kind == WP_HOP_WORK)
            on_far_thread(x, wait, far, &(struct wp_wait_part){far->node, part.thread, from, left.to_ns, true});
        else
            on_far_hop(x, far, &part, from, left.to_ns);
        left.to_ns = from;
    }
    x->doubts -= is_known && hops.is_guess;
    on_far_thread(x, wait, far, &left);
}

/* The sender's time back to the request that it answers (read there at some time), or back to `from`. */
static void on_sender(struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, uint32_t sender,
    uint64_t from, uint64_t to)
{
    struct wp_receive read;
    if (from >= to)
        return;
    bool is_answer = find_read(x, wait, far, to, &read);
    if (is_answer && far->is_unanswered)
        sender = read.thread;
    if (!sender) {
        wp_wait_unaccounted(x, wait, far->node, from, to, "the sender is not known");
        return;
    }
    if (!is_answer) {
        sender = wp_process_ender(far->timeline, sender, there(far, to));
        bool is_datagram_here = !far->socket && far->host == x->host;
        if (!is_datagram_here || !wp_wait_in_queue(x, wait, far->node, sender, from, to))
            on_far_thread(x, wait, far, &(struct wp_wait_part){far->node, sender, from, to, false});
        return;
    }
    uint64_t taken = here(far, read.time_ns);
    if (taken < from + slack(x, far))
        taken = from;
    taken = taken < to ? taken : to;
    on_request(x, wait, far, &read, &(struct wp_wait_part){far->node, sender, taken, to, true});
    in_queue(x, wait, far, &read, from, taken);
}

/* When it went out, in the clock there: the call may have returned after the data arrived, and slept before that. */
static uint64_t went_out(const struct far *far, const struct wp_send *send, uint64_t arrival)
{
    const struct wp_thread *sender = &far->timeline->threads[send->thread];
    /* Within the bound the call's end stands for itself: an arrival that seems a little earlier could fall into a sleep
     * before the call. */
    uint64_t sent = send->time_ns <= arrival + far->clock.bound_ns ? send->time_ns : arrival;
    uint64_t ordinal = send->thread && sent ? wp_thread_find(sender, sent - 1) : sender->slice_end;
    if (!send->thread || ordinal == sender->slice_end)
        return sent;
    const struct wp_slice *slice = wp_thread_slice(sender, ordinal);
    return !slice->in_ns || slice->in_ns >= sent ? slice->out_ns
                                                 : sent; /* still in the call, asleep: it sent before that */
}

static void explain_message(
    struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, uint64_t from, uint64_t to)
{
    uint64_t arrival = wait->slice->wake_ns;
    struct wp_send send = {0};
    bool is_connecting =
        wait->slice->syscall == SYSCALL_CONNECT + 1; /* the other kernel answers, nobody there need run */
    if (!is_connecting && !find_send(x, wait, far, &send) && !far->is_unanswered) {
        wp_wait_unaccounted(x, wait, far->node, from, to, "nothing sent matches what arrived");
        return;
    }
    const struct wp_fleet_host *hosts = x->fleet->hosts;
    struct wp_crossed crossed = {.from = hosts[far->host].hostname,
        .to = hosts[x->host].hostname,
        .waited_ns = to - from,
        .bound_ns = far->clock.bound_ns};
    uint64_t sent = is_connecting ? from : here(far, went_out(far, &send, there(far, arrival)));
    if (far->host == x->host && send.thread && wait->slice->waker == send.thread)
        sent = arrival; /* in the sender's own call: no time passed on the way */
    if (far->is_unanswered)
        sent = arrival;
    if (sent < from + slack(x, far))
        sent = from;
    if (sent > arrival)
        sent = arrival;
    if (sent < to) {
        uint64_t low = sent > from ? sent : from;
        wp_wait_emit(x, wait, far->node, WP_MESSAGE_IN_FLIGHT, low, to);
        crossed.transit_ns = to - low;
        to = low;
    }
    if (far->host != x->host)
        wp_explain_crossed(x, &crossed);
    on_sender(x, wait, far, send.thread, from, to);
}

/* The other end is another shard's: what it did is asked there. */
static void on_shard(struct wp_explainer *x, const struct wp_wait *wait, const struct far *far, const char *label,
    uint64_t from, uint64_t to)
{
    const struct wp_slice *slice = wait->slice;
    struct wp_send request;
    struct wp_shard_wait asked = {.owner = x->owner,
        .host = x->host,
        .thread = wait->thread,
        .far_host = far->host,
        .far_socket = far->socket,
        .datagram = far->datagram,
        .aggregate = x->base_bit ? (uint32_t)__builtin_ctzll(x->base_bit) : 0,
        .from_ns = from,
        .to_ns = to,
        .arrival_ns = slice->wake_ns,
        .start_ns = wait->start_ns,
        .position = (uint32_t)slice->cause_a,
        .syscall = slice->syscall,
        .clock = far->clock,
        .wait_bound_ns = wait->bound_ns,
        .depth = x->depth,
        .hops = x->hops};
    asked.has_request = find_request(x, wait, far, &request);
    if (asked.has_request) {
        asked.request_end = (uint32_t)request.end;
        asked.request_ns = request.time_ns;
    }
    wp_wait_on_shard(x, wait, &asked, label);
}

/* A socket keeps its name: it is made once for each place that waits on it. */
static uint32_t socket_node(struct wp_explainer *x, const struct wp_wait *wait, uint32_t socket, const char *name)
{
    uint32_t node = wp_explain_label(x, wait->node, WP_STYLE_NET, name);
    wp_explain_remember(x, (struct wp_intkey){wait->node, wp_explain_here(x, (uint64_t)1 << 42 | socket)}, node);
    return node;
}

static uint32_t answer_node(struct wp_explainer *x, const struct wp_wait *wait)
{
    uint32_t socket = wait->slice->cause_d, node;
    char name[160] = "";
    if (wp_intmap_get(&x->sites, (struct wp_intkey){wait->node, wp_explain_here(x, (uint64_t)1 << 42 | socket)}, &node))
        return node;
    wp_name_socket(wp_dictionary_socket(x->timeline->dictionary, socket),
        wp_messages_opener(&x->timeline->messages, socket), name, sizeof(name));
    return socket_node(x, wait, socket, name);
}

void wp_wait_on_silence(struct wp_explainer *x, const struct wp_wait *wait, uint32_t socket, uint64_t from, uint64_t to)
{
    char name[160] = "";
    wp_name_socket(wp_dictionary_socket(x->timeline->dictionary, socket),
        wp_messages_opener(&x->timeline->messages, socket), name, sizeof(name));
    wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_NET, name, WP_TIMEOUT}, from, to);
}

void wp_wait_on_message(struct wp_explainer *x, const struct wp_wait *wait, uint64_t from, uint64_t to)
{
    uint32_t socket = wait->slice->cause_d;
    struct far far;
    char name[160] = "";
    uint32_t node = 0;
    bool is_known =
        wp_intmap_get(&x->sites, (struct wp_intkey){wait->node, wp_explain_here(x, (uint64_t)1 << 42 | socket)}, &node);
    bool is_found = find_far(x, socket, wait->slice->cause_a, wait->slice->wake_ns, &far);
    if (!is_known || !is_found || x->fleet->hosts[far.host].is_foreign)
        wp_name_socket(wp_dictionary_socket(x->timeline->dictionary, socket),
            wp_messages_opener(&x->timeline->messages, socket), name, sizeof(name) - 32);
    if (!is_found) {
        size_t length = strlen(name);
        snprintf(name + length, sizeof(name) - length, " (%s)", far.missing);
        wp_wait_labelled(x, wait, &(struct wp_wait_label){WP_STYLE_NET, name, WP_REMOTE_NOT_TRACED}, from, to);
        return;
    }
    if (x->fleet->hosts[far.host].is_foreign) {
        on_shard(x, wait, &far, name, from, to);
        return;
    }
    /* What the other host lost may be what this wait rests on. */
    bool is_doubtful =
        far.host != x->host && wp_fleet_has_drops(x->fleet, far.host, there(&far, from), there(&far, to));
    x->doubts += is_doubtful;
    far.node = is_known ? node : socket_node(x, wait, socket, name);
    far.is_unanswered = is_unanswered(x, wait, &far);
    explain_message(x, wait, &far, from, to);
    x->doubts -= is_doubtful;
}

/* --- a request of several that a server works for --- */

/* What it waits for in a part with an answer, as a sleep that this ended. */
static struct wp_slice slice_of(const struct wp_hop_part *part, const struct wp_slice *asleep)
{
    struct wp_slice slice = asleep ? *asleep : (struct wp_slice){.out_ns = part->answer.asked_ns};
    slice.wake_ns = part->answer.arrived_ns;
    slice.in_ns = part->answer.read_ns;
    slice.waker = 0;
    slice.cause = WP_CAUSE_MESSAGE;
    slice.cause_a = part->answer.end;
    slice.cause_d = part->answer.socket;
    slice.flags &= (uint8_t)~WP_SLICE_UNCERTAIN;
    slice.is_inferred = false;
    return slice;
}

void wp_wait_on_hop(struct wp_explainer *x, uint32_t parent, const struct wp_hop_part *part, uint64_t from, uint64_t to)
{
    uint32_t identity = wp_explain_identity_at(x, part->thread, to - 1);
    uint32_t node = wp_explain_process_node(x, parent, identity);
    const struct wp_slice *asleep = wp_hops_sleep(x, part->thread, part->to_ns), slice = slice_of(part, asleep);
    struct wp_wait wait = {.thread = part->thread,
        .slice = &slice,
        .node = asleep ? wp_explain_sleep_node(x, node, asleep, false) : node,
        .start_ns = part->answer.asked_ns,
        .is_outstanding = true};
    wp_explain_push(x, identity, part->thread);
    if (part->kind == WP_HOP_ASKED)
        wp_wait_on_message(x, &wait, from, to);
    else
        wp_explain_on_path(x, part->answer.socket ? answer_node(x, &wait) : node, part->thread, from, to);
    x->depth--;
}

void wp_explain_asked(struct wp_explainer *x, const struct wp_explain_asked *asked, const struct wp_sink *sink)
{
    const struct wp_fleet_host *host = &x->fleet->hosts[asked->host];
    struct wp_slice slice = {
        .wake_ns = asked->arrival_ns, .cause_a = asked->position, .syscall = asked->syscall & WP_SLICE_SYSCALL};
    struct wp_wait wait = {.slice = &slice, .start_ns = asked->start_ns, .bound_ns = asked->wait_bound_ns};
    struct far far = {.host = asked->host,
        .socket = asked->socket,
        .datagram = asked->datagram,
        .clock.bound_ns = asked->bound_ns,
        .timeline = host->timeline,
        .asked = asked};
    x->home = UINT32_MAX;
    x->base_bit = asked->base_bit;
    x->owner = asked->owner;
    x->hops = asked->hops;
    x->sink = sink;
    x->visited = 0;
    x->oldest_ns = asked->to_ns > x->options.origin_ns ? asked->to_ns - x->options.origin_ns : 0;
    x->doubts = wp_fleet_has_drops(x->fleet, asked->host, asked->from_ns, asked->to_ns);
    x->depth = asked->depth < x->options.depth ? asked->depth : x->options.depth;
    for (uint32_t i = 0; i < x->depth; i++)
        x->layers[i] = (struct wp_layer){.host = WP_LAYER_ASKERS};
    x->host = asked->asker;
    x->timeline = x->fleet->hosts[asked->asker].timeline;
    x->shift_ns = 0;
    explain_message(x, &wait, &far, asked->from_ns, asked->to_ns);
    x->doubts = 0;
    x->sink = NULL;
}
