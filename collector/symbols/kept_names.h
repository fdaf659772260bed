/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_KEPT_NAMES_H
#define WP_COLLECTOR_SYMBOLS_KEPT_NAMES_H
/*
 * What the code of an object is called, kept on disk for the next collector (collector/host/kept_files.h): its tables
 * of names, so that no symbol table is read anew, and where it has debug info the places that were asked for, so that
 * neither is that. It holds for this very file, with the separate debug file that is installed, as this very collector
 * names it. One thread.
 */
#include "collector/host/kept_files.h"
#include "collector/symbols/object_names.h"

struct wp_kept_names;

/* For an open object; `base`: the last part of its path. `folder` is borrowed. NULL: nothing can be kept of it (it is
 * in memory only), or no memory. */
struct wp_kept_names *wp_kept_names_open(const char *folder, const struct wp_elf_file *file, const char *base);
/* Writes the places that were added and frees it. NULL is allowed. */
void wp_kept_names_close(struct wp_kept_names *names);
/* The names that are kept, as wp_object_names_decode makes them. -ENOENT: none; -EINVAL, -ENOMEM. */
int wp_kept_names_restore(const struct wp_kept_names *kept, struct wp_object_names **names, bool *has_lines);
/* Keeps them. */
void wp_kept_names_keep(const struct wp_kept_names *kept, const struct wp_object_names *names);
/* What is at a file offset; false: it is not kept. Texts are valid until the next add. A place may be known to have no
 * name: count 0. */
bool wp_kept_names_find(struct wp_kept_names *names, uint64_t offset, struct wp_place_name *place);
/* Beyond its bound, or without memory, it is not kept. */
void wp_kept_names_add(struct wp_kept_names *names, uint64_t offset, const struct wp_place_name *place);
/* Is the object at `path`? */
bool wp_kept_names_is_at(const struct wp_kept_names *names, const char *path);
/* Opens the object at `path` again, if it is still what it was. -ESTALE: it is another one; else as
 * wp_elf_file_open_path. */
int wp_kept_names_reopen(const struct wp_kept_names *names, const char *path, struct wp_elf_file *file);
/* Removes what was used first where there is too much in the folder. */
void wp_kept_names_bound(const char *folder);

#endif
