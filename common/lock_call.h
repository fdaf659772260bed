/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_LOCK_CALL_H
#define WP_COMMON_LOCK_CALL_H
/* What the functions of a threads library, or of an interpreter, around a futex make a thread wait for, by their names.
 */
#include <stdbool.h>

#define WP_KERNEL_LOCK "kernel lock (" /* what the name of a lock of the kernel begins with */
#define WP_LOCK_GIL "GIL"              /* CPython's, which several words of _PyRuntime's memory are, */
#define WP_LOCK_GVL "GVL"              /* ... and CRuby's, by its functions */

enum wp_lock_call {
    WP_LOCK_CALL_UNKNOWN,
    WP_LOCK_CALL_LOCK,        /* "pthread_mutex_lock", "ObjectMonitor::enter" */
    WP_LOCK_CALL_RWLOCK,      /* one that several may have at once to read */
    WP_LOCK_CALL_INTERPRETER, /* a lock made of a semaphore: of an interpreter's programs, and what a thread's end is
                               * waited for with */
    WP_LOCK_CALL_CONDITION,
    WP_LOCK_CALL_SEMAPHORE,
    WP_LOCK_CALL_PARKED, /* a thread of Java's, for what its classes say */
    WP_LOCK_CALL_RUBY,   /* a condition of CRuby's own, whose next named function outwards says what for */
    WP_LOCK_CALL_TURN,   /* CRuby's lock: that function gives it up and takes it again */
    WP_LOCK_CALL_OTHER,  /* a thread's end, a barrier, a while */
};

/* Whether it is one that somebody has and others wait for. */
static inline bool wp_lock_call_is_held(enum wp_lock_call call)
{
    return call == WP_LOCK_CALL_LOCK || call == WP_LOCK_CALL_RWLOCK || call == WP_LOCK_CALL_INTERPRETER ||
        call == WP_LOCK_CALL_TURN;
}

/* Whether it is one that somebody signals. */
static inline bool wp_lock_call_is_condition(enum wp_lock_call call)
{
    return call == WP_LOCK_CALL_CONDITION || call == WP_LOCK_CALL_RUBY;
}

/* What is known with one more function, the innermost comes first; `found` is WP_LOCK_CALL_UNKNOWN for that. True:
 * functions further out do not change it. For any thread. */
bool wp_lock_call_add(enum wp_lock_call *found, const char *function);
/* What a language calls the lock that its function takes: "GVL", "monitor"; NULL: it takes none. For any thread. */
const char *wp_lock_call_language(const char *function);
/* The same, of a lock that wp_lock_call_add knows as `found` since this function. For any thread. */
const char *wp_lock_call_taken(enum wp_lock_call found, const char *function);
/* Whether the function waits at a barrier, for threads that work: "pthread_barrier_wait", "CyclicBarrier.dowait"; where
 * a pool's threads wait for work with one it is none. For any thread. */
bool wp_lock_call_is_barrier(const char *function);
/* Whether it is the one that each thread needs to run code of the language: "GIL", "GVL". For any thread. */
bool wp_lock_is_of_interpreter(const char *name);
/* Whether "GIL (python3.11)" or "_PyRuntime+0x1b0 (python3.11)" is what a futex is called. For any thread. */
bool wp_lock_is_gil(const char *name);

#endif
