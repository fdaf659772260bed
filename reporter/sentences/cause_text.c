/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/cause_text.h"

#include "common/lock_call.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/rivals.h"
#include "reporter/facts/stack_text.h"
#include "reporter/sentences/caller_text.h"
#include "reporter/sentences/cause_behind.h"
#include "reporter/sentences/cause_chain.h"
#include "reporter/causes/cause_holder.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/sentences/cause_who.h"
#include "reporter/sentences/lock_text.h"
#include "reporter/causes/path_wait.h"
#include "reporter/evidence/pauses.h"
#include "reporter/causes/shut_out.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 80u

struct text {
    const struct wp_cause_case *of;
    const struct wp_causes *causes;
    struct wp_facts *facts;
    struct wp_pool *pool;
};

static const char *name_at(const struct text *t, uint32_t node)
{
    return wp_facts_frame_name(t->facts, t->facts->flame.nodes[node].frame);
}

static uint32_t style_at(const struct text *t, uint32_t node)
{
    return node ? wp_facts_frame_style(t->facts, t->facts->flame.nodes[node].frame) : 0;
}

static uint32_t parent_of(const struct text *t, uint32_t node)
{
    return t->facts->flame.nodes[node].parent;
}

/* The place of the cause's sleep: " in `nap` (orders.c:8), called from `back_off` (orders.c:34)" or "" */
static const char *place_text(const struct text *t)
{
    const char *location = wp_cause_location_text(t->of, t->of->cause->sleep);
    return *location ? wp_pool_printf(t->pool, "%s%s", location, wp_caller_text(t->of)) : "";
}

/* "28.9 s (62 %)" */
static const char *amount_text(const struct text *t, uint64_t ns)
{
    return wp_pool_printf(
        t->pool, "%s (%s)", wp_human_duration(t->pool, ns), wp_human_share(t->pool, ns, t->facts->total_ns));
}

/* ", in its thread renderer", of one that names itself. */
static const char *thread_text(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    const struct wp_flame_node *nodes = t->facts->flame.nodes;
    if (cause->has_threads || cause->asked || !wp_cause_is_own(t->facts, cause) || wp_cause_is_told_by_waiter(t->of) ||
        nodes[cause->process].frame == nodes[cause->base].frame)
        return "";
    return wp_pool_printf(t->pool, ", in its thread %s",
        wp_stack_plain_process(t->pool, wp_facts_frame_name(t->facts, nodes[cause->process].frame)));
}

/* ", in 4 threads of `worker`, 813 times" */
static const char *often_text(const struct text *t)
{
    const struct wp_cause_threads *threads = &t->of->threads;
    struct wp_code_location location = wp_code_location_at(t->facts, t->causes->locations, t->of->cause->sleep);
    bool has_role = threads->role && !(location.function && !strcmp(location.function, threads->role));
    const char *role =
        has_role ? wp_pool_printf(t->pool, " of `%s`", wp_pool_clip(t->pool, threads->role, NAME_BYTES)) : "";
    bool is_base = t->facts->is_progress && t->of->cause->process == t->of->cause->base; /* whose time it is */
    bool is_each = t->of->cause->kind == WP_CAUSE_KIND_SLEEP || t->of->cause->kind == WP_CAUSE_KIND_TIMEOUT;
    bool has_threads = threads->count > 1 && !is_base && !(is_each && t->of->count && t->of->count < threads->count);
    const char *who = has_threads
        ? wp_pool_printf(t->pool, ", in %s%u threads%s", threads->is_least ? "at least " : "", threads->count, role)
        : thread_text(t);
    if (t->of->count < 2)
        return who;
    return wp_pool_printf(t->pool, "%s, %s times%s", who, wp_human_count(t->pool, t->of->count),
        is_each ? wp_pool_printf(t->pool, ", %s", wp_cause_each(t->of, false)) : "");
}

