/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/causes.h"

#include "common/intmap.h"
#include "common/lock_call.h"
#include "reporter/facts/role_name.h"
#include "reporter/evidence/callers.h"
#include "reporter/causes/cause_callers.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/evidence/cause_pool.h"
#include "reporter/evidence/garbage.h"
#include "reporter/evidence/path_label.h"
#include "reporter/evidence/pauses.h"
#include "reporter/evidence/same_name.h"
#include "reporter/evidence/wrappers.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
}

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* --- what causes a cell's time --- */

/* Of a node: where its pseudo-stack begins, its layer, and the sleeps that decide; 0 none. */
struct on_stack {
    uint32_t base, process; /* process nodes */
    uint32_t sleep;         /* of its layer, the innermost */
    uint32_t first;         /* of all layers, the outermost */
    uint32_t lock;          /* the outermost sleep of all layers that waits for a lock, */
    uint32_t pool;          /* ... or for a thread of the same role */
    uint32_t service;       /* the outermost sleep that a process asked over a socket ends */
    uint32_t asked;         /* the outermost layer of a process that was waited for */
    uint32_t program;       /* the outermost layer but those that only wait for the end of what they started, */
    uint32_t program_asked; /* ... and the outermost one that is waited for above it */
    uint32_t deadlock;
    uint32_t garbage; /* of its layer, what collects garbage */
    uint32_t stopper; /* of its layer, the runtime's function that stops the thread */
    uint32_t parked;  /* below it, where its layer's thread is that monitor: the sleep of a thread of Go's that came out
                         of a system call, and whose goroutine the scheduler has not let go on; 0 none */
    uint32_t pause;   /* the outermost sleep of all layers in which a runtime has stopped its thread */
    uint32_t below;   /* the sleep that the layer stands on, */
    uint32_t under;   /* ... where that is of the same process by its name, whatever it is for; */
    uint32_t timed;   /* ... and has a time limit that the layer's thread waits for; */
    uint32_t token;   /* ... if it reads what a thread of the same process writes into a pipe */
    bool has_own;     /* its layer has a function of the program, */
    bool is_placed;   /* ... and so has that of `program` */
    bool is_main;     /* its layer is a main thread's, by where all of them begin, */
    bool below_main;  /* ... and so is the layer that it stands on */
    bool is_worker;   /* its layer is a kernel thread's, which works for the sleep below */
    bool is_runtime;  /* its layer's thread works for its runtime alone, which does not stop it */
    bool is_monitor;  /* ... and naps between two looks at it */
    bool collects;    /* of all layers, garbage is collected in one */
    bool is_unended;  /* the recording's end cut off sleeps that stand on it */
};

/* Of which process the layer is, whatever its thread calls itself: of "[worker-3]@db" of java "java@db". */
static uint64_t process_of(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *name = name_at(facts, node), *end = strrchr(name, ']');
    const char *object = frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
    size_t size = end ? (size_t)(end - name) : strlen(name);
    uint64_t host = XXH3_64bits(name + size, strlen(name + size));
    size_t begin = *name == '[';
    return *object ? XXH3_64bits_withSeed(object, strlen(object), host)
                   : XXH3_64bits_withSeed(name + begin, size > begin ? size - begin : 0, host);
}

static bool nodes_differ(const struct wp_facts *facts, uint32_t one, uint32_t other)
{
    return facts->flame.nodes[one].frame != facts->flame.nodes[other].frame &&
        process_of(facts, one) != process_of(facts, other);
}

bool wp_cause_is_own(const struct wp_facts *facts, const struct wp_cause_fact *cause)
{
    return !cause->process || !nodes_differ(facts, cause->process, cause->base);
}

bool wp_cause_is_asking(const struct wp_facts *facts, uint32_t sleep)
{
    static const char *const kinds[] = {"tcp ", "udp ", "unix", "pipe"};
    static const char *const calls[] = {"wait4", "waitid", "vfork", "clone", "clone3", "msgrcv", "msgsnd", "semop",
        "semtimedop", "mq_timedreceive", "mq_timedsend"}; /* clone: with CLONE_VFORK, as posix_spawn does */
    const char *call;
    size_t size = wp_cause_call(facts, sleep, &call);
    for (size_t i = 0; size && call[size] && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strncmp(call + size + 1, kinds[i], 4))
            return true;
    for (size_t i = 0; size && i < sizeof(calls) / sizeof(*calls); i++)
        if (size == strlen(calls[i]) && !strncmp(call, calls[i], size))
            return true;
    return false;
}

