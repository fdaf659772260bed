/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/named_files.h"

#include "common/array.h"

#include <stdlib.h>

#define UNKNOWN UINT32_MAX

struct file {
    struct wp_intkey key;
    bool is_there, has_key;
    uint32_t number;
    uint64_t used; /* when, in uses */
};

struct wp_named_files {
    struct wp_naming_thread *thread; /* borrowed */
    struct wp_named_files_limits limits;
    struct wp_intmap by_key; /* -> number */
    struct file *files;      /* owned; by number */
    uint32_t room, count;    /* count: of those that are there */
    uint64_t uses;
};

struct wp_named_files *wp_named_files_create(
    struct wp_naming_thread *thread, const struct wp_named_files_limits *limits)
{
    struct wp_named_files *f = calloc(1, sizeof(*f));
    if (f) {
        f->thread = thread;
        f->limits = *limits;
    }
    return f;
}

void wp_named_files_destroy(struct wp_named_files *f)
{
    if (!f)
        return;
    wp_intmap_fini(&f->by_key);
    free(f->files);
    free(f);
}

bool wp_named_files_find(const struct wp_named_files *f, struct wp_intkey key, uint32_t *number)
{
    return wp_intmap_get(&f->by_key, key, number);
}

static struct file *place_of(struct wp_named_files *f, uint32_t number)
{
    uint32_t had = f->room;
    if (WP_ARRAY_FIT_ZERO(f->files, f->room, number + 1))
        return NULL;
    for (uint32_t i = had; i < f->room; i++)
        f->files[i].number = i;
    return &f->files[number];
}

uint32_t wp_named_files_add(
    struct wp_named_files *f, const struct wp_intkey *key, struct wp_elf_file *file, int root_fd, const char *path)
{
    uint32_t number = wp_naming_thread_object(f->thread, file, root_fd, path);
    struct file *place = number == UNKNOWN ? NULL : place_of(f, number);
    if (number != UNKNOWN && !place) {
        wp_naming_thread_close(f->thread, number);
        return UNKNOWN;
    }
    if (!place)
        return UNKNOWN;
    *place = (struct file){.is_there = true, .number = number, .used = ++f->uses};
    f->count++;
    if (key && !wp_intmap_put(&f->by_key, *key, number)) {
        place->key = *key;
        place->has_key = true;
    }
    return number;
}

void wp_named_files_use(struct wp_named_files *f, uint32_t number)
{
    if (number < f->room)
        f->files[number].used = ++f->uses;
}

static int by_use(const void *x, const void *y)
{
    const struct file *a = x, *b = y;
    if (a->is_there != b->is_there)
        return b->is_there - a->is_there;
    return a->used < b->used ? -1 : a->used > b->used;
}

static void let_go(struct wp_named_files *f, uint32_t number)
{
    struct file *file = &f->files[number];
    if (file->has_key)
        wp_intmap_remove(&f->by_key, file->key);
    *file = (struct file){.number = number};
    f->count--;
    wp_naming_thread_close(f->thread, number);
}

void wp_named_files_shrink(struct wp_named_files *f, void (*gone)(void *context, uint32_t number), void *context)
{
    uint64_t held = wp_naming_thread_counts(f->thread).held_bytes, bytes = f->limits.bytes / 4 * 3;
    uint32_t files = f->limits.files / 4 * 3, there = f->count;
    if (held <= f->limits.bytes && there <= f->limits.files)
        return;
    struct file *order = malloc(f->room * sizeof(*order));
    if (!order)
        return;
    for (uint32_t i = 0; i < f->room; i++)
        order[i] = f->files[i];
    qsort(order, f->room, sizeof(*order), by_use);
    for (uint32_t i = 0; i + 1 < there && (held > bytes || f->count > files); i++) {
        uint64_t size = wp_naming_thread_bytes(f->thread, order[i].number);
        held -= size < held ? size : held;
        let_go(f, order[i].number);
        gone(context, order[i].number);
    }
    free(order);
}
