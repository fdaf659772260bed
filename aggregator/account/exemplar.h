/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_EXEMPLAR_H
#define WP_AGGREGATOR_ACCOUNT_EXEMPLAR_H
/*
 * A window of an aggregate kept whole, piece by piece, with the runs, sleeps and links of every thread that came into
 * an explanation: its first one, or one of a sampled window (exemplar_sample.h). Bounded in rows; what does not fit is
 * counted: of the first one what comes last, of a sampled one, which is gone through twice, the shortest.
 */
#include "aggregator/account/piece_list.h"
#include "aggregator/account/top_k.h"
#include "aggregator/explain/explain.h"
#include "common/idtable.h"
#include "storage/report/trace.h"

#define WP_EXEMPLAR_ROWS 60000u /* of each kind */

/* One window of one aggregate while it is gathered. */
struct wp_exemplar {
    struct wp_trace *trace;         /* owned */
    struct wp_fleet *fleet;         /* borrowed */
    const struct wp_pathtree *tree; /* borrowed */
    uint32_t home;                  /* the aggregate's own host: times are its */
    uint64_t origin_ns;             /* host time of the trace's time 0; 0: nothing yet */
    uint64_t now_ns;                /* of the last piece */
    uint64_t bit;                   /* of the aggregate */
    uint32_t row_limit;             /* of each kind */
    struct wp_top_k *pieces;        /* borrowed: which ones are kept of more than fit; NULL: the first */
    struct wp_top_k runs, sleeps;   /* the same, where `pieces` is there */
    bool is_measuring;              /* runs and sleeps are only gone through */
    bool is_system;                 /* of all threads of a host (system_window.h) */
    struct wp_exemplar_program { /* by thread of the trace, where a thread gets a row for each program that it runs */
        uint32_t before;         /* the row of the program before it + 1, 0: none */
        uint64_t since_ns;       /* home's time */
    } * programs;                /* owned */
    uint32_t program_room;
    uint32_t link_step, link_turn; /* of a system's links one in so many is kept; 0: each */
    uint64_t end_ns; /* of a window that is over (host time): what goes on then is kept up to there; 0: open */
    uint32_t *nodes; /* tree node -> trace node, 0 not yet */
    uint32_t node_room;
    struct wp_exemplar_host {
        struct wp_idtable rows; /* struct wp_exemplar_row by thread: of those that are in the trace */
        uint32_t generation;
        struct wp_intmap labels; /* what sleeps are called and who ran, in the trace's strings */
        int64_t shift_ns;        /* its time + shift = home's */
        bool has_shift;
    } * hosts; /* by host, owned */
    uint32_t host_room;
    struct wp_exemplar_base { /* of the piece before: mostly the next one's, too */
        uint32_t host, thread, generation;
        uint32_t path; /* its control path + 1, 0: there is none */
    } last_base;
};

/* What is in the trace of one thread of a host. */
struct wp_exemplar_row {
    uint32_t trace_thread; /* index + 1 in the trace, 0: not in it */
    uint32_t path;         /* control path + 1, 0: none */
    uint64_t until_ns;     /* runs and sleeps are in the trace up to here; its host's time */
};

/* Of the aggregate with that `bit`, on host `home`. `fleet` and `tree` are borrowed until wp_exemplar_fini(). -ENOMEM:
 * it may be given to wp_exemplar_fini(), and to nothing else. */
int wp_exemplar_init(
    struct wp_exemplar *exemplar, struct wp_fleet *fleet, uint32_t home, const struct wp_pathtree *tree, uint64_t bit);
/* The control path of that thread is in it, whether pieces follow or not. */
void wp_exemplar_path(struct wp_exemplar *exemplar, uint32_t host, uint32_t thread);
/* Frees the trace, too, and zeroes it; zeroed is allowed. `pieces` stays the owner's. */
void wp_exemplar_fini(struct wp_exemplar *exemplar);
/* What it takes of memory, its trace included. */
size_t wp_exemplar_bytes(const struct wp_exemplar *exemplar);
/* Starts afresh (a new window). */
void wp_exemplar_clear(struct wp_exemplar *exemplar);
/* The window begins here (host time) when none has begun yet. */
void wp_exemplar_begin(struct wp_exemplar *exemplar, uint64_t origin_ns, int64_t real_offset_ns);
/* A piece of the control path that stands on thread `base` of host `base_host`. */
void wp_exemplar_keep_piece(
    struct wp_exemplar *exemplar, uint32_t base_host, uint32_t base, const struct wp_piece_row *piece);
/* The same if the piece is to be kept and there is room; else it is counted as omitted. One that ends before the window
 * is none of it. Where `pieces` is set, wp_top_k_choose() comes first. */
static inline void wp_exemplar_piece(
    struct wp_exemplar *exemplar, uint32_t base_host, uint32_t base, const struct wp_piece_row *piece)
{
    if (piece->end_ns <= exemplar->origin_ns)
        return;
    bool is_kept = !exemplar->pieces || wp_top_k_has(exemplar->pieces, wp_piece_row_length(piece, exemplar->origin_ns));
    if (is_kept && exemplar->trace->piece_count < exemplar->row_limit)
        wp_exemplar_keep_piece(exemplar, base_host, base, piece);
    else
        exemplar->trace->omitted++;
}
/* A row for what that thread is from there (home's time) on, its first or behind the one that it has; its index, or
 * UINT32_MAX: there is no room. */
uint32_t wp_exemplar_program(
    struct wp_exemplar *exemplar, uint32_t host, uint32_t thread, uint32_t identity, uint64_t since_ns);
/* The row of a thread at that time of home's; UINT32_MAX: it has none. */
uint32_t wp_exemplar_thread_at(const struct wp_exemplar *exemplar, uint32_t host, uint32_t thread, uint64_t at_ns);
/* Takes in the runs, sleeps and links of its threads up to `until_ns` of home's time. */
void wp_exemplar_extend(struct wp_exemplar *exemplar, uint64_t until_ns);

#endif