static bool has_second_thread(const struct wp_trace *trace, uint32_t thread)
{
    bool has = false;
    for (uint32_t i = 0; i < trace->thread_count && !has; i++)
        has = i != thread && trace->threads[i].pid == trace->threads[thread].pid &&
            trace->threads[i].host == trace->threads[thread].host;
    return has;
}

/* A shell that reads what its own child prints does not. */
bool wp_cause_may_share(const struct wp_facts *facts, uint32_t node)
{
    const struct wp_trace *trace = facts->by_threads ? facts->by_threads : facts->trace;
    const char *name = name_at(facts, node);
    bool has = !trace;
    for (uint32_t i = 0; trace && i < trace->thread_count && !has; i++) {
        const char *comm = wp_intern_text(trace->strings, trace->threads[i].comm);
        size_t size = strlen(comm);
        has = *name == '[' && !strncmp(name + 1, comm, size) && name[size + 1] == ']' && has_second_thread(trace, i);
    }
    return has && !(trace && wp_same_name_runs_most(facts, trace, name));
}

/* Threads may give each other what a pipe or an eventfd holds: a token each. Ruby's wait for each other by polls of an
 * eventfd. */
static bool is_token(const struct wp_facts *facts, const struct on_stack *at, uint32_t node)
{
    static const char *const kinds[] = {"pipe", "eventfd"};
    const char *call;
    size_t size = at->sleep ? wp_cause_call(facts, at->sleep, &call) : 0;
    bool is = false;
    for (size_t i = 0; size && call[size] && i < sizeof(kinds) / sizeof(*kinds); i++)
        is = is || !strncmp(call + size + 1, kinds[i], strlen(kinds[i]));
    bool is_call = (size == 4 && !strncmp(call, "read", 4)) || (size == 5 && !strncmp(call, "ppoll eventfd", 13));
    return is && is_call && !nodes_differ(facts, at->process, node) && wp_cause_may_share(facts, node);
}

/* Whether the layer's thread sleeps until its runtime lets it go on: by the function it sleeps in, or who ends that. */
static bool is_stopped(const struct wp_facts *facts, const struct on_stack *at, uint32_t sleep, uint32_t by)
{
    const char *lock;
    bool is_known =
        by ? at->has_own && wp_pause_is_thread(facts, by) && !nodes_differ(facts, at->process, by) : at->stopper;
    return is_known && !at->is_runtime && wp_cause_is_futex(facts, sleep) && !wp_cause_is_lock(facts, sleep, &lock);
}

/* A layer begins upon that of a program which waits for a child, and has no function that says more of it. */
static bool is_wrapped(const struct wp_facts *facts, const struct on_stack *at)
{
    return at->program == at->process && wp_wrapper_is_for_child(facts, at->sleep) &&
        (!at->has_own || wp_wrapper_is_name(facts, at->process));
}

/* A layer begins. On a message it is a process that was asked. */
static void look_process(struct on_stack *at, const struct wp_facts *facts, uint32_t node)
{
    uint32_t parent = facts->flame.nodes[node].parent;
    bool is_message = style_at(facts, parent) == WP_STYLE_NET,
         is_asked = is_message || wp_cause_is_asking(facts, at->sleep);
    bool is_other = at->process && (is_asked || nodes_differ(facts, at->process, node));
    if (is_message && !at->service)
        at->service = at->sleep;
    if (is_asked && !at->asked)
        at->asked = node;
    if (!at->process || is_wrapped(facts, at)) {
        at->program = node;
        at->is_placed = false;
    } else if (is_asked && !at->program_asked) {
        at->program_asked = node;
    }
    at->under = at->process && !nodes_differ(facts, at->process, node) ? at->sleep : 0;
    at->timed = 0;
    at->token = at->process && is_token(facts, at, node) ? at->sleep : 0;
    if (!at->pause && at->process && is_stopped(facts, at, at->sleep, node))
        at->pause = at->sleep;
    at->process = node;
    at->base = at->base ? at->base : node;
    at->below = is_other ? 0 : at->sleep;
    at->sleep = at->stopper = 0;
    at->below_main = at->is_main;
    at->has_own = at->is_main = false;
    at->garbage = wp_garbage_is_thread(facts, node) ? node : 0;
    at->collects = at->collects || at->garbage;
    at->is_runtime = at->garbage || wp_pause_is_thread(facts, node);
    at->is_monitor = false;
    at->parked = 0;
}

