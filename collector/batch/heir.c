/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/heir.h"

#include "common/array.h"
#include "common/intmap.h"

#include <stdlib.h>
#include <string.h>

#define CREATORS 64u /* of a thread, that are named for its sake */
#define INLINED 64u  /* functions at one place */
#define MATCHES (sizeof(((struct wp_thread_entry *)0)->cmdline_matches) / sizeof(uint32_t))

enum { STRING = 1, THREAD, SOCKET, OBJECT, FRAME, STACK };

struct wp_heir {
    struct wp_heir_from from;
    struct wp_dict_writer *to;
    wp_heir_full *full;
    void *context;
    int failed;
    struct wp_intmap ids; /* (old id, kind) -> new */
    uint32_t *chain;      /* of a stack, innermost first; owned */
    uint32_t chain_room;
};

struct wp_heir *wp_heir_create(
    const struct wp_heir_from *from, struct wp_dict_writer *to, wp_heir_full *full, void *context)
{
    struct wp_heir *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->from = *from;
    h->to = to;
    h->full = full;
    h->context = context;
    return h;
}

int wp_heir_failed(const struct wp_heir *h)
{
    return h->failed;
}

/* Between entries; a frame and what is inlined in it go together. */
void wp_heir_make_room(struct wp_heir *h)
{
    if (!h->failed && wp_dict_writer_is_full(h->to))
        h->failed = h->full(h->context);
}

void wp_heir_destroy(struct wp_heir *h)
{
    if (!h)
        return;
    wp_intmap_fini(&h->ids);
    free(h->chain);
    free(h);
}

static bool is_known(const struct wp_heir *h, unsigned kind, uint32_t id, uint32_t *new_id)
{
    return wp_intmap_get(&h->ids, (struct wp_intkey){id, kind}, new_id);
}

static uint32_t remember(struct wp_heir *h, unsigned kind, uint32_t id, uint32_t new_id)
{
    wp_intmap_put(&h->ids, (struct wp_intkey){id, kind}, new_id); /* without memory it is told once more */
    return new_id;
}

uint32_t wp_heir_string(struct wp_heir *h, uint32_t id)
{
    uint32_t new_id;
    if (!id || is_known(h, STRING, id, &new_id))
        return id ? new_id : 0;
    return remember(h, STRING, id, wp_dict_writer_string(h->to, h->from.string(h->from.context, id)));
}

/* --- threads and sockets --- */

struct wp_thread_entry wp_heir_thread_entry(struct wp_heir *h, const struct wp_thread_entry *entry, uint32_t id)
{
    struct wp_thread_entry made = *entry;
    uint32_t creator = 0;
    made.comm = wp_heir_string(h, entry->comm);
    made.exe = wp_heir_string(h, entry->exe);
    made.cgroup = wp_heir_string(h, entry->cgroup);
    made.release = wp_heir_string(h, entry->release);
    made.workload = wp_heir_string(h, entry->workload);
    for (size_t i = 0; i < MATCHES; i++)
        made.cmdline_matches[i] = wp_heir_string(h, entry->cmdline_matches[i]);
    made.parent = entry->parent < id && entry->parent && is_known(h, THREAD, entry->parent, &creator) ? creator : 0;
    return made;
}

/* Creators first, the one made earliest before all: an entry names none that comes behind it. */
static uint32_t heir_thread(struct wp_heir *h, uint32_t id)
{
    static const struct wp_thread_entry nameless;
    uint32_t line[CREATORS], count = 0, new_id = 0;
    if (!id || is_known(h, THREAD, id, &new_id))
        return id ? new_id : 0;
    for (uint32_t at = id; at && count < CREATORS && !is_known(h, THREAD, at, &new_id);) {
        const struct wp_thread_entry *entry = h->from.thread(h->from.context, at);
        line[count++] = at;
        at = entry && entry->parent < at ? entry->parent : 0;
    }
    while (count) {
        uint32_t at = line[--count];
        const struct wp_thread_entry *entry = h->from.thread(h->from.context, at);
        wp_heir_make_room(h);
        struct wp_thread_entry made = wp_heir_thread_entry(h, entry ? entry : &nameless, at);
        new_id = remember(h, THREAD, at, wp_dict_writer_thread(h->to, &made));
    }
    return new_id;
}

