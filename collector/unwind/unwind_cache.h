/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_UNWIND_CACHE_H
#define WP_COLLECTOR_UNWIND_UNWIND_CACHE_H
/*
 * Unwind rows of objects on disk, by build id (without one by inode, size and times): a collector that starts again
 * need not read every library's .eh_frame anew. One file an object; what is damaged, of another version or not ours is
 * as if it were not there. Bounded: the oldest go. Several threads may use one.
 */
#include "collector/unwind/unwind_objects.h"
#include "collector/unwind/unwind_rows.h"

struct wp_unwind_cache {
    const char *folder; /* borrowed; made when it is not there. NULL: nothing is kept */
};

/* What an open object is known by, wherever it is; false: it is none. */
bool wp_unwind_cache_id(int fd, struct wp_unwind_id *id);
/* The rows of an open object, from the cache or read; *is_cached says which. met: what the kernel calls the file, that
 * somebody runs; NULL: nobody was seen to, so what is kept is no younger for it. As wp_unwind_rows_read. */
int wp_unwind_cache_rows(const struct wp_unwind_cache *cache, int fd, const struct wp_unwind_file *met,
    struct wp_unwind_rows **rows, bool *is_cached, struct wp_error *err);
/* Keeps the rows of an open object that somebody runs. */
void wp_unwind_cache_keep(
    const struct wp_unwind_cache *cache, int fd, const struct wp_unwind_file *met, const struct wp_unwind_rows *rows);

/* Calls back for objects that are kept and still where they were met, the last ones first, up to so many bytes of rows:
 * what a collector will meet again. The callee owns the descriptor, and says whether it wants another. Any
 * thread. */
void wp_unwind_cache_each(const struct wp_unwind_cache *cache, uint64_t most_bytes,
    bool (*found)(void *context, const struct wp_unwind_file *file, int fd, const char *path), void *context);

#endif