/* A process has one main thread: one that waits for another is of another process, whatever that one is called. */
static void look_main(struct on_stack *at, const struct wp_facts *facts, uint32_t node)
{
    at->is_main = at->is_main || !strcmp(name_at(facts, node), "_start");
    if (!at->is_main || !at->below_main)
        return;
    at->asked = at->asked ? at->asked : at->process;
    at->below = 0;
}

/* Of the thread in which Ruby's Timeout waits until what it limits has taken too long. */
static bool is_time_limit(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *object = frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
    size_t size = strlen(object), end = strlen("/timeout.rb");
    return size > end && !strcmp(object + size - end, "/timeout.rb") && strstr(object, "/ruby/");
}

static void look_function(struct on_stack *at, const struct wp_facts *facts, uint32_t node)
{
    look_main(at, facts, node);
    bool is_collector = wp_garbage_is_function(facts, node), is_own = wp_cause_is_own_function(facts, node);
    if (!at->garbage && is_collector)
        at->garbage = node;
    at->collects = at->collects || is_collector;
    if (!at->is_monitor && !strcmp(name_at(facts, node), "runtime.sysmon")) {
        at->is_monitor = true;
        at->parked = wp_pause_is_after_call(facts, at->under) ? at->under : 0;
    }
    if (is_own)
        at->stopper = 0; /* the program's own work, as in a finalizer */
    else if (!at->stopper && (is_collector || wp_pause_words(facts, node)))
        at->stopper = node;
    at->has_own = at->has_own || is_own;
    at->timed = at->timed || !is_time_limit(facts, node) ? at->timed : at->under;
    at->is_placed = at->is_placed || (is_own && at->process == at->program);
    if (at->pool || !is_own || !wp_code_location_is_one(name_at(facts, node)))
        return;
    if (wp_cause_is_called_by(facts, at->below, node) && wp_cause_may_be_pool(facts, at->below) &&
        !wp_cause_database_lock(facts, at->below))
        at->pool = at->below;
    if (!at->pool && wp_cause_is_called_by(facts, at->token, node))
        at->pool = at->token;
}

/* Whom a thread waits for that holds what others want: its own client, "tcp :3306" or "tcp:10.0.0.9:*". */
static bool is_client(const char *name)
{
    const char *call = strchr(name, ' '), *colon = strrchr(name, ':');
    return (call && wp_cause_is_accepted(call + 1)) || (colon && !strcmp(colon, ":*"));
}

static bool is_worker(const char *process)
{
    static const char *const names[] = {"[kworker/", "[jbd2/", "[xfsaild/", "[btrfs-", "[ksoftirqd/", "[rcu_"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strncmp(process, names[i], strlen(names[i])))
            return true;
    return false;
}

