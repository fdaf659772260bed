/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_NAMED_FILES_H
#define WP_COLLECTOR_SYMBOLS_NAMED_FILES_H
/*
 * The files in which the naming thread names places: by what each is known by, and as many as may be held. A host that
 * compiles meets new ones for ever; those that were not asked for longest are let go. All calls from one thread.
 */
#include "collector/symbols/naming_thread.h"
#include "common/intmap.h"

struct wp_named_files;

/* How much may be held; beyond either of them wp_named_files_shrink closes files. */
struct wp_named_files_limits {
    uint64_t bytes; /* the file that was used last may take more by itself */
    uint32_t files;
};

/* thread: borrowed. NULL when out of memory. */
struct wp_named_files *wp_named_files_create(
    struct wp_naming_thread *thread, const struct wp_named_files_limits *limits);
/* Forgets the files without closing them in the thread, which stays. NULL is allowed. */
void wp_named_files_destroy(struct wp_named_files *files);

/* The number of the file that was added with this key; false: none. Does not count as a use. */
bool wp_named_files_find(const struct wp_named_files *files, struct wp_intkey key, uint32_t *number);
/* As wp_naming_thread_object; key NULL: it cannot be known again. */
uint32_t wp_named_files_add(
    struct wp_named_files *files, const struct wp_intkey *key, struct wp_elf_file *file, int root_fd, const char *path);
/* A place of this file was asked for: the other files go before it. A number that is not in use has no effect. */
void wp_named_files_use(struct wp_named_files *files, uint32_t number);
/* Lets go what is more than may be held, down to three quarters of it. `gone` is told each number, which another file
 * may get. */
void wp_named_files_shrink(struct wp_named_files *files, void (*gone)(void *context, uint32_t number), void *context);

#endif
