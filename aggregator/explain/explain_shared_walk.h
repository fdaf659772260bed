/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_SHARED_WALK_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_SHARED_WALK_H
/* What a walk that is shared remembers: of each slice that it went through, what that led to. */
#include "aggregator/explain/explain_types.h"

#define CHUNK 64u /* slices: bits of `has` */

enum note_kind { NOTE_PIECE, NOTE_CROSSED, NOTE_LIMIT };

struct limit {
    uint32_t number;
    uint64_t count, ns;
};

struct note {        /* what a slice led to */
    uint8_t kind;    /* enum note_kind */
    uint32_t layers; /* of a piece: those behind the walk's, where they stand in its pool */
    union {
        struct wp_piece piece;
        struct wp_crossed crossed;
        struct limit limit;
    };
};

struct row {                /* a slice */
    uint32_t note, notes;   /* where its notes begin, how many there are */
    uint32_t visits;        /* slices that were looked at for it */
    uint32_t starts, stops; /* runs of repeated slices that begin and end with it since the last settling */
};

struct chunk {
    uint64_t has, refused;      /* bit i: slice i is recorded; is not to be */
    uint64_t visits;            /* of those that it has */
    int64_t after_ns, until_ns; /* of home: all of it holds where after < oldest <= until */
    struct row rows[CHUNK];
};

struct wp_shared_walk {
    struct wp_intkey key;
    uint32_t depth;
    int64_t shift_ns;
    struct wp_layer *layers; /* of those who waited when it was first made; owned */
    uint64_t first, last;    /* slices that walks have gone through so far */
    struct chunk **chunks;   /* of slices from chunk_base * CHUNK on, NULL: none; owned */
    uint64_t chunk_base, chunk_count;
    struct note *notes; /* owned */
    uint32_t note_count, note_room;
    struct wp_layer *pool; /* owned */
    uint32_t pool_count, pool_room;
    uint64_t *met; /* host and thread, ascending; owned */
    uint32_t met_count;
    bool is_used;   /* since the last settling */
    bool is_recent; /* there was such a walk since the last look at what may be forgotten */
};

struct wp_shared {
    struct wp_intmap by_place;
    struct wp_shared_walk **walks; /* owned */
    uint32_t count, room;
    uint32_t full; /* explanations that began while there was no room */
    size_t bytes;
    /* the slice that is being recorded */
    struct wp_shared_walk *walk;
    uint32_t first_note, visited;
    bool is_refused; /* nothing of it can be repeated ... */
    bool is_own;     /* ... as it was recorded for this sleeper */
    int64_t after_ns, until_ns;
};

#endif
