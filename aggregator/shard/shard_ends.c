/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that are told: how far each host is, and which ends of connections have no other end here. An end is told when
 * it is new, when something of it changed, and ever more seldom while nobody has its other end; of those that are
 * matched with a host of another shard the marks that compare the clocks go on being told. Datagrams have a key each,
 * which who got one asks for.
 */
#include "aggregator/shard/shard_ends.h"

#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_state.h"
#include "aggregator/session/host_session.h"
#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define FLUSH_NS 100000000u
#define SELDOM_NS (10 * WP_NS_PER_S)
#define ENDS 65536u                    /* that are remembered to be told */
#define FRAMES 8u                      /* of ends in one flush */
#define MARKS WP_SHARD_MARKS           /* of an end and kind between two tellings, the latest */
#define SPACING_NS 5000000u            /* between two of them; */
#define REPLAY_SPACING_NS WP_NS_PER_MS /* of recordings that are replayed, which have no time probes */
#define FRAME_MARKS 20000u             /* then a frame is full */
#define TCP_ESTABLISHED 1              /* include/net/tcp_states.h */

struct marks {
    uint64_t time_ns[MARKS];
    uint32_t position[MARKS];
    uint32_t count, told; /* ever; at i % MARKS */
};

struct own_end {
    uint32_t host, socket; /* socket 0: free, host is the next free one */
    uint32_t sent_end;
    uint32_t told; /* how often */
    uint64_t due_ns;
    struct marks left, arrived;
    bool has_sent, is_dirty, is_closed, is_matched;
};

struct told_host {
    uint32_t generation;
    uint64_t known_ns, resolved_ns;
    bool is_told, is_over, is_resolved, is_followed;
};

/* Keys to be told, and of which host. */
struct keys {
    uint64_t *key; /* owned, WP_SHARD_DATAGRAMS of them from the first one on */
    uint32_t *place;
    uint32_t count;
};

struct wp_shard_ends {
    struct keys taken, sent;
    struct own_end *rows; /* owned */
    uint32_t count, room, free;
    struct wp_intmap index; /* host and socket -> row */
    uint32_t *dirty;        /* rows, owned */
    uint32_t dirty_count, dirty_room;
    struct told_host *hosts; /* by number in the fleet, owned */
    uint32_t host_room;
    uint64_t flushed_ns;
    struct frame *frame; /* owned, made at the first flush */
};

/* Recordings that are replayed come faster than any clock. */
static bool is_prompt(const struct wp_shards *shards)
{
    return shards->fleet->expected > 1;
}

/* --- gathering --- */

static void mark_dirty(struct wp_shard_ends *ends, uint32_t index)
{
    if (ends->rows[index].is_dirty)
        return;
    if (WP_ARRAY_FIT(ends->dirty, ends->dirty_room, ends->dirty_count + 1))
        return;
    ends->dirty[ends->dirty_count++] = index;
    ends->rows[index].is_dirty = true;
}

static struct wp_intkey key_of(uint32_t host, uint32_t socket)
{
    return (struct wp_intkey){(uint64_t)host << 32 | socket, 0};
}

static struct own_end *make_end(struct wp_shards *shards, uint32_t host, uint32_t socket)
{
    struct wp_shard_ends *ends = shards->ends;
    uint32_t index = ends->free;
    if (!index && (ends->count >= ENDS || WP_ARRAY_FIT(ends->rows, ends->room, ends->count + 1))) {
        shards->counts.ends_lost++;
        return NULL;
    }
    ends->count += !ends->count; /* 0 is none */
    if (index)
        ends->free = ends->rows[index].host;
    else
        index = ends->count++;
    ends->rows[index] = (struct own_end){.host = host, .socket = socket};
    if (wp_intmap_put(&ends->index, key_of(host, socket), index)) {
        ends->rows[index] = (struct own_end){.host = ends->free};
        ends->free = index;
        return NULL;
    }
    return &ends->rows[index];
}

