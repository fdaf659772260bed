/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_STATUS_LINE_H
#define WP_CLI_RECORD_STATUS_LINE_H
/*
 * One line on a terminal that is written anew. Where a command writes to the same terminal it stands in the last row,
 * and the rows above scroll without it (DECSTBM, as of VT100); else where the cursor is. Nothing on what is no
 * terminal, nor on one that cannot do that.
 */
#include <stdbool.h>
#include <stdio.h>

enum wp_status_mode { WP_STATUS_OFF, WP_STATUS_PLAIN, WP_STATUS_LAST_ROW };

struct wp_status_line {
    FILE *out; /* borrowed */
    enum wp_status_mode mode;
    unsigned columns, rows; /* of the terminal */
    bool is_shown;
};

/* `is_shared`: somebody else writes to that terminal. */
void wp_status_line_init(struct wp_status_line *line, FILE *out, bool is_shared);
/* Replaces the line by `text`, which must fit line->columns, and flushes. Does nothing when the mode is OFF. */
void wp_status_line_show(struct wp_status_line *line, const char *text);
/* Gives the row back. Does nothing where none is shown. */
void wp_status_line_clear(struct wp_status_line *line);

#endif
