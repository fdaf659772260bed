/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_TEXT_POOL_H
#define WP_REPORTER_BASE_TEXT_POOL_H
/*
 * Memory that is freed all at once: the texts and rows of one page or one aggregate. Embedded: init with {0}.
 * A failed allocation sets `failed`; text functions then return "", so that builders check once at their end.
 */
#include <stdbool.h>
#include <stddef.h>

struct wp_pool {
    struct wp_pool_block *blocks; /* owned, newest first */
    bool failed;
};

/* Frees every text and row at once; the pool may be used again. A zeroed one is allowed. */
void wp_pool_fini(struct wp_pool *pool);
/* Zeroed and aligned for any type; NULL when out of memory. */
void *wp_pool_alloc(struct wp_pool *pool, size_t size);
/* A copy of `text`; never NULL. */
const char *wp_pool_text(struct wp_pool *pool, const char *text);
/* A copy of at most `limit` bytes, cut between characters and ended with "…" when it was longer; never NULL. */
const char *wp_pool_clip(struct wp_pool *pool, const char *text, size_t limit);
/* Formats as printf does, of any length; never NULL. */
const char *wp_pool_printf(struct wp_pool *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