void wp_heir_put_thread(struct wp_heir *h, uint32_t id, uint32_t new_id)
{
    remember(h, THREAD, id, new_id);
}

static uint32_t heir_socket(struct wp_heir *h, uint32_t id)
{
    uint32_t new_id;
    if (!id || is_known(h, SOCKET, id, &new_id))
        return id ? new_id : 0;
    wp_heir_make_room(h);
    const struct wp_socket_entry *entry = h->from.socket(h->from.context, id);
    return remember(h, SOCKET, id, entry ? wp_dict_writer_socket(h->to, entry) : 0);
}

/* --- stacks --- */

static uint32_t object(struct wp_heir *h, uint32_t id)
{
    uint32_t new_id;
    const struct wp_object_entry *entry = id ? h->from.object(h->from.context, id) : NULL;
    if (!entry || is_known(h, OBJECT, id, &new_id))
        return entry ? new_id : 0;
    struct wp_object_entry made = *entry;
    made.path = wp_heir_string(h, entry->path);
    return remember(h, OBJECT, id, wp_dict_writer_object(h->to, &made));
}

static struct wp_frame_entry frame_entry(struct wp_heir *h, const struct wp_frame_entry *entry)
{
    struct wp_frame_entry made = *entry;
    made.object = object(h, entry->object);
    made.function = wp_heir_string(h, entry->function);
    made.file = wp_heir_string(h, entry->file);
    made.inlined = 0;
    return made;
}

/* What is inlined gets frames behind the one that it is in, which are of this place alone. */
static uint32_t frame(struct wp_heir *h, uint32_t id)
{
    static const struct wp_frame_entry nameless;
    uint32_t new_id;
    if (is_known(h, FRAME, id, &new_id))
        return new_id;
    const struct wp_frame_entry *entry = h->from.frame(h->from.context, id);
    struct wp_frame_entry made = frame_entry(h, entry ? entry : &nameless), outer;
    if (!entry || !entry->inlined) /* one with a line is not equal to the one without it */
        return remember(h, FRAME, id,
            made.file || made.line ? wp_dict_writer_frame_apart(h->to, &made) : wp_dict_writer_frame(h->to, &made));
    uint32_t first = wp_dict_writer_frame_apart(h->to, &made), at = first;
    for (unsigned i = 0; i < INLINED && at && entry && entry->inlined; i++) {
        outer = made;
        entry = h->from.frame(h->from.context, entry->inlined);
        made = frame_entry(h, entry ? entry : &nameless);
        outer.inlined = wp_dict_writer_frame_apart(h->to, &made);
        wp_dict_writer_frame_fill(h->to, at, &outer);
        at = outer.inlined;
    }
    return remember(h, FRAME, id, first);
}

static bool push(struct wp_heir *h, uint32_t count, uint32_t id)
{
    if (WP_ARRAY_FIT(h->chain, h->chain_room, count + 1))
        return false;
    h->chain[count] = id;
    return true;
}

uint32_t wp_heir_stack(struct wp_heir *h, uint32_t id)
{
    uint32_t count = 0, stack = 0;
    for (uint32_t at = id; at && !is_known(h, STACK, at, &stack);) {
        const struct wp_stack_entry *entry = h->from.stack(h->from.context, at);
        if (!push(h, count, at))
            return 0;
        count++;
        stack = 0;
        at = entry && entry->parent < at ? entry->parent : 0;
    }
    while (count) {
        uint32_t at = h->chain[--count];
        wp_heir_make_room(h);
        const struct wp_stack_entry *entry = h->from.stack(h->from.context, at);
        stack = remember(h, STACK, at, entry ? wp_dict_writer_stack(h->to, stack, frame(h, entry->frame)) : 0);
    }
    return stack;
}

void wp_heir_event(struct wp_heir *h, struct wp_event *event, bool has_waits)
{
    event->thread = heir_thread(h, event->thread);
    event->other = wp_event_is_block(event) ? wp_heir_string(h, event->other) : heir_thread(h, event->other);
    event->stack = wp_heir_stack(h, event->stack);
    if (h->from.socket && wp_event_has_socket(event))
        event->d = heir_socket(h, event->d);
    if (event->kind == WP_EVENT_RENAME)
        event->c = wp_heir_string(h, event->c);
    if (has_waits && wp_event_has_wait(event))
        event->wait = wp_heir_string(h, event->wait);
}