static void look_at_node(struct on_stack *on, const struct wp_facts *facts, uint32_t node)
{
    const char *lock, *name = name_at(facts, node);
    struct on_stack *at = &on[node];
    bool is_unended = at->is_unended;
    *at = on[facts->flame.nodes[node].parent];
    at->is_unended = is_unended;
    switch (style_at(facts, node)) {
    case WP_STYLE_PROCESS:
        at->is_worker = is_worker(name);
        if (!at->is_worker)
            look_process(at, facts, node);
        break;
    case WP_STYLE_USER:
        look_function(at, facts, node);
        break;
    case WP_STYLE_SLEEP:
        if (at->is_worker)
            break;
        at->sleep = node;
        at->first = at->first ? at->first : node;
        at->pool = is_client(name) ? 0 : at->pool;
        if (!at->lock && wp_cause_is_lock(facts, node, &lock) &&
            (*lock || at->below ||
                wp_cause_lock_call(facts, node) != WP_LOCK_CALL_INTERPRETER)) /* else it may wait for a thread's end */
            at->lock = node;
        if (!at->pause && is_stopped(facts, at, node, 0))
            at->pause = node;
        break;
    case WP_STYLE_NET:
        at->pool = is_client(name) ? 0 : at->pool;
        break;
    case WP_STYLE_WAIT:
        if (!at->deadlock && !strncmp(name, "deadlock:", 9))
            at->deadlock = node;
        break;
    default:
        break;
    }
}

static enum wp_cause_kind kind_of_category(unsigned category)
{
    switch (category) {
    case WP_DELIBERATE_SLEEP:
        return WP_CAUSE_KIND_SLEEP;
    case WP_TIMEOUT:
        return WP_CAUSE_KIND_TIMEOUT;
    case WP_BLOCKING_IO:
    case WP_IO_QUEUE:
        return WP_CAUSE_KIND_DISK;
    case WP_REMOTE_NOT_TRACED:
        return WP_CAUSE_KIND_PEER;
    case WP_MESSAGE_IN_FLIGHT:
        return WP_CAUSE_KIND_FLIGHT;
    default:
        return WP_CAUSE_KIND_NONE;
    }
}

/* The sleep below was let go for its time limit. */
static bool is_timed_out(const struct on_stack *at, const struct wp_cell *cell)
{
    return at->timed && !at->has_own && !at->lock &&
        (cell->category == WP_DELIBERATE_SLEEP || cell->category == WP_TIMEOUT);
}

/* Who was woken with the lock and has no CPU yet, does not wait for the lock any more. */
static enum wp_cause_kind kind_of(const struct wp_facts *facts, const struct on_stack *at, const struct wp_cell *cell)
{
    uint32_t node = cell->node, parent = facts->flame.nodes[node].parent;
    uint32_t runnable = style_at(facts, node) == WP_STYLE_SCHED ? wp_facts_below_scheduler(facts, node) : 0;
    bool is_signal = style_at(facts, node) == WP_STYLE_WAIT && !strncmp(name_at(facts, node), "signal:", 7);
    bool is_path = style_at(facts, node) == WP_STYLE_WAIT && !strncmp(name_at(facts, node), "path:", 5);
    if (at->deadlock)
        return WP_CAUSE_KIND_DEADLOCK;
    if (is_signal && cell->category != WP_DELIBERATE_SLEEP && at->sleep == parent && (!at->lock || at->lock == parent))
        return WP_CAUSE_KIND_INTERRUPTED;
    if (is_timed_out(at, cell))
        return WP_CAUSE_KIND_TIMEOUT;
    if (at->pause && (!at->lock || at->pause <= at->lock) && runnable != at->pause)
        return WP_CAUSE_KIND_PAUSE;
    if (at->lock && runnable != at->lock)
        return node == at->lock && cell->category == WP_TIMEOUT ? WP_CAUSE_KIND_TIMEOUT : WP_CAUSE_KIND_LOCK;
    if (at->pool && node != at->pool && runnable != at->pool)
        return WP_CAUSE_KIND_POOL;
    if (at->is_unended && cell->category == WP_UNACCOUNTED && node == at->sleep)
        return WP_CAUSE_KIND_UNENDED;
    if (at->garbage && cell->category == WP_UNDERSTOOD_FUNCTIONS)
        return WP_CAUSE_KIND_GARBAGE;
    if (at->service && (cell->category == WP_UNDERSTOOD_FUNCTIONS || cell->category == WP_RUNNING_NOT_SAMPLED))
        return WP_CAUSE_KIND_SERVICE;
    if (at->sleep && (at->has_own || wp_path_label_is_answer(facts, node)) && cell->category == WP_OTHER_PATH &&
        is_path)
        return WP_CAUSE_KIND_PATH;
    if (at->parked && (cell->category == WP_DELIBERATE_SLEEP || cell->category == WP_TIMEOUT))
        return WP_CAUSE_KIND_PAUSE;
    return at->sleep && !at->is_monitor ? kind_of_category(cell->category) : WP_CAUSE_KIND_NONE;
}

