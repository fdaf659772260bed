/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_RUBY_LINES_H
#define WP_COLLECTOR_INTERP_RUBY_LINES_H
/*
 * Lines of CRuby's instruction sequences (iseq.c, insns_info): an index says how many entries begin at or before a
 * place (succ_index_table), each entry begins with a line. Tables come from other processes: nothing outside of them is
 * read.
 */
#include "collector/interp/line_table_types.h"

/* The line of the word `unit` of a sequence. False: it has none, or the table ends before. */
bool wp_ruby_line(const struct wp_line_table *lines, uint32_t unit, uint32_t *line);

#endif
