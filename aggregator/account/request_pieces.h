/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_REQUEST_PIECES_H
#define WP_AGGREGATOR_ACCOUNT_REQUEST_PIECES_H
/*
 * The pieces of base threads' time in which requests were served, or which is in a window that is kept, from the
 * account of an epoch until its transactions are filed and its windows looked at: what a request or a window consisted
 * of is read here instead of being explained again. One that began before the epoch, or of which a part was left out of
 * the account, is not whole here: it is explained apart, once, and that is here then.
 */
#include "aggregator/account/piece_list.h"
#include "aggregator/explain/explain_sink.h"

#include <stddef.h>

struct wp_request { /* read and answered in this epoch */
    uint64_t from_ns, to_ns;
    uint64_t least_ns; /* the earliest beginning of this one and of the thread's later ones */
    uint32_t next;     /* the thread's next one + 1, 0: none */
};

struct wp_request_part { /* of a thread's time, explained at once */
    uint64_t from_ns, to_ns;
    size_t first, end; /* its pieces */
    uint32_t thread;   /* explained apart, of that thread; 0: in the account */
};

/* Zeroed: none. */
struct wp_request_pieces {
    struct wp_request *requests; /* owned */
    uint32_t request_count, request_room;
    struct wp_request_part *parts; /* a thread's behind each other, in the order of time; owned */
    uint32_t part_count, part_room;
    uint32_t apart_first;        /* behind the account's, if has_apart */
    struct wp_piece_row *pieces; /* a part's latest first; owned */
    size_t piece_count, piece_room;
    uint32_t ahead; /* of the thread that is explained: the first request that is not over + 1 */
    bool has_apart;
    bool is_open; /* what is explained now goes to the last part */
    bool is_full; /* no room: the parts that follow are not here */
};

/* An epoch begins: nothing is here. */
void wp_request_pieces_clear(struct wp_request_pieces *pieces);
/* Frees requests, parts and pieces and zeroes the struct; zeroed is allowed. */
void wp_request_pieces_fini(struct wp_request_pieces *pieces);
/* A request of a thread that ends in this epoch; a thread's come latest first, before what is explained. *first is the
 * thread's, 0 at the beginning. */
void wp_request_pieces_expect(struct wp_request_pieces *pieces, uint32_t *first, uint64_t from_ns, uint64_t to_ns);
/* The thread with these requests is explained now, from its earliest time on. */
void wp_request_pieces_begin(struct wp_request_pieces *pieces, uint32_t first);
/* [from, to) of it is explained now, to be followed by wp_request_pieces_close(). Kept where a request was expected in
 * it, or `is_window`. */
void wp_request_pieces_open(struct wp_request_pieces *pieces, uint64_t from_ns, uint64_t to_ns, bool is_window);
/* May that keep something? Without a request ahead it keeps windows alone. */
static inline bool wp_request_pieces_may_keep(const struct wp_request_pieces *pieces, bool is_window)
{
    return !pieces->is_full && (pieces->ahead || is_window);
}
/* The same of a part that is not of the account, when all of that is here; its whole interval is kept. False: there is
 * no room. */
bool wp_request_pieces_open_apart(struct wp_request_pieces *pieces, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* The part ends here; does nothing when none was opened, as where neither wants it. */
void wp_request_pieces_close(struct wp_request_pieces *pieces);
/* Copies a piece into the open part, whether or not it is settled; for wp_request_pieces_add(). No room or no memory:
 * the part is dropped, and no more are kept in this epoch. */
void wp_request_pieces_keep(struct wp_request_pieces *pieces, const struct wp_piece *piece);
/* Keeps the piece if a part is open and the piece is of the explanation that goes on now, not repeated from earlier
 * ones (is_settled). */
static inline void wp_request_pieces_add(struct wp_request_pieces *pieces, const struct wp_piece *piece)
{
    if (pieces->is_open && !piece->is_settled)
        wp_request_pieces_keep(pieces, piece);
}
/* The parts of one thread: [first, end). */
struct wp_request_parts {
    uint32_t first, end;
};
/* The part of the thread that was explained apart and ends there; none: an empty range. */
struct wp_request_parts wp_request_pieces_apart(
    const struct wp_request_pieces *pieces, uint32_t thread, uint64_t to_ns);
/* Tells the sink of the pieces of [from, to) of the thread with these parts, cut to it, latest first, as wp_explain()
 * would. Returns how many parts it lies in; 0: it is not whole here, and nothing was told. */
uint32_t wp_request_pieces_tell(const struct wp_request_pieces *pieces, const struct wp_request_parts *parts,
    uint64_t from_ns, uint64_t to_ns, const struct wp_sink *sink);

#endif
