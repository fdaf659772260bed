/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/dictionary.h"

#include "common/idtable.h"
#include "proto/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_LIMIT (1u << 26)        /* of one kind in one session */
#define BYTES_LIMIT ((size_t)1 << 30)   /* of all strings and entries of one session */
#define BLOCK_BYTES ((size_t)256 << 10) /* the first one is small, and each twice the one before up to there */
#define FIRST_BLOCK_BYTES ((size_t)4 << 10)
#define DEVICES 4096u

/* Strings live in blocks that never move. */
struct block {
    struct block *next;
    size_t used, size;
    char bytes[];
};

struct table {
    struct wp_idtable items; /* item i has id i + 1 */
    uint32_t count, gone;
};

enum { STRINGS, THREADS, SOCKETS, OBJECTS, FRAMES, STACKS, TABLES };

struct wp_dictionary {
    struct table tables[TABLES];
    struct block *blocks;
    size_t text_bytes, block_bytes, limit_bytes;
    struct wp_device_entry *devices;
    uint32_t device_count;
};

static const size_t sizes[TABLES] = {sizeof(char *), sizeof(struct wp_thread_entry), sizeof(struct wp_socket_entry),
    sizeof(struct wp_object_entry), sizeof(struct wp_frame_entry), sizeof(struct wp_stack_entry)};

struct wp_dictionary *wp_dictionary_create(void)
{
    struct wp_dictionary *d = calloc(1, sizeof(*d));
    for (int i = 0; d && i < TABLES; i++)
        wp_idtable_init(&d->tables[i].items, sizes[i]);
    if (d)
        d->limit_bytes = BYTES_LIMIT;
    return d;
}

void wp_dictionary_limit(struct wp_dictionary *d, size_t limit_bytes)
{
    d->limit_bytes = limit_bytes;
}