/* The system call of a sleep, and what it waits for ("" not known). */
static const char *call_text(const struct text *t, uint32_t sleep, const char **what)
{
    const char *name = name_at(t, sleep), *call = strncmp(name, "sleep:", 6) ? name : name + 6;
    const char *blank = strchr(call, ' ');
    *what = blank ? wp_pool_clip(t->pool, blank + 1, NAME_BYTES) : "";
    *what = !strcmp(*what, "unix") ? "a unix socket" : !strcmp(*what, "pipe") ? "a pipe" : *what;
    bool is_file = !strcmp(call, "fault file") || !strncmp(call, "fault file, ", 12);
    if (!strcmp(call, "fault swap") || is_file) {
        *what = "";
        return is_file ? "pages of a file that were not in memory" : "pages that were swapped out";
    }
    if (!strncmp(call, "fault", 5) && (!call[5] || call[5] == ' '))
        return "a page fault";
    return wp_pool_printf(t->pool, "`%.*s`", (int)(blank ? blank - call : (long)strlen(call)), call);
}

/* The sleep of the layer that `node` is the top of; 0: it runs. */
static uint32_t sleep_of(const struct text *t, uint32_t node)
{
    for (; node && style_at(t, node) != WP_STYLE_PROCESS; node = parent_of(t, node))
        if (style_at(t, node) == WP_STYLE_SLEEP)
            return node;
    return 0;
}

/* "; meanwhile its holder (web's thread sender) waits for a CPU that gzip uses": of who ends the wait. */
static const char *starved_text(const struct text *t, uint32_t node)
{
    const char *name = wp_facts_frame_name(t->facts, t->of->held.rival);
    const char *rival = t->of->held.rival ? wp_rival_name(t->pool, name) : "";
    bool is_quota = !strncmp(name, "sched:quota", 11), is_behind = !strncmp(name, "sched:behind ", 13);
    const struct wp_flame_node *nodes = t->facts->flame.nodes;
    while (style_at(t, node) != WP_STYLE_PROCESS)
        node = parent_of(t, node);
    bool has_name = nodes[node].frame != nodes[t->of->cause->base].frame;
    const char *who = t->of->cause->kind == WP_CAUSE_KIND_LOCK ? "its holder" : "that one";
    if (has_name)
        who = wp_pool_printf(t->pool, "%s (%s)", who, wp_cause_process_text(t->of, node));
    bool is_own = !strcmp(rival, "own threads");
    const char *uses = is_own ? " use" : " uses";
    if (is_own)
        rival = "other threads of its process";
    if (is_quota)
        return wp_pool_printf(t->pool, "; meanwhile %s is throttled by the %s", who, rival);
    return wp_pool_printf(t->pool, "; meanwhile %s waits for a CPU%s%s%s", who, is_behind ? " that " : "",
        is_behind ? rival : "", is_behind ? uses : "");
}

/* Whether the system call may be for whatever, as what it waits for is not known. */
static bool is_for_anything(const struct text *t, uint32_t sleep)
{
    static const char *const calls[] = {
        "futex", "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"};
    const char *call;
    size_t size = wp_cause_call(t->facts, sleep, &call);
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (size == strlen(calls[i]) && !strncmp(call, calls[i], size))
            return true;
    return false;
}

/* "`fsync` in `audit_log` (orders.c:28)": what who ends the wait did meanwhile; "" not known. */
static const char *doing_text(const struct text *t, const char *runs, const char *waits, const char *during)
{
    const char *what, *lock;
    uint32_t node = t->of->held.node, sleep = sleep_of(t, node);
    struct wp_code_location location =
        node ? wp_code_location_at(t->facts, t->causes->locations, node) : (struct wp_code_location){0};
    const char *where = wp_code_location_text(t->pool, &location), *from = wp_caller_of_holder_text(t->of);
    if (*where)
        where = wp_pool_printf(t->pool, "%s%s%s", where, from, *from && !sleep ? "," : "");
    else
        return sleep && !wp_cause_is_lock(t->facts, sleep, &lock)
            ? wp_pool_printf(t->pool, "; %s %s", during, call_text(t, sleep, &what))
            : "";
    if (!sleep)
        return location.call ? wp_pool_printf(t->pool, "; %s %s runs, in `%s`", runs, where,
                                   wp_pool_clip(t->pool, location.call, NAME_BYTES))
                             : wp_pool_printf(t->pool, "; %s %s runs", runs, where);
    if (wp_cause_is_lock(t->facts, sleep, &lock) && *wp_lock_text(t->facts, sleep))
        return wp_pool_printf(t->pool, "; %s %s waits for %s", waits, where, wp_lock_text(t->facts, sleep));
    if (!location.call && is_for_anything(t, sleep))
        return wp_pool_printf(t->pool, "; %s %s waits (%s)", waits, where, call_text(t, sleep, &what));
    const char *call = location.call ? wp_pool_printf(t->pool, "`%s`", wp_pool_clip(t->pool, location.call, NAME_BYTES))
                                     : call_text(t, sleep, &what);
    return wp_pool_printf(t->pool, "; %s %s in %s", during, call, where);
}