static void free_end(struct wp_shard_ends *ends, uint32_t index)
{
    struct own_end *end = &ends->rows[index];
    wp_intmap_remove(&ends->index, key_of(end->host, end->socket));
    *end = (struct own_end){.host = ends->free};
    ends->free = index;
}

static void add_mark(struct marks *marks, const struct wp_event *event, uint64_t spacing_ns)
{
    uint32_t last = (marks->count + MARKS - 1) % MARKS;
    if (marks->count && event->time_ns - marks->time_ns[last] < spacing_ns)
        return;
    marks->time_ns[marks->count % MARKS] = event->time_ns;
    marks->position[marks->count++ % MARKS] = (uint32_t)event->a;
}

static bool take_event(struct own_end *end, const struct wp_event *event, uint64_t spacing_ns)
{
    switch (event->kind) {
    case WP_EVENT_SOCK_SEND:
        end->sent_end = (uint32_t)event->a;
        end->has_sent = true;
        return !end->is_matched;
    case WP_EVENT_SOCK_ARRIVE:
        add_mark(&end->arrived, event, spacing_ns);
        return true;
    case WP_EVENT_SOCK_LEAVE:
        add_mark(&end->left, event, spacing_ns);
        return true;
    default:
        return event->kind == WP_EVENT_SOCK_STATE && event->c == TCP_ESTABLISHED;
    }
}

/* Both ends here, or closed: nothing of it concerns others any more. */
static void drop_end(struct wp_shard_ends *ends, uint32_t index)
{
    struct own_end *end = &ends->rows[index];
    end->is_closed = true;
    if (end->told)
        mark_dirty(ends, index);
    else if (!end->is_dirty)
        free_end(ends, index);
}

static void watch(void *context, uint32_t host, uint32_t socket, const struct wp_event *event, uint32_t peer)
{
    struct wp_shards *shards = context;
    struct wp_shard_ends *ends = shards->ends;
    const struct wp_fleet_host *hosts = shards->fleet->hosts;
    uint32_t index = 0;
    if (hosts[host].is_foreign)
        return;
    struct own_end *end = wp_intmap_get(&ends->index, key_of(host, socket), &index) ? &ends->rows[index] : NULL;
    if (!event || (peer != UINT32_MAX && !hosts[peer].is_foreign)) {
        if (end && !end->is_closed)
            drop_end(ends, index);
        return;
    }
    if (!end && !(end = make_end(shards, host, socket)))
        return;
    index = (uint32_t)(end - ends->rows);
    end->is_closed = false;
    end->is_matched = peer != UINT32_MAX;
    if (take_event(end, event, is_prompt(shards) ? REPLAY_SPACING_NS : SPACING_NS))
        mark_dirty(ends, index);
}

static void add_key(struct wp_shards *shards, struct keys *keys, uint64_t key, uint32_t host)
{
    if (!keys->key)
        keys->key = malloc(WP_SHARD_DATAGRAMS * sizeof(*keys->key));
    if (!keys->place)
        keys->place = malloc(WP_SHARD_DATAGRAMS * sizeof(*keys->place));
    if (keys->count == WP_SHARD_DATAGRAMS || !keys->key || !keys->place) {
        shards->counts.datagrams_lost++;
        return;
    }
    keys->key[keys->count] = key;
    keys->place[keys->count++] = host;
    shards->counts.datagrams_told++;
}

/* Who sent what came from elsewhere is asked; who sent what another shard asks for is told. */
static void watch_datagram(void *context, uint64_t key, uint32_t host, bool is_sent, uint32_t other)
{
    struct wp_shards *shards = context;
    const struct wp_fleet *fleet = shards->fleet;
    bool is_foreign = host < fleet->count && fleet->hosts[host].is_foreign, is_known = other < fleet->count;
    bool is_other_foreign = is_known && fleet->hosts[other].is_foreign;
    if (is_sent && !is_foreign && is_other_foreign)
        add_key(shards, &shards->ends->sent, key, host);
    else if (!is_sent && is_foreign && is_known && !is_other_foreign)
        add_key(shards, &shards->ends->sent, key, other);
    else if (!is_sent && !is_foreign && !is_known)
        add_key(shards, &shards->ends->taken, key, host);
}

