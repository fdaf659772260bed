/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/cause_lock.h"

#include "storage/report/report_read.h"

#include <string.h>

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
}

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

bool wp_cause_is_own_function(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count &&
        wp_code_location_rank(frames[frame].style, wp_report_text(facts->report, frames[frame].name),
            wp_report_text(facts->report, frames[frame].object)) == 3;
}

size_t wp_cause_call(const struct wp_facts *facts, uint32_t sleep, const char **call)
{
    const char *text = name_at(facts, sleep);
    *call = "";
    if (style_at(facts, sleep) != WP_STYLE_SLEEP || strncmp(text, "sleep:", 6))
        return 0;
    *call = text + 6;
    return strcspn(*call, " ");
}

bool wp_cause_is_futex(const struct wp_facts *facts, uint32_t sleep)
{
    const char *call;
    return wp_cause_call(facts, sleep, &call) == 5 && !strncmp(call, "futex", 5);
}

/* What the threads library's call around a futex says of it; *language: what a language calls the lock, or NULL. A
 * thread of Go's sleeps for all it waits for in one function, whose goroutine's own functions say what for. */
static enum wp_lock_call look_at_futex(const struct wp_facts *facts, uint32_t sleep, const char **language)
{
    enum wp_lock_call found = WP_LOCK_CALL_UNKNOWN;
    bool is_go = false;
    *language = NULL;
    for (uint32_t at = wp_cause_is_futex(facts, sleep) ? facts->flame.nodes[sleep].parent : 0;
         at && style_at(facts, at) != WP_STYLE_PROCESS; at = facts->flame.nodes[at].parent) {
        if (style_at(facts, at) != WP_STYLE_USER)
            continue;
        if (found && wp_cause_is_own_function(facts, at)) /* what it does meanwhile is no part of the call */
            break;
        bool is_known = wp_lock_call_add(&found, name_at(facts, at));
        *language = wp_lock_call_taken(found, name_at(facts, at));
        is_go = is_go || !strcmp(name_at(facts, at), "runtime.notesleep");
        if (is_go && !*language)
            found = WP_LOCK_CALL_PARKED;
        else if (is_known)
            return found;
    }
    *language = NULL;
    return is_go ? WP_LOCK_CALL_OTHER : found;
}

enum wp_lock_call wp_cause_lock_call(const struct wp_facts *facts, uint32_t sleep)
{
    const char *language;
    return look_at_futex(facts, sleep, &language);
}

const char *wp_cause_language_lock(const struct wp_facts *facts, uint32_t sleep)
{
    const char *lock, *language;
    if (wp_cause_is_lock(facts, sleep, &lock) && wp_lock_is_gil(lock))
        return WP_LOCK_GIL;
    look_at_futex(facts, sleep, &language);
    return language;
}

/* Who is asked has an address. */
bool wp_cause_is_accepted(const char *peer)
{
    return !strncmp(peer, "tcp :", 5) || !strncmp(peer, "udp :", 5);
}

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

const char *wp_cause_database_lock(const struct wp_facts *facts, uint32_t sleep)
{
    static const struct {
        const char *function, *lock;
        bool is_postgres; /* below it the process sleeps in ProcSleep, or it is another wait */
    } rows[] = {{"MDL_wait::", "table lock", false}, {"XactLockTableWait", "row lock", true},
        {"LockTuple", "row lock", true}, {"heap_lock_tuple", "row lock", true}, {"LockRelation", "table lock", true}};
    bool in_postgres = false;
    for (uint32_t at = facts->flame.nodes[sleep].parent; at && style_at(facts, at) != WP_STYLE_PROCESS;
         at = facts->flame.nodes[at].parent) {
        const char *name = style_at(facts, at) == WP_STYLE_USER ? name_at(facts, at) : "";
        in_postgres = in_postgres || !strcmp(name, "ProcSleep");
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            if (begins(name, rows[i].function) && (in_postgres || !rows[i].is_postgres))
                return rows[i].lock;
        if (begins(name, "handler::ha_") && wp_cause_is_condition(facts, sleep)) /* MariaDB's engine of storage */
            return "row lock";
    }
    return NULL;
}

/* Whether threads take and give back the semaphore with a name that is waited for there (cause_pool.h). */
static bool is_pool(const struct wp_facts *facts, uint32_t sleep)
{
    return facts->is_pool && facts->is_pool[facts->flame.nodes[sleep].frame];
}