static const char *meanwhile_text(const struct text *t, const char *runs, const char *waits, const char *during)
{
    const struct wp_cause_held *held = &t->of->held;
    const char *text = held->is_starved ? starved_text(t, held->node) : doing_text(t, runs, waits, during);
    if (held->is_starved || !*text || held->starved_ns < held->ns)
        return text;
    return wp_pool_printf(t->pool, "%s, and %swaits %s for a CPU", text,
        t->of->cause->kind == WP_CAUSE_KIND_LOCK ? "its holder " : "", wp_human_duration(t->pool, held->starved_ns));
}

static const char *lock_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    const char *lock = wp_lock_text(t->facts, cause->sleep);
    bool is_shared = wp_cause_is_rwlock(t->facts, cause->sleep); /* perhaps by several: one of them is known */
    if (is_shared)
        lock = *lock ? wp_pool_printf(t->pool, "the read-write lock %s", lock) : "a read-write lock";
    return wp_pool_printf(t->pool, "%s waits %s for %s%s%s%s.", wp_cause_who(t->of), amount_text(t, cause->ns),
        *lock ? lock : "a lock", place_text(t), often_text(t),
        is_shared ? meanwhile_text(t, "in its last holder", "in its last holder", "its last holder is meanwhile in")
                  : meanwhile_text(t, "it is held while", "it is held while", "it is held during"));
}

static const char *pool_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    return wp_pool_printf(t->pool, "%s waits %s%s%s, until a thread of the same role goes on%s.", wp_cause_who(t->of),
        amount_text(t, cause->ns), place_text(t), often_text(t),
        meanwhile_text(t, "meanwhile", "meanwhile", "that one is meanwhile in"));
}

/* The process whose layer the waiting one's stands below. */
static uint32_t asked_process(const struct text *t, const struct wp_cause_fact *cause)
{
    uint32_t asked = 0;
    for (uint32_t at = cause->node; at && at != cause->sleep; at = parent_of(t, at))
        asked = style_at(t, at) == WP_STYLE_PROCESS ? at : asked;
    return asked;
}

static const char *service_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    const char *what, *call = call_text(t, cause->sleep, &what);
    uint32_t asked = asked_process(t, cause);
    const char *name = asked ? wp_cause_process_text(t->of, asked) : "a service", *chain = wp_cause_chain_text(t->of);
    return wp_pool_printf(t->pool, "%s waits %s for %s: %s%s%s%s%s%s.", wp_cause_who(t->of), amount_text(t, cause->ns),
        name, call, *what ? " on " : "", what, place_text(t), often_text(t),
        *chain ? chain : meanwhile_text(t, "there", "there", "there it is in"));
}

/* "at a safepoint": by the innermost function of the layer that says it. */
static const char *stopped_text(const struct text *t, uint32_t sleep)
{
    for (uint32_t at = sleep; at && style_at(t, at) != WP_STYLE_PROCESS; at = parent_of(t, at))
        if (style_at(t, at) == WP_STYLE_USER && wp_pause_words(t->facts, at))
            return wp_pause_words(t->facts, at);
    return wp_pause_is_after_call(t->facts, sleep) ? "by Go's scheduler after a system call" : "by its runtime";
}

