/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/no_memory.h"

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

static long left = -1;

void no_memory_after(long given)
{
    left = given;
}

static bool is_given(void)
{
    if (left > 0)
        left--;
    else if (!left)
        return false;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return is_given() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_given() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_given() ? __real_realloc(old, size) : NULL;
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return is_given() ? __real_reallocarray(old, count, size) : NULL;
}
