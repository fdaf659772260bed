/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/own_lines.h"

bool wp_own_line(const struct wp_line_table *lines, uint32_t unit, uint32_t *line)
{
    (void)lines;
    *line = unit;
    return unit;
}
