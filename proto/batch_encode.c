/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/batch_encode.h"

#include "proto/event_encode.h"
#include "proto/session.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* One allocation holds every array of a message; it is freed whole. */
struct scratch {
    uint8_t *base;
    size_t used, size;
};

static void *scratch_alloc(struct scratch *scratch, size_t bytes)
{
    void *at = scratch->base + scratch->used;
    scratch->used += (bytes + 15) & ~(size_t)15;
    return at;
}

static size_t scratch_size(const struct wp_batch *b)
{
    size_t size = b->string_count * sizeof(ProtobufCBinaryData);
    size += b->thread_count * (sizeof(Wakepath__Wire__Thread) + 8 + 16);
    size += b->socket_count * (sizeof(Wakepath__Wire__Socket) + 8);
    size += b->object_count * (sizeof(Wakepath__Wire__Object) + 8);
    size += b->frame_count * 29 + b->stack_count * 8;
    size += b->device_count * (sizeof(Wakepath__Wire__Device) + 8);
    size += b->drop_count * (sizeof(Wakepath__Wire__Drop) + 8);
    return size + 64 * 16 +
        (b->thread_count + b->socket_count + b->object_count + b->device_count + b->drop_count) * 32;
}

static int check_counts(const struct wp_batch *b, struct wp_error *err)
{
    const uint32_t counts[] = {b->string_count, b->thread_count, b->socket_count, b->object_count, b->frame_count,
        b->stack_count, b->device_count, b->drop_count};
    if (b->event_count > WP_BATCH_EVENTS)
        return wp_error_set(err, -EINVAL, "a batch of %u events, at most %u fit", b->event_count, WP_BATCH_EVENTS);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (counts[i] > WP_BATCH_ENTRIES)
            return wp_error_set(
                err, -EINVAL, "a batch of %u dictionary entries, at most %u fit", counts[i], WP_BATCH_ENTRIES);
    return 0;
}

static void encode_threads(const struct wp_batch *b, struct scratch *scratch, Wakepath__Wire__Batch *m)
{
    m->threads = scratch_alloc(scratch, b->thread_count * sizeof(*m->threads));
    for (uint32_t i = 0; i < b->thread_count; i++) {
        const struct wp_thread_entry *e = &b->threads[i];
        Wakepath__Wire__Thread *t = scratch_alloc(scratch, sizeof(*t));
        wakepath__wire__thread__init(t);
        t->tid = e->tid;
        t->pid = e->pid;
        t->start_ns = e->start_ns;
        t->comm = e->comm;
        t->exe = e->exe;
        t->cgroup = e->cgroup;
        t->parent = e->parent;
        t->flags = e->flags;
        t->release = e->release;
        t->workload = e->workload;
        t->started_by = e->started_by;
        t->cmdline_matches = scratch_alloc(scratch, sizeof(e->cmdline_matches));
        for (size_t j = 0; j < sizeof(e->cmdline_matches) / sizeof(e->cmdline_matches[0]); j++)
            if (e->cmdline_matches[j])
                t->cmdline_matches[t->n_cmdline_matches++] = e->cmdline_matches[j];
        m->threads[m->n_threads++] = t;
    }
}

static void encode_sockets(const struct wp_batch *b, struct scratch *scratch, Wakepath__Wire__Batch *m)
{
    m->sockets = scratch_alloc(scratch, b->socket_count * sizeof(*m->sockets));
    for (uint32_t i = 0; i < b->socket_count; i++) {
        const struct wp_socket_entry *e = &b->sockets[i];
        Wakepath__Wire__Socket *s = scratch_alloc(scratch, sizeof(*s));
        size_t size = e->family == AF_INET ? 4 : 16;
        wakepath__wire__socket__init(s);
        s->family = e->family;
        s->protocol = e->protocol;
        s->local = (ProtobufCBinaryData){size, (uint8_t *)e->local};
        s->remote = (ProtobufCBinaryData){size, (uint8_t *)e->remote};
        s->local_port = e->local_port;
        s->remote_port = e->remote_port;
        s->netns = e->netns;
        s->opener = e->opener;
        m->sockets[m->n_sockets++] = s;
    }
}

static void encode_objects(const struct wp_batch *b, struct scratch *scratch, Wakepath__Wire__Batch *m)
{
    m->objects = scratch_alloc(scratch, b->object_count * sizeof(*m->objects));
    for (uint32_t i = 0; i < b->object_count; i++) {
        Wakepath__Wire__Object *o = scratch_alloc(scratch, sizeof(*o));
        wakepath__wire__object__init(o);
        o->path = b->objects[i].path;
        o->build_id = (ProtobufCBinaryData){b->objects[i].build_id_size, (uint8_t *)b->objects[i].build_id};
        m->objects[m->n_objects++] = o;
    }
    m->devices = scratch_alloc(scratch, b->device_count * sizeof(*m->devices));
    for (uint32_t i = 0; i < b->device_count; i++) {
        Wakepath__Wire__Device *d = scratch_alloc(scratch, sizeof(*d));
        wakepath__wire__device__init(d);
        d->device = b->devices[i].device;
        d->name = b->devices[i].name;
        m->devices[m->n_devices++] = d;
    }
    m->drops = scratch_alloc(scratch, b->drop_count * sizeof(*m->drops));
    for (uint32_t i = 0; i < b->drop_count; i++) {
        Wakepath__Wire__Drop *d = scratch_alloc(scratch, sizeof(*d));
        wakepath__wire__drop__init(d);
        d->kind = b->drops[i].kind;
        d->cpu = b->drops[i].cpu;
        d->reason = b->drops[i].reason;
        *(d->reason == WP_DROP_STACKS ? &d->left_out : &d->count) = b->drops[i].count;
        d->from_ns = b->drops[i].from_ns;
        d->to_ns = b->drops[i].to_ns;
        m->drops[m->n_drops++] = d;
    }
}

