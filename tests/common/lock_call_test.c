/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions around a futex say, the innermost first. */
#include "common/lock_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum wp_lock_call call_of(const char *const *functions)
{
    enum wp_lock_call found = WP_LOCK_CALL_UNKNOWN;
    while (*functions && !wp_lock_call_add(&found, *functions))
        functions++;
    return found;
}

static void innermost_decides(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"__lll_lock_wait", "serve", NULL}), WP_LOCK_CALL_LOCK);
    assert_int_equal(call_of((const char *[]){"___pthread_rwlock_wrlock", NULL}), WP_LOCK_CALL_RWLOCK);
    assert_int_equal(call_of((const char *[]){"os::park", "ObjectMonitor::enter", NULL}), WP_LOCK_CALL_LOCK);
    assert_int_equal(
        call_of((const char *[]){"___pthread_cond_wait", "acquire_lock_queue", NULL}), WP_LOCK_CALL_CONDITION);
    assert_int_equal(call_of((const char *[]){"__pthread_clockjoin_ex", "mutex_lock", NULL}), WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"runtime.futex", "runtime.notesleep", NULL}), WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"runtime.notetsleep_internal", NULL}), WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"syscall", "serve", NULL}), WP_LOCK_CALL_UNKNOWN);
    /* Whom a safepoint has stopped on its way to a monitor does not wait for that. */
    assert_int_equal(call_of((const char *[]){"syscall", "LinuxWaitBarrier::wait", "SafepointSynchronize::block",
                         "ObjectMonitor::enter", NULL}),
        WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"pthread_cond_timedwait", "os::PlatformMonitor::wait",
                         "VMThread::wait_until_executed", "ObjectMonitor::enter", NULL}),
        WP_LOCK_CALL_OTHER);
}

static void semaphore_may_be_a_lock(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"__new_sem_wait", "take_connection", NULL}), WP_LOCK_CALL_SEMAPHORE);
    assert_int_equal(call_of((const char *[]){"syscall", "std::counting_semaphore<1l>::acquire", "take", NULL}),
        WP_LOCK_CALL_SEMAPHORE);
    assert_int_equal(
        call_of((const char *[]){"sem_clockwait", "PyThread_acquire_lock_timed", NULL}), WP_LOCK_CALL_INTERPRETER);
    assert_int_equal(call_of((const char *[]){"sem_wait", "pthread_cond_wait", NULL}), WP_LOCK_CALL_SEMAPHORE);
    assert_int_equal(
        call_of((const char *[]){"sem_wait", "PGSemaphoreLock", "LWLockAcquire", NULL}), WP_LOCK_CALL_LOCK);
}

