/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/dict_writer.h"

#include "common/array.h"
#include "common/intern.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FULL_ENTRIES (WP_BATCH_ENTRIES / 2)
#define FULL_BYTES ((size_t)4 << 20)

/* Entries of one kind that were not sent: ids first .. first + count - 1. Of kinds that are kept those that were sent
 * stand before them. */
struct pending {
    void *items;
    size_t item_size;
    uint32_t first, count, room;
    bool is_kept;
};

enum { THREADS, SOCKETS, OBJECTS, FRAMES, STACKS, DEVICES, DROPS, KINDS };

struct wp_dict_writer {
    struct wp_intern *strings; /* their ids are the dictionary's */
    uint32_t strings_sent;
    size_t string_bytes; /* not sent */
    struct wp_bytes *string_views;
    uint32_t string_room;
    struct pending pending[KINDS];
    struct wp_intmap objects, frames, stacks, devices;
    bool failed, is_full;
};

struct wp_dict_writer *wp_dict_writer_create(void)
{
    static const size_t sizes[KINDS] = {sizeof(struct wp_thread_entry), sizeof(struct wp_socket_entry),
        sizeof(struct wp_object_entry), sizeof(struct wp_frame_entry), sizeof(struct wp_stack_entry),
        sizeof(struct wp_device_entry), sizeof(struct wp_drop)};
    struct wp_dict_writer *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    for (int i = 0; i < KINDS; i++)
        d->pending[i] =
            (struct pending){.item_size = sizes[i], .first = 1, .is_kept = i == OBJECTS || i == FRAMES || i == STACKS};
    d->strings = wp_intern_create();
    if (!d->strings) {
        free(d);
        return NULL;
    }
    return d;
}

void wp_dict_writer_destroy(struct wp_dict_writer *d)
{
    if (!d)
        return;
    for (int i = 0; i < KINDS; i++)
        free(d->pending[i].items);
    wp_intern_destroy(d->strings);
    wp_intmap_fini(&d->objects);
    wp_intmap_fini(&d->frames);
    wp_intmap_fini(&d->stacks);
    wp_intmap_fini(&d->devices);
    free(d->string_views);
    free(d);
}

/* How many stand before those that were not sent. */
static uint32_t kept(const struct pending *p)
{
    return p->is_kept ? p->first - 1 : 0;
}

static void *unsent(const struct pending *p)
{
    return p->items ? (char *)p->items + (size_t)kept(p) * p->item_size : NULL;
}

static const void *item_of(const struct wp_dict_writer *d, int kind, uint32_t id)
{
    const struct pending *p = &d->pending[kind];
    return id && id - 1 < kept(p) + p->count ? (const char *)p->items + (size_t)(id - 1) * p->item_size : NULL;
}

/* The new entry's id, 0 when out of memory. */
static uint32_t add(struct wp_dict_writer *d, int kind, const void *item)
{
    struct pending *p = &d->pending[kind];
    if (kept(p) + p->count == p->room) {
        size_t room = p->room;
        if (wp_array_fit(&p->items, &room, &(const struct wp_array_wish){room + 1, p->item_size, false})) {
            d->failed = true;
            return 0;
        }
        p->room = (uint32_t)room;
    }
    memcpy((char *)unsent(p) + (size_t)p->count * p->item_size, item, p->item_size);
    if (p->count + 1 >= FULL_ENTRIES)
        d->is_full = true;
    return p->first + p->count++;
}

static uint32_t strings_pending(const struct wp_dict_writer *d)
{
    return wp_intern_count(d->strings) - 1 - d->strings_sent;
}

uint32_t wp_dict_writer_string(struct wp_dict_writer *d, const char *text)
{
    if (!text || !*text)
        return 0;
    size_t size = strnlen(text, WP_STRING_BYTES);
    uint32_t known = wp_intern_count(d->strings), id = wp_intern_id(d->strings, text, size);
    if (id == UINT32_MAX) {
        d->failed = true;
        return 0;
    }
    if (id < known)
        return id;
    d->string_bytes += size;
    if (strings_pending(d) >= FULL_ENTRIES || d->string_bytes >= FULL_BYTES)
        d->is_full = true;
    return id;
}

uint32_t wp_dict_writer_thread(struct wp_dict_writer *d, const struct wp_thread_entry *entry)
{
    return add(d, THREADS, entry);
}

uint32_t wp_dict_writer_socket(struct wp_dict_writer *d, const struct wp_socket_entry *entry)
{
    return add(d, SOCKETS, entry);
}

static uint32_t add_once(
    struct wp_dict_writer *d, struct wp_intmap *map, struct wp_intkey key, int kind, const void *item)
{
    uint32_t id;
    if (wp_intmap_get(map, key, &id))
        return id;
    id = add(d, kind, item);
    if (id && wp_intmap_put(map, key, id))
        d->failed = true;
    return id;
}

