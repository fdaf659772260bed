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
        {"LockSlow", WP_LOCK_CALL_LOCK}, {"lock_slow", WP_LOCK_CALL_LOCK}, {"lock_shared_slow", WP_LOCK_CALL_RWLOCK},
        {"lock_exclusive_slow", WP_LOCK_CALL_RWLOCK}, {"acquire_lock", WP_LOCK_CALL_LOCK},
        {"take_gil", WP_LOCK_CALL_LOCK}, {"ObjectMonitor::enter", WP_LOCK_CALL_LOCK},
        {"ObjectMonitor::Enter", WP_LOCK_CALL_LOCK}, {"__lll_", WP_LOCK_CALL_LOCK}, {"spin_lock", WP_LOCK_CALL_LOCK},
        {"cond_wait", WP_LOCK_CALL_CONDITION}, {"cond_timedwait", WP_LOCK_CALL_CONDITION},
        {"cond_clockwait", WP_LOCK_CALL_CONDITION}, {"cond_", WP_LOCK_CALL_OTHER}, {"sem_wait", WP_LOCK_CALL_SEMAPHORE},
        {"sem_timedwait", WP_LOCK_CALL_SEMAPHORE}, {"sem_clockwait", WP_LOCK_CALL_SEMAPHORE},
        {"counting_semaphore<", WP_LOCK_CALL_SEMAPHORE}, {"__atomic_semaphore", WP_LOCK_CALL_SEMAPHORE},
        {"__platform_semaphore", WP_LOCK_CALL_SEMAPHORE}, {"join", WP_LOCK_CALL_OTHER}, {"barrier", WP_LOCK_CALL_OTHER},
        {"futex_park", WP_LOCK_CALL_OTHER}, {"Parker", WP_LOCK_CALL_OTHER}, {"notesleep", WP_LOCK_CALL_OTHER},
        {"notetsleep", WP_LOCK_CALL_OTHER}, {"WaitBarrier::wait", WP_LOCK_CALL_OTHER},
        {"SafepointSynchronize::block", WP_LOCK_CALL_OTHER}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strstr(function, rows[i].part))
            return rows[i].call;
    return WP_LOCK_CALL_UNKNOWN;
}

#define LOCK_OF_POSTGRES "LWLockAcquire" /* its processes wait for their turn on a semaphore each (lwlock.c) */

/* Locks of languages, whose threads wait for their turn on a condition of their own; and PostgreSQL's. */
const char *wp_lock_call_language(const char *function)
{
    static const struct {
        const char *part, *name;
    } rows[] = {{"take_gil", WP_LOCK_GIL}, {"gvl_acquire", WP_LOCK_GVL}, {"thread_sched_yield", WP_LOCK_GVL},
        {"thread_sched_to_running", WP_LOCK_GVL}, {"ObjectMonitor::enter", "monitor"},
        {"ObjectMonitor::Enter", "monitor"}, {"ObjectMonitor::Reenter", "monitor"}, {"rb_mutex_lock", "Mutex"},
        {"rb_mutex_synchronize", "Mutex"}, {"java.util.concurrent.locks.ReentrantLock", "ReentrantLock"},
        {"java.util.concurrent.locks.ReentrantReadWriteLock", "ReentrantReadWriteLock"},
        {"java.util.concurrent.locks.StampedLock", "StampedLock"}, {"sync.(*Mutex).Lock", "sync.Mutex"},
        {"sync.(*RWMutex).Lock", "sync.RWMutex"}, {"sync.(*RWMutex).RLock", "sync.RWMutex"},
        {LOCK_OF_POSTGRES, "LWLock"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strstr(function, rows[i].part))
            return rows[i].name;
    return NULL;
}

/* Whether the function says what the condition is for that a language's thread waits on: a lock, what programs call a
 * condition, a while. */
static bool is_told(enum wp_lock_call *found, const char *function)
{
    static const struct {
        const char *part;
        enum wp_lock_call call;
        bool is_told;
    } rows[] = {{"ObjectMonitor::wait", WP_LOCK_CALL_CONDITION, true},
        {"ConditionObject.await", WP_LOCK_CALL_CONDITION, true}, {"ConditionNode.block", WP_LOCK_CALL_CONDITION, true},
        {"JavaThread::sleep", WP_LOCK_CALL_OTHER, true}, {"VMThread::", WP_LOCK_CALL_OTHER, true},
        {"Parker::park", WP_LOCK_CALL_PARKED, false}};
    if (wp_lock_call_language(function)) {
        *found = WP_LOCK_CALL_LOCK;
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strstr(function, rows[i].part)) {
            *found = rows[i].call;
            return rows[i].is_told;
        }
    return false;
}

#define LOCK_OF_PYTHON "_PySemaphore_Wait" /* since 3.13: who waits for a lock parks (Python/parking_lot.c) */

/* Of a lock of Python's that is no lock of the program's: what waits with it. A semaphore is a condition, too. */
static bool is_python_wait(enum wp_lock_call *found, const char *function)
{
    static const struct {
        const char *name;
        enum wp_lock_call call;
    } rows[] = {{"Condition.wait", WP_LOCK_CALL_CONDITION}, {"Thread._wait_for_tstate_lock", WP_LOCK_CALL_OTHER},
        {"Thread.join", WP_LOCK_CALL_OTHER}, {"PyEvent_Wait", WP_LOCK_CALL_OTHER},
        {"PyEvent_WaitTimed", WP_LOCK_CALL_OTHER}, {"_queue_SimpleQueue_get", WP_LOCK_CALL_CONDITION},
        {"_queue_SimpleQueue_get_impl", WP_LOCK_CALL_CONDITION}};
    const char *name = !strncmp(function, "py::", 4) ? function + 4 : function;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t size = strlen(rows[i].name);
        if (!strncmp(name, rows[i].name, size) && (!name[size] || name[size] == ':')) {
            *found = rows[i].call;
            return true;
        }
    }
    return false;
}

