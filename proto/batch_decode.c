/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/batch.h"

#include "proto/event_columns.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CPUS 4096u
#define ARENA_LIMIT ((size_t)256 << 20) /* what unpacking one frame may take, however it is made */
#define BLOCK ((size_t)1 << 20)

/* Everything a decoded batch needs, kept from one decode to the next: blocks are rewound, not freed. */
struct block {
    struct block *next;
    size_t size, used;
    uint8_t bytes[];
};

struct storage {
    struct block *blocks, *current;
    size_t total;
    uint32_t on_cpu[CPUS];
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

static void rewind_arena(struct storage *s)
{
    s->current = s->blocks;
    if (s->current)
        s->current->used = 0;
}

void wp_batch_fini(struct wp_batch *batch)
{
    struct storage *s = batch->storage;
    if (s) {
        for (struct block *block = s->blocks, *next; block; block = next) {
            next = block->next;
            free(block);
        }
        free(s);
    }
    *batch = (struct wp_batch){0};
}

static int bad(struct wp_error *err, const char *what)
{
    return wp_error_set(err, -EINVAL, "bad batch: %s", what);
}

/* Every column must have just as many entries as the kinds ask for. */
static int check_columns(const Wakepath__Wire__Events *m, struct wp_error *err)
{
    size_t wanted[8] = {0};
    for (size_t i = 0; i < m->kind.len; i++) {
        unsigned columns = wp_event_columns(m->kind.data[i]);
        if (!columns)
            return wp_error_set(err, -EINVAL, "bad batch: event %zu has the unknown kind %u", i, m->kind.data[i]);
        for (unsigned j = 0; j < 8; j++)
            wanted[j] += columns >> j & 1;
    }
    const size_t found[8] = {m->n_cpu, m->n_thread, m->n_other, m->n_stack, m->n_a, m->n_b, m->n_c, m->n_d};
    for (unsigned j = 0; j < 8; j++)
        if (found[j] != wanted[j])
            return wp_error_set(err, -EINVAL, "bad batch: column %u has %zu entries for %zu", j, found[j], wanted[j]);
    return 0;
}

static int decode_files(struct wp_batch *b, const Wakepath__Wire__Events *m, struct wp_error *err)
{
    size_t at = 0;
    for (uint32_t i = 0; m->n_block_file && i < b->event_count; i++) {
        if (!wp_event_is_block(&b->events[i]))
            continue;
        if (at == m->n_block_file)
            return bad(err, "fewer files than block requests");
        b->events[i].other = m->block_file[at++];
    }
    return at == m->n_block_file ? 0 : bad(err, "more files than block requests");
}

static int decode_waits(struct wp_batch *b, const Wakepath__Wire__Events *m, struct wp_error *err)
{
    size_t at = 0;
    for (uint32_t i = 0; m->n_wait && i < b->event_count; i++) {
        if (!wp_event_has_wait(&b->events[i]))
            continue;
        if (at == m->n_wait)
            return bad(err, "fewer things waited for than events that may have one");
        b->events[i].wait = m->wait[at++];
    }
    return at == m->n_wait ? 0 : bad(err, "more things waited for than events that may have one");
}

/* Of the switches with that flag; from before minor 3 there are none, whatever the flags. */
static int decode_switches(struct wp_batch *b, uint8_t flag, const uint64_t *values, size_t count, struct wp_error *err)
{
    size_t at = 0;
    for (uint32_t i = 0; count && i < b->event_count; i++) {
        struct wp_event *e = &b->events[i];
        if (e->kind != WP_EVENT_SWITCH || !(e->flags & flag))
            continue;
        if (at == count)
            return bad(err, "fewer times than switches that have one");
        *(flag == WP_SWITCH_TIMED ? &e->a : &e->b) = values[at++];
    }
    return at == count ? 0 : bad(err, "more times than switches that have one");
}

static int decode_events(struct wp_batch *b, struct storage *s, const Wakepath__Wire__Events *m, struct wp_error *err)
{
    size_t n = m->kind.len;
    if (n > WP_BATCH_EVENTS)
        return bad(err, "too many events");
    if (m->n_dt != n || (m->flags.len && m->flags.len != n))
        return bad(err, "columns of different length");
    int rc = check_columns(m, err);
    if (rc)
        return rc;
    b->events = arena_alloc(s, n * sizeof(*b->events));
    if (!b->events)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    memset(s->on_cpu, 0, sizeof(s->on_cpu));
    uint64_t last_a[WP_EVENT_KINDS] = {0}, last_b[WP_EVENT_KINDS] = {0}, time = m->base_ns;
    const uint32_t *cpu = m->cpu, *thread = m->thread, *other = m->other, *stack = m->stack, *c = m->c, *d = m->d;
    const int64_t *da = m->a, *db = m->b;
    for (size_t i = 0; i < n; i++) {
        struct wp_event *e = &b->events[i];
        unsigned kind = m->kind.data[i], columns = wp_event_columns(kind);
        if (time > UINT64_MAX / 2 || m->dt[i] > UINT64_MAX / 2 - time)
            return bad(err, "a time out of range");
        time += m->dt[i];
        *e = (struct wp_event){.time_ns = time, .kind = (uint8_t)kind, .flags = m->flags.len ? m->flags.data[i] : 0};
        if (columns & WP_COLUMN_CPU) {
            if (*cpu >= CPUS)
                return bad(err, "a CPU out of range");
            e->cpu = (uint16_t)*cpu++;
        }
        if (columns & WP_COLUMN_THREAD)
            e->thread = *thread++;
        if (columns & WP_COLUMN_OTHER)
            e->other = *other++;
        if (columns & WP_COLUMN_STACK)
            e->stack = *stack++;
        if (columns & WP_COLUMN_A)
            e->a = last_a[kind] += (uint64_t)*da++;
        if (columns & WP_COLUMN_B)
            e->b = last_b[kind] += (uint64_t)*db++;
        if (columns & WP_COLUMN_C)
            e->c = *c++;
        if (columns & WP_COLUMN_D)
            e->d = *d++;
        if (kind == WP_EVENT_SWITCH) {
            uint32_t *at = &s->on_cpu[e->cpu];
            if (!e->thread && !*at)
                return bad(err, "a switch from a thread that was never named");
            e->thread = (e->thread ? e->thread : *at) - 1;
            *at = e->other + 1;
        }
    }
    b->event_count = (uint32_t)n;
    rc = decode_files(b, m, err);
    if (!rc)
        rc = decode_waits(b, m, err);
    if (!rc)
        rc = decode_switches(b, WP_SWITCH_TIMED, m->switch_timeout, m->n_switch_timeout, err);
    return rc ? rc : decode_switches(b, WP_SWITCH_RAN, m->switch_ran, m->n_switch_ran, err);
}

static int decode_threads(struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_threads; i++) {
        const Wakepath__Wire__Thread *t = m->threads[i];
        struct wp_thread_entry *e = &b->threads[i];
        *e = (struct wp_thread_entry){.tid = t->tid, .pid = t->pid, .start_ns = t->start_ns, .comm = t->comm, .exe = t->exe,
            .cgroup = t->cgroup, .parent = t->parent, .flags = t->flags, .release = t->release,
            .workload = t->workload};
        if (t->n_cmdline_matches > sizeof(e->cmdline_matches) / sizeof(e->cmdline_matches[0]))
            return bad(err, "a thread matches too many patterns");
        for (size_t j = 0; j < t->n_cmdline_matches; j++)
            e->cmdline_matches[j] = t->cmdline_matches[j];
    }
    b->thread_count = (uint32_t)m->n_threads;
    return 0;
}

