/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern_locks.h"

#include "common/lock_call.h"
#include "reporter/display/humanize.h"
#include "reporter/evidence/callers.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/causes/path_wait.h"
#include "reporter/causes/own_requests.h"

#include <string.h>

#define LEAST_WAITS 20u    /* fewer are no convoy */
#define LEAST_THREADS 3u   /* nor are two that meet at times */
#define HELD_PERCENT 30u   /* of the wait that its holder spends in a call: it is held across the call, */
#define HERD_PERCENT 25u   /* of the wait in which others who were woken on the condition queue for its lock */
#define MOSTLY_PERCENT 60u /* ... and surely from here on */

/* A function on the layer of that node, by a part of its name. */
static bool has_function(const struct wp_facts *facts, uint32_t node, const char *const *parts, size_t count)
{
    for (uint32_t at = node; at; at = facts->flame.nodes[at].parent) {
        uint32_t frame = facts->flame.nodes[at].frame, style = wp_facts_frame_style(facts, frame);
        if (style == WP_STYLE_PROCESS)
            break;
        for (size_t i = 0; style == WP_STYLE_USER && i < count; i++)
            if (strstr(wp_facts_frame_name(facts, frame), parts[i]))
                return true;
    }
    return false;
}

static bool is_deadlock(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    pattern->sure = WP_SURETY_CERTAIN;
    pattern->evidence = "each of the threads holds a lock that another one of them waits for";
    return of->cause->kind == WP_CAUSE_KIND_DEADLOCK;
}

static bool is_interpreter_lock(const struct wp_cause_case *of, struct wp_pattern *pattern, const char *wanted)
{
    static const char *const calls[] = {"PyEval_RestoreThread", "PyEval_AcquireThread", "drop_gil"};
    const char *name = wp_cause_language_lock(of->facts, of->cause->sleep);
    bool is_lock = of->cause->kind == WP_CAUSE_KIND_LOCK || of->cause->kind == WP_CAUSE_KIND_POOL;
    if (is_lock && !name && has_function(of->facts, of->cause->sleep, calls, sizeof(calls) / sizeof(*calls)))
        name = WP_LOCK_GIL;
    pattern->sure = WP_SURETY_CERTAIN;
    pattern->evidence = "the lock is the interpreter's: one thread at a time runs its code";
    return is_lock && name && !strcmp(name, wanted);
}

static bool is_gil(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    return is_interpreter_lock(of, pattern, WP_LOCK_GIL);
}

static bool is_gvl(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    return is_interpreter_lock(of, pattern, WP_LOCK_GVL);
}

/* The outermost function of the program on that node's layer but where all begins; 0 none. */
static uint32_t role_of(const struct wp_facts *facts, uint32_t node)
{
    uint32_t role = 0;
    for (; node; node = facts->flame.nodes[node].parent) {
        uint32_t frame = facts->flame.nodes[node].frame;
        if (wp_facts_frame_style(facts, frame) == WP_STYLE_PROCESS)
            break;
        if (wp_cause_is_own_function(facts, node) && !wp_code_location_is_entry(wp_facts_frame_name(facts, frame)))
            role = frame;
    }
    return role;
}

/* Requests wait until a thread that serves another one as they do goes on. */
static bool is_pool_of_requests(const struct wp_cause_case *of)
{
    const struct wp_facts *facts = of->facts;
    uint32_t role = role_of(facts, of->cause->sleep);
    enum wp_lock_call call = wp_cause_lock_call(facts, of->cause->sleep);
    bool is_futex = wp_cause_is_futex(facts, of->cause->sleep) && !wp_lock_call_is_held(call);
    return of->cause->kind == WP_CAUSE_KIND_PATH && is_futex && role && of->held.node && !of->held.is_starved &&
        role == role_of(facts, of->held.node) && wp_path_wait_is_own(of->causes, facts, of->row) &&
        wp_own_requests_wait_ns(of->causes, facts, of->row) >= of->cause->ns / 2;
}

static bool is_small_pool(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    bool is_semaphore = wp_cause_is_semaphore(of->facts, of->cause->sleep), of_requests = is_pool_of_requests(of);
    bool is_read = of->call_size == 4 && !strncmp(of->call, "read", 4); /* a pipe or an eventfd holds the tokens */
    pattern->sure = is_semaphore ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = is_semaphore ? "threads wait for a semaphore until another thread gives back what it took"
        : of_requests                ? "requests wait on a condition that a thread of the same role ends"
        : is_read                    ? "threads read what a thread of the same role has written back"
                                     : "threads wait on a condition that a thread of the same role ends";
    return of->cause->kind == WP_CAUSE_KIND_POOL || of_requests ||
        (of->cause->kind == WP_CAUSE_KIND_LOCK && is_semaphore);
}

