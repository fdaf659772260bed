/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/args.h"

#include "common/array.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wp_args_fini(struct wp_args *args)
{
    for (size_t i = 0; i < args->count; i++)
        free(args->items[i]);
    free(args->items);
    *args = (struct wp_args){0};
}

/* Takes `text` over, which may be NULL (out of memory). */
static void append_text(struct wp_args *args, char *text)
{
    if (!text || WP_ARRAY_NEXT(args->items, args->count + 1)) { /* the last is NULL */
        free(text);
        args->failed = true;
        return;
    }
    args->items[args->count++] = text;
    args->items[args->count] = NULL;
}

void wp_args_add(struct wp_args *args, const char *text)
{
    append_text(args, strdup(text));
}

void wp_args_addf(struct wp_args *args, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        text = NULL;
    va_end(list);
    append_text(args, text);
}
