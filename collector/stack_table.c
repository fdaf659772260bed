/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/stack_table.h"

#include "collector/symbolizer.h"
#include "common/intmap.h"

#include <stdlib.h>
#include <string.h>

#define CACHED 4000000u /* stacks and frames remembered by name before all are forgotten */

struct wp_stack_table {
    struct wp_delta *delta;
    struct wp_address_spaces *spaces;
    struct wp_symbolizer *symbolizer;
    struct wp_intmap by_key;      /* what the source calls a stack -> id */
    struct wp_intmap frames;      /* (address, process and generation) -> frame id */
    struct wp_intmap is_tracing;  /* frame id -> 1: a kernel function of tracing itself */
};

struct wp_stack_table *wp_stack_table_create(struct wp_delta *delta, struct wp_address_spaces *spaces)
{
    struct wp_stack_table *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->delta = delta;
    t->spaces = spaces;
    if (spaces && !(t->symbolizer = wp_symbolizer_create())) {
        free(t);
        return NULL;
    }
    return t;
}

void wp_stack_table_destroy(struct wp_stack_table *t)
{
    if (!t)
        return;
    wp_symbolizer_destroy(t->symbolizer);
    wp_intmap_fini(&t->by_key);
    wp_intmap_fini(&t->frames);
    wp_intmap_fini(&t->is_tracing);
    free(t);
}

/* What our own tracepoint put on the kernel's stack. */
static bool is_of_tracing(const char *function)
{
    static const char *const prefixes[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "bpf_get_stack",
        "bpf_trampoline_", "__bpf_get_stack", "bpf_overflow_handler", "__perf_event_overflow"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static uint32_t make_frame(struct wp_stack_table *t, const struct wp_frame_name *name)
{
    struct wp_object_entry object = {.path = wp_delta_string(t->delta, name->object)};
    if (name->build_id_size <= sizeof(object.build_id) && name->build_id_size) {
        object.build_id_size = (uint8_t)name->build_id_size;
        memcpy(object.build_id, name->build_id, name->build_id_size);
    }
    struct wp_frame_entry frame = {.function = wp_delta_string(t->delta, name->function), .offset = name->offset,
        .is_kernel = name->is_kernel};
    frame.object = object.path ? wp_delta_object(t->delta, &object) : 0;
    uint32_t id = wp_delta_frame(t->delta, &frame);
    if (name->is_kernel && id && is_of_tracing(name->function))
        wp_intmap_put(&t->is_tracing, (struct wp_intkey){id, 0}, 1);
    return id;
}

/* The frame at an address, 0 when it is in no mapping (for user addresses). */
static uint32_t frame_of(struct wp_stack_table *t, uint32_t pid, uint64_t address, bool is_kernel, bool is_return)
{
    uint64_t space = is_kernel ? 0 : (uint64_t)pid << 32 | wp_address_spaces_generation(t->spaces, pid);
    struct wp_intkey key = {address, space << 1 | is_return};
    uint32_t id;
    if (wp_intmap_get(&t->frames, key, &id))
        return id;
    struct wp_frame_name name = {0};
    int rc = is_kernel ? wp_symbolizer_kernel(t->symbolizer, address, is_return, &name)
                       : wp_symbolizer_user(t->symbolizer, t->spaces, pid, address, is_return, &name);
    if (rc)
        return 0;
    id = make_frame(t, &name);
    if (t->frames.count >= CACHED)
        wp_intmap_clear(&t->frames);
    wp_intmap_put(&t->frames, key, id);
    return id;
}

static uint32_t user_part(struct wp_stack_table *t, const struct wp_fact *fact)
{
    uint32_t count = 0, stack = 0;
    if (fact->user_ip_count && wp_address_spaces_generation(t->spaces, fact->pid) == 0)
        wp_address_spaces_read(t->spaces, fact->pid); /* it was there before the source */
    /* Without a frame pointer the chain ends in data: what lies in no code is no frame, nor is anything behind it. */
    uint32_t frames[512];
    while (count < fact->user_ip_count && count < sizeof(frames) / sizeof(frames[0])) {
        frames[count] = frame_of(t, fact->pid, fact->user_ips[count], false, count > 0);
        if (!frames[count])
            break;
        count++;
    }
    while (count)
        stack = wp_delta_stack(t->delta, stack, frames[--count]);
    return stack;
}

static uint32_t kernel_part(struct wp_stack_table *t, const struct wp_fact *fact, uint32_t stack)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < fact->kernel_ip_count && i < 16; i++) { /* the innermost frames are the tracepoint's */
        uint32_t frame = frame_of(t, 0, fact->kernel_ips[i], true, true), one;
        if (frame && wp_intmap_get(&t->is_tracing, (struct wp_intkey){frame, 0}, &one))
            first = i + 1;
    }
    for (uint32_t i = fact->kernel_ip_count; i > first; i--) {
        uint32_t frame = frame_of(t, 0, fact->kernel_ips[i - 1], true, i - 1 > 0);
        if (frame)
            stack = wp_delta_stack(t->delta, stack, frame);
    }
    return stack;
}

static uint32_t named_part(struct wp_stack_table *t, const struct wp_fact *fact)
{
    uint32_t stack = 0;
    for (uint32_t i = 0; i < fact->frame_count; i++) {
        const struct wp_named_frame *f = &fact->frames[i];
        struct wp_frame_name name = {.function = f->function ? f->function : "", .object = f->object ? f->object : "",
            .offset = f->offset, .is_kernel = f->is_kernel};
        stack = wp_delta_stack(t->delta, stack, make_frame(t, &name));
    }
    return stack;
}

void wp_stack_table_prepare(struct wp_stack_table *t)
{
    if (t->symbolizer)
        wp_symbolizer_prepare(t->symbolizer);
}

uint32_t wp_stack_table_id(struct wp_stack_table *t, const struct wp_fact *fact)
{
    uint32_t id = 0;
    struct wp_intkey key = {fact->stack_key, 0};
    if (fact->stack_key && wp_intmap_get(&t->by_key, key, &id))
        return id;
    if (fact->frame_count)
        id = named_part(t, fact);
    else if (t->spaces && fact->kernel_ip_count + fact->user_ip_count)
        id = kernel_part(t, fact, user_part(t, fact));
    else
        return 0;
    if (fact->stack_key && t->by_key.count < CACHED)
        wp_intmap_put(&t->by_key, key, id);
    return id;
}