/* Of threads that their runtime stopped. */
static const char *pause_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    const char *location = wp_cause_location_text(t->of, cause->sleep);
    const char *operation = wp_cause_operation(t->causes, t->facts, t->of->row);
    const char *what = cause->kind == WP_CAUSE_KIND_GARBAGE ? ", as its runtime collects garbage" : "";
    if (*operation)
        operation = wp_pool_printf(t->pool, " (`%s`)", wp_pool_clip(t->pool, operation, NAME_BYTES));
    return wp_pool_printf(t->pool, "%s is stopped %s %s%s%s%s%s%s.", wp_cause_who(t->of), amount_text(t, cause->ns),
        stopped_text(t, cause->sleep), *what ? "" : operation, *location && cause->has_places ? ", longest" : "",
        location, often_text(t), *what ? wp_pool_printf(t->pool, "%s%s", what, operation) : "");
}

static const char *garbage_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    if (style_at(t, cause->sleep) == WP_STYLE_SLEEP)
        return pause_sentence(t);
    return wp_pool_printf(t->pool, "%s collects garbage for %s%s.", wp_cause_who(t->of), amount_text(t, cause->ns),
        wp_cause_location_text(t->of, cause->sleep));
}

/* "SIGINT from bash", by the label that ends the pseudo-stack; NULL: no signal did. */
static const char *signal_text(const struct text *t, uint32_t node)
{
    const char *name = name_at(t, node), *from = strstr(name, " from [");
    if (style_at(t, node) != WP_STYLE_WAIT || strncmp(name, "signal:", 7))
        return NULL;
    if (!from)
        return wp_pool_clip(t->pool, name + 7, NAME_BYTES);
    return wp_pool_printf(
        t->pool, "%.*s from %s", (int)(from - name - 7), name + 7, wp_stack_plain_process(t->pool, from + 6));
}

/* "`report` (hang.c:6)" of a member's sleep, or its process. */
static struct wp_code_location member_location(const struct text *t, uint32_t sleep)
{
    struct wp_code_location location = wp_code_location_at(t->facts, t->causes->locations, sleep);
    if (!location.function) {
        uint32_t at = sleep;
        while (at && style_at(t, at) != WP_STYLE_PROCESS)
            at = parent_of(t, at);
        location.function = wp_cause_process_text(t->of, at);
    }
    return location;
}

static const char *member_lock(const struct text *t, uint32_t sleep, unsigned number)
{
    const char *lock = wp_lock_text(t->facts, sleep);
    return *lock ? lock : wp_pool_printf(t->pool, "lock %u", number);
}

#define RING 16u /* WP_RING_MEMBERS of the engine */

/* The sleeps of the ring, the outermost first. */
static unsigned ring_of(const struct text *t, uint32_t deadlock, uint32_t sleeps[RING])
{
    unsigned count = (unsigned)strtoul(name_at(t, deadlock) + 9, NULL, 10), found = 0;
    if (count < 1 || count > RING)
        return 0;
    for (uint32_t at = parent_of(t, deadlock); at && found < count; at = parent_of(t, at))
        if (style_at(t, at) == WP_STYLE_SLEEP)
            sleeps[count - ++found] = at;
    return found == count ? count : 0;
}

static const char *deadlock_sentence(const struct text *t, const struct wp_cause_fact *cause)
{
    uint32_t sleeps[RING];
    unsigned count = ring_of(t, cause->sleep, sleeps);
    const char *text = "Deadlock:", *ended = signal_text(t, cause->node);
    for (unsigned i = 0; i < count; i++) {
        struct wp_code_location location = member_location(t, sleeps[i]);
        unsigned before = (i + count - 1) % count;
        const char *file = location.file && location.line
            ? wp_pool_printf(
                  t->pool, " (%s:%u)", wp_pool_clip(t->pool, wp_source_base(location.file), NAME_BYTES), location.line)
            : "";
        text = wp_pool_printf(t->pool, "%s%s `%s` holds %s and waits for %s%s", text, i ? ";" : "",
            wp_pool_clip(t->pool, location.function, NAME_BYTES), member_lock(t, sleeps[before], before + 1),
            member_lock(t, sleeps[i], i + 1), file);
    }
    return wp_pool_printf(t->pool, "%s%s, %s, until %s.", text, count ? "" : " threads wait for each other's locks",
        amount_text(t, cause->ns), ended ? ended : "the recording ended");
}