void wp_dictionary_destroy(struct wp_dictionary *d)
{
    if (!d)
        return;
    for (int i = 0; i < TABLES; i++)
        wp_idtable_fini(&d->tables[i].items);
    for (struct block *block = d->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(d->devices);
    free(d);
}

size_t wp_dictionary_bytes(const struct wp_dictionary *d)
{
    size_t bytes = d->text_bytes;
    for (int i = 0; i < TABLES; i++)
        bytes += (size_t)(d->tables[i].count - d->tables[i].gone) * sizes[i];
    return bytes;
}

size_t wp_dictionary_bytes_of(const struct wp_batch *b)
{
    const uint32_t count[TABLES] = {
        b->string_count, b->thread_count, b->socket_count, b->object_count, b->frame_count, b->stack_count};
    size_t bytes = 0;
    for (int i = 0; i < TABLES; i++)
        bytes += (size_t)count[i] * sizes[i];
    for (uint32_t i = 0; i < b->string_count; i++)
        bytes += (size_t)b->strings[i].size + 1;
    return bytes;
}

static int refuse(struct wp_error *err, const char *what, size_t index, const char *why)
{
    return wp_error_set(err, -EINVAL, "bad batch: %s %zu %s", what, index, why);
}

/* How many of each kind there are once the batch is taken. */
struct totals {
    uint32_t count[TABLES];
};

static int count_all(
    const struct wp_dictionary *d, const struct wp_batch *b, struct totals *totals, struct wp_error *err)
{
    static const char *const names[TABLES] = {"string", "thread", "socket", "object", "frame", "stack"};
    const uint32_t first[TABLES] = {
        b->first_string, b->first_thread, b->first_socket, b->first_object, b->first_frame, b->first_stack};
    const uint32_t count[TABLES] = {
        b->string_count, b->thread_count, b->socket_count, b->object_count, b->frame_count, b->stack_count};
    size_t bytes = d->text_bytes;
    for (int i = 0; i < TABLES; i++) {
        uint32_t known = d->tables[i].count;
        if (count[i] && first[i] != known + 1)
            return wp_error_set(
                err, -EINVAL, "bad batch: its %ss begin with id %u, the session has %u", names[i], first[i], known);
        if (count[i] > ENTRIES_LIMIT - known)
            return wp_error_set(
                err, -E2BIG, "more than %u %ss in one session: " WP_REFUSED_TOO_LARGE, ENTRIES_LIMIT, names[i]);
        totals->count[i] = known + count[i];
        bytes += (size_t)(totals->count[i] - d->tables[i].gone) * sizes[i];
    }
    for (uint32_t i = 0; i < b->string_count; i++)
        bytes += b->strings[i].size + 1;
    if (bytes > d->limit_bytes)
        return wp_error_set(
            err, -E2BIG, "a dictionary of more than %zu bytes in one session: " WP_REFUSED_TOO_LARGE, d->limit_bytes);
    return 0;
}

static int check_threads(const struct wp_batch *b, const struct totals *t, struct wp_error *err)
{
    uint32_t strings = t->count[STRINGS];
    for (uint32_t i = 0; i < b->thread_count; i++) {
        const struct wp_thread_entry *e = &b->threads[i];
        if (e->comm > strings || e->exe > strings || e->cgroup > strings || e->release > strings ||
            e->workload > strings)
            return refuse(err, "thread", i, "names a string that does not exist");
        for (size_t j = 0; j < sizeof(e->cmdline_matches) / sizeof(e->cmdline_matches[0]); j++)
            if (e->cmdline_matches[j] > strings)
                return refuse(err, "thread", i, "names a pattern that does not exist");
        if (e->parent > t->count[THREADS] || (e->parent && e->parent == b->first_thread + i))
            return refuse(err, "thread", i, "has a parent that does not exist");
    }
    return 0;
}

static int check_stacks(const struct wp_batch *b, const struct totals *t, struct wp_error *err)
{
    for (uint32_t i = 0; i < b->object_count; i++)
        if (b->objects[i].path > t->count[STRINGS])
            return refuse(err, "object", i, "names a path that does not exist");
    for (uint32_t i = 0; i < b->frame_count; i++) {
        if (b->frames[i].object > t->count[OBJECTS])
            return refuse(err, "frame", i, "is in an object that does not exist");
        if (b->frames[i].function > t->count[STRINGS])
            return refuse(err, "frame", i, "names a function that does not exist");
        if (b->frames[i].file > t->count[STRINGS])
            return refuse(err, "frame", i, "names a source file that does not exist");
        uint32_t inlined = b->frames[i].inlined; /* inlined ones come later: no cycle is possible */
        if (inlined && (inlined <= b->first_frame + i || inlined > t->count[FRAMES]))
            return refuse(err, "frame", i, "has a function inlined that does not come behind it");
    }
    for (uint32_t i = 0; i < b->stack_count; i++) {
        if (b->stacks[i].parent >= b->first_stack + i) /* callers come first: no cycle is possible */
            return refuse(err, "stack", i, "stands on one that does not come before it");
        if (!b->stacks[i].frame || b->stacks[i].frame > t->count[FRAMES])
            return refuse(err, "stack", i, "has a frame that does not exist");
    }
    for (uint32_t i = 0; i < b->device_count; i++)
        if (b->devices[i].name > t->count[STRINGS])
            return refuse(err, "device", i, "names a string that does not exist");
    return 0;
}

static int check_events(const struct wp_batch *b, const struct totals *t, struct wp_error *err)
{
    uint32_t threads = t->count[THREADS], stacks = t->count[STACKS], sockets = t->count[SOCKETS];
    for (uint32_t i = 0; i < b->event_count; i++) {
        const struct wp_event *e = &b->events[i];
        if (e->thread > threads || (!wp_event_is_block(e) && e->other > threads))
            return refuse(err, "event", i, "is of a thread that does not exist");
        if (wp_event_is_block(e) && e->other > t->count[STRINGS])
            return refuse(err, "event", i, "is for a file that does not exist");
        if (wp_event_has_wait(e) && e->wait > t->count[STRINGS])
            return refuse(err, "event", i, "waits for what does not exist");
        if (e->stack > stacks)
            return refuse(err, "event", i, "has a stack that does not exist");
        if (wp_event_has_socket(e) && e->d > sockets)
            return refuse(err, "event", i, "is of a socket that does not exist");
        if (e->kind == WP_EVENT_RENAME && e->c > t->count[STRINGS])
            return refuse(err, "event", i, "names a string that does not exist");
    }
    return 0;
}

static int make_room(struct table *table, uint32_t more)
{
    return more ? wp_idtable_reserve(&table->items, table->count + more - 1) : 0;
}

static char *make_text(struct wp_dictionary *d, const struct wp_bytes *bytes)
{
    size_t size = (size_t)bytes->size + 1;
    if (!d->blocks || d->blocks->size - d->blocks->used < size) {
        size_t wanted = !d->blocks              ? FIRST_BLOCK_BYTES
            : d->blocks->size < BLOCK_BYTES / 2 ? d->blocks->size * 2
                                                : BLOCK_BYTES;
        size_t room = size > wanted ? size : wanted;
        struct block *block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        *block = (struct block){.next = d->blocks, .size = room};
        d->blocks = block;
        d->block_bytes += sizeof(*block) + room;
    }
    char *text = d->blocks->bytes + d->blocks->used;
    if (bytes->size) /* an empty one may have no bytes to point at */
        memcpy(text, bytes->data, bytes->size);
    text[bytes->size] = 0;
    d->blocks->used += size;
    return text;
}

/* Texts are put behind the known ones; they count only when everything else had room too. */
static int take_strings(struct wp_dictionary *d, const struct wp_batch *b)
{
    char **texts = d->tables[STRINGS].items.items;
    for (uint32_t i = 0; i < b->string_count; i++) {
        char *text = make_text(d, &b->strings[i]);
        if (!text)
            return -ENOMEM;
        texts[d->tables[STRINGS].count + i] = text;
        d->text_bytes += (size_t)b->strings[i].size + 1;
    }
    return 0;
}

/* `items` NULL: they stand there already. */
static void append(struct table *table, const void *items, uint32_t count)
{
    if (count && items)
        memcpy((char *)table->items.items + (size_t)table->count * table->items.item_size, items,
            (size_t)count * table->items.item_size);
    for (uint32_t i = 0; i < count; i++)
        wp_idtable_use(&table->items, table->count + i);
    table->count += count;
}

/* Those of the batch, which are the last ones: what their creators were is known for as long as they are. */
static void keep_parents(struct table *threads, uint32_t count)
{
    struct wp_thread_entry *entries = threads->items.items;
    for (uint32_t i = threads->count - count; i < threads->count; i++) {
        uint32_t parent = entries[i].parent;
        bool is_known = parent && wp_idtable_has(&threads->items, parent - 1);
        entries[i].parent_pid = is_known ? entries[parent - 1].pid : 0;
        entries[i].parent_start_ns = is_known ? entries[parent - 1].start_ns : 0;
    }
}

static int append_batch(struct wp_dictionary *d, const struct wp_batch *b)
{
    const uint32_t count[TABLES] = {
        b->string_count, b->thread_count, b->socket_count, b->object_count, b->frame_count, b->stack_count};
    int rc = 0;
    for (int i = 0; !rc && i < TABLES; i++)
        rc = make_room(&d->tables[i], count[i]);
    if (!rc && b->device_count && !d->devices && !(d->devices = calloc(DEVICES, sizeof(*d->devices))))
        rc = -ENOMEM;
    if (!rc)
        rc = take_strings(d, b);
    if (rc)
        return rc;
    append(&d->tables[STRINGS], NULL, b->string_count);
    append(&d->tables[THREADS], b->threads, b->thread_count);
    keep_parents(&d->tables[THREADS], b->thread_count);
    append(&d->tables[SOCKETS], b->sockets, b->socket_count);
    append(&d->tables[OBJECTS], b->objects, b->object_count);
    append(&d->tables[FRAMES], b->frames, b->frame_count);
    append(&d->tables[STACKS], b->stacks, b->stack_count);
    for (uint32_t i = 0; i < b->device_count && d->device_count < DEVICES; i++)
        d->devices[d->device_count++] = b->devices[i];
    return 0;
}

int wp_dictionary_apply(struct wp_dictionary *d, const struct wp_batch *b, struct wp_error *err)
{
    struct totals totals;
    int rc = count_all(d, b, &totals, err);
    if (!rc)
        rc = check_threads(b, &totals, err);
    if (!rc)
        rc = check_stacks(b, &totals, err);
    if (!rc)
        rc = check_events(b, &totals, err);
    if (!rc && (rc = append_batch(d, b)))
        wp_error_set(err, rc, "out of memory for a dictionary");
    return rc;
}

static const void *item(const struct wp_dictionary *d, int which, uint32_t id)
{
    const struct table *table = &d->tables[which];
    return id && id <= table->count ? (const char *)table->items.items + (size_t)(id - 1) * table->items.item_size
                                    : NULL;
}

/* Of those kinds that are forgotten. */
static const void *living_item(const struct wp_dictionary *d, int which, uint32_t id)
{
    return id && wp_idtable_has(&d->tables[which].items, id - 1) ? item(d, which, id) : NULL;
}

static void forget(struct wp_dictionary *d, int which, uint32_t id)
{
    struct table *table = &d->tables[which];
    if (!living_item(d, which, id))
        return;
    wp_idtable_drop(&table->items, id - 1);
    table->gone++;
}

void wp_dictionary_forget_thread(struct wp_dictionary *d, uint32_t id)
{
    forget(d, THREADS, id);
}

void wp_dictionary_forget_socket(struct wp_dictionary *d, uint32_t id)
{
    forget(d, SOCKETS, id);
}

size_t wp_dictionary_held(const struct wp_dictionary *d)
{
    size_t bytes = d->block_bytes;
    for (int i = 0; i < TABLES; i++)
        bytes += wp_idtable_bytes(&d->tables[i].items);
    return bytes;
}

const char *wp_dictionary_string(const struct wp_dictionary *d, uint32_t id)
{
    char *const *text = item(d, STRINGS, id);
    return text ? *text : "";
}

const struct wp_thread_entry *wp_dictionary_thread(const struct wp_dictionary *d, uint32_t id)
{
    return living_item(d, THREADS, id);
}

const struct wp_socket_entry *wp_dictionary_socket(const struct wp_dictionary *d, uint32_t id)
{
    return living_item(d, SOCKETS, id);
}

const struct wp_object_entry *wp_dictionary_object(const struct wp_dictionary *d, uint32_t id)
{
    return item(d, OBJECTS, id);
}

const struct wp_frame_entry *wp_dictionary_frame(const struct wp_dictionary *d, uint32_t id)
{
    return item(d, FRAMES, id);
}

uint32_t wp_dictionary_inlined(const struct wp_dictionary *d, uint32_t frame)
{
    const struct wp_frame_entry *entry = wp_dictionary_frame(d, frame);
    return entry ? entry->inlined : 0;
}

const struct wp_stack_entry *wp_dictionary_stack(const struct wp_dictionary *d, uint32_t id)
{
    return item(d, STACKS, id);
}

uint32_t wp_dictionary_device_name(const struct wp_dictionary *d, uint32_t device)
{
    for (uint32_t i = d->device_count; i; i--) /* the last word on a number counts */
        if (d->devices[i - 1].device == device)
            return d->devices[i - 1].name;
    return 0;
}

const char *wp_dictionary_device(const struct wp_dictionary *d, uint32_t device)
{
    uint32_t name = wp_dictionary_device_name(d, device);
    return name ? wp_dictionary_string(d, name) : NULL;
}

uint32_t wp_dictionary_thread_count(const struct wp_dictionary *d)
{
    return d->tables[THREADS].count;
}

uint32_t wp_dictionary_socket_count(const struct wp_dictionary *d)
{
    return d->tables[SOCKETS].count;
}

uint32_t wp_dictionary_frame_count(const struct wp_dictionary *d)
{
    return d->tables[FRAMES].count;
}
