/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PYTHON_LINES_H
#define WP_COLLECTOR_INTERP_PYTHON_LINES_H
/*
 * Lines of CPython's code objects: co_lnotab up to 3.9 (Objects/lnotab_notes.txt), co_linetable of 3.10 (PEP 626) and
 * the table of locations since 3.11 (Objects/locations.md). Tables come from other processes: nothing outside of them
 * is read.
 */
#include "collector/interp/line_table_types.h"

/* The line of the instruction `unit`, counted in units of two bytes. False: it has none, or the table ends before. */
bool wp_python_line(const struct wp_line_table *lines, uint32_t unit, uint32_t *line);

#endif
