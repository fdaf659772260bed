/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PYTHON_LINES_H
#define WP_COLLECTOR_INTERP_PYTHON_LINES_H
/*
 * Lines of CPython's code objects: co_lnotab up to 3.9 (Objects/lnotab_notes.txt), co_linetable of 3.10 (PEP 626) and
 * the table of locations since 3.11 (Objects/locations.md). Tables come from other processes: nothing outside of them
 * is read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table, or its beginning. Borrowed. */
struct wp_python_lines {
    const uint8_t *bytes;
    size_t size;
    uint32_t version; /* 0x030b: 3.11 */
    uint32_t first_line;
    bool is_cut; /* the table goes on */
};

/* The line of the instruction `unit`, counted in units of two bytes. False: it has none, or the table ends before. */
bool wp_python_line(const struct wp_python_lines *lines, uint32_t unit, uint32_t *line);

#endif
