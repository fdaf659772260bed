/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/batch_decode.h"

#include "proto/event_decode.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ARENA_LIMIT ((size_t)256 << 20) /* what unpacking one frame may take, however it is made */
#define BLOCK ((size_t)1 << 20)
#define KEPT ((size_t)4 << 20) /* whatever the last one needed */
#define EVENTS_FIELD 7u        /* of message Batch ... */
#define SOCKETS_FIELD 16u      /* ... the same */

/* Everything a decoded batch needs, kept from one decode to the next: blocks are rewound, not freed. */
struct block {
    struct block *next;
    size_t size, used;
    uint8_t bytes[];
};

struct storage {
    struct block *blocks, *current;
    size_t total;
    struct wp_event_reader events;
};

static void *arena_alloc(void *context, size_t size)
{
    struct storage *s = context;
    size = (size + 15) & ~(size_t)15;
    while (s->current && s->current->size - s->current->used < size && s->current->next) {
        s->current = s->current->next;
        s->current->used = 0;
    }
    if (!s->current || s->current->size - s->current->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        if (room > ARENA_LIMIT - s->total)
            return NULL;
        struct block *block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        *block = (struct block){.size = room};
        s->total += room;
        if (s->current) {
            block->next = s->current->next;
            s->current->next = block;
        } else {
            block->next = s->blocks;
            s->blocks = block;
        }
        s->current = block;
    }
    void *at = s->current->bytes + s->current->used;
    s->current->used += size;
    return at;
}

static void arena_free(void *context, void *pointer)
{
    (void)context, (void)pointer; /* freed whole */
}

static void free_blocks(struct block *block)
{
    for (struct block *next; block; block = next) {
        next = block->next;
        free(block);
    }
}

/* What the last one did not need, beyond the first block, goes where it is much: one large batch must not be paid for
 * as long as a session lasts, nor a small one between two that are not by pages that the system clears again. */
static void rewind_arena(struct storage *s)
{
    if (s->total > KEPT && s->current == s->blocks && s->blocks->next) {
        free_blocks(s->blocks->next);
        s->blocks->next = NULL;
        s->total = s->blocks->size;
    }
    s->current = s->blocks;
    if (s->current)
        s->current->used = 0;
}

void wp_batch_fini(struct wp_batch *batch)
{
    struct storage *s = batch->storage;
    if (s) {
        free_blocks(s->blocks);
        free(s);
    }
    *batch = (struct wp_batch){0};
}

static int bad(struct wp_error *err, const char *what)
{
    return wp_error_set(err, -EINVAL, "bad batch: %s", what);
}

static int decode_events(struct wp_batch *b, struct storage *s, struct wp_wire_span message, struct wp_error *err)
{
    int rc = wp_event_open(&s->events, message, err);
    if (rc)
        return rc;
    b->events = arena_alloc(s, s->events.count * sizeof(*b->events));
    if (!b->events)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    rc = wp_event_read(&s->events, b->events, err);
    if (!rc)
        b->event_count = s->events.count;
    return rc;
}

static int decode_threads(struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_threads; i++) {
        const Wakepath__Wire__Thread *t = m->threads[i];
        struct wp_thread_entry *e = &b->threads[i];
        *e = (struct wp_thread_entry){.tid = t->tid,
            .pid = t->pid,
            .start_ns = t->start_ns,
            .comm = t->comm,
            .exe = t->exe,
            .cgroup = t->cgroup,
            .parent = t->parent,
            .flags = t->flags,
            .release = t->release,
            .workload = t->workload,
            .started_by = t->started_by};
        if (t->n_cmdline_matches > sizeof(e->cmdline_matches) / sizeof(e->cmdline_matches[0]))
            return bad(err, "a thread matches too many patterns");
        for (size_t j = 0; j < t->n_cmdline_matches; j++)
            e->cmdline_matches[j] = t->cmdline_matches[j];
    }
    b->thread_count = (uint32_t)m->n_threads;
    return 0;
}