static const char *interrupted_sentence(const struct text *t, const struct wp_cause_fact *cause)
{
    const char *what, *call = call_text(t, cause->sleep, &what), *ended = signal_text(t, cause->node);
    const char *location = wp_cause_location_text(t->of, cause->sleep), *lock;
    bool is_socket = !strncmp(what, "tcp ", 4) || !strncmp(what, "udp ", 4);
    if (wp_cause_is_lock(t->facts, cause->sleep, &lock))
        return wp_pool_printf(t->pool, "%s waits %s for %s%s, which nobody released until %s ended it.",
            wp_cause_who(t->of), amount_text(t, cause->ns), *lock ? wp_lock_text(t->facts, cause->sleep) : "a lock",
            location, ended);
    return wp_pool_printf(t->pool, "%s is asleep for %s in %s%s%s%s: %s until %s ended it.", wp_cause_who(t->of),
        amount_text(t, cause->ns), call, *what ? " on " : "", what,
        *location ? wp_pool_printf(t->pool, ",%s", location) : "",
        is_socket ? "nobody answered" : "what it waited for did not come", ended);
}

static const char *sleep_sentence(const struct text *t, const struct wp_cause_fact *cause)
{
    const char *what, *call = call_text(t, cause->sleep, &what), *ended = signal_text(t, cause->node);
    const char *location = place_text(t);
    if (wp_pause_is_timer_thread(t->facts, cause->process, cause->sleep))
        return wp_pool_printf(t->pool, "%s waits %s for timers of virtual threads%s; whose they are is not known.",
            wp_cause_who(t->of), amount_text(t, cause->ns), often_text(t));
    return wp_pool_printf(t->pool, "%s sleeps on purpose for %s%s%s%s%s%s.", wp_cause_who(t->of),
        amount_text(t, cause->ns), *location ? location : wp_pool_printf(t->pool, " in %s", call), often_text(t),
        ended ? "; " : "", ended ? ended : "", ended ? " ended it" : "");
}

static const char *unended_sentence(const struct text *t, const struct wp_cause_fact *cause)
{
    const char *what, *call = call_text(t, cause->sleep, &what),
                      *location = wp_cause_location_text(t->of, cause->sleep);
    bool is_all = cause->ns >= t->facts->wall_ns && cause->ns == t->facts->total_ns;
    return wp_pool_printf(t->pool, "%s is asleep for %s in %s%s%s%s, and was when the recording ended.",
        wp_cause_who(t->of),
        is_all ? wp_pool_printf(t->pool, "the whole %s", wp_human_duration(t->pool, cause->ns))
               : amount_text(t, cause->ns),
        call, *what ? " on " : "", what, *location ? wp_pool_printf(t->pool, ",%s", location) : "");
}

/* The connection or peer on the pseudo-stack's top. */
static const char *peer_text(const struct text *t, const struct wp_cause_fact *cause)
{
    for (uint32_t at = cause->node; at && style_at(t, at) != WP_STYLE_PROCESS; at = parent_of(t, at))
        if (style_at(t, at) == WP_STYLE_NET)
            return wp_pool_clip(t->pool, name_at(t, at), NAME_BYTES);
    return NULL;
}

/* "q04 waits 9.7 s (49 %) at the barrier `bar` in `work`, in 3 threads, 241 times, for the last of its threads, mostly
 * thread 4711; meanwhile `relax` runs." */
