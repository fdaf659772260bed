/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_JAVA_LINES_H
#define WP_COLLECTOR_INTERP_JAVA_LINES_H
/*
 * Lines of HotSpot's methods (share/oops/method.cpp, CompressedLineNumberReadStream): pairs of a bytecode and its
 * line, each as what is added to the one before. Tables come from other processes: nothing outside of them is read.
 */
#include "collector/interp/line_table_types.h"

/* The line of the bytecode at `unit`. False: it has none, or the table ends before. */
bool wp_java_line(const struct wp_line_table *lines, uint32_t unit, uint32_t *line);

#endif
