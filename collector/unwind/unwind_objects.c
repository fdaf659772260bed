/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwind_objects.h"

#include "common/clock.h"
#include "common/intmap.h"

#include <bpf/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_PART 64u   /* of the room: an object that takes more is a large one, ... */
#define RESERVED_PART 8u /* ... for which this part of it is not */

struct object {
    struct wp_unwind_id id;
    uint32_t number, pages;
    bool is_leaving;
};

struct file {
    struct wp_unwind_file file;
    uint32_t number;
};

struct wp_unwind_objects {
    struct wp_unwind_objects_options options;
    pthread_mutex_t lock;
    struct wp_intmap by_id; /* -> number */
    struct object *objects; /* owned; options.most of them, in the order they came */
    struct file *files;     /* owned; the same */
    uint32_t object_count, file_count, next;
    uint64_t pages, taken, made_room_ns; /* taken: with those of objects that are on their way */
    bool has_made_room;
};

struct wp_unwind_objects *wp_unwind_objects_create(const struct wp_unwind_objects_options *options)
{
    struct wp_unwind_objects *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->options = *options;
    o->next = WP_UNWIND_VDSO + 1;
    pthread_mutex_init(&o->lock, NULL);
    o->objects = calloc(options->most, sizeof(*o->objects)); /* untouched memory costs nothing */
    o->files = calloc(options->most, sizeof(*o->files));
    if (!o->objects || !o->files) {
        wp_unwind_objects_destroy(o);
        return NULL;
    }
    return o;
}

void wp_unwind_objects_destroy(struct wp_unwind_objects *o)
{
    if (!o)
        return;
    pthread_mutex_destroy(&o->lock);
    wp_intmap_fini(&o->by_id);
    free(o->objects);
    free(o->files);
    free(o);
}

bool wp_unwind_objects_take(struct wp_unwind_objects *o, uint32_t own, uint32_t more)
{
    uint64_t room = o->options.room, wanted = (uint64_t)own + more;
    if (!room)
        return true;
    pthread_mutex_lock(&o->lock);
    uint64_t limit = wanted > room / LARGE_PART ? room - room / RESERVED_PART : room;
    bool has_room = o->taken + more <= limit;
    if (has_room)
        o->taken += more;
    pthread_mutex_unlock(&o->lock);
    return has_room;
}

static void give_pages(struct wp_unwind_objects *o, uint64_t pages)
{
    o->taken -= pages < o->taken ? pages : o->taken;
}

void wp_unwind_objects_give(struct wp_unwind_objects *o, uint32_t pages)
{
    pthread_mutex_lock(&o->lock);
    give_pages(o, pages);
    pthread_mutex_unlock(&o->lock);
}

uint32_t wp_unwind_objects_number(struct wp_unwind_objects *o)
{
    pthread_mutex_lock(&o->lock);
    uint32_t number = o->next++;
    pthread_mutex_unlock(&o->lock);
    return number;
}

bool wp_unwind_objects_find(struct wp_unwind_objects *o, struct wp_unwind_id id, uint32_t *number)
{
    pthread_mutex_lock(&o->lock);
    bool is_there = wp_intmap_get(&o->by_id, (struct wp_intkey){id.a, id.b}, number);
    pthread_mutex_unlock(&o->lock);
    return is_there;
}

/* Large ones that came first, then any, until a quarter of the pages is free. */
static void choose(struct wp_unwind_objects *o)
{
    uint64_t wanted = o->pages / 4, chosen = 0;
    for (uint64_t least = o->pages / 64;; least = 0) {
        for (uint32_t i = 0; i < o->object_count && chosen < wanted; i++)
            if (!o->objects[i].is_leaving && o->objects[i].pages >= least) {
                o->objects[i].is_leaving = true;
                chosen += o->objects[i].pages;
            }
        if (!least || chosen >= wanted)
            return;
    }
}