static const char *barrier_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    const struct wp_trace *trace = t->facts->by_threads;
    const char *call, *often = often_text(t), *last = "";
    size_t size = wp_cause_call(t->facts, cause->sleep, &call);
    const char *name = call[size] ? call + size + 1 : "";
    if (*name)
        name = wp_pool_printf(t->pool, "the barrier `%.*s`", (int)strcspn(name, " "), name);
    if (t->of->held.thread && trace) {
        const struct wp_trace_thread *thread = &trace->threads[t->of->held.thread - 1];
        const char *comm = wp_intern_text(trace->strings, thread->comm), *base = name_at(t, cause->base);
        bool is_named = strncmp(base + 1, comm, strlen(comm)) != 0 || base[strlen(comm) + 1] != ']';
        last = is_named ? wp_pool_printf(t->pool, ", mostly its thread %s", wp_pool_clip(t->pool, comm, NAME_BYTES))
                        : wp_pool_printf(t->pool, ", mostly %s %u",
                              thread->tid == thread->pid ? "its main thread" : "thread", thread->tid);
    }
    return wp_pool_printf(t->pool, "%s waits %s at %s%s%s%sfor the last of its threads%s%s.", wp_cause_who(t->of),
        amount_text(t, cause->ns), *name ? name : "a barrier", wp_cause_location_text(t->of, cause->sleep), often,
        *often ? ", " : " ", last, meanwhile_text(t, "meanwhile", "meanwhile", "that one is meanwhile in"));
}

/* "another of its threads; that one is meanwhile in `usleep` in `audit` (svc.c:5)", "gateway, which is busy with ..."
 */
static const char *path_sentence(const struct text *t)
{
    const struct wp_cause_fact *cause = t->of->cause;
    const char *whose = wp_path_wait_whose(t->facts, cause->node),
               *by = wp_path_wait_for(t->causes, t->facts, t->of->row);
    const char *base = name_at(t, cause->process), *name = wp_stack_plain_process(t->pool, whose);
    const char *whom, *busy = "", *doing, *often = often_text(t);
    if (wp_path_wait_is_own(t->causes, t->facts, t->of->row)) {
        if (wp_cause_is_barrier(t->facts, cause->sleep))
            return barrier_sentence(t);
        whom = strcmp(whose, base) && !cause->has_ends ? wp_pool_printf(t->pool, "its thread %s", name)
                                                       : "another of its threads";
        doing = meanwhile_text(t, "meanwhile", "meanwhile", "that one is meanwhile in");
    } else {
        whom = strcmp(whose, base) ? name : wp_pool_printf(t->pool, "another %s", name);
        bool is_busy = wp_path_wait_is_busy(t->causes, t->facts, t->of->row);
        busy = is_busy ? ", which is busy with other work" : "";
        if (is_busy && by && strcmp(by, base) != 0 && strcmp(by, whose) != 0)
            busy = wp_pool_printf(t->pool, ", which is busy with work for %s", wp_stack_plain_process(t->pool, by));
        doing = meanwhile_text(t, "there", "there", "there it is in");
    }
    return wp_pool_printf(t->pool, "%s waits %s%s%s%s for %s%s%s.", wp_cause_who(t->of), amount_text(t, cause->ns),
        wp_cause_location_text(t->of, cause->sleep), often, *often ? "," : "", whom, busy, doing);
}

static const char *other_sentence(const struct text *t, const struct wp_cause_fact *cause, const char *words)
{
    const char *what, *call = call_text(t, cause->sleep, &what), *peer = peer_text(t, cause);
    if (peer)
        what = peer;
    const char *file = wp_cause_file(t->causes, t->facts, t->of->row);
    if (file)
        call = wp_pool_printf(t->pool, "pages of %s that were not in memory", wp_pool_clip(t->pool, file, NAME_BYTES));
    if (peer && !strcmp(peer, "room to send (reader not known)")) {
        words = "for room to send, and who reads there is not known";
        what = "";
    }
    const char *by;
    if (wp_cause_is_shut_out(t->of, &by))
        words = wp_pool_printf(t->pool, "for %s to take its connection", by);
    if (wp_cause_is_unreachable(t->facts, cause)) {
        words = "for a peer that the network reports as unreachable";
        what = wp_pool_printf(t->pool, "%.*s", (int)strcspn(what, " "), what);
    }
    const char *place = place_text(t), *due = wp_cause_due(t->causes, t->facts, t->of->row);
    if (due) {
        words = wp_pool_printf(t->pool, "until a timeout, unanswered by %s", wp_pool_clip(t->pool, due, NAME_BYTES));
        what = "";
    }
    return wp_pool_printf(t->pool, "%s waits %s %s: %s%s%s%s%s%s.", wp_cause_who(t->of), amount_text(t, cause->ns),
        words, call,
        !*what                                  ? ""
            : cause->kind == WP_CAUSE_KIND_DISK ? " of "
                                                : " on ",
        what, *place && !strncmp(call, "pages", 5) ? "," : "", place, often_text(t));
}

