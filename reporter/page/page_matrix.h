/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_MATRIX_H
#define WP_REPORTER_PAGE_PAGE_MATRIX_H
/* Who took how much from whom: a table with one party by row and the other by column, the largest first. */
#include "reporter/display/display.h"

/* What the one lost to the other; of a pair there may be several. */
struct wp_pair {
    const char *loser, *winner;
    uint64_t ns;
};

/* How the table is called; the texts are borrowed until the display ends. */
struct wp_matrix {
    const char *id, *losers; /* losers: the head of the column of names */
    const struct wp_pair *pairs;
    size_t count;
    uint64_t whole_ns;
};

/* At most 20 rows and 6 columns; where there are more losers or winners the last one is of all others. The sums of all
 * rows are those of the pairs. Nothing where there is no pair. */
void wp_page_matrix(struct wp_display *display, const struct wp_matrix *matrix);

#endif
