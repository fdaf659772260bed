/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SOURCE_SOURCE_PHYSICAL_H
#define WP_REPORTER_SOURCE_SOURCE_PHYSICAL_H
/* The physical lines of a file: what the compiler calls each, and which of them go on from the line above. */
#include "reporter/facts/source_lines.h"

/* What one physical line is called. */
struct wp_source_logical {
    uint32_t file; /* place in files, UINT32_MAX: none of those with time */
    uint32_t line;
};

/* The lines of a text, each NUL-terminated in the pool. */
struct wp_source_physical {
    const char **lines;
    struct wp_source_logical *logical;
    bool *continues; /* an open bracket goes on from the line above */
    uint32_t count;
    bool has_directives;
};

/* `text` of `size` bytes is of `file`. No memory: the pool says so. */
void wp_source_physical_build(struct wp_source_physical *physical, struct wp_pool *pool,
    const struct wp_source_lines *lines, uint32_t file, const char *text, size_t size);

#endif
