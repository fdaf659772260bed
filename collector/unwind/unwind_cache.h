/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_UNWIND_CACHE_H
#define WP_COLLECTOR_UNWIND_UNWIND_CACHE_H
/*
 * Unwind rows of objects on disk, by build id (without one by inode, size and times): a collector that starts again
 * need not read every library's .eh_frame anew. One file an object; what is damaged, of another version or not ours is
 * as if it were not there. Bounded: the oldest go. Several threads may use one.
 */
#include "collector/host/kept_files.h"
#include "collector/unwind/unwind_objects.h"
#include "collector/unwind/unwind_rows.h"

struct wp_unwind_cache {
    const char *folder; /* borrowed; made when it is not there. NULL: nothing is kept */
};

/* An open object. */
struct wp_unwind_object {
    int fd;           /* borrowed */
    const char *name; /* of wp_unwind_cache_name; NULL: nothing is kept of it */
    bool is_plain;    /* no program or library that the caller wants to look into (wp_unwinder_options.opened) */
    const struct wp_unwind_file *met; /* what the kernel calls the file, that somebody runs; NULL: nobody was seen to,
                                         so what is kept is no younger for it */
};

/* The name of what is kept of an open object, wherever it is; false: it is none. */
bool wp_unwind_cache_name(int fd, char name[WP_KEPT_NAME]);
/* What an object of that name is known by. */
struct wp_unwind_id wp_unwind_cache_id(const char *name);
/* The rows of an object, from the cache or read; *is_cached says which. From the cache object->is_plain is as it was
 * when this very program kept it, or reported it since. As wp_unwind_rows_read. */
int wp_unwind_cache_rows(const struct wp_unwind_cache *cache, struct wp_unwind_object *object,
    struct wp_unwind_rows **rows, bool *is_cached, struct wp_error *err);
/* Keeps the rows of an object that somebody runs (`met`). */
void wp_unwind_cache_keep(
    const struct wp_unwind_cache *cache, const struct wp_unwind_object *object, const struct wp_unwind_rows *rows);
/* The object whose rows are kept is plain. */
void wp_unwind_cache_tell_plain(const struct wp_unwind_cache *cache, const struct wp_unwind_object *object);

/* An object that is kept and still where it was met. Borrowed, but for the descriptor. */
struct wp_unwind_kept {
    struct wp_unwind_file file; /* as it is called now */
    int fd;                     /* the callee's */
    const char *path, *name;    /* where it is; of wp_unwind_cache_name */
};

/* Calls back for such objects, the last ones first, up to so many bytes of rows: what a collector will meet again. The
 * callee says whether it wants another. Any thread. */
void wp_unwind_cache_each(const struct wp_unwind_cache *cache, uint64_t most_bytes,
    bool (*found)(void *context, const struct wp_unwind_kept *kept), void *context);

#endif
