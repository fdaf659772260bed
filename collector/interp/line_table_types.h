/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_LINE_TABLE_TYPES_H
#define WP_COLLECTOR_INTERP_LINE_TABLE_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A code object's table of lines, or its beginning. Borrowed. */
struct wp_line_table {
    const uint8_t *bytes;
    size_t size;
    uint32_t version; /* WP_INTERP_VERSION */
    uint32_t first_line;
    bool is_cut; /* the table goes on */
};

/* A frame of a language. Texts are borrowed. */
struct wp_interp_place {
    const char *function, *file; /* "" unknown */
    uint32_t line;               /* 0: none */
};

#endif
