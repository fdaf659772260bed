/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_ROW_LIMIT_TYPES_H
#define WP_REPORTER_BASE_ROW_LIMIT_TYPES_H
/* Which rows of a table are worth a line, as --at-least says it. */
#include <stdbool.h>
#include <stdint.h>

/* Rows with less are left out; zeroed: none are. */
struct wp_row_limit {
    uint64_t least; /* ns, or a number */
    double percent; /* of the total */
    bool has_unit;  /* least is a time, though it may be 0 */
};

#endif
