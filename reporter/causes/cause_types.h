/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_TYPES_H
#define WP_REPORTER_CAUSES_CAUSE_TYPES_H
/* What a cause is (causes.h). */
#include "reporter/facts/code_location.h"

#include <stdbool.h>

enum wp_cause_kind {
    WP_CAUSE_KIND_NONE,
    WP_CAUSE_KIND_DEADLOCK,    /* threads that wait for each other's locks */
    WP_CAUSE_KIND_LOCK,        /* a lock that another thread held */
    WP_CAUSE_KIND_POOL,        /* a condition or semaphore, until a thread of the same role ended the wait */
    WP_CAUSE_KIND_INTERRUPTED, /* a signal ended the sleep, and what it waited for had not come */
    WP_CAUSE_KIND_UNENDED,     /* the recording ended while it slept */
    WP_CAUSE_KIND_SLEEP,       /* a call made to sleep */
    WP_CAUSE_KIND_TIMEOUT,
    WP_CAUSE_KIND_DISK,
    WP_CAUSE_KIND_PEER,    /* that nobody records */
    WP_CAUSE_KIND_FLIGHT,  /* a message was on its way */
    WP_CAUSE_KIND_SERVICE, /* a process that is asked over a socket, and runs */
    WP_CAUSE_KIND_PAUSE,   /* the runtime had the thread stopped */
    WP_CAUSE_KIND_PATH,    /* a control path of its own, of a thread or process that works for others, too */
    WP_CAUSE_KIND_GARBAGE, /* the runtime collects garbage; where it stops the thread for that, `sleep` is a sleep */
};

struct wp_cause_fact {
    enum wp_cause_kind kind;
    uint32_t sleep; /* node of the flame: the sleep that it is about, of the cell with most time; of a disk, in the call
                       with most */
    uint32_t node;  /* that cell's node */
    uint32_t base;  /* node of the outermost layer's process: where timeout or a shell only waits for a program that
                     * waits for another's doing, the program's */
    uint32_t process; /* node of the process whose layer sleeps */
    uint32_t first;   /* of that cell's pseudo-stack the outermost sleep; 0 none */
    uint32_t asked; /* and the layer of a process that was waited for: over a socket, a pipe, or for its end; 0 none */
    uint64_t ns, largest_ns;
    uint64_t count;        /* pieces */
    uint64_t collected_ns; /* while garbage was collected */
    bool has_threads;      /* threads of different names slept, */
    bool has_places;       /* ... or at different places, */
    bool has_ends;         /* ... or until different threads went on */
};

struct wp_causes {
    struct wp_cause_fact *rows; /* in the facts' pool, as what follows; most time first once sorted */
    uint32_t *locations;        /* wp_code_locations_build */
    uint32_t *callers;          /* wp_callers_build */
    bool *is_asked;             /* by node: it is of another process that was waited for, or above such a layer */
    bool *is_asked_inside;      /* the same, but for a program that timeout or a shell only waits for */
    uint32_t *cell_cause;       /* by cell of the flame: row + 1, 0 none ... */
    uint32_t *cell_sleep;       /* ... and the node that is to wp_cause_fact.sleep what the cell is to the cause */
    bool *cell_rest;            /* by cell: another one calls there than who has most of that cause (cause_callers.h) */
    uint32_t count;
};

#endif