static int decode_sockets(struct wp_batch *b, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_sockets; i++) {
        const Wakepath__Wire__Socket *s = m->sockets[i];
        size_t size = s->family == AF_INET ? 4 : s->family == AF_INET6 ? 16 : 0;
        if (!size || s->local.len != size || s->remote.len != size || s->local_port > 65535 || s->remote_port > 65535 ||
            (s->protocol != IPPROTO_TCP && s->protocol != IPPROTO_UDP))
            return bad(err, "a socket that is none");
        struct wp_socket_entry *e = &b->sockets[i];
        *e = (struct wp_socket_entry){.family = (uint8_t)s->family, .protocol = (uint8_t)s->protocol,
            .local_port = (uint16_t)s->local_port, .remote_port = (uint16_t)s->remote_port, .netns = s->netns};
        memcpy(e->local, s->local.data, size);
        memcpy(e->remote, s->remote.data, size);
    }
    b->socket_count = (uint32_t)m->n_sockets;
    return 0;
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
        b->drops[i] = (struct wp_drop){d->kind, d->cpu, d->reason == WP_DROP_STACKS ? d->left_out : d->count, d->from_ns,
            d->to_ns, d->reason};
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
        b->frames[i] = (struct wp_frame_entry){.object = m->frame_object[i], .function = m->frame_function[i],
            .offset = m->frame_offset[i], .is_kernel = m->frame_kernel.data[i], .file = m->n_frame_file ? m->frame_file[i] : 0,
            .line = m->n_frame_line ? m->frame_line[i] : 0, .inlined = m->n_frame_inlined ? m->frame_inlined[i] : 0};
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