int wp_shard_ends_create(struct wp_shard_ends **ends, struct wp_shards *shards)
{
    *ends = calloc(1, sizeof(**ends));
    if (!*ends)
        return -ENOMEM;
    shards->ends = *ends;
    wp_connections_watch(shards->fleet->connections, watch, shards);
    wp_connections_watch_datagrams(shards->fleet->connections, watch_datagram, shards);
    shards->fleet->shards = shards;
    return 0;
}

void wp_shard_ends_destroy(struct wp_shard_ends *ends)
{
    if (!ends)
        return;
    wp_intmap_fini(&ends->index);
    free(ends->taken.key);
    free(ends->taken.place);
    free(ends->sent.key);
    free(ends->sent.place);
    free(ends->rows);
    free(ends->dirty);
    free(ends->hosts);
    free(ends->frame);
    free(ends);
}

/* --- telling --- */

/* Lasts until the frame is packed. */
struct frame {
    Wakepath__Shard__Facts facts;
    Wakepath__Shard__End *ends[WP_SHARD_ENDS], end_rows[WP_SHARD_ENDS];
    Wakepath__Shard__Host *hosts[WP_SHARD_HOSTS], host_rows[WP_SHARD_HOSTS];
    size_t mark_count;
    struct {
        uint64_t left_ns[MARKS], arrived_ns[MARKS];
        uint32_t left[MARKS], arrived[MARKS];
    } marks[WP_SHARD_ENDS];
};

static void begin(struct frame *frame, const struct wp_shards *shards)
{
    wakepath__shard__facts__init(&frame->facts);
    frame->mark_count = 0;
    frame->facts.run = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)shards->run};
    frame->facts.hosts = frame->hosts;
    frame->facts.ends = frame->ends;
}

/* One that missed something is told all again. */
static void send_frame(struct wp_shards *shards, struct frame *frame)
{
    for (uint32_t i = 0; i < shards->options.links; i++)
        if (shards->links[i].is_welcome && wp_shards_tell(shards, i, WP_FRAME_SHARD_FACTS, &frame->facts.base))
            shards->links[i].needs_all = true;
    begin(frame, shards);
}

/* Those that are new; of none `at_least` so many again. */
static size_t put_marks(struct marks *marks, uint64_t *times, uint32_t *positions, uint32_t at_least)
{
    size_t count = marks->count - marks->told;
    count = count < at_least ? at_least : count < MARKS ? count : MARKS;
    count = count < marks->count ? count : marks->count;
    marks->told = marks->count;
    for (size_t i = 0; i < count; i++) {
        size_t at = (marks->count - count + i) % MARKS;
        times[i] = marks->time_ns[at];
        positions[i] = marks->position[at];
    }
    return count;
}

static void put_end(
    struct wp_shards *shards, struct frame *frame, struct own_end *end, const struct wp_socket_entry *entry)
{
    size_t i = frame->facts.n_ends++;
    Wakepath__Shard__End *m = frame->ends[i] = &frame->end_rows[i];
    size_t bytes = entry && entry->family == AF_INET ? 4 : 16;
    wakepath__shard__end__init(m);
    m->place = end->host;
    m->socket = end->socket;
    m->is_closed = end->is_closed;
    if (end->is_closed)
        return;
    m->family = entry->family;
    m->local = (ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)entry->local};
    m->remote = (ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)entry->remote};
    m->local_port = entry->local_port;
    m->remote_port = entry->remote_port;
    m->sequence = wp_connections_sequence(shards->fleet->connections, end->host, end->socket);
    m->sent_end = end->sent_end;
    m->has_sent = end->has_sent;
    m->left_ns = frame->marks[i].left_ns;
    m->left = frame->marks[i].left;
    m->arrived_ns = frame->marks[i].arrived_ns;
    m->arrived = frame->marks[i].arrived;
    m->n_left_ns = m->n_left = put_marks(&end->left, m->left_ns, m->left, 0);
    m->n_arrived_ns = m->n_arrived = put_marks(&end->arrived, m->arrived_ns, m->arrived, 1);
    frame->mark_count += m->n_left + m->n_arrived;
}