/* Debian's libruby names exported functions only, and its lock's are none. The condition of its lock is waited on
 * without a timeout by who was told to let others run, comes back from a call or begins (thread.c, thread_pthread.c).
 */
#define TOLD_TO_YIELD "rb_threadptr_execute_interrupts"

static bool takes_turn(const char *function)
{
    static const char *const names[] = {TOLD_TO_YIELD, "rb_thread_check_ints", "rb_thread_schedule", "rb_nogvl",
        "rb_thread_call_without_gvl", "rb_thread_call_without_gvl2", "rb_thread_call_with_gvl",
        "rb_thread_io_blocking_region", "rb_thread_fd_select", "rb_thread_wait_fd", "rb_io_wait", "start_thread"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(function, names[i]))
            return true;
    return false;
}

static bool is_unnamed(const char *function)
{
    size_t size = strlen(function);
    return !size || *function == '[' || !strcmp(function, "?") || (size > 2 && !strcmp(function + size - 2, "+?"));
}

/* True: it is known. */
static bool add_to_ruby(enum wp_lock_call *found, const char *function)
{
    if (is_unnamed(function))
        return false;
    *found = takes_turn(function) ? WP_LOCK_CALL_TURN : WP_LOCK_CALL_CONDITION;
    return *found == WP_LOCK_CALL_TURN || is_told(found, function);
}

bool wp_lock_call_add(enum wp_lock_call *found, const char *function)
{
    if (*found == WP_LOCK_CALL_INTERPRETER)
        return is_python_wait(found, function);
    if (*found == WP_LOCK_CALL_RUBY)
        return add_to_ruby(found, function);
    if (!strcmp(function, LOCK_OF_PYTHON)) {
        *found = WP_LOCK_CALL_INTERPRETER;
        return false;
    }
    if (*found == WP_LOCK_CALL_CONDITION && !strcmp(function, "rb_native_cond_wait")) {
        *found = WP_LOCK_CALL_RUBY;
        return false;
    }
    if (*found == WP_LOCK_CALL_CONDITION && !strcmp(function, TOLD_TO_YIELD)) { /* with the timer of its turn */
        *found = WP_LOCK_CALL_TURN;
        return true;
    }
    if (*found == WP_LOCK_CALL_CONDITION || *found == WP_LOCK_CALL_PARKED)
        return is_told(found, function);
    if (!strncmp(function, LOCK_OF_POSTGRES, sizeof(LOCK_OF_POSTGRES) - 1)) {
        *found = WP_LOCK_CALL_LOCK;
        return true;
    }
    enum wp_lock_call call = call_of(function);
    if (call == WP_LOCK_CALL_LOCK)
        *found = *found == WP_LOCK_CALL_SEMAPHORE ? WP_LOCK_CALL_INTERPRETER : WP_LOCK_CALL_LOCK;
    else if (call && *found == WP_LOCK_CALL_UNKNOWN)
        *found = call;
    return call && *found != WP_LOCK_CALL_INTERPRETER && call != WP_LOCK_CALL_SEMAPHORE &&
        call != WP_LOCK_CALL_CONDITION;
}

const char *wp_lock_call_taken(enum wp_lock_call found, const char *function)
{
    return found == WP_LOCK_CALL_TURN ? WP_LOCK_GVL : wp_lock_call_language(function);
}

bool wp_lock_call_is_barrier(const char *function)
{
    static const char *const barriers[] = {"barrier_wait", "Barrier.wait", "Barrier._wait", "CyclicBarrier.dowait",
        "sync::Barrier::wait", "__tree_barrier", "__kmp_barrier"};
    static const char *const others[] = {"gomp_simple_barrier_wait"}; /* GNU OpenMP's threads between their teams */
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strstr(function, others[i]))
            return false;
    for (size_t i = 0; i < sizeof(barriers) / sizeof(*barriers); i++)
        if (strstr(function, barriers[i]))
            return true;
    return false;
}

bool wp_lock_is_of_interpreter(const char *name)
{
    return wp_lock_is_gil(name) || !strcmp(name, WP_LOCK_GVL);
}

bool wp_lock_is_gil(const char *name)
{
    size_t size = strcspn(name, "+ ");
    return (size == 3 && !strncmp(name, WP_LOCK_GIL, size)) || (size == 10 && !strncmp(name, "_PyRuntime", size));
}
