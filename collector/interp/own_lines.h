/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_OWN_LINES_H
#define WP_COLLECTOR_INTERP_OWN_LINES_H
/* Lines of PHP and Perl, whose instructions say them themselves: they have come with the frame. */
#include "collector/interp/line_table_types.h"

/* `unit` is the line. False: there is none. */
bool wp_own_line(const struct wp_line_table *lines, uint32_t unit, uint32_t *line);

#endif