/* Conditions, queues and ends of threads of Python's are made of its locks. */
static void lock_of_python_may_be_none(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"sem_wait", "PyThread_acquire_lock_timed", "?", "Condition.wait",
                         "Queue.get", "checkout", NULL}),
        WP_LOCK_CALL_CONDITION);
    /* Since 3.13 they park, whether or not functions of C's library have names. */
    assert_int_equal(
        call_of((const char *[]){"?", "_PySemaphore_Wait", "?", "update", NULL}), WP_LOCK_CALL_INTERPRETER);
    assert_int_equal(call_of((const char *[]){"sem_wait", "_PySemaphore_Wait", "_PyParkingLot_Park",
                         "_PyMutex_LockTimed", "Condition.wait", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(call_of((const char *[]){"?", "_PySemaphore_Wait", "_PyParkingLot_Park", "PyEvent_WaitTimed", "?",
                         "Thread.join", NULL}),
        WP_LOCK_CALL_OTHER);
    assert_int_equal(call_of((const char *[]){"sem_wait", "PyThread_acquire_lock_timed",
                         "py::Condition.wait:/usr/lib/python3.12/threading.py", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(call_of((const char *[]){"sem_wait", "PyThread_acquire_lock_timed", "Thread._wait_for_tstate_lock",
                         "Thread.join", NULL}),
        WP_LOCK_CALL_OTHER);
    assert_int_equal(
        call_of((const char *[]){"sem_wait", "PyThread_acquire_lock_timed", "AirCondition.wait", "join", NULL}),
        WP_LOCK_CALL_INTERPRETER);
}

/* Threads wait for the locks of a language on conditions; what its programs call a condition is none of them. */
static void condition_may_be_a_lock(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"__pthread_cond_wait_common", "pthread_cond_timedwait", "take_gil",
                         "PyEval_RestoreThread", NULL}),
        WP_LOCK_CALL_LOCK);
    assert_int_equal(call_of((const char *[]){"pthread_cond_timedwait", "?", "?", "gvl_acquire", "handle", NULL}),
        WP_LOCK_CALL_LOCK);
    assert_int_equal(call_of((const char *[]){"pthread_cond_wait", "os::PlatformEvent::park", "ObjectMonitor::EnterI",
                         "ObjectMonitor::enter", NULL}),
        WP_LOCK_CALL_LOCK);
    assert_int_equal(call_of((const char *[]){"pthread_cond_wait", "Parker::park", "Unsafe_Park",
                         "java.util.concurrent.locks.LockSupport.park",
                         "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire",
                         "java.util.concurrent.locks.ReentrantLock$Sync.lock", NULL}),
        WP_LOCK_CALL_LOCK);
    assert_int_equal(call_of((const char *[]){
                         "pthread_cond_wait", "os::PlatformEvent::park", "ObjectMonitor::wait", "take_gil", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_wait", "Parker::park", "java.util.concurrent.locks.LockSupport.park",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
            "java.util.concurrent.locks.ReentrantLock$Sync.lock", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(call_of((const char *[]){"pthread_cond_wait", "Parker::park",
                         "java.util.concurrent.locks.LockSupport.park", "java.util.concurrent.FutureTask.get", NULL}),
        WP_LOCK_CALL_PARKED);
    assert_int_equal(call_of((const char *[]){"pthread_cond_timedwait", "os::PlatformEvent::park", "JavaThread::sleep",
                         "ObjectMonitor::enter", NULL}),
        WP_LOCK_CALL_OTHER);
}

/* Threads that meet; those of a pool between two teams wait for work. */
static void barrier_is_known(void **state)
{
    static const char *const barriers[] = {"pthread_barrier_wait", "___pthread_barrier_wait",
        "gomp_team_barrier_wait_end", "py::Barrier._wait", "java.util.concurrent.CyclicBarrier.dowait",
        "std::sync::Barrier::wait"};
    static const char *const others[] = {
        "gomp_simple_barrier_wait", "WaitBarrier::wait", "LinuxWaitBarrier::wait", "memory_barrier", "pthread_join"};
    (void)state;
    for (size_t i = 0; i < sizeof(barriers) / sizeof(*barriers); i++)
        if (!wp_lock_call_is_barrier(barriers[i]))
            fail_msg("%s is none", barriers[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (wp_lock_call_is_barrier(others[i]))
            fail_msg("%s is one", others[i]);
}

/* A stripped libruby: the function around its condition, past those without a name. */
static void lock_of_ruby_is_known_without_symbols(void **state)
{
    (void)state;
    assert_int_equal(call_of((const char *[]){"__pthread_cond_wait_common", "rb_native_cond_wait", "libruby-3.1.so+?",
                         "", "[libruby-3.1.so]", "rb_threadptr_execute_interrupts", "block in sum", NULL}),
        WP_LOCK_CALL_TURN);
    assert_int_equal(call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait", "?", "rb_nogvl", NULL}),
        WP_LOCK_CALL_TURN);
    assert_int_equal(call_of((const char *[]){"pthread_cond_timedwait", "?", "rb_threadptr_execute_interrupts", NULL}),
        WP_LOCK_CALL_TURN);
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_timedwait", "?", "rb_thread_wait_for", NULL}), WP_LOCK_CALL_CONDITION);
    assert_string_equal(wp_lock_call_taken(WP_LOCK_CALL_TURN, "rb_nogvl"), "GVL");
    assert_int_equal(call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait", "?", "rb_mutex_lock", NULL}),
        WP_LOCK_CALL_LOCK);
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait", "?", "rb_thread_sleep_forever", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_wait", "wait_reply", "rb_nogvl", NULL}), WP_LOCK_CALL_CONDITION);
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait", "?", "Queue#pop", "rb_nogvl", NULL}),
        WP_LOCK_CALL_CONDITION);
}

/* Since 3.3 one function waits for the lock and for all else that a thread sleeps for: what calls it says which. */
static void waits_of_ruby_are_one_function(void **state)
{
    (void)state;
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait", "thread_sched_wait_running_turn",
            "thread_sched_to_waiting_until_wakeup", "native_sleep", "rb_queue_pop", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(
        call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait", "?", "?", "rb_thread_wait_for", NULL}),
        WP_LOCK_CALL_CONDITION);
    assert_int_equal(call_of((const char *[]){"pthread_cond_wait", "rb_native_cond_wait",
                         "thread_sched_wait_running_turn", "thread_sched_yield", NULL}),
        WP_LOCK_CALL_LOCK);
    assert_string_equal(wp_lock_call_taken(WP_LOCK_CALL_LOCK, "thread_sched_yield"), "GVL");
}

static void languages_have_names_for_their_locks(void **state)
{
    (void)state;
    assert_string_equal(wp_lock_call_language("take_gil"), "GIL");
    assert_string_equal(wp_lock_call_language("rb_mutex_synchronize"), "Mutex");
    assert_string_equal(wp_lock_call_language("ObjectMonitor::ReenterI"), "monitor");
    assert_string_equal(wp_lock_call_language("java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock"),
        "ReentrantReadWriteLock");
    assert_null(wp_lock_call_language("shop.ReentrantLock.lock"));
    assert_true(wp_lock_is_of_interpreter(wp_lock_call_language("gvl_acquire")));
    assert_false(wp_lock_is_of_interpreter("monitor"));
    assert_true(wp_lock_is_gil("GIL (python3.11)") && wp_lock_is_gil("_PyRuntime+0x1b0 (python3.11)"));
    assert_false(wp_lock_is_gil("GILDED (app)") || wp_lock_is_gil("_PyRuntimeState (app)") || wp_lock_is_gil(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(innermost_decides),
        cmocka_unit_test(semaphore_may_be_a_lock),
        cmocka_unit_test(lock_of_python_may_be_none),
        cmocka_unit_test(condition_may_be_a_lock),
        cmocka_unit_test(barrier_is_known),
        cmocka_unit_test(lock_of_ruby_is_known_without_symbols),
        cmocka_unit_test(waits_of_ruby_are_one_function),
        cmocka_unit_test(languages_have_names_for_their_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
