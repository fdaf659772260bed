/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_folders.h"

#include "common/clock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool wp_site_block_read(struct wp_site_block *block, const char *at)
{
    const char *stop = strchr(at, '\n'), *slash = stop ? memchr(at, '/', (size_t)(stop - at)) : NULL;
    *block = (struct wp_site_block){.at = at, .end = at, .folder = slash ? (size_t)(slash - at) : 0};
    while (stop && (!block->files || (slash && !strncmp(block->end, at, block->folder + 1)))) {
        block->files++;
        block->end = stop + 1;
        stop = strchr(block->end, '\n');
    }
    return block->files > 0;
}

/* `name` bytes of the line are the folder's. UINT64_MAX: it is no folder, or its name may lead out of the site. */
static uint64_t folder_changed_ns(const char *base, const char *line, size_t name)
{
    char path[PATH_MAX];
    struct stat st;
    int size = snprintf(path, sizeof(path), "%s/%.*s", base, (int)name, line);
    if (size < 0 || (size_t)size >= sizeof(path) || strstr(path + strlen(base), "/..") || lstat(path, &st) ||
        !S_ISDIR(st.st_mode))
        return UINT64_MAX;
    uint64_t modified_ns = wp_timespec_ns(st.st_mtim), changed_ns = wp_timespec_ns(st.st_ctim);
    return modified_ns > changed_ns ? modified_ns : changed_ns;
}

uint64_t wp_site_block_changed_ns(const struct wp_site_block *block, const char *base)
{
    uint64_t last_ns = block->folder ? 0 : UINT64_MAX;
    const char *before = "";
    size_t before_size = 0;
    for (const char *line = block->at, *stop; last_ns != UINT64_MAX && line < block->end; line = stop + 1) {
        stop = strchr(line, '\n');
        const char *slash = memrchr(line, '/', (size_t)(stop - line)); /* each line of such a block has one */
        size_t size = (size_t)(slash - line);
        if (size == before_size && !memcmp(before, line, size))
            continue;
        uint64_t changed_ns = folder_changed_ns(base, line, size);
        last_ns = changed_ns > last_ns ? changed_ns : last_ns;
        before = line;
        before_size = size;
    }
    return last_ns;
}
