/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/io_name.h"

#include <string.h>

const char *wp_io_device(struct wp_pool *pool, const char *frame)
{
    const char *name = strncmp(frame, "io:", 3) ? frame : frame + 3;
    const char *kind = wp_io_kind(frame);
    size_t size = strlen(name) - (*kind ? strlen(kind) + 1 : 0);
    return wp_pool_printf(pool, "%.*s", (int)(size < 200 ? size : 200), name);
}

const char *wp_io_kind(const char *frame)
{
    static const char *const kinds[] = {"read", "write", "flush", "discard"};
    const char *space = strrchr(frame, ' ');
    for (size_t i = 0; space && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strcmp(space + 1, kinds[i]))
            return kinds[i];
    return "";
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
