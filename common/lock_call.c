/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lock_call.h"

#include <stddef.h>
#include <string.h>

static enum wp_lock_call call_of(const char *function)
{
    static const struct {
        const char *part;
        enum wp_lock_call call;
    } rows[] = {{"mutex_cond_lock", WP_LOCK_CALL_LOCK}, {"mutex_lock", WP_LOCK_CALL_LOCK},
        {"mutex_timedlock", WP_LOCK_CALL_LOCK}, {"mutex_clocklock", WP_LOCK_CALL_LOCK}, {"lll_lock", WP_LOCK_CALL_LOCK},
        {"rwlock", WP_LOCK_CALL_RWLOCK}, {"lock_contended", WP_LOCK_CALL_LOCK}, {"lockSlow", WP_LOCK_CALL_LOCK},
        {"acquire_lock", WP_LOCK_CALL_LOCK}, {"take_gil", WP_LOCK_CALL_LOCK},
        {"ObjectMonitor::enter", WP_LOCK_CALL_LOCK}, {"ObjectMonitor::Enter", WP_LOCK_CALL_LOCK},
        {"__lll_", WP_LOCK_CALL_LOCK}, {"spin_lock", WP_LOCK_CALL_LOCK}, {"cond_wait", WP_LOCK_CALL_CONDITION},
        {"cond_timedwait", WP_LOCK_CALL_CONDITION}, {"cond_clockwait", WP_LOCK_CALL_CONDITION},
        {"cond_", WP_LOCK_CALL_OTHER}, {"sem_wait", WP_LOCK_CALL_SEMAPHORE}, {"sem_timedwait", WP_LOCK_CALL_SEMAPHORE},
        {"sem_clockwait", WP_LOCK_CALL_SEMAPHORE}, {"join", WP_LOCK_CALL_OTHER}, {"barrier", WP_LOCK_CALL_OTHER},
        {"futex_park", WP_LOCK_CALL_OTHER}, {"Parker", WP_LOCK_CALL_OTHER}, {"notesleep", WP_LOCK_CALL_OTHER},
        {"notetsleep", WP_LOCK_CALL_OTHER}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strstr(function, rows[i].part))
            return rows[i].call;
    return WP_LOCK_CALL_UNKNOWN;
}

bool wp_lock_call_add(enum wp_lock_call *found, const char *function)
{
    enum wp_lock_call call = call_of(function);
    if (call == WP_LOCK_CALL_LOCK)
        *found = *found == WP_LOCK_CALL_SEMAPHORE ? WP_LOCK_CALL_INTERPRETER : WP_LOCK_CALL_LOCK;
    else if (call && *found == WP_LOCK_CALL_UNKNOWN)
        *found = call;
    return call && call != WP_LOCK_CALL_SEMAPHORE;
}