uint32_t wp_dict_writer_object(struct wp_dict_writer *d, const struct wp_object_entry *entry)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (unsigned i = 0; i < entry->build_id_size; i++)
        hash = (hash ^ entry->build_id[i]) * 0x100000001b3u;
    return add_once(d, &d->objects, (struct wp_intkey){hash, entry->path}, OBJECTS, entry);
}

uint32_t wp_dict_writer_frame(struct wp_dict_writer *d, const struct wp_frame_entry *entry)
{
    struct wp_intkey key = {
        entry->offset ^ (uint64_t)entry->is_kernel << 63, (uint64_t)entry->object << 32 | entry->function};
    return add_once(d, &d->frames, key, FRAMES, entry);
}

uint32_t wp_dict_writer_frame_apart(struct wp_dict_writer *d, const struct wp_frame_entry *entry)
{
    return add(d, FRAMES, entry);
}

const struct wp_frame_entry *wp_dict_writer_frame_pending(const struct wp_dict_writer *d, uint32_t id)
{
    const struct pending *p = &d->pending[FRAMES];
    return id >= p->first ? item_of(d, FRAMES, id) : NULL;
}

bool wp_dict_writer_frame_fill(struct wp_dict_writer *d, uint32_t id, const struct wp_frame_entry *entry)
{
    struct wp_frame_entry *pending = (struct wp_frame_entry *)wp_dict_writer_frame_pending(d, id);
    if (pending)
        *pending = *entry;
    return pending != NULL;
}

uint32_t wp_dict_writer_stack(struct wp_dict_writer *d, uint32_t parent, uint32_t frame)
{
    struct wp_stack_entry entry = {parent, frame};
    return add_once(d, &d->stacks, (struct wp_intkey){parent, frame}, STACKS, &entry);
}

void wp_dict_writer_device(struct wp_dict_writer *d, uint32_t device, const char *name)
{
    struct wp_device_entry entry = {device, wp_dict_writer_string(d, name)};
    add_once(d, &d->devices, (struct wp_intkey){device, 1}, DEVICES, &entry);
}

void wp_dict_writer_drop(struct wp_dict_writer *d, const struct wp_drop *drop)
{
    add(d, DROPS, drop);
}

bool wp_dict_writer_is_full(const struct wp_dict_writer *d)
{
    return d->is_full;
}

bool wp_dict_writer_failed(const struct wp_dict_writer *d)
{
    return d->failed;
}

static int fill_strings(struct wp_dict_writer *d, struct wp_batch *batch)
{
    uint32_t count = strings_pending(d);
    if (WP_ARRAY_FIT(d->string_views, d->string_room, count))
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = d->strings_sent + 1 + i;
        d->string_views[i] =
            (struct wp_bytes){wp_intern_text(d->strings, id), (uint32_t)wp_intern_size(d->strings, id)};
    }
    batch->first_string = d->strings_sent + 1;
    batch->string_count = count;
    batch->strings = d->string_views;
    return 0;
}

const struct wp_object_entry *wp_dict_writer_object_entry(const struct wp_dict_writer *d, uint32_t id)
{
    return item_of(d, OBJECTS, id);
}

const struct wp_frame_entry *wp_dict_writer_frame_entry(const struct wp_dict_writer *d, uint32_t id)
{
    return item_of(d, FRAMES, id);
}

const struct wp_stack_entry *wp_dict_writer_stack_entry(const struct wp_dict_writer *d, uint32_t id)
{
    return item_of(d, STACKS, id);
}

const char *wp_dict_writer_text(const struct wp_dict_writer *d, uint32_t string)
{
    return wp_intern_text(d->strings, string);
}

int wp_dict_writer_fill(struct wp_dict_writer *d, struct wp_batch *batch)
{
    const struct pending *p = d->pending;
    batch->threads = unsent(&p[THREADS]);
    batch->first_thread = p[THREADS].first;
    batch->thread_count = p[THREADS].count;
    batch->sockets = unsent(&p[SOCKETS]);
    batch->first_socket = p[SOCKETS].first;
    batch->socket_count = p[SOCKETS].count;
    batch->objects = unsent(&p[OBJECTS]);
    batch->first_object = p[OBJECTS].first;
    batch->object_count = p[OBJECTS].count;
    batch->frames = unsent(&p[FRAMES]);
    batch->first_frame = p[FRAMES].first;
    batch->frame_count = p[FRAMES].count;
    batch->stacks = unsent(&p[STACKS]);
    batch->first_stack = p[STACKS].first;
    batch->stack_count = p[STACKS].count;
    batch->devices = unsent(&p[DEVICES]);
    batch->device_count = p[DEVICES].count;
    batch->drops = unsent(&p[DROPS]);
    batch->drop_count = p[DROPS].count;
    return d->failed ? -ENOMEM : fill_strings(d, batch);
}

void wp_dict_writer_sent(struct wp_dict_writer *d)
{
    for (int i = 0; i < KINDS; i++) {
        d->pending[i].first += d->pending[i].count;
        d->pending[i].count = 0;
    }
    d->strings_sent = wp_intern_count(d->strings) - 1;
    d->string_bytes = 0;
    d->is_full = false;
}
