/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_LOCK_CALL_H
#define WP_COMMON_LOCK_CALL_H
/* What the functions of a threads library, or of an interpreter, around a futex make a thread wait for, by their names.
 */
#include <stdbool.h>

#define WP_KERNEL_LOCK "kernel lock (" /* what the name of a lock of the kernel begins with */

enum wp_lock_call {
    WP_LOCK_CALL_UNKNOWN,
    WP_LOCK_CALL_LOCK,        /* "pthread_mutex_lock", "ObjectMonitor::enter" */
    WP_LOCK_CALL_RWLOCK,      /* one that several may have at once to read */
    WP_LOCK_CALL_INTERPRETER, /* a lock made of a semaphore: of an interpreter's programs, and what a thread's end is
                               * waited for with */
    WP_LOCK_CALL_CONDITION,
    WP_LOCK_CALL_SEMAPHORE,
    WP_LOCK_CALL_OTHER, /* a thread's end, a barrier, a parked thread */
};

/* Whether it is one that somebody has and others wait for. */
static inline bool wp_lock_call_is_held(enum wp_lock_call call)
{
    return call == WP_LOCK_CALL_LOCK || call == WP_LOCK_CALL_RWLOCK || call == WP_LOCK_CALL_INTERPRETER;
}

/* What is known with one more function, the innermost comes first; `found` is WP_LOCK_CALL_UNKNOWN for that. True:
 * functions further out do not change it. For any thread. */
bool wp_lock_call_add(enum wp_lock_call *found, const char *function);

#endif
