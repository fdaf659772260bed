/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_OBJECT_NAMES_H
#define WP_COLLECTOR_SYMBOLS_OBJECT_NAMES_H
/* Everything that names the code of one object: its functions, and where it has debug info files, lines and inlining.
 */
#include "collector/elf/debug_lines.h"

struct wp_object_names;
struct wp_debug_fetch;

#define WP_SPIN_NAME "spinning, suspected" /* a function as if inlined, where code spins (spin_loops.h) */

/* What a place in the code is called: the function that is there, then those inlined at that place, outermost first. */
struct wp_place_name {
    struct wp_debug_level levels[WP_INLINE_LEVELS]; /* texts are never NULL, "" unknown; borrowed until the next find */
    unsigned count;                                 /* 0: nothing is known */
};

/* Takes the open file, also when it fails. `root_fd`: where its debug file is looked for before our own root, -1:
 * nowhere. `fetch`: who is asked when it is on no disk, NULL: nobody. `debug_limit`: bytes of debug info to hold, 0:
 * none. -ENOMEM. */
int wp_object_names_create(struct wp_object_names **names, struct wp_elf_file *file, int root_fd,
    struct wp_debug_fetch *fetch, uint64_t debug_limit, struct wp_error *err);
/* Appends all of them but files, lines and inlined functions, as bytes for wp_object_names_decode. -ENOMEM. */
int wp_object_names_encode(const struct wp_object_names *names, struct wp_buffer *out);
/* Makes them of such bytes, without the object. *has_lines: it has some, for wp_object_names_add_lines. -EINVAL: these
 * are not what was encoded; -ENOMEM. */
int wp_object_names_decode(struct wp_object_names **names, const uint8_t *bytes, size_t size, bool *has_lines);
/* Of decoded ones: reads the lines of their object, whose open file is taken. */
void wp_object_names_add_lines(struct wp_object_names *names, struct wp_elf_file *file, uint64_t debug_limit);
/* Frees all names that were returned and closes the files. NULL is allowed. */
void wp_object_names_destroy(struct wp_object_names *names);
/* Bytes of memory that it takes; of them, of debug info. */
uint64_t wp_object_names_bytes(const struct wp_object_names *names);
/* Bytes of debug info that it holds; 0: none. */
uint64_t wp_object_names_debug_bytes(const struct wp_object_names *names);
/* The number of functions that have a symbol. */
uint32_t wp_object_names_functions(const struct wp_object_names *names);
/* The data at a place, or just behind the last that is in the file: "queue_lock (BASE)", "queue+0x28 (BASE)" inside of
 * what is larger than a lock, "BASE+0x4040" where no symbol is. */
void wp_object_names_data(
    struct wp_object_names *names, uint64_t file_offset, const char *base, struct wp_place_name *place);
/* Names the code at a file offset, demangled; place->count 0: nothing is known there. */
void wp_object_names_find(struct wp_object_names *names, uint64_t file_offset, struct wp_place_name *place);

#endif
