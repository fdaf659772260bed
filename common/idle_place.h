/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_IDLE_PLACE_H
#define WP_COMMON_IDLE_PLACE_H
/* Where threads of servers and of runtimes sleep while they have nothing to do, by names of functions and of threads.
 */
#include <stdbool.h>

/* What the functions of a sleep say so far; zeroed before the innermost one. */
struct wp_idle_place {
    const char *inner;  /* the function before; borrowed until the next one is added; NULL: none */
    const char *source; /* the last one of a language; borrowed until the next one of it is added; NULL: none */
    bool is_parked;     /* a thread of Go's scheduler that has no goroutine to run */
    bool is_busy;       /* in tokio: it polls a task, or for all tasks */
    bool is_joining;    /* it waits for what tasks of tokio do, mostly until its process ends */
    bool is_idle;
    bool is_own; /* of a thread that is the runtime's own: pauses are its trade, too */
};

/* One more function, the innermost comes first; is_source: of a language, whose object is a source file. True: it is an
 * idle place. For any thread. */
bool wp_idle_place_add(struct wp_idle_place *place, const char *function, bool is_source);
/* A thread of a runtime's own, by its name: it sleeps for want of work, or by the clock. For any thread. */
bool wp_idle_thread(const char *name);

#endif
