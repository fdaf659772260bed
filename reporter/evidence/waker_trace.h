/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_WAKER_TRACE_H
#define WP_REPORTER_EVIDENCE_WAKER_TRACE_H
/*
 * Waits of the threads of interest for each other, in the window that is kept event by event (facts->by_threads): what
 * the thread that ended a wait did since it began. Where that one waited for the same, who ended its wait had what both
 * waited for.
 */
#include "reporter/facts/code_location.h"

/* Where a thread is: both as in the flame. */
struct wp_trace_place {
    const char *sleep;    /* "sleep:futex"; "" it runs */
    const char *location; /* the program's innermost function; "" not known */
    bool is_waiting;      /* for another control path: a nap may be in the same call */
};

struct wp_waker_doing {
    struct wp_trace_place place;
    uint64_t ns;
    uint32_t thread;    /* of the window, +1: who ended most of that time; 0 none */
    uint64_t thread_ns; /* ... and how much */
};

/* What those did most who ended the waits at that place, and who did; ns 0: not known. *waited_ns: how long they were
 * in all. Texts live as long as the window. Out of memory shows in facts->pool.failed. */
struct wp_waker_doing wp_waker_trace_doing(
    struct wp_facts *facts, const struct wp_trace_place *waits, uint64_t *waited_ns);
/* Whether a thread that ended a sleep of that name sleeps so itself; *wakings: sleeps whose ends are known. */
bool wp_waker_trace_is_returned(struct wp_facts *facts, const char *sleep, uint64_t *wakings);
/* Of the time that threads of interest are at that place, in parts of a hundred: other threads waited for them. */
unsigned wp_waker_trace_awaited(struct wp_facts *facts, const struct wp_trace_place *place);

#endif
