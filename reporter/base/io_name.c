/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/io_name.h"

#include <string.h>

static const char *const kinds[] = {"read", "write", "flush", "discard"};

/* The word of a kind behind the device, with its length and which it is; NULL when there is none. */
static const char *find_kind(const char *frame, size_t *size, const char **kind)
{
    for (const char *at = strchr(frame, ' '); at; at = strchr(at + 1, ' '))
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
            *size = strlen(kinds[i]);
            *kind = kinds[i];
            if (!strncmp(at + 1, *kind, *size) && (!at[1 + *size] || at[1 + *size] == ' '))
                return at + 1;
        }
    return NULL;
}

const char *wp_io_device(struct wp_pool *pool, const char *frame)
{
    const char *name = strncmp(frame, "io:", 3) ? frame : frame + 3, *kind;
    size_t length, size = strlen(name);
    const char *word = find_kind(name, &length, &kind);
    if (word)
        size = (size_t)(word - name) - 1;
    return wp_pool_printf(pool, "%.*s", (int)(size < 200 ? size : 200), name);
}

const char *wp_io_kind(const char *frame)
{
    const char *kind;
    size_t size;
    return find_kind(frame, &size, &kind) ? kind : "";
}

const char *wp_io_file(const char *frame)
{
    const char *kind;
    size_t size;
    const char *word = find_kind(frame, &size, &kind);
    return word && word[size] ? word + size + 1 : "";
}

const char *wp_net_address(struct wp_pool *pool, const char *frame)
{
    size_t size = strcspn(frame, " ");
    return wp_pool_printf(pool, "%.*s", (int)(size < 200 ? size : 200), frame);
}

const char *wp_net_missing(struct wp_pool *pool, const char *frame)
{
    const char *open = strchr(frame, '(');
    size_t size = open ? strcspn(open + 1, ")") : 0;
    return wp_pool_printf(pool, "%.*s", (int)(size < 80 ? size : 80), open ? open + 1 : "");
}