/* By the reason that the engine files with it (aggregator/explain). */
static void mark_unended(struct on_stack *on, const struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_unexplained *rows = wp_report_unexplained_rows(facts->report, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].node < facts->flame.source_count &&
            !strcmp(wp_report_text(facts->report, rows[i].reason), "the recording ended before it did"))
            on[facts->flame.by_source[rows[i].node]].is_unended = true;
    on[0].is_unended = false;
}

/* Of those without a name that are waited for at one place. */
static uint32_t kind_of_lock(const struct wp_facts *facts, uint32_t sleep)
{
    const char *language = wp_cause_language_lock(facts, sleep);
    return language ? (uint32_t)XXH3_64bits(language, strlen(language)) : 0;
}

/* Threads of a pool are one: "path:[pool-*-thread-*]". */
static uint32_t role_of_path(const struct wp_facts *facts, uint32_t node)
{
    char room[WP_ROLE_BYTES];
    const char *role = wp_role_name(room, name_at(facts, node));
    return (uint32_t)XXH3_64bits(role, strlen(role));
}

/* What two cells must share to be told as one: kind, process and place, and what is waited for. */
static struct wp_intkey key_of(const struct wp_causes *causes, const struct wp_facts *facts, const struct on_stack *at,
    const struct wp_cause_fact *cause)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t what = nodes[cause->sleep].frame, location = causes->locations[cause->sleep];
    uint32_t where = location ? nodes[location].frame : 0;
    const char *lock;
    if (cause->kind == WP_CAUSE_KIND_DEADLOCK)
        return (struct wp_intkey){nodes[at->deadlock].frame, cause->kind};
    if (cause->kind == WP_CAUSE_KIND_LOCK && wp_cause_is_lock(facts, cause->sleep, &lock) && *lock)
        where = 0; /* one lock is one cause, wherever it is waited for */
    else if (cause->kind == WP_CAUSE_KIND_PATH)
        what = role_of_path(facts, cause->node);
    else if (cause->kind == WP_CAUSE_KIND_PAUSE)
        where = what = 0; /* nor does it matter where a thread happens to be when all are stopped */
    else if (cause->kind == WP_CAUSE_KIND_DISK || cause->kind == WP_CAUSE_KIND_GARBAGE ||
        ((cause->kind == WP_CAUSE_KIND_LOCK || cause->kind == WP_CAUSE_KIND_POOL ||
             cause->kind == WP_CAUSE_KIND_SERVICE) &&
            where))
        what = cause->kind == WP_CAUSE_KIND_LOCK ? kind_of_lock(facts, cause->sleep) : 0;
    return (struct wp_intkey){
        (uint64_t)what << 32 | where, process_of(facts, cause->process) << 8 | (unsigned)cause->kind};
}

/* What the cause is about. */
static uint32_t sleep_of(const struct on_stack *at, const struct wp_cell *cell, enum wp_cause_kind kind)
{
    switch (kind) {
    case WP_CAUSE_KIND_TIMEOUT:
        return is_timed_out(at, cell) ? at->timed : at->sleep;
    case WP_CAUSE_KIND_DEADLOCK:
        return at->deadlock;
    case WP_CAUSE_KIND_LOCK:
        return at->lock;
    case WP_CAUSE_KIND_POOL:
        return at->pool;
    case WP_CAUSE_KIND_SERVICE:
        return at->service;
    case WP_CAUSE_KIND_PAUSE:
        return at->pause ? at->pause : at->parked;
    case WP_CAUSE_KIND_GARBAGE:
        return at->garbage;
    default:
        return at->sleep;
    }
}

static bool is_same_place(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t one, uint32_t other)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    return nodes[causes->locations[one]].frame == nodes[causes->locations[other]].frame;
}

/* Whose wait it is: of a program that waits for another's doing, and not of what waits for the program. */
static void set_base(struct wp_cause_fact *cause, const struct on_stack *at)
{
    bool is_inside = at->program != at->base && at->is_placed && cause->process != at->program;
    cause->base = is_inside ? at->program : at->base;
    cause->asked = is_inside ? at->program_asked : at->asked;
}