/* The sleep of the layer that `node` is the top of; 0: it runs. */
static uint32_t sleep_of(const struct wp_facts *facts, uint32_t node)
{
    for (; node; node = facts->flame.nodes[node].parent) {
        uint32_t style = wp_facts_frame_style(facts, facts->flame.nodes[node].frame);
        if (style == WP_STYLE_SLEEP)
            return node;
        if (style == WP_STYLE_PROCESS)
            break;
    }
    return 0;
}

static bool is_held_across(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    const char *call, *lock;
    uint32_t sleep = of->held.is_starved ? 0 : sleep_of(of->facts, of->held.node);
    size_t size = sleep ? wp_cause_call(of->facts, sleep, &call) : 0;
    if (of->cause->kind != WP_CAUSE_KIND_LOCK || !size || wp_cause_is_lock(of->facts, sleep, &lock) ||
        of->held.ns < of->cause->ns / 100 * HELD_PERCENT)
        return false;
    bool is_mostly = of->held.ns >= of->cause->ns / 100 * MOSTLY_PERCENT;
    pattern->sure = wp_cause_is_rwlock(of->facts, of->cause->sleep)
        ? WP_SURETY_POSSIBLE /* another one may have it, too */
        : is_mostly ? WP_SURETY_CERTAIN
                    : WP_SURETY_LIKELY;
    struct wp_code_location location = wp_code_location_at(of->facts, of->causes->locations, of->held.node);
    if (size == 5 && !strncmp(call, "futex", 5) && location.call) { /* which says nothing of what it waits for */
        call = wp_pool_clip(&of->facts->pool, location.call, 80);
        size = strlen(call);
    }
    pattern->evidence = wp_pool_printf(&of->facts->pool, "for %s of the wait its holder sleeps in `%.*s`",
        wp_human_share(&of->facts->pool, of->held.ns, of->cause->ns), (int)size, call);
    return true;
}

/* A thread that has a lock waits for a CPU as long as only those do whom a higher priority keeps from it. */
static bool is_priority_inversion(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    if (of->cause->kind != WP_CAUSE_KIND_LOCK || !of->held.is_starved || !of->held.rival ||
        of->held.mean_ns < WP_STARVED_NS || of->held.ns < of->cause->ns / 100 * MOSTLY_PERCENT ||
        strncmp(wp_facts_frame_name(of->facts, of->held.rival), "sched:behind ", 13) != 0)
        return false;
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence = wp_pool_printf(&of->facts->pool,
        "for %s of the wait its holder has no CPU, longer at a time than the scheduler's own slices are",
        wp_human_share(&of->facts->pool, of->held.ns, of->cause->ns));
    return true;
}

/* A lock, by many. */
static bool is_met_often(const struct wp_cause_case *of)
{
    return of->cause->kind == WP_CAUSE_KIND_LOCK && of->count >= LEAST_WAITS &&
        (!of->threads.count || of->threads.count >= LEAST_THREADS);
}

/* One that is signalled finds the lock free, or waits for who signalled; many that are woken wait for each other. */
static bool is_herd(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    if (!is_met_often(of))
        return false;
    uint64_t ns = wp_cause_woken_together(of->causes, of->facts, of->row);
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence = wp_pool_printf(&of->facts->pool,
        "for %s of the wait threads that were woken together on a condition queue for its lock",
        wp_human_share(&of->facts->pool, ns, of->cause->ns));
    return ns >= of->cause->ns / 100 * HERD_PERCENT && ns;
}

static bool is_convoy(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &of->facts->pool;
    if (!is_met_often(of))
        return false;
    pattern->sure = of->threads.count ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = of->threads.count
        ? wp_pool_printf(pool, "%u threads waited %s times, %s on average", of->threads.count,
              wp_human_count(pool, of->count), wp_human_duration(pool, of->mean_ns))
        : wp_pool_printf(pool, "threads waited %s times, %s on average", wp_human_count(pool, of->count),
              wp_human_duration(pool, of->mean_ns));
    return true;
}

const struct wp_pattern_rule wp_pattern_locks[] = {
    {"deadlock", "Deadlock", is_deadlock},
    {"interpreter_lock", "Interpreter lock (GIL)", is_gil},
    {"interpreter_lock", "Interpreter lock (GVL)", is_gvl},
    {"pool_too_small", "Pool too small", is_small_pool},
    {"priority_inversion", "Priority inversion", is_priority_inversion},
    {"lock_held_across_io", "Lock held across I/O", is_held_across},
    {"thundering_herd", "Thundering herd", is_herd},
    {"lock_convoy", "Lock convoy", is_convoy},
    {NULL, NULL, NULL},
};