static int make_room(struct wp_batch *b, struct storage *s, const Wakepath__Wire__Batch *m, struct wp_error *err)
{
    const size_t counts[] = {m->n_strings, m->n_threads, m->n_sockets, m->n_objects, m->n_frame_object, m->n_stack_frame,
        m->n_devices, m->n_drops};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (counts[i] > WP_BATCH_ENTRIES)
            return bad(err, "too many dictionary entries");
    b->strings = arena_alloc(s, m->n_strings * sizeof(*b->strings));
    b->threads = arena_alloc(s, m->n_threads * sizeof(*b->threads));
    b->sockets = arena_alloc(s, m->n_sockets * sizeof(*b->sockets));
    b->objects = arena_alloc(s, m->n_objects * sizeof(*b->objects));
    b->frames = arena_alloc(s, m->n_frame_object * sizeof(*b->frames));
    b->stacks = arena_alloc(s, m->n_stack_frame * sizeof(*b->stacks));
    b->devices = arena_alloc(s, m->n_devices * sizeof(*b->devices));
    b->drops = arena_alloc(s, m->n_drops * sizeof(*b->drops));
    if (!b->strings || !b->threads || !b->sockets || !b->objects || !b->frames || !b->stacks || !b->devices || !b->drops)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    return 0;
}

int wp_batch_decode(struct wp_batch *b, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct storage *s = b->storage ? b->storage : calloc(1, sizeof(*s));
    *b = (struct wp_batch){.storage = s};
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    rewind_arena(s);
    ProtobufCAllocator allocator = {arena_alloc, arena_free, s};
    const Wakepath__Wire__Batch *m = wakepath__wire__batch__unpack(&allocator, size, bytes);
    if (!m)
        return bad(err, "not a message, or too much of one");
    if (m->session.len != 16 || !m->seq)
        return bad(err, "no session or no number");
    memcpy(b->session, m->session.data, 16);
    b->seq = m->seq;
    b->watermark_ns = m->watermark_ns;
    b->anchor_mono_ns = m->anchor_mono_ns;
    b->anchor_real_ns = m->anchor_real_ns;
    b->is_last = m->is_last;
    b->first_string = m->first_string;
    b->first_thread = m->first_thread;
    b->first_socket = m->first_socket;
    b->first_object = m->first_object;
    b->first_frame = m->first_frame;
    b->first_stack = m->first_stack;
    int rc = make_room(b, s, m, err);
    if (!rc)
        rc = decode_strings(b, m, err);
    if (!rc)
        rc = decode_threads(b, m, err);
    if (!rc)
        rc = decode_sockets(b, m, err);
    if (!rc)
        rc = decode_objects(b, m, err);
    if (!rc)
        rc = decode_stacks(b, m, err);
    if (!rc && m->events)
        rc = decode_events(b, s, m->events, err);
    return rc;
}
