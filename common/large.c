/* SPDX-License-Identifier: Apache-2.0 */
#include "common/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Addresses for that many bytes, from a boundary of huge pages on; NULL: there are none. */
static char *reserve(size_t size)
{
    size_t whole = size + WP_LARGE_BYTES;
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)memory % WP_LARGE_BYTES, after = WP_LARGE_BYTES - before;
    if (before)
        munmap(memory, before);
    if (after)
        munmap(memory + before + size, after);
    return memory + before;
}

/* In huge pages, if the kernel has any. */
static char *map(size_t size)
{
    char *memory = reserve(size);
    if (memory)
        madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

/* Huge pages are moved, not copied, as both places begin at their boundary. */
static char *remap(void *memory, size_t old_size, size_t size)
{
    char *place = reserve(size);
    if (!place)
        return NULL;
    char *moved = mremap(memory, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (moved != MAP_FAILED)
        return moved;
    munmap(place, size);
    return NULL;
}

static size_t page_fit(size_t size)
{
    return (size + 4095) / 4096 * 4096;
}

void *wp_large_resize(void *memory, size_t old_size, size_t size)
{
    if (old_size < WP_LARGE_BYTES && size < WP_LARGE_BYTES)
        return realloc(memory, size);
    if (old_size >= WP_LARGE_BYTES && size >= WP_LARGE_BYTES)
        return remap(memory, page_fit(old_size), page_fit(size));
    char *other = size < WP_LARGE_BYTES ? malloc(size) : map(page_fit(size));
    if (!other)
        return NULL;
    if (memory)
        memcpy(other, memory, old_size < size ? old_size : size);
    wp_large_free(memory, old_size);
    return other;
}

void wp_large_free(void *memory, size_t size)
{
    if (memory && size >= WP_LARGE_BYTES)
        munmap(memory, page_fit(size));
    else
        free(memory);
}
