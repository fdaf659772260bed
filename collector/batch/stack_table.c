/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/stack_table.h"

#include "collector/batch/interp_frames.h"
#include "collector/bpf/interp_row.h"
#include "collector/symbols/symbolizer.h"
#include "common/intmap.h"
#include "common/lock_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHED (1u << 18)       /* frames remembered by their place before all are forgotten */
#define KEYS (1u << 17)         /* of stacks, before the source is asked to tell them anew */
#define LOCK_TICKET 0x80000000u /* of a lock; frames' numbers are below */
#define LATE 64u                /* processes whose last new stack is at hand; a power of two */
#define OBJECTS_MOST 65536u     /* of the address spaces: no waiting for names any more */
#define DEEPEST 256u            /* frames of a part of a stack that are looked at */
#define TRACING 0x80000000u     /* of the value in `frames`: a kernel function of tracing itself */

/* A process' stacks share their outer frames: those need not be looked up again. Outermost first. */
struct late {
    uint64_t space; /* as in the key of `frames`; 0: none */
    uint32_t count;
    uint64_t ips[DEEPEST];
    uint32_t stacks[DEEPEST];
};

struct wp_stack_table {
    struct wp_dict_writer *dict;
    struct wp_address_spaces *spaces;
    struct wp_symbolizer *symbolizer;
    struct wp_wait_table *waits;
    struct wp_interp_frames *interps; /* owned; NULL: the source names its frames */
    struct wp_intmap recent, before; /* what the source calls a stack -> id; `before`: until it told all anew, which may
                                        still be on the way */
    struct wp_intmap frames;         /* (address, process and generation) -> frame id */
    struct wp_intmap places;         /* (place in a file, object) -> frame id */
    struct late late[LATE];          /* by process */
    struct wp_stack_counts counts;
};

struct wp_stack_table *wp_stack_table_create(struct wp_dict_writer *dict, struct wp_address_spaces *spaces,
    struct wp_wait_table *waits, const struct wp_names_from *from, const struct wp_logger *logger)
{
    struct wp_stack_table *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->dict = dict;
    t->spaces = spaces;
    t->waits = waits;
    if (spaces &&
        (!(t->symbolizer = wp_symbolizer_create(from, logger)) || !(t->interps = wp_interp_frames_create(dict)))) {
        wp_stack_table_destroy(t);
        return NULL;
    }
    return t;
}

void wp_stack_table_destroy(struct wp_stack_table *t)
{
    if (!t)
        return;
    wp_symbolizer_destroy(t->symbolizer);
    wp_interp_frames_destroy(t->interps);
    wp_intmap_fini(&t->recent);
    wp_intmap_fini(&t->before);
    wp_intmap_fini(&t->frames);
    wp_intmap_fini(&t->places);
    free(t);
}