const char *wp_cause_sentence(const struct wp_cause_case *of)
{
    const struct wp_cause_fact *cause = of->cause;
    const struct text t = {of, of->causes, of->facts, &of->facts->pool};
    switch (cause->kind) {
    case WP_CAUSE_KIND_DEADLOCK:
        return deadlock_sentence(&t, cause);
    case WP_CAUSE_KIND_LOCK:
        return lock_sentence(&t);
    case WP_CAUSE_KIND_POOL:
        return pool_sentence(&t);
    case WP_CAUSE_KIND_INTERRUPTED:
        return interrupted_sentence(&t, cause);
    case WP_CAUSE_KIND_UNENDED:
        return unended_sentence(&t, cause);
    case WP_CAUSE_KIND_SLEEP:
        return sleep_sentence(&t, cause);
    case WP_CAUSE_KIND_TIMEOUT:
        return other_sentence(&t, cause, "until a timeout");
    case WP_CAUSE_KIND_DISK:
        return other_sentence(&t, cause, "for the disk");
    case WP_CAUSE_KIND_PEER:
        return other_sentence(&t, cause, "for a peer that nobody records");
    case WP_CAUSE_KIND_FLIGHT:
        return other_sentence(&t, cause, "for messages on their way");
    case WP_CAUSE_KIND_SERVICE:
        return service_sentence(&t);
    case WP_CAUSE_KIND_PATH:
        return path_sentence(&t);
    case WP_CAUSE_KIND_PAUSE:
        return pause_sentence(&t);
    case WP_CAUSE_KIND_GARBAGE:
        return garbage_sentence(&t);
    case WP_CAUSE_KIND_NONE:
        break;
    }
    return "";
}

const char *wp_cause_what(const struct wp_cause_case *of)
{
    const struct text t = {of, of->causes, of->facts, &of->facts->pool};
    const char *lock = wp_lock_text(of->facts, of->cause->sleep);
    if (*lock)
        return lock;
    return of->call_size ? wp_pool_printf(t.pool, "%.*s", (int)of->call_size, of->call) : "";
}

const char *wp_cause_key(enum wp_cause_kind kind)
{
    switch (kind) {
    case WP_CAUSE_KIND_DEADLOCK:
        return "deadlock";
    case WP_CAUSE_KIND_LOCK:
        return "lock";
    case WP_CAUSE_KIND_POOL:
        return "pool";
    case WP_CAUSE_KIND_SERVICE:
        return "waiting";
    case WP_CAUSE_KIND_PATH:
        return wp_category_key(WP_OTHER_PATH);
    case WP_CAUSE_KIND_PAUSE:
        return "pause";
    case WP_CAUSE_KIND_GARBAGE:
        return "garbage";
    case WP_CAUSE_KIND_INTERRUPTED:
        return "interrupted";
    case WP_CAUSE_KIND_UNENDED:
        return "unended";
    case WP_CAUSE_KIND_SLEEP:
        return wp_category_key(WP_DELIBERATE_SLEEP);
    case WP_CAUSE_KIND_TIMEOUT:
        return wp_category_key(WP_TIMEOUT);
    case WP_CAUSE_KIND_DISK:
        return wp_category_key(WP_BLOCKING_IO);
    case WP_CAUSE_KIND_PEER:
        return wp_category_key(WP_REMOTE_NOT_TRACED);
    case WP_CAUSE_KIND_FLIGHT:
        return wp_category_key(WP_MESSAGE_IN_FLIGHT);
    case WP_CAUSE_KIND_NONE:
        break;
    }
    return "";
}