static void add(struct wp_causes *causes, struct wp_facts *facts, struct wp_intmap *index, const struct on_stack *on,
    const struct wp_cell *cell)
{
    const struct on_stack *at = &on[cell->node];
    struct wp_cause_fact made = {.kind = kind_of(facts, at, cell), .node = cell->node, .first = at->first};
    uint32_t row;
    if (made.kind == WP_CAUSE_KIND_NONE)
        return;
    made.sleep = sleep_of(at, cell, made.kind);
    made.process = on[made.sleep].process;
    set_base(&made, at);
    struct wp_intkey key = key_of(causes, facts, at, &made);
    key.a ^= (uint64_t)causes->cell_rest[cell - facts->flame.cells] << 63;
    if (!wp_intmap_get(index, key, &row)) {
        row = causes->count++;
        facts->pool.failed |= wp_intmap_put(index, key, row) != 0;
    }
    struct wp_cause_fact *cause = &causes->rows[row];
    made.ns = cause->ns + cell->ns;
    made.has_threads = cause->has_threads ||
        (cause->ns && facts->flame.nodes[cause->process].frame != facts->flame.nodes[made.process].frame);
    made.has_places = cause->has_places || (cause->ns && !is_same_place(causes, facts, cause->sleep, made.sleep));
    made.has_ends =
        cause->has_ends || (cause->ns && facts->flame.nodes[cause->node].frame != facts->flame.nodes[made.node].frame);
    made.collected_ns = cause->collected_ns + (at->collects ? cell->ns : 0);
    made.count = cause->count + cell->count;
    made.largest_ns = cell->ns;
    causes->cell_cause[cell - facts->flame.cells] = row + 1;
    causes->cell_sleep[cell - facts->flame.cells] = made.sleep;
    if (cell->ns >= cause->largest_ns)
        *cause = made;
    cause->ns = made.ns;
    cause->count = made.count;
    cause->has_threads = made.has_threads;
    cause->has_places = made.has_places;
    cause->has_ends = made.has_ends;
    cause->collected_ns = made.collected_ns;
}

/* By what is marked of the cells: nothing at first. */
static void add_all(struct wp_causes *causes, struct wp_facts *facts, const struct on_stack *on)
{
    struct wp_intmap index = {0};
    memset(causes->rows, 0, causes->count * sizeof(*causes->rows));
    causes->count = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++)
        add(causes, facts, &index, on, &facts->flame.cells[i]);
    wp_intmap_fini(&index);
}

/* What a runtime stops its threads for most of the time; and a thread that has nearly all of it stands for all. */
static void settle(struct wp_causes *causes)
{
    for (uint32_t i = 0; i < causes->count; i++) {
        struct wp_cause_fact *cause = &causes->rows[i];
        if (cause->kind == WP_CAUSE_KIND_PAUSE && cause->collected_ns >= cause->ns - cause->collected_ns)
            cause->kind = WP_CAUSE_KIND_GARBAGE;
        cause->has_threads = cause->has_threads && cause->largest_ns < cause->ns / 10 * 9;
    }
}

/* Of what one place waits for a disk with: all sleeps of one call, and of it those for one file. */
struct call_sums {
    uint64_t *ns; /* two a cell at most: no more keys are there */
    struct wp_intmap index;
    uint32_t count;
};

static uint64_t *sum_of(struct call_sums *sums, struct wp_facts *facts, uint32_t row, uint32_t sleep, bool of_file)
{
    const char *call;
    size_t size = wp_cause_call(facts, sleep, &call);
    struct wp_intkey key = {XXH3_64bits(call, of_file ? strlen(call) : size), (uint64_t)row << 1 | of_file};
    uint32_t at;
    if (!wp_intmap_get(&sums->index, key, &at))
        facts->pool.failed |= wp_intmap_put(&sums->index, key, at = sums->count++) != 0;
    return &sums->ns[at];
}