/* A socket as it is on the wire. */
struct socket {
    uint32_t family, protocol, local_port, remote_port, netns, opener;
    const uint8_t *local, *remote;
    size_t local_size, remote_size;
};

static int take_socket(struct wp_socket_entry *e, const struct socket *s, struct wp_error *err)
{
    size_t size = s->family == AF_INET ? 4 : s->family == AF_INET6 ? 16 : 0;
    if (!size || s->local_size != size || s->remote_size != size || s->local_port > 65535 || s->remote_port > 65535 ||
        (s->protocol != IPPROTO_TCP && s->protocol != IPPROTO_UDP))
        return bad(err, "an invalid socket");
    *e = (struct wp_socket_entry){.family = (uint8_t)s->family,
        .protocol = (uint8_t)s->protocol,
        .local_port = (uint16_t)s->local_port,
        .remote_port = (uint16_t)s->remote_port,
        .opener = s->opener <= WP_OPENER_THERE ? (uint8_t)s->opener : WP_OPENER_UNKNOWN,
        .netns = s->netns};
    memcpy(e->local, s->local, size);
    memcpy(e->remote, s->remote, size);
    return 0;
}

/* False: it is no message Socket. */
static bool read_socket(struct wp_wire_span message, struct socket *s)
{
    uint32_t *const numbers[] = {[1] = &s->family,
        [2] = &s->protocol,
        [5] = &s->local_port,
        [6] = &s->remote_port,
        [7] = &s->netns,
        [8] = &s->opener};
    struct wp_wire_field field;
    *s = (struct socket){0};
    while (wp_wire_field(&message, &field)) {
        bool is_address = field.number == 3 || field.number == 4;
        if (field.number > 8) /* of a later version */
            continue;
        if (field.type != (is_address ? WP_WIRE_BYTES : WP_WIRE_NUMBER))
            return false;
        if (is_address) {
            *(field.number == 3 ? &s->local : &s->remote) = field.bytes.at;
            *(field.number == 3 ? &s->local_size : &s->remote_size) = (size_t)(field.bytes.end - field.bytes.at);
        } else {
            *numbers[field.number] = (uint32_t)field.value;
        }
    }
    return message.at == message.end;
}

/* Those that lie behind each other (struct parts), or else those that were unpacked. */
static int decode_sockets(
    struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_wire_span together, struct wp_error *err)
{
    struct wp_wire_field field;
    struct socket socket;
    int rc = 0;
    for (; !rc && wp_wire_field(&together, &field); b->socket_count++) {
        if (!read_socket(field.bytes, &socket))
            return bad(err, "not a message, or too much of one");
        rc = take_socket(&b->sockets[b->socket_count], &socket, err);
    }
    for (size_t i = 0; !rc && i < m->n_sockets; i++, b->socket_count++) {
        const Wakepath__Wire__Socket *s = m->sockets[i];
        rc = take_socket(&b->sockets[b->socket_count],
            &(struct socket){.family = s->family,
                .protocol = s->protocol,
                .local_port = s->local_port,
                .remote_port = s->remote_port,
                .netns = s->netns,
                .opener = s->opener,
                .local = s->local.data,
                .local_size = s->local.len,
                .remote = s->remote.data,
                .remote_size = s->remote.len},
            err);
    }
    return rc;
}

static int decode_objects(struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_objects; i++) {
        const Wakepath__Wire__Object *o = m->objects[i];
        if (o->build_id.len > sizeof(b->objects[i].build_id))
            return bad(err, "a build id of too many bytes");
        b->objects[i] = (struct wp_object_entry){.path = o->path, .build_id_size = (uint8_t)o->build_id.len};
        if (o->build_id.len)
            memcpy(b->objects[i].build_id, o->build_id.data, o->build_id.len);
    }
    b->object_count = (uint32_t)m->n_objects;
    for (size_t i = 0; i < m->n_devices; i++)
        b->devices[i] = (struct wp_device_entry){m->devices[i]->device, m->devices[i]->name};
    b->device_count = (uint32_t)m->n_devices;
    for (size_t i = 0; i < m->n_drops; i++) {
        const Wakepath__Wire__Drop *d = m->drops[i];
        if (d->to_ns < d->from_ns)
            return bad(err, "drops that end before they begin");
        b->drops[i] = (struct wp_drop){
            d->kind, d->cpu, d->reason == WP_DROP_STACKS ? d->left_out : d->count, d->from_ns, d->to_ns, d->reason};
    }
    b->drop_count = (uint32_t)m->n_drops;
    return 0;
}

