/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_LIVE_TEXT_H
#define WP_CLI_RECORD_LIVE_TEXT_H
/* A live reading as a person or a script reads it. Names come from outside: no control character reaches `out`. */
#include "cli/record/live_waits.h"
#include "common/buffer.h"

#include <stdbool.h>

struct wp_live_look {
    const char *title;      /* what is watched */
    uint64_t elapsed_ns;    /* since the beginning */
    unsigned columns, rows; /* of the terminal, 0: a table goes elsewhere and is not cut; rows: of the table at most */
    bool has_colour;
};

/* "recording 12 s, make waits for cc1, which runs its own code in `parse` (c.c:12) ...", cut to the columns. */
void wp_live_text_line(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look);
/* The table of `wakepath top`. */
void wp_live_text_table(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look);
/* One line of JSON. -ENOMEM. */
int wp_live_text_json(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look,
    struct wp_error *err);

#endif
