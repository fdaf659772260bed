/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/text_pool.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 16384u

struct wp_pool_block {
    struct wp_pool_block *next;
    size_t used, room;
    alignas(max_align_t) unsigned char bytes[];
};

void wp_pool_fini(struct wp_pool *pool)
{
    while (pool->blocks) {
        struct wp_pool_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
    pool->failed = false;
}

static struct wp_pool_block *block_with(struct wp_pool *pool, size_t size)
{
    struct wp_pool_block *block = pool->blocks;
    if (block && block->room - block->used >= size)
        return block;
    size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    block = room > SIZE_MAX - sizeof(*block) ? NULL : calloc(1, sizeof(*block) + room);
    if (!block) {
        pool->failed = true;
        return NULL;
    }
    block->next = pool->blocks;
    block->room = room;
    pool->blocks = block;
    return block;
}

void *wp_pool_alloc(struct wp_pool *pool, size_t size)
{
    size_t align = alignof(max_align_t);
    if (size > SIZE_MAX - align) {
        pool->failed = true;
        return NULL;
    }
    size = (size + align - 1) / align * align;
    struct wp_pool_block *block = block_with(pool, size);
    if (!block)
        return NULL;
    void *at = block->bytes + block->used;
    block->used += size;
    return at;
}

static const char *copy(struct wp_pool *pool, const char *text, size_t size, const char *tail)
{
    size_t more = strlen(tail);
    char *at = wp_pool_alloc(pool, size + more + 1);
    if (!at)
        return "";
    memcpy(at, text, size);
    memcpy(at + size, tail, more + 1);
    return at;
}

const char *wp_pool_text(struct wp_pool *pool, const char *text)
{
    return copy(pool, text, strlen(text), "");
}

const char *wp_pool_clip(struct wp_pool *pool, const char *text, size_t limit)
{
    size_t size = strnlen(text, limit + 1);
    if (size <= limit)
        return copy(pool, text, size, "");
    size = limit;
    while (size && ((unsigned char)text[size] & 0xc0) == 0x80)
        size--;
    return copy(pool, text, size, "…");
}

const char *wp_pool_printf(struct wp_pool *pool, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *at = size < 0 ? NULL : wp_pool_alloc(pool, (size_t)size + 1);
    if (at)
        vsnprintf(at, (size_t)size + 1, format, again);
    else
        pool->failed = true;
    va_end(again);
    return at ? at : "";
}
