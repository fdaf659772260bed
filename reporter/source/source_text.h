/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SOURCE_SOURCE_TEXT_H
#define WP_REPORTER_SOURCE_SOURCE_TEXT_H
/*
 * The text of source files, by the path that the debug info has. Asked in this order: folders that stand for a prefix
 * of the path; the repository, at the release's commit; the store (`wakepath-store source add`); the disk. Paths come
 * from programs that were recorded, so a folder is never left, and of the disk only what everybody may read, and is
 * called like source, is taken.
 */
#include "common/buffer.h"
#include "reporter/base/text_pool.h"
#include "reporter/read/stores.h"

#include <stddef.h>

#define WP_SOURCE_MAPS 32u
#define WP_SOURCE_BYTES (2u << 20) /* of one file */

/* Where the text of source may be read from. */
struct wp_source_options {
    const char *maps[WP_SOURCE_MAPS]; /* "PREFIX=DIR", borrowed */
    size_t map_count;
    const char *git;                   /* NULL none; borrowed */
    const char *disks[WP_SOURCE_MAPS]; /* folders of this machine whose files may be shown; borrowed */
    size_t disk_count;
    bool no_disk; /* none, whatever they say */
};

/* The text of one file, and where it came from. */
struct wp_source_text {
    struct wp_buffer text; /* empty: not available */
    const char *from;      /* which fetcher gave it: "git 1a2b3c4d: src/app.c"; in the pool */
    const char *why_not;   /* what each of the others said, one sentence; "" nothing */
    const char *doubt;     /* why it may be another one than what ran; NULL none */
};

struct wp_source_fetcher;

/* Of one release; `first_ns`: when its recording began, 0 unknown. All borrowed; NULL when out of memory. */
struct wp_source_fetcher *wp_source_fetcher_create(
    const struct wp_source_options *options, const struct wp_snapshot *snapshot, uint64_t first_ns);
/* Texts that it gave stay valid; NULL is allowed. */
void wp_source_fetcher_destroy(struct wp_source_fetcher *fetcher);
/* `last_line`: the last one with time, which the text must have. Not found is no error: text.size is 0 then. -ENOMEM.
 */
int wp_source_fetch(struct wp_source_fetcher *fetcher, const char *path, uint32_t last_line, struct wp_pool *pool,
    struct wp_source_text *text, struct wp_error *err);
/* Frees `text` alone: the sentences live in the pool. */
void wp_source_text_fini(struct wp_source_text *text);

#endif