static int decode_stacks(struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    if (m->n_frame_object != m->frame_kernel.len || m->n_frame_function != m->frame_kernel.len ||
        m->n_frame_offset != m->frame_kernel.len || m->n_stack_parent != m->n_stack_frame)
        return bad(err, "dictionary columns of different length");
    size_t n = m->n_frame_object;
    if ((m->n_frame_file && m->n_frame_file != n) || (m->n_frame_line && m->n_frame_line != n) ||
        (m->n_frame_inlined && m->n_frame_inlined != n))
        return bad(err, "columns of frames of different length");
    for (size_t i = 0; i < n; i++)
        b->frames[i] = (struct wp_frame_entry){.object = m->frame_object[i],
            .function = m->frame_function[i],
            .offset = m->frame_offset[i],
            .is_kernel = m->frame_kernel.data[i],
            .file = m->n_frame_file ? m->frame_file[i] : 0,
            .line = m->n_frame_line ? m->frame_line[i] : 0,
            .inlined = m->n_frame_inlined ? m->frame_inlined[i] : 0};
    b->frame_count = (uint32_t)m->n_frame_object;
    for (size_t i = 0; i < m->n_stack_frame; i++)
        b->stacks[i] = (struct wp_stack_entry){m->stack_parent[i], m->stack_frame[i]};
    b->stack_count = (uint32_t)m->n_stack_frame;
    return 0;
}

static int decode_strings(struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_strings; i++) {
        if (m->strings[i].len > WP_STRING_BYTES)
            return bad(err, "a string is too long");
        b->strings[i] = (struct wp_bytes){(const char *)m->strings[i].data, (uint32_t)m->strings[i].len};
    }
    b->string_count = (uint32_t)m->n_strings;
    return 0;
}

/* What protobuf-c does not unpack, since there is much of it. */
struct parts {
    struct wp_wire_span events;  /* the message */
    struct wp_wire_span sockets; /* fields, where these lie behind each other; else none */
    uint32_t socket_count;       /* of these */
};

static int make_room(struct wp_batch *b, struct storage *s, const Wakepath__Wire__Batch *m, const struct parts *parts,
    struct wp_error *err)
{
    const size_t sockets = m->n_sockets + parts->socket_count;
    const size_t counts[] = {m->n_strings, m->n_threads, sockets, m->n_objects, m->n_frame_object, m->n_stack_frame,
        m->n_devices, m->n_drops};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (counts[i] > WP_BATCH_ENTRIES)
            return bad(err, "too many dictionary entries");
    b->strings = arena_alloc(s, m->n_strings * sizeof(*b->strings));
    b->threads = arena_alloc(s, m->n_threads * sizeof(*b->threads));
    b->sockets = arena_alloc(s, sockets * sizeof(*b->sockets));
    b->objects = arena_alloc(s, m->n_objects * sizeof(*b->objects));
    b->frames = arena_alloc(s, m->n_frame_object * sizeof(*b->frames));
    b->stacks = arena_alloc(s, m->n_stack_frame * sizeof(*b->stacks));
    b->devices = arena_alloc(s, m->n_devices * sizeof(*b->devices));
    b->drops = arena_alloc(s, m->n_drops * sizeof(*b->drops));
    if (!b->strings || !b->threads || !b->sockets || !b->objects || !b->frames || !b->stacks || !b->devices ||
        !b->drops)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    return 0;
}