/* The cause of a cell, if it waits for a disk; NULL. */
static struct wp_cause_fact *disk_cause(const struct wp_causes *causes, uint32_t cell)
{
    uint32_t row = causes->cell_cause[cell];
    return row && causes->rows[row - 1].kind == WP_CAUSE_KIND_DISK ? &causes->rows[row - 1] : NULL;
}

static bool is_more(const uint64_t own[2], const uint64_t best[2])
{
    return own[0] != best[0] ? own[0] > best[0] : own[1] > best[1];
}

/* A call in many small cells is more than another one's largest: it is what the cause is told by. */
static void choose_calls(struct wp_causes *causes, struct wp_facts *facts, const struct on_stack *on)
{
    const struct wp_flame *flame = &facts->flame;
    struct call_sums sums = {.ns = calloc(2 * (size_t)flame->cell_count + 1, sizeof(*sums.ns))};
    uint64_t(*best)[2] = calloc(causes->count + 1u, sizeof(*best));
    facts->pool.failed |= !sums.ns || !best;
    for (uint32_t i = 0; i < flame->cell_count && !facts->pool.failed; i++)
        for (unsigned of_file = 0; of_file < 2 && disk_cause(causes, i); of_file++)
            *sum_of(&sums, facts, causes->cell_cause[i], causes->cell_sleep[i], of_file) += flame->cells[i].ns;
    for (uint32_t i = 0; i < flame->cell_count && !facts->pool.failed; i++) {
        struct wp_cause_fact *cause = disk_cause(causes, i);
        uint32_t row = causes->cell_cause[i], sleep = causes->cell_sleep[i];
        if (!cause)
            continue;
        uint64_t own[2] = {*sum_of(&sums, facts, row, sleep, false), *sum_of(&sums, facts, row, sleep, true)};
        bool is_same = !memcmp(own, best[row - 1], sizeof(own));
        if (!is_more(own, best[row - 1]) && !(is_same && flame->cells[i].ns >= cause->largest_ns))
            continue;
        memcpy(best[row - 1], own, sizeof(own));
        const struct on_stack *at = &on[flame->cells[i].node];
        cause->sleep = sleep;
        cause->node = flame->cells[i].node;
        cause->process = on[sleep].process;
        cause->first = at->first;
        set_base(cause, at);
        cause->largest_ns = flame->cells[i].ns;
    }
    wp_intmap_fini(&sums.index);
    free(sums.ns);
    free(best);
}

void wp_causes_build(struct wp_causes *causes, struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    struct on_stack *on = calloc(flame->count + 1u, sizeof(*on));
    *causes = (struct wp_causes){.locations = wp_code_locations_build(&facts->pool, facts)};
    causes->rows = wp_pool_alloc(&facts->pool, (flame->cell_count + 1u) * sizeof(*causes->rows));
    causes->callers = wp_callers_build(&facts->pool, facts, causes->locations);
    causes->is_asked = wp_pool_alloc(&facts->pool, (flame->count + 1u) * sizeof(*causes->is_asked));
    causes->is_asked_inside = wp_pool_alloc(&facts->pool, (flame->count + 1u) * sizeof(*causes->is_asked_inside));
    causes->cell_cause = wp_pool_alloc(&facts->pool, (flame->cell_count + 1u) * sizeof(*causes->cell_cause));
    causes->cell_sleep = wp_pool_alloc(&facts->pool, (flame->cell_count + 1u) * sizeof(*causes->cell_sleep));
    causes->cell_rest = wp_pool_alloc(&facts->pool, (flame->cell_count + 1u) * sizeof(*causes->cell_rest));
    facts->pool.failed |= !on;
    wp_cause_pools_build(facts);
    if (!facts->pool.failed) {
        mark_unended(on, facts);
        for (uint32_t i = 1; i < flame->count; i++) {
            look_at_node(on, facts, i);
            causes->is_asked[i] = on[i].asked != 0;
            causes->is_asked_inside[i] = on[i].program_asked != 0;
        }
        add_all(causes, facts, on);
        wp_cause_callers_mark(causes, facts);
        add_all(causes, facts, on);
        choose_calls(causes, facts, on);
        settle(causes);
    }
    free(on);
}
