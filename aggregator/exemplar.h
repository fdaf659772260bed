/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXEMPLAR_H
#define WP_AGGREGATOR_EXEMPLAR_H
/*
 * The exemplar of an aggregate: its first window kept whole, piece by piece, with the runs, sleeps and links of every
 * thread that came into an explanation. Bounded in rows; what does not fit is counted.
 */
#include "aggregator/explain.h"
#include "storage/trace.h"

#define WP_EXEMPLAR_ROWS 60000u /* of each kind */

struct wp_exemplar {
    struct wp_trace *trace;          /* owned */
    struct wp_timeline *timeline;    /* borrowed */
    const struct wp_pathtree *tree;  /* borrowed */
    char *hostname;                  /* owned */
    uint64_t origin_ns;              /* host time of the trace's time 0; 0: nothing yet */
    uint64_t bit;                    /* of the aggregate */
    uint32_t *nodes;                 /* tree node -> trace node, 0 not yet */
    uint32_t node_room;
    struct row {
        uint32_t trace_thread;       /* index + 1 in the trace, 0: not in it */
        uint32_t path;               /* control path + 1, 0: none */
        uint64_t until_ns;           /* runs and sleeps are in the trace up to here */
    } *rows;                         /* by thread */
    uint32_t row_room;
};

int wp_exemplar_init(struct wp_exemplar *exemplar, struct wp_timeline *timeline, const struct wp_pathtree *tree,
    const char *hostname, uint64_t bit);
void wp_exemplar_fini(struct wp_exemplar *exemplar);
/* Starts afresh (a new window). */
void wp_exemplar_clear(struct wp_exemplar *exemplar);
/* The window begins here (host time) when none has begun yet. */
void wp_exemplar_begin(struct wp_exemplar *exemplar, uint64_t origin_ns, int64_t real_offset_ns);
/* A piece of the control path that stands on thread `base`. */
void wp_exemplar_piece(struct wp_exemplar *exemplar, uint32_t base, const struct wp_piece *piece);
/* Takes in the runs, sleeps and links of its threads up to `until_ns`. */
void wp_exemplar_extend(struct wp_exemplar *exemplar, uint64_t until_ns);

#endif
