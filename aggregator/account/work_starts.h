/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_WORK_STARTS_H
#define WP_AGGREGATOR_ACCOUNT_WORK_STARTS_H
/*
 * Who set a thread's work going, back to a thread of interest: by waking it, creating it or a message, itself or
 * through threads that it had set going. What a timer of its own sets going in a thread is its creator's, within the
 * history. A thread that may have been answered works for whom it asked for. What it reads from another peer ends the
 * work for this one.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_aggregate;
struct wp_interval;
struct wp_slice;
struct wp_work_starts;

/* Slices that are one piece of a thread's work: [first, last]; thread 0: none. */
struct wp_work_piece {
    uint32_t thread;
    bool is_whole; /* with `first` it began; else it is not known where */
    uint64_t first, last;
};

/* Pieces of a thread's work that may have been answered, one before the other; thread 0: none. */
struct wp_work_answers {
    uint32_t thread;
    uint32_t count; /* so many of them lie ... */
    uint64_t from;  /* ... before this slice's end, ... */
    uint64_t to;    /* ... and behind this one's, which ends the first piece that is to be looked at */
};

/* Where a step back from a slice of a thread's work leads, on whatever way; thread 0: not known. */
struct wp_work_step {
    uint32_t thread;
    uint8_t found;                 /* as work_starts.c has it */
    uint32_t starter;              /* who set the work going, ... */
    uint32_t from;                 /* ... its identity then, ... */
    const char *how;               /* ... how, ... */
    uint64_t at_ns;                /* ... and when */
    uint64_t ordinal, first, next; /* the slice, with which one the work began, and from which one it goes on */
};

/* Looking back from many slices of one timeline, in which nothing comes or goes meanwhile: what one finds spares the
 * others. Begins with zeros. */
struct wp_work_look {
    uint64_t oldest_ns; /* what began before is not looked at */
    struct wp_work_piece pieces[64];
    struct wp_work_answers answers[256];
    struct wp_work_step steps[256];
};

/* The work goes on: only the CPU, another name or its own I/O parts this run from the one before. */
bool wp_work_goes_on(const struct wp_slice *slice);
/* Finds the threads that may have been set going by `to_ns`; comes before the next two. */
void wp_work_starts_look(struct wp_aggregate *aggregate, uint64_t to_ns, uint64_t oldest_ns);
/* False: no work of that thread was. */
bool wp_work_may_start(const struct wp_aggregate *aggregate, uint32_t thread);
/* The node of the aggregate's tree that the work, a part of that slice, stands on: who set it going, how
 * ("starts:fork", "starts:new thread", "starts:waking", "starts:message"), and through whom. Its end is put where the
 * thread turns to somebody else. 0: nobody of interest, that is not known, or a thread of interest may yet turn out to
 * wait for it. */
uint32_t wp_work_start(
    struct wp_aggregate *aggregate, struct wp_interval *work, uint64_t ordinal, struct wp_work_look *look);
/* Zeroed is allowed. */
void wp_work_starts_fini(struct wp_work_starts *starts);

#endif
