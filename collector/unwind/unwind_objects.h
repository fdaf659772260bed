/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_UNWIND_OBJECTS_H
#define WP_COLLECTOR_UNWIND_UNWIND_OBJECTS_H
/*
 * Which objects the kernel side has rows of, and for which files they stand: what has one build id is there once,
 * however many files (of as many containers) it is. When there is no room for more pages, large objects that came first
 * go; they are asked for again if they are still in use. Several threads may use one.
 */
#include "collector/bpf/unwind_row.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_unwind_objects;

/* Of a file's content, as wp_unwind_cache_id tells it. */
struct wp_unwind_id {
    uint64_t a, b;
};

/* The maps of the kernel side and their bounds. Copied. */
struct wp_unwind_objects_options {
    int files_fd, pages_fd; /* the maps unwind_files and unwind_pages; borrowed */
    uint32_t *generation;   /* of the kernel side, raised when files have become known or are forgotten */
    void (*forgotten)(void *context, const struct wp_unwind_file *file); /* a file is unknown again */
    void *context;
    uint32_t most;    /* files, and objects; as many as the map unwind_files takes */
    uint32_t room;    /* pages that the map unwind_pages takes; 0: that is not looked at */
    unsigned pause_s; /* between two times that room is made: what does not fit at all shall not be read all the time */
};

/* NULL: no memory. */
struct wp_unwind_objects *wp_unwind_objects_create(const struct wp_unwind_objects_options *options);
/* Call it when no other thread uses them any more. The kernel's maps keep their contents. NULL is allowed. */
void wp_unwind_objects_destroy(struct wp_unwind_objects *objects);

/* Room for `more` pages of an object that has `own` so far. False: there is none, or what is left is for small ones: a
 * compiler's rows do not keep out those of the programs that it makes. */
bool wp_unwind_objects_take(struct wp_unwind_objects *objects, uint32_t own, uint32_t more);
/* So many pages are not needed after all. */
void wp_unwind_objects_give(struct wp_unwind_objects *objects, uint32_t pages);
/* A number for an object that is not there yet. */
uint32_t wp_unwind_objects_number(struct wp_unwind_objects *objects);
/* The number of the object with this content; false: not there, and *number is undefined. */
bool wp_unwind_objects_find(struct wp_unwind_objects *objects, struct wp_unwind_id id, uint32_t *number);
/* Its pages have been put. Of too many objects a quarter goes, with their files. */
void wp_unwind_objects_add(struct wp_unwind_objects *objects, struct wp_unwind_id id, uint32_t number, uint32_t pages);
/* A file has become known; number 0: it has no rows. Of too many files the quarter that came first goes; they are asked
 * for again. */
void wp_unwind_objects_file(struct wp_unwind_objects *objects, const struct wp_unwind_file *file, uint32_t number);
/* Forgets objects, a quarter of all pages or more, and their files. False: not so soon, or there is nothing to forget.
 */
bool wp_unwind_objects_make_room(struct wp_unwind_objects *objects);

#endif
