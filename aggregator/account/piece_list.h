/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_PIECE_LIST_H
#define WP_AGGREGATOR_ACCOUNT_PIECE_LIST_H
/*
 * The pieces of an interval that was explained once, to be gone through as often as somebody needs them. Of each what a
 * window or a transaction shows of it.
 */
#include "aggregator/explain/explain_sink.h"

/* One piece, as a window or a transaction needs it; times are in the clock of the host that was asked about. */
struct wp_piece_row {
    uint32_t node, host, thread;
    enum wp_category category;
    uint64_t start_ns, end_ns;
};

/* As much of it as lies behind that instant, in front of its end. */
static inline uint64_t wp_piece_row_length(const struct wp_piece_row *row, uint64_t origin_ns)
{
    uint64_t start_ns = row->start_ns > origin_ns ? row->start_ns : origin_ns;
    return row->end_ns > start_ns ? row->end_ns - start_ns : 0;
}

/* A copy of what is kept of a piece; borrows nothing of it. */
static inline struct wp_piece_row wp_piece_row_of(const struct wp_piece *piece)
{
    return (struct wp_piece_row){
        piece->node, piece->host, piece->thread, piece->category, piece->start_ns, piece->end_ns};
}

/* Zeroed: empty. */
struct wp_piece_list {
    struct wp_piece_row *rows; /* as they came: latest first; owned */
    uint32_t count, room;
    uint64_t lost; /* there was no memory for these */
};

/* Takes pieces and nothing else: nothing is counted or marked, nobody is asked. */
struct wp_sink wp_piece_list_sink(struct wp_piece_list *list);
/* Frees the rows and empties the list; zeroed is allowed. A sink of the list may be used again. */
void wp_piece_list_fini(struct wp_piece_list *list);

#endif