/* The message without that part of it, which is none or lies in it. */
static int leave_out(struct storage *s, struct wp_wire_span *message, struct wp_wire_span part, struct wp_error *err)
{
    if (part.at == part.end)
        return 0;
    size_t before = (size_t)(part.at - message->at), behind = (size_t)(message->end - part.end);
    if (behind) {
        uint8_t *joined = arena_alloc(s, before + behind);
        if (!joined)
            return wp_error_set(err, -ENOMEM, "out of memory for a batch");
        memcpy(joined, message->at, before);
        memcpy(joined + before, part.end, behind);
        *message = (struct wp_wire_span){joined, joined + before + behind};
    } else {
        message->end = part.at;
    }
    return 0;
}

/* One more socket; false: it is apart from the others. */
static bool add_socket(struct parts *parts, struct wp_wire_span field)
{
    if (parts->socket_count && parts->sockets.end != field.at)
        return false;
    parts->sockets.at = parts->socket_count++ ? parts->sockets.at : field.at;
    parts->sockets.end = field.end;
    return true;
}

/* Parts the batch into its events, of which there are most, and the rest, in which its sockets may be found. Collectors
 * write the events last. */
static int part(struct storage *s, struct wp_wire_span *rest, struct parts *parts, struct wp_error *err)
{
    struct wp_wire_span fields = *rest, events = {0};
    struct wp_wire_field field;
    bool are_together = true;
    while (wp_wire_field(&fields, &field)) {
        if (field.number == SOCKETS_FIELD && field.type == WP_WIRE_BYTES)
            are_together = are_together && add_socket(parts, (struct wp_wire_span){field.begin, fields.at});
        if (field.number != EVENTS_FIELD || field.type != WP_WIRE_BYTES)
            continue;
        if (events.at)
            return bad(err, "two messages of events");
        parts->events = field.bytes;
        events = (struct wp_wire_span){field.begin, fields.at};
    }
    if (fields.at != fields.end)
        return bad(err, "not a message");
    if (!are_together || (events.at && events.end != rest->end)) { /* the rest is moved */
        parts->sockets = (struct wp_wire_span){0};
        parts->socket_count = 0;
    }
    return leave_out(s, rest, events, err);
}

int wp_batch_decode(struct wp_batch *b, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct storage *s = b->storage ? b->storage : calloc(1, sizeof(*s));
    *b = (struct wp_batch){.storage = s};
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    rewind_arena(s);
    ProtobufCAllocator allocator = {arena_alloc, arena_free, s};
    struct wp_wire_span rest = {bytes, bytes + size};
    struct parts parts = {0};
    int rc = part(s, &rest, &parts, err);
    struct wp_wire_span packed = rest;
    if (!rc)
        rc = leave_out(s, &packed, parts.sockets, err);
    if (rc)
        return rc;
    const Wakepath__Wire__Batch *m =
        wakepath__wire__batch__unpack(&allocator, (size_t)(packed.end - packed.at), packed.at);
    if (!m)
        return bad(err, "not a message, or too much of one");
    if (m->session.len != 16 || !m->seq)
        return bad(err, "no session or no number");
    b->besides = rest.at;
    b->besides_size = (size_t)(rest.end - rest.at);
    memcpy(b->session, m->session.data, 16);
    b->seq = m->seq;
    b->watermark_ns = m->watermark_ns;
    b->programs_ns = m->programs_ns;
    b->anchor_mono_ns = m->anchor_mono_ns;
    b->anchor_real_ns = m->anchor_real_ns;
    b->is_last = m->is_last;
    b->first_string = m->first_string;
    b->first_thread = m->first_thread;
    b->first_socket = m->first_socket;
    b->first_object = m->first_object;
    b->first_frame = m->first_frame;
    b->first_stack = m->first_stack;
    rc = make_room(b, s, m, &parts, err);
    if (!rc)
        rc = decode_strings(b, m, err);
    if (!rc)
        rc = decode_threads(b, m, err);
    if (!rc)
        rc = decode_sockets(b, m, parts.sockets, err);
    if (!rc)
        rc = decode_objects(b, m, err);
    if (!rc)
        rc = decode_stacks(b, m, err);
    if (!rc && parts.events.at)
        rc = decode_events(b, s, parts.events, err);
    return rc;
}