/* Takes those that leave out of the list. */
static void drop_objects(struct wp_unwind_objects *o, struct wp_intmap *leaving)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < o->object_count; i++) {
        const struct object *object = &o->objects[i];
        if (object->is_leaving) {
            wp_intmap_put(leaving, (struct wp_intkey){object->number, 0}, 1);
            wp_intmap_remove(&o->by_id, (struct wp_intkey){object->id.a, object->id.b});
            o->pages -= object->pages;
            give_pages(o, object->pages);
        } else {
            o->objects[kept++] = *object;
        }
    }
    o->object_count = kept;
}

static bool is_in(const struct wp_intmap *numbers, uint32_t number)
{
    uint32_t one;
    return wp_intmap_get(numbers, (struct wp_intkey){number, 0}, &one);
}

static void drop_file(struct wp_unwind_objects *o, const struct wp_unwind_file *file)
{
    bpf_map_delete_elem(o->options.files_fd, file);
    o->options.forgotten(o->options.context, file);
}

static void drop_files(struct wp_unwind_objects *o, const struct wp_intmap *leaving)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < o->file_count; i++) {
        if (!is_in(leaving, o->files[i].number)) {
            o->files[kept++] = o->files[i];
            continue;
        }
        drop_file(o, &o->files[i].file);
    }
    o->file_count = kept;
}

/* An object may stay that no file stands for any more: the next one of its build is it again. */
static void drop_first_files(struct wp_unwind_objects *o)
{
    uint32_t gone = o->options.most / 4 + 1;
    for (uint32_t i = 0; i < gone; i++)
        drop_file(o, &o->files[i].file);
    o->file_count -= gone;
    memmove(o->files, o->files + gone, o->file_count * sizeof(*o->files));
}

static void drop_pages(struct wp_unwind_objects *o, const struct wp_intmap *leaving)
{
    struct wp_unwind_place place, next;
    int rc = bpf_map_get_next_key(o->options.pages_fd, NULL, &next);
    while (!rc) {
        place = next;
        rc = bpf_map_get_next_key(o->options.pages_fd, &place, &next); /* before it is gone: else it begins anew */
        if (is_in(leaving, place.object))
            bpf_map_delete_elem(o->options.pages_fd, &place);
    }
}

static void drop_leaving(struct wp_unwind_objects *o)
{
    struct wp_intmap leaving = {0};
    drop_objects(o, &leaving);
    drop_files(o, &leaving);
    __atomic_fetch_add(o->options.generation, 1, __ATOMIC_RELEASE); /* nobody walks by their pages from now on */
    drop_pages(o, &leaving);
    wp_intmap_fini(&leaving);
}

void wp_unwind_objects_add(struct wp_unwind_objects *o, struct wp_unwind_id id, uint32_t number, uint32_t pages)
{
    pthread_mutex_lock(&o->lock);
    if (o->object_count == o->options.most) {
        for (uint32_t i = 0; i <= o->options.most / 4; i++)
            o->objects[i].is_leaving = true;
        drop_leaving(o);
    }
    o->objects[o->object_count++] = (struct object){id, number, pages, false};
    o->pages += pages;
    wp_intmap_put(&o->by_id, (struct wp_intkey){id.a, id.b}, number);
    pthread_mutex_unlock(&o->lock);
}

void wp_unwind_objects_file(struct wp_unwind_objects *o, const struct wp_unwind_file *file, uint32_t number)
{
    pthread_mutex_lock(&o->lock);
    if (o->file_count == o->options.most)
        drop_first_files(o);
    if (!bpf_map_update_elem(o->options.files_fd, file, &number, BPF_ANY))
        o->files[o->file_count++] = (struct file){*file, number};
    __atomic_fetch_add(o->options.generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&o->lock);
}

bool wp_unwind_objects_make_room(struct wp_unwind_objects *o)
{
    pthread_mutex_lock(&o->lock);
    uint64_t now = wp_clock_ns();
    bool may = o->object_count && (!o->has_made_room || now - o->made_room_ns >= o->options.pause_s * WP_NS_PER_S);
    if (may) {
        o->has_made_room = true;
        o->made_room_ns = now;
        choose(o);
        drop_leaving(o);
    }
    pthread_mutex_unlock(&o->lock);
    return may;
}
