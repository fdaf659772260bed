/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads sleep that have nothing to do, the innermost function first; "*" before one of a language. */
#include "common/idle_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_idle(const char *const *functions)
{
    struct wp_idle_place place = {0};
    for (; *functions; functions++)
        if (wp_idle_place_add(&place, *functions + (**functions == '*'), **functions == '*'))
            return true;
    return false;
}

static void waits_for_work(void **state)
{
    (void)state;
    assert_true(is_idle((const char *[]){"futex", "*java.util.concurrent.locks.LockSupport.park",
        "*java.util.concurrent.LinkedBlockingQueue.take", "*java.util.concurrent.ThreadPoolExecutor.getTask", NULL}));
    assert_true(is_idle((const char *[]){"select", "*py::Arbiter.sleep", "*Arbiter.run", NULL}));
    assert_true(is_idle((const char *[]){"VMThread::wait_for_operation()", "VMThread::loop()", NULL}));
    assert_false(is_idle((const char *[]){"futex", "*Shop.borrowConnection", "*Shop.pooled", NULL}));
    assert_false(is_idle((const char *[]){"*Arbiter.sleepless", NULL}));
}

static void is_the_caller(void **state)
{
    (void)state;
    assert_true(is_idle((const char *[]){"futex", "uv_cond_wait", "worker", NULL}));
    assert_false(is_idle((const char *[]){"futex", "uv_cond_wait", "uv_barrier_wait", "worker", NULL}));
    assert_true(is_idle((const char *[]){"epoll_wait", "secure_read", "pq_getbyte", "PostgresMain", NULL}));
    assert_false(is_idle((const char *[]){"pg_sleep", "exec_simple_query", "PostgresMain", NULL}));
}

static void is_the_innermost_of_its_language(void **state)
{
    (void)state;
    assert_true(
        is_idle((const char *[]){"sem_clockwait", "PyThread_acquire_lock_timed", "*_worker", "*Thread.run", NULL}));
    assert_false(is_idle((const char *[]){"read", "*fetch_rate", "*_WorkItem.run", "*_worker", NULL}));
    assert_false(is_idle((const char *[]){"read", "_worker", NULL}));
}

static void is_asked_by_the_clock(void **state)
{
    (void)state;
    assert_true(is_idle((const char *[]){
        "poll", "python3.11", "*py::_PollLikeSelector.select", "*py::BaseServer.serve_forever", "*<module>", NULL}));
    assert_true(is_idle((const char *[]){"poll", "*select", "*serve_forever", NULL}));
    assert_false(is_idle((const char *[]){"recv", "*SocketIO.readinto", "*BaseServer.serve_forever", NULL}));
    assert_false(is_idle(
        (const char *[]){"poll", "*_PollLikeSelector.select", "*wait_for_bank", "*BaseServer.serve_forever", NULL}));
    assert_false(is_idle((const char *[]){"poll", "_PollLikeSelector.select", "serve_forever", NULL}));
}

static void is_left_by_a_goroutine(void **state)
{
    (void)state;
    assert_true(is_idle((const char *[]){"runtime.futex", "runtime.mPark", "runtime.stopm", "runtime.findRunnable",
        "runtime.schedule", "runtime.park_m", "runtime.gopark", "net/http.(*conn).readRequest", NULL}));
    assert_true(is_idle((const char *[]){
        "runtime.stopm", "runtime.findRunnable", "runtime.gopark", "runtime.bgsweep", "runtime.gcenable.func1", NULL}));
    assert_true(is_idle((const char *[]){"runtime.stopm", "runtime.findRunnable", "bufio.(*Reader).fill",
        "bufio.(*Reader).Peek", "net/http.(*conn).serve", NULL}));
    assert_false(is_idle((const char *[]){"runtime.stopm", "runtime.findRunnable", "runtime.gopark",
        "sync.(*WaitGroup).Wait", "main.orders", "net/http.(*conn).serve", NULL}));
    assert_false(is_idle((const char *[]){"runtime.stopm", "runtime.gcstopm", "runtime.findRunnable",
        "net/http.(*conn).readRequest", NULL})); /* the collector stops it */
    assert_false(is_idle((const char *[]){"epoll_wait", "runtime.netpoll", "runtime.findRunnable",
        "net/http.(*conn).readRequest", NULL})); /* for all of them */
}

static void is_handed_on_by_go(void **state)
{
    (void)state;
    assert_true(is_idle((const char *[]){"runtime.mPark", "runtime.stopm", "runtime.exitsyscall0", "runtime.mcall",
        "syscall.Syscall", "main.save", NULL}));
    assert_false(is_idle((const char *[]){"runtime.stoplockedm", "runtime.exitsyscall0", "main.save", NULL}));
}

/* What is inlined is missing where there are no lines of source. */
static void is_parked_by_tokio(void **state)
{
    (void)state;
    static const char park[] = "tokio::runtime::scheduler::multi_thread::park::Parker::park",
                      pool[] = "tokio::runtime::blocking::pool::Inner::run";
    assert_true(is_idle((const char *[]){"futex", park, "tokio::runtime::scheduler::multi_thread::worker::Context::run",
        "tokio::runtime::task::harness::Harness<T,S>::poll", pool, NULL}));
    assert_true(is_idle((const char *[]){"syscall", "std::sys_common::condvar::Condvar::wait_timeout", pool, NULL}));
    assert_false(is_idle((const char *[]){"epoll_wait", park, pool, NULL})); /* for all tasks */
    assert_false(is_idle((const char *[]){"epoll_wait", "mio::poll::Poll::poll", park, NULL}));
    assert_false(is_idle((const char *[]){
        "futex", "shop::serve::{{closure}}", "tokio::runtime::task::harness::Harness<T,S>::poll", pool, NULL}));
    assert_false(is_idle((const char *[]){
        "futex", "tokio::runtime::park::CachedParkThread::park", "tokio::runtime::runtime::Runtime::block_on", NULL}));
}

static void is_a_runtimes_own(void **state)
{
    (void)state;
    struct wp_idle_place place = {0};
    assert_false(wp_idle_place_add(&place, "runtime.usleep", false));
    assert_true(wp_idle_place_add(&place, "runtime.sysmon", false) && place.is_own);
    place = (struct wp_idle_place){0};
    assert_true(wp_idle_place_add(&place, "CompileQueue::get", false) && !place.is_own);
}

static void names_of_threads(void **state)
{
    (void)state;
    assert_true(wp_idle_thread("VM Periodic Tas"));
    assert_true(wp_idle_thread("GC Thread#3"));
    assert_false(wp_idle_thread("VM Thread 2"));
    assert_false(wp_idle_thread("pool-1-thread-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waits_for_work), cmocka_unit_test(is_the_caller),
        cmocka_unit_test(is_the_innermost_of_its_language), cmocka_unit_test(is_asked_by_the_clock),
        cmocka_unit_test(is_left_by_a_goroutine), cmocka_unit_test(is_handed_on_by_go),
        cmocka_unit_test(is_parked_by_tokio), cmocka_unit_test(is_parked_by_tokio), cmocka_unit_test(is_a_runtimes_own),
        cmocka_unit_test(names_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