/* Columns that no entry needs do not travel. */
static void encode_lines(const struct wp_batch *b, struct scratch *scratch, Wakepath__Wire__Batch *m)
{
    bool has_lines = false, has_inlined = false;
    m->frame_file = scratch_alloc(scratch, b->frame_count * 4u);
    m->frame_line = scratch_alloc(scratch, b->frame_count * 4u);
    m->frame_inlined = scratch_alloc(scratch, b->frame_count * 4u);
    for (uint32_t i = 0; i < b->frame_count; i++) {
        m->frame_file[i] = b->frames[i].file;
        m->frame_line[i] = b->frames[i].line;
        m->frame_inlined[i] = b->frames[i].inlined;
        has_lines = has_lines || b->frames[i].file || b->frames[i].line;
        has_inlined = has_inlined || b->frames[i].inlined;
    }
    m->n_frame_file = m->n_frame_line = has_lines ? b->frame_count : 0;
    m->n_frame_inlined = has_inlined ? b->frame_count : 0;
}

static void encode_stacks(const struct wp_batch *b, struct scratch *scratch, Wakepath__Wire__Batch *m)
{
    uint8_t *kernel = scratch_alloc(scratch, b->frame_count);
    m->frame_object = scratch_alloc(scratch, b->frame_count * 4u);
    m->frame_function = scratch_alloc(scratch, b->frame_count * 4u);
    m->frame_offset = scratch_alloc(scratch, b->frame_count * 8u);
    for (uint32_t i = 0; i < b->frame_count; i++) {
        kernel[i] = b->frames[i].is_kernel;
        m->frame_object[i] = b->frames[i].object;
        m->frame_function[i] = b->frames[i].function;
        m->frame_offset[i] = b->frames[i].offset;
    }
    m->n_frame_object = m->n_frame_function = m->n_frame_offset = b->frame_count;
    m->frame_kernel = (ProtobufCBinaryData){b->frame_count, kernel};
    encode_lines(b, scratch, m);
    m->stack_parent = scratch_alloc(scratch, b->stack_count * 4u);
    m->stack_frame = scratch_alloc(scratch, b->stack_count * 4u);
    for (uint32_t i = 0; i < b->stack_count; i++) {
        m->stack_parent[i] = b->stacks[i].parent;
        m->stack_frame[i] = b->stacks[i].frame;
    }
    m->n_stack_parent = m->n_stack_frame = b->stack_count;
}

int wp_batch_encode(const struct wp_batch *b, struct wp_buffer *out, struct wp_error *err)
{
    return wp_batch_encode_for(b, WP_WIRE_MINOR, out, err);
}

int wp_batch_encode_for(const struct wp_batch *b, uint32_t minor, struct wp_buffer *out, struct wp_error *err)
{
    int rc = check_counts(b, err);
    if (rc)
        return rc;
    struct scratch scratch = {.size = scratch_size(b)};
    scratch.base = malloc(scratch.size);
    if (!scratch.base)
        return wp_error_set(err, -ENOMEM, "out of memory to encode a batch");
    Wakepath__Wire__Batch m = WAKEPATH__WIRE__BATCH__INIT;
    m.session = (ProtobufCBinaryData){16, (uint8_t *)b->session};
    m.seq = b->seq;
    m.watermark_ns = b->watermark_ns;
    m.programs_ns = b->programs_ns;
    m.anchor_mono_ns = b->anchor_mono_ns;
    m.anchor_real_ns = b->anchor_real_ns;
    m.is_last = b->is_last;
    m.first_string = b->first_string;
    m.first_thread = b->first_thread;
    m.first_socket = b->first_socket;
    m.first_object = b->first_object;
    m.first_frame = b->first_frame;
    m.first_stack = b->first_stack;
    m.strings = scratch_alloc(&scratch, b->string_count * sizeof(*m.strings));
    for (uint32_t i = 0; i < b->string_count; i++)
        m.strings[i] = (ProtobufCBinaryData){b->strings[i].size, (uint8_t *)b->strings[i].data};
    m.n_strings = b->string_count;
    encode_threads(b, &scratch, &m);
    encode_sockets(b, &scratch, &m);
    encode_objects(b, &scratch, &m);
    encode_stacks(b, &scratch, &m);
    size_t size = wakepath__wire__batch__get_packed_size(&m);
    rc = wp_buffer_reserve(out, size);
    if (rc)
        wp_error_set(err, rc, "out of memory to encode a batch");
    else
        out->size += wakepath__wire__batch__pack(&m, out->data + out->size);
    if (!rc)
        rc = wp_event_encode(b->events, b->event_count, minor, out, err);
    free(scratch.base);
    return rc;
}