static void tell_datagrams(struct wp_shards *shards, struct frame *frame)
{
    struct wp_shard_ends *ends = shards->ends;
    if (!ends->taken.count && !ends->sent.count)
        return;
    frame->facts.n_taken = frame->facts.n_taken_place = ends->taken.count;
    frame->facts.taken = ends->taken.key;
    frame->facts.taken_place = ends->taken.place;
    frame->facts.n_sent = frame->facts.n_sent_place = ends->sent.count;
    frame->facts.sent = ends->sent.key;
    frame->facts.sent_place = ends->sent.place;
    send_frame(shards, frame);
    ends->taken.count = ends->sent.count = 0;
}

/* Ends of hosts that are reported, as far as they go into a few frames. True: all that are due have been told. */
static bool tell_ends(struct wp_shards *shards, struct frame *frame)
{
    struct wp_shard_ends *ends = shards->ends;
    uint64_t now_ns = shards->fleet->now_ns;
    uint32_t kept = 0, frames = 0;
    bool is_all = true;
    for (uint32_t i = 0; i < ends->dirty_count; i++) {
        uint32_t index = ends->dirty[i];
        struct own_end *end = &ends->rows[index];
        const struct wp_timeline *timeline = shards->fleet->hosts[end->host].timeline;
        const struct wp_socket_entry *entry =
            end->is_closed || !timeline ? NULL : wp_dictionary_socket(timeline->dictionary, end->socket);
        bool is_due = end->is_closed || is_prompt(shards) || now_ns >= end->due_ns;
        if (!is_due || frames == FRAMES) {
            is_all &= !is_due;
            ends->dirty[kept++] = index;
            continue;
        }
        end->is_dirty = false;
        if (end->is_closed || !entry) {
            end->is_closed = true;
            if (end->told)
                put_end(shards, frame, end, NULL);
            free_end(ends, index);
        } else {
            uint64_t seldom = (uint64_t)FLUSH_NS << (end->told < 7 ? end->told : 7);
            put_end(shards, frame, end, entry);
            end->due_ns = now_ns + (end->is_matched ? FLUSH_NS : seldom < SELDOM_NS ? seldom : SELDOM_NS);
            shards->counts.ends_told += !end->told++;
        }
        if (frame->facts.n_ends == WP_SHARD_ENDS || frame->mark_count > FRAME_MARKS) {
            send_frame(shards, frame);
            frames++;
        }
    }
    ends->dirty_count = kept;
    if (frame->facts.n_ends)
        send_frame(shards, frame);
    return is_all;
}

static struct told_host *told_of(struct wp_shard_ends *ends, uint32_t host)
{
    if (WP_ARRAY_FIT_ZERO(ends->hosts, ends->host_room, host + 1))
        return NULL;
    return &ends->hosts[host];
}

static Wakepath__Shard__Host *put_host(struct wp_shards *shards, struct frame *frame, uint32_t place)
{
    if (frame->facts.n_hosts == WP_SHARD_HOSTS)
        send_frame(shards, frame);
    size_t i = frame->facts.n_hosts++;
    Wakepath__Shard__Host *m = frame->hosts[i] = &frame->host_rows[i];
    wakepath__shard__host__init(m);
    m->place = place;
    return m;
}

