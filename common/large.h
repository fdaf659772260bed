/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_LARGE_H
#define WP_COMMON_LARGE_H
/*
 * Memory that grows large: below WP_LARGE_BYTES it is malloc's, from there on a mapping that the kernel is asked to
 * fill with huge pages of 2 MiB (transparent_hugepage "madvise" or "always"; else with small ones). A huge page is
 * one fault where small ones are 512, each some times what its zeros cost; memory that is never touched costs nothing
 * but the rest of the last page in use.
 */
#include <stddef.h>

#define WP_LARGE_BYTES ((size_t)2 << 20)

/* What of `size` bytes is best asked for: whole huge pages, if the first is three quarters full. */
static inline size_t wp_large_fit(size_t size)
{
    return size <= WP_LARGE_BYTES / 4 * 3 ? size : (size + WP_LARGE_BYTES - 1) / WP_LARGE_BYTES * WP_LARGE_BYTES;
}

/* As realloc of `memory`, which has `old_size` bytes of this function (NULL: 0); `size` is not 0. What is new is
 * undefined. NULL: no memory, and the old one is as it was. */
void *wp_large_resize(void *memory, size_t old_size, size_t size);
/* Frees what wp_large_resize() returned for that size; NULL is fine. */
void wp_large_free(void *memory, size_t size);

#endif