static bool has_function(const struct wp_facts *facts, uint32_t sleep)
{
    uint32_t at = sleep;
    while (at && style_at(facts, at) != WP_STYLE_PROCESS && style_at(facts, at) != WP_STYLE_USER)
        at = facts->flame.nodes[at].parent;
    return style_at(facts, at) == WP_STYLE_USER;
}

bool wp_cause_is_lock(const struct wp_facts *facts, uint32_t sleep, const char **name)
{
    const char *call;
    size_t size = wp_cause_call(facts, sleep, &call);
    *name = size && call[size] ? call + size + 1 : "";
    if (!strncmp(*name, WP_KERNEL_LOCK, strlen(WP_KERNEL_LOCK)))
        return true;
    if (size == 5 && (!strncmp(call, "flock", 5) || !strncmp(call, "fcntl", 5)))
        return true;
    if (size != 5 || strncmp(call, "futex", 5))
        return false;
    if (!strncmp(*name, "runtime.", 8)) /* a word of Go's scheduler, which is no lock of the program's */
        *name = "";
    if (wp_lock_is_gil(*name)) /* a condition, by which the interpreter makes threads take turns */
        return true;
    enum wp_lock_call kind = wp_cause_lock_call(facts, sleep);
    return wp_lock_call_is_held(kind) || (**name && kind == WP_LOCK_CALL_SEMAPHORE && is_pool(facts, sleep)) ||
        (**name && kind == WP_LOCK_CALL_UNKNOWN && !has_function(facts, sleep));
}

bool wp_cause_is_event(const struct wp_facts *facts, uint32_t sleep)
{
    const char *name;
    enum wp_lock_call kind = wp_cause_lock_call(facts, sleep);
    return wp_cause_is_futex(facts, sleep) && (kind == WP_LOCK_CALL_UNKNOWN || kind == WP_LOCK_CALL_SEMAPHORE) &&
        !wp_cause_is_lock(facts, sleep, &name) && *name;
}

bool wp_cause_is_called_by(const struct wp_facts *facts, uint32_t sleep, uint32_t function)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t at = sleep; at && style_at(facts, at) != WP_STYLE_PROCESS; at = nodes[at].parent)
        if (nodes[at].frame == nodes[function].frame)
            return true;
    return false;
}

bool wp_cause_may_be_pool(const struct wp_facts *facts, uint32_t sleep)
{
    const char *call;
    size_t size = wp_cause_call(facts, sleep, &call);
    enum wp_lock_call kind = wp_cause_lock_call(facts, sleep);
    if (kind == WP_LOCK_CALL_SEMAPHORE)
        return !call[size] || is_pool(facts, sleep);
    return wp_lock_call_is_condition(kind) || kind == WP_LOCK_CALL_PARKED;
}

bool wp_cause_is_rwlock(const struct wp_facts *facts, uint32_t sleep)
{
    return wp_cause_lock_call(facts, sleep) == WP_LOCK_CALL_RWLOCK;
}

bool wp_cause_is_semaphore(const struct wp_facts *facts, uint32_t sleep)
{
    return wp_cause_lock_call(facts, sleep) == WP_LOCK_CALL_SEMAPHORE;
}

bool wp_cause_is_condition(const struct wp_facts *facts, uint32_t sleep)
{
    return wp_lock_call_is_condition(wp_cause_lock_call(facts, sleep));
}

bool wp_cause_is_idle(const struct wp_facts *facts, uint32_t sleep)
{
    return wp_cause_lock_call(facts, sleep) == WP_LOCK_CALL_OTHER;
}

bool wp_cause_is_barrier(const struct wp_facts *facts, uint32_t sleep)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t at = wp_cause_is_futex(facts, sleep) ? nodes[sleep].parent : 0;
         at && style_at(facts, at) != WP_STYLE_PROCESS; at = nodes[at].parent)
        if (style_at(facts, at) == WP_STYLE_USER && wp_lock_call_is_barrier(name_at(facts, at)))
            return true;
    return false;
}

static bool is_condition_call(const char *function)
{
    enum wp_lock_call call = WP_LOCK_CALL_UNKNOWN;
    wp_lock_call_add(&call, function);
    return call == WP_LOCK_CALL_CONDITION;
}

bool wp_cause_is_after_condition(const struct wp_facts *facts, uint32_t sleep)
{
    const char *lock;
    if (!wp_cause_is_lock(facts, sleep, &lock))
        return false;
    for (uint32_t at = facts->flame.nodes[sleep].parent; at && style_at(facts, at) != WP_STYLE_PROCESS;
         at = facts->flame.nodes[at].parent)
        if (style_at(facts, at) == WP_STYLE_USER && is_condition_call(name_at(facts, at)))
            return true;
    return false;
}