static void tell_host(struct wp_shards *shards, struct frame *frame, uint32_t number, struct told_host *told)
{
    struct wp_fleet_host *host = &shards->fleet->hosts[number];
    const struct wp_session_source *source = wp_host_session_source(host->session);
    if (told->known_ns == host->known_ns && told->resolved_ns == host->resolved_ns && told->is_over == host->is_over &&
        told->is_resolved == host->is_resolved && told->is_followed == host->is_followed && told->is_told &&
        !host->probed_ns[0])
        return;
    *told = (struct told_host){
        host->generation, host->known_ns, host->resolved_ns, true, host->is_over, host->is_resolved, host->is_followed};
    Wakepath__Shard__Host *m = put_host(shards, frame, number);
    m->session = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)source->id};
    m->host = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)source->host};
    m->hostname = (char *)(uintptr_t)host->hostname;
    m->real_offset_ns = host->real_offset_ns;
    m->start_ns = source->hello.start_mono_ns;
    m->known_ns = host->known_ns;
    m->resolved_ns = host->resolved_ns;
    m->is_over = host->is_over;
    m->is_resolved = host->is_resolved;
    m->is_followed = host->is_followed;
    m->n_probe = host->probed_ns[0] ? 4 : 0;
    m->probe = host->probed_ns;
}

/* New ones first; `known` of the others is told when their ends have been. */
static void tell_hosts(struct wp_shards *shards, struct frame *frame, bool are_new)
{
    struct wp_fleet *fleet = shards->fleet;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct wp_fleet_host *host = &fleet->hosts[i];
        struct told_host *told = told_of(shards->ends, i);
        if (!told)
            return;
        bool is_own = host->timeline && !host->is_foreign && host->session;
        if (told->is_told && (!is_own || told->generation != host->generation)) {
            put_host(shards, frame, i)->is_gone = true;
            *told = (struct told_host){0};
        }
        if (is_own && told->is_told != are_new)
            tell_host(shards, frame, i, told);
    }
    if (frame->facts.n_hosts)
        send_frame(shards, frame);
    for (uint32_t i = 0; !are_new && i < fleet->count; i++)
        fleet->hosts[i].probed_ns[0] = 0;
}

bool wp_shard_ends_has_hosts(const struct wp_shards *shards)
{
    for (uint32_t i = 0; i < shards->ends->host_room; i++)
        if (shards->ends->hosts[i].is_told)
            return true;
    return false;
}

/* Those that are kept: who missed them would have nothing to compare the clocks with as they were then. */
static void tell_again(struct marks *marks)
{
    marks->told = marks->count > MARKS ? marks->count - MARKS : 0;
}

static void tell_all_again(struct wp_shards *shards)
{
    struct wp_shard_ends *ends = shards->ends;
    bool is_needed = false;
    for (uint32_t i = 0; i < shards->options.links; i++) {
        is_needed |= shards->links[i].is_welcome && shards->links[i].needs_all;
        shards->links[i].needs_all = false;
    }
    if (!is_needed)
        return;
    for (uint32_t i = 0; i < ends->host_room; i++)
        ends->hosts[i].is_told = false;
    for (uint32_t i = 1; i < ends->count; i++)
        if (ends->rows[i].socket) {
            ends->rows[i].due_ns = 0;
            tell_again(&ends->rows[i].left);
            tell_again(&ends->rows[i].arrived);
            mark_dirty(ends, i);
        }
    ends->flushed_ns = 0;
}

void wp_shard_ends_flush(struct wp_shards *shards)
{
    struct wp_shard_ends *ends = shards->ends;
    uint64_t now_ns = shards->fleet->now_ns,
             interval_ns = shards->options.flush_ns ? shards->options.flush_ns : FLUSH_NS;
    bool is_heard = false;
    tell_all_again(shards);
    for (uint32_t i = 0; i < shards->options.links; i++)
        is_heard |= shards->links[i].is_welcome;
    if (!is_heard || (!is_prompt(shards) && now_ns - ends->flushed_ns < interval_ns))
        return;
    if (!ends->frame && !(ends->frame = malloc(sizeof(*ends->frame))))
        return;
    struct frame *frame = ends->frame;
    ends->flushed_ns = now_ns;
    begin(frame, shards);
    tell_hosts(shards, frame, true);
    tell_datagrams(shards, frame);
    if (tell_ends(shards, frame))
        tell_hosts(shards, frame, false);
}