/* What our own tracepoint put on the kernel's stack. */
static bool is_of_tracing(const char *function)
{
    static const char *const prefixes[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_",
        "bpf_get_stack", "bpf_trampoline_", "__bpf_get_stack", "bpf_overflow_handler", "__perf_event_overflow"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static uint32_t object_id(struct wp_stack_table *t, const char *path, const uint8_t *build_id, uint32_t size)
{
    struct wp_object_entry object = {.path = wp_dict_writer_string(t->dict, path)};
    if (size <= sizeof(object.build_id) && size) {
        object.build_id_size = (uint8_t)size;
        memcpy(object.build_id, build_id, size);
    }
    return object.path ? wp_dict_writer_object(t->dict, &object) : 0;
}

/* With its name, which is known. */
static uint32_t named_frame(struct wp_stack_table *t, const struct wp_named_frame *f)
{
    struct wp_frame_entry frame = {.function = wp_dict_writer_string(t->dict, f->function),
        .offset = f->offset,
        .is_kernel = f->is_kernel,
        .object = object_id(t, f->object ? f->object : "", NULL, 0)};
    return wp_dict_writer_frame(t->dict, &frame);
}

/* With TRACING where it is that. */
static uint32_t kernel_frame(struct wp_stack_table *t, uint64_t address, bool is_return)
{
    struct wp_frame_name name;
    wp_symbolizer_kernel(t->symbolizer, address, is_return, &name);
    uint32_t id = named_frame(t, &(struct wp_named_frame){name.function, name.object, name.offset, true});
    return id && is_of_tracing(name.function) ? id | TRACING : id;
}

/* Without its name, which comes when the symbolizer has it. The same place in the same object is one frame. */
static uint32_t user_frame(struct wp_stack_table *t, uint32_t pid, uint64_t address, bool is_return)
{
    uint64_t at = address - is_return; /* a return address belongs to the call before it */
    const struct wp_mapping *mapping = wp_address_spaces_find(t->spaces, pid, at);
    if (!mapping)
        return 0;
    struct wp_object object = wp_address_spaces_object(t->spaces, mapping->object);
    bool is_file = strcmp(object.path, "[jit]") != 0;
    uint64_t offset = is_file ? at - mapping->start + mapping->file_offset : at;
    struct wp_intkey key = {offset << 1 | is_return, mapping->object};
    uint32_t id;
    if (is_file && wp_intmap_get(&t->places, key, &id))
        return id;
    struct wp_frame_entry frame = {
        .offset = offset + is_return, .object = object_id(t, object.path, object.build_id, object.build_id_size)};
    id = wp_dict_writer_frame_apart(t->dict, &frame);
    if (!id)
        return 0;
    wp_symbolizer_ask(t->symbolizer, t->spaces, pid, mapping, offset, id);
    if (t->places.count >= CACHED)
        wp_intmap_clear(&t->places);
    if (is_file) /* memory that is no file's is another one in each process */
        wp_intmap_put(&t->places, key, id);
    return id;
}

/* Of the keys of frames; the kernel's is 0. */
static uint64_t space_of(const struct wp_stack_table *t, uint32_t pid)
{
    return (uint64_t)pid << 32 | wp_address_spaces_generation(t->spaces, pid);
}

/* The frame at an address, 0 when it is in no mapping (for user addresses). */
static uint32_t frame_of(struct wp_stack_table *t, uint64_t space, uint64_t address, bool is_return)
{
    struct wp_intkey key = {address, space << 1 | is_return};
    uint32_t id;
    if (wp_intmap_get(&t->frames, key, &id))
        return id;
    id = space ? user_frame(t, (uint32_t)(space >> 32), address, is_return) : kernel_frame(t, address, is_return);
    if (!id)
        return 0;
    if (t->frames.count >= CACHED)
        wp_intmap_clear(&t->frames);
    wp_intmap_put(&t->frames, key, id);
    return id;
}

/* What is inlined gets frames behind those that are there, so ids grow along the chain. */
static void fill_frame(struct wp_stack_table *t, uint32_t id, const struct wp_place_name *place)
{
    const struct wp_frame_entry *pending = wp_dict_writer_frame_pending(t->dict, id);
    if (!pending || !place->count)
        return; /* it went without its name */
    struct wp_frame_entry frame = *pending;
    uint32_t inner = 0;
    for (unsigned i = 0; i < place->count; i++) {
        const struct wp_debug_level *level = &place->levels[i];
        frame.function = wp_dict_writer_string(t->dict, level->function);
        frame.file = wp_dict_writer_string(t->dict, level->file);
        frame.line = level->line;
        frame.inlined = 0;
        if (i + 1 < place->count) { /* the next one's place is reserved, so that its number is known */
            struct wp_frame_entry next = {.object = frame.object, .offset = frame.offset};
            frame.inlined = inner = wp_dict_writer_frame_apart(t->dict, &next);
        }
        wp_dict_writer_frame_fill(t->dict, id, &frame);
        id = inner;
    }
}

/* Better when nothing waits for a name, for the fleet's answers to what was asked before are lost. */
static void forget_objects(struct wp_stack_table *t, bool is_settled)
{
    if (!t->spaces || (!is_settled && wp_address_spaces_objects(t->spaces) < OBJECTS_MOST) ||
        !wp_address_spaces_forget_objects(t->spaces))
        return;
    wp_symbolizer_renumber(t->symbolizer);
    wp_intmap_clear(&t->places);
}

static void name_lock(struct wp_stack_table *t, uint32_t number, const char *name)
{
    char gil[WP_STRING_BYTES];
    const char *object = wp_lock_is_gil(name) ? strchr(name, ' ') : NULL;
    if (object)
        snprintf(gil, sizeof(gil), WP_LOCK_GIL "%s", object);
    wp_wait_table_name(t->waits, number, object ? gil : name);
}

bool wp_stack_table_names(struct wp_stack_table *t, unsigned timeout_ms)
{
    struct wp_place_name place;
    uint32_t id;
    if (!t->symbolizer)
        return true;
    bool is_all = wp_symbolizer_settle(t->symbolizer, timeout_ms);
    while (wp_symbolizer_next(t->symbolizer, &id, &place))
        if (!(id & LOCK_TICKET))
            fill_frame(t, id, &place);
        else if (place.count)
            name_lock(t, id & ~LOCK_TICKET, place.levels[0].function);
    forget_objects(t, is_all);
    return is_all;
}

void wp_stack_table_lock(struct wp_stack_table *t, const struct wp_lock_place *lock, uint32_t number)
{
    if (t->symbolizer)
        wp_symbolizer_ask_lock(t->symbolizer, lock, number | LOCK_TICKET);
}

void wp_stack_table_forget(struct wp_stack_table *t, uint32_t pid)
{
    if (t->symbolizer)
        wp_symbolizer_forget(t->symbolizer, pid);
    if (t->interps)
        wp_interp_frames_forget(t->interps, pid);
}

void wp_stack_table_define(struct wp_stack_table *t, const struct wp_fact *fact)
{
    if (t->interps)
        wp_interp_frames_define(t->interps, fact);
}

/* How many outer frames are those of the process' last new stack. The innermost one is no return address, so never the
 * same. */
static uint32_t outer_frames(const struct late *late, uint64_t space, const uint64_t *ips, uint32_t count)
{
    uint32_t same = 0, most = late->count < count ? late->count : count;
    if (late->space != space || !space)
        return 0;
    while (same + 1 < most && late->ips[same] == ips[count - 1 - same])
        same++;
    return same;
}

/* With the frames of a language among them. */
static uint32_t mixed_part(struct wp_stack_table *t, const struct wp_fact *fact, uint64_t space)
{
    uint32_t native[DEEPEST], frames[WP_INTERP_FRAMES_MOST], count = 0, stack = 0;
    while (count < fact->user_ip_count && count < DEEPEST &&
        (native[count] = frame_of(t, space, fact->user_ips[count], count > 0)))
        count++;
    for (uint32_t i = wp_interp_frames_splice(t->interps, fact, native, count, frames); i; i--)
        stack = wp_dict_writer_stack(t->dict, stack, frames[i - 1]);
    return stack;
}

static uint32_t user_part(struct wp_stack_table *t, const struct wp_fact *fact)
{
    uint32_t count = fact->user_ip_count < DEEPEST ? fact->user_ip_count : DEEPEST, inner = 0, frames[DEEPEST];
    if (!count)
        return 0;
    if (wp_address_spaces_generation(t->spaces, fact->pid) == 0)
        wp_address_spaces_read(t->spaces, fact->pid); /* it was there before the source */
    uint64_t space = space_of(t, fact->pid);
    if (fact->interp_word_count)
        return mixed_part(t, fact, space);
    struct late *late = &t->late[fact->pid % LATE];
    uint32_t known = outer_frames(late, space, fact->user_ips, count);
    /* Without a frame pointer the chain ends in data: what lies in no code is no frame, nor is anything behind it. */
    while (inner < count - known && (frames[inner] = frame_of(t, space, fact->user_ips[inner], inner > 0)))
        inner++;
    bool is_whole = inner == count - known;
    uint32_t stack = is_whole && known ? late->stacks[known - 1] : 0;
    if (is_whole) {
        late->space = space;
        late->count = count;
    }
    while (inner) {
        uint32_t at = count - inner--; /* from outside */
        stack = wp_dict_writer_stack(t->dict, stack, frames[inner]);
        if (is_whole) {
            late->ips[at] = fact->user_ips[inner];
            late->stacks[at] = stack;
        }
    }
    return stack;
}

static uint32_t kernel_part(struct wp_stack_table *t, const struct wp_fact *fact, uint32_t stack)
{
    uint32_t count = fact->kernel_ip_count < DEEPEST ? fact->kernel_ip_count : DEEPEST, first = 0, frames[DEEPEST];
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = frame_of(t, 0, fact->kernel_ips[i], i > 0);
        if (frames[i] & TRACING && i < 16) /* the innermost frames are the tracepoint's */
            first = i + 1;
    }
    for (uint32_t i = count; i > first; i--)
        if (frames[i - 1])
            stack = wp_dict_writer_stack(t->dict, stack, frames[i - 1] & ~TRACING);
    return stack;
}

static uint32_t named_part(struct wp_stack_table *t, const struct wp_fact *fact)
{
    uint32_t stack = 0;
    for (uint32_t i = 0; i < fact->frame_count; i++)
        stack = wp_dict_writer_stack(t->dict, stack, named_frame(t, &fact->frames[i]));
    return stack;
}

struct wp_symbolizer *wp_stack_table_symbolizer(const struct wp_stack_table *t)
{
    return t->symbolizer;
}

/* One that comes with its frames is sent again. */
static bool is_known(const struct wp_stack_table *t, const struct wp_fact *fact, uint32_t *id)
{
    struct wp_intkey key = {fact->stack_key, 0};
    bool has_frames = fact->frame_count + fact->kernel_ip_count + fact->user_ip_count;
    return wp_intmap_get(&t->recent, key, id) || (!has_frames && wp_intmap_get(&t->before, key, id));
}

bool wp_stack_table_is_full(const struct wp_stack_table *t)
{
    return t->recent.count >= KEYS || (t->interps && wp_interp_frames_lack(t->interps));
}

void wp_stack_table_turn(struct wp_stack_table *t)
{
    wp_intmap_fini(&t->before);
    t->before = t->recent;
    t->recent = (struct wp_intmap){0};
    if (t->interps)
        wp_interp_frames_retold(t->interps);
}

static void inherit(struct wp_intmap *keys, struct wp_heir *heir)
{
    for (uint32_t i = 0; keys->slots && i <= keys->mask; i++)
        if (keys->slots[i].used)
            keys->slots[i].value = wp_heir_stack(heir, keys->slots[i].value);
}

/* Frames are looked up again. */
void wp_stack_table_renew(struct wp_stack_table *t, struct wp_dict_writer *dict, struct wp_heir *heir)
{
    wp_stack_table_turn(t);
    inherit(&t->before, heir);
    wp_intmap_clear(&t->frames);
    wp_intmap_clear(&t->places);
    memset(t->late, 0, sizeof(t->late));
    t->dict = dict;
    if (t->interps)
        wp_interp_frames_renew(t->interps, dict);
}

uint32_t wp_stack_table_id(struct wp_stack_table *t, const struct wp_fact *fact)
{
    uint32_t id = 0;
    struct wp_intkey key = {fact->stack_key, 0};
    if (fact->stack_key && is_known(t, fact, &id)) {
        t->counts.known++;
        return id;
    }
    if (fact->frame_count)
        id = named_part(t, fact);
    else if (t->spaces && fact->kernel_ip_count + fact->user_ip_count)
        id = kernel_part(t, fact, user_part(t, fact));
    else {
        t->counts.lost += fact->stack_key != 0;
        return 0;
    }
    t->counts.made++;
    if (fact->stack_key && t->recent.count < CACHED)
        wp_intmap_put(&t->recent, key, id);
    return id;
}

const struct wp_stack_counts *wp_stack_table_counts(const struct wp_stack_table *t)
{
    return &t->counts;
}

struct wp_symbolizer_stats wp_stack_table_naming(const struct wp_stack_table *t)
{
    return t->symbolizer ? wp_symbolizer_stats(t->symbolizer) : (struct wp_symbolizer_stats){0};
}

struct wp_interp_codes_counts wp_stack_table_codes(const struct wp_stack_table *t)
{
    return t->interps ? wp_interp_frames_counts(t->interps) : (struct wp_interp_codes_counts){0};
}

uint64_t wp_stack_table_reading_ns(const struct wp_stack_table *t)
{
    return t->symbolizer ? wp_symbolizer_cpu_ns(t->symbolizer) : 0;
}
