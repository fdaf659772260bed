/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_NAMED_OBJECT_H
#define WP_COLLECTOR_SYMBOLS_NAMED_OBJECT_H
/*
 * One object as the naming thread has it: its names, of before where they are kept (kept_names.h), else read; of kept
 * ones the lines are read for the first place whose line is not kept. One thread.
 */
#include "collector/symbols/kept_names.h"
#include "collector/symbols/object_names.h"

/* Embedded; zeroed: none. */
struct wp_named_object {
    struct wp_object_names *names; /* owned; NULL: it could not be read */
    struct wp_kept_names *kept;    /* owned; of one that has lines; NULL: none are kept */
    char *unread;                  /* owned; its path on this host, until a line is wanted that is not kept; NULL */
    char base[64];                 /* of its path */
    uint64_t bytes, debug_bytes;   /* of memory that the names take; of them, of debug info */
    bool has_news;                 /* something is kept that was not before */
};

/* Whom else to ask. Borrowed. */
struct wp_named_by {
    struct wp_debug_fetch *fetch; /* NULL: nobody */
    const char *kept_folder;      /* NULL: nothing is kept */
};

/* Takes the open file. root_fd: as of wp_object_names_create. */
void wp_named_object_open(struct wp_named_object *object, struct wp_elf_file *file, int root_fd, const char *path,
    const struct wp_named_by *by);
/* Leaves it zeroed. */
void wp_named_object_close(struct wp_named_object *object);
/* The code at a file offset; place->count 0: nothing is known there. */
void wp_named_object_code(struct wp_named_object *object, uint64_t offset, struct wp_place_name *place);
/* The data there, as wp_object_names_data. */
void wp_named_object_data(struct wp_named_object *object, uint64_t offset, struct wp_place_name *place);

#endif
