/* SPDX-License-Identifier: Apache-2.0 */
#include "common/idle_place.h"

#include <stddef.h>
#include <string.h>

/* "py::Arbiter.sleep" and "Arbiter.sleep(int)" are Arbiter.sleep; what ends with "::" is all that begins so. */
static bool is_named(const char *function, const char *name)
{
    size_t size = strlen(name);
    const char *at = !strncmp(function, "py::", 4) ? function + 4 : function;
    return !strncmp(at, name, size) && (!at[size] || at[size] == '(' || name[size - 1] == ':');
}

static bool is_one_of(const char *function, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_named(function, names[i]))
            return true;
    return false;
}

/* Whatever they call sleeps for want of work. */
static bool is_wait_for_work(const char *function)
{
    static const char *const names[] = {/* HotSpot and its class library */
        "java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.ForkJoinPool.awaitWork",
        "java.lang.ref.ReferenceQueue.remove", "java.lang.ref.Reference.waitForReferencePendingList",
        "VMThread::wait_for_operation", "WatcherThread::sleep",
        "MonitorDeflationThread::monitor_deflation_thread_entry", "ServiceThread::service_thread_entry",
        "CompileQueue::get", "os::signal_wait",
        /* Node.js */
        "node::WorkerThreadsTaskRunner::DelayedTaskScheduler::", "node::TaskQueue<v8::Task>::BlockingPop",
        /* gunicorn, php-fpm, nginx, MariaDB */
        "Arbiter.sleep", "fpm_event_epoll_wait", "ngx_master_process_cycle",
        "tpool::thread_pool_generic::wait_for_tasks"};
    return is_one_of(function, names, sizeof(names) / sizeof(*names));
}

/* Go: the goroutine that a thread left as it found none to run, which waits for work itself, or is over; or the thread
 * is new. What any other one waits for is not seen elsewhere. */
static bool is_idle_goroutine(const char *inner, const char *function)
{
    static const char *const names[] = {"runtime.bgsweep", "runtime.bgscavenge", "runtime.gcBgMarkWorker",
        "runtime.forcegchelper", "runtime.runfinq", "runtime.goexit1", "runtime.mstart1", "os/signal.loop",
        "internal/poll.(*FD).Accept", "net/http.(*conn).readRequest", "net/http.(*connReader).backgroundRead",
        "net/http.(*http2serverConn).readFrames"};
    return is_one_of(function, names, sizeof(names) / sizeof(*names)) ||
        (inner && !strcmp(inner, "bufio.(*Reader).Peek") && !strcmp(function, "net/http.(*conn).serve"));
}

static bool is_parking(const char *inner, const char *function)
{
    return inner && !strcmp(inner, "runtime.stopm") &&
        (!strcmp(function, "runtime.findRunnable") || !strcmp(function, "runtime.findrunnable"));
}

/* Behind a call that took long others had its processor: it gave them its goroutine, and is left without one. */
static bool is_handed_on(const char *inner, const char *function)
{
    return inner && !strcmp(inner, "runtime.stopm") &&
        (!strcmp(function, "runtime.exitsyscall0") || !strcmp(function, "runtime.exitsyscallNoP"));
}

/* Of tokio 1: what a worker that is not at the driver sleeps in, and a thread of the pool for blocking calls. Inside of
 * both may be tasks, of the first one the driver as well. */
static bool is_tokio_work(const char *function)
{
    static const char *const names[] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "tokio::runtime::task::",
        "<tokio::runtime::task::", "<mio::poll::", "mio::poll::", "tokio::runtime::blocking::pool::Task::"};
    return is_one_of(function, names, sizeof(names) / sizeof(*names));
}

static bool is_idle_tokio(const char *function)
{
    static const char *const names[] = {"tokio::runtime::scheduler::multi_thread::park::",
        "<tokio::runtime::scheduler::multi_thread::park::", "tokio::runtime::blocking::pool::Inner::run",
        "<tokio::runtime::blocking::pool::Inner>::run"};
    return is_one_of(function, names, sizeof(names) / sizeof(*names));
}

/* block_on, but on the driver. */
static bool is_joining_tokio(const char *function)
{
    static const char *const names[] = {
        "tokio::runtime::park::CachedParkThread::", "<tokio::runtime::park::CachedParkThread>::"};
    return is_one_of(function, names, sizeof(names) / sizeof(*names));
}

/* A loop that sleeps there itself: what else it calls is work. */
static bool is_loop(const char *inner, const char *function)
{
    static const struct {
        const char *inner, *outer;
    } rows[] = {{"uv_cond_wait", "worker"}, {"uv_cond_wait", "node::(anonymous namespace)::PlatformWorkerThread"},
        {"pq_getbyte", "PostgresMain"}, {"pq_getbyte", "SocketBackend"}, {"WaitEventSetWait", "ServerLoop"},
        {"WaitLatch", "WalWriterMain"}, {"WaitLatch", "BackgroundWriterMain"}, {"WaitLatch", "CheckpointerMain"},
        {"WaitLatch", "AutoVacLauncherMain"}, {"WaitLatch", "ApplyLauncherMain"}};
    for (size_t i = 0; inner && i < sizeof(rows) / sizeof(*rows); i++)
        if (!strcmp(inner, rows[i].inner) && !strcmp(function, rows[i].outer))
            return true;
    return false;
}

/* "py::_PollLikeSelector.select", and without its class, as CPython has it before 3.11. */
static bool is_select(const char *function)
{
    static const char end[] = "Selector.select";
    size_t size = strlen(function);
    return is_named(function, "select") ||
        (size >= sizeof(end) - 1 && !strcmp(function + size - (sizeof(end) - 1), end));
}

/* Of a language, where `inner` is all of it that it runs: of concurrent.futures, of socketserver. */
static bool is_language_loop(const char *inner, const char *function)
{
    bool is_server = is_named(function, "BaseServer.serve_forever") || is_named(function, "serve_forever");
    return inner ? is_server && is_select(inner) : is_named(function, "_worker");
}

bool wp_idle_place_add(struct wp_idle_place *place, const char *function, bool is_source)
{
    place->is_parked = place->is_parked || is_parking(place->inner, function);
    place->is_busy = place->is_busy || is_tokio_work(function);
    place->is_joining = place->is_joining || is_joining_tokio(function);
    place->is_own = place->is_own || is_named(function, "runtime.sysmon");
    place->is_idle = place->is_idle || place->is_own || is_wait_for_work(function) || is_loop(place->inner, function) ||
        is_handed_on(place->inner, function) || (place->is_parked && is_idle_goroutine(place->inner, function)) ||
        (!place->is_busy && is_idle_tokio(function)) || (is_source && is_language_loop(place->source, function));
    place->inner = function;
    place->source = is_source ? function : place->source;
    return place->is_idle;
}

bool wp_idle_thread(const char *name)
{
    static const char *const names[] = {"VM Thread", "VM Periodic Tas", "Monitor Deflati", "G1 Service",
        "G1 Main Marker", "Signal Dispatch", "Service Thread", "Notification Th", "Common-Cleaner", "Finalizer",
        "Reference Handl", "C1 CompilerThre", "C2 CompilerThre", "Sweeper thread", "DelayedTaskSche"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return !strncmp(name, "GC Thread#", 10) || !strncmp(name, "G1 Conc#", 8) || !strncmp(name, "G1 Refine#", 10);
}
