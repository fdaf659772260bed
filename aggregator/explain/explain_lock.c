/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_lock.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_thread.h"
#include "aggregator/timeline/slices.h"
#include "common/lock_call.h"

#include <string.h>

#define KERNEL_FRAMES 16u /* of a sleep's stack, the innermost ones */
#define USER_FRAMES 20u   /* ... and of its program's */
#define HOLDERS 64u       /* of one sleep */
#define SLICE_LIMIT 256u  /* of a holder that are looked at for its own sleep for the lock */
#define LOOKS_A_VISIT 32u /* what they cost of the budget */
#define INODE_LOCK WP_KERNEL_LOCK "inode "

enum { CALL_FCNTL = 72, CALL_FLOCK = 73, CALL_FUTEX_WAITV = 449, CALL_FUTEX_WAIT = 455 };

/* What a stack says; see wp_lock_stack. */
enum {
    STACK_LOOKED = 1,
    STACK_KERNEL = 2, /* functions of the kernel are known */
    STACK_FILE = 4,
    STACK_USER = 8,
    STACK_INTERPRETER = 16 /* of which a process has one */
};

/* --- is it a lock --- */

static bool is_among(const char *const *names, size_t count, const char *function)
{
    size_t size = strcspn(function, "."); /* what a compiler puts behind the name of a copy */
    for (size_t i = 0; i < count; i++)
        if (!strncmp(names[i], function, size) && !names[i][size])
            return true;
    return false;
}

/* The innermost function that is not the scheduler's is one of fs/locks.c, Linux 5.18 to 6.18: else a filesystem of
 * other hosts, or of user space, is asked for the lock. */
static bool is_file_lock(const char *function)
{
    static const char *const names[] = {"flock_lock_inode_wait", "posix_lock_inode_wait", "locks_lock_inode_wait",
        "do_lock_file_wait", "fcntl_setlk", "__break_lease", "__do_sys_flock", "__x64_sys_flock", "__arm64_sys_flock"};
    return is_among(names, sizeof(names) / sizeof(names[0]), function);
}

static bool is_of_scheduler(const char *function)
{
    static const char *const names[] = {"__schedule", "schedule", "schedule_timeout", "schedule_preempt_disabled"};
    return is_among(names, sizeof(names) / sizeof(names[0]), function);
}

/* The functions of the kernel on a stack; one without a name may be another filesystem's. *user is the innermost one of
 * the program, 0 none. */
static uint8_t look_at_kernel(const struct wp_dictionary *dictionary, uint32_t stack, uint32_t *user)
{
    uint8_t found = STACK_LOOKED;
    bool is_named = true;
    *user = 0;
    for (uint32_t i = 0; stack && i < KERNEL_FRAMES; i++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, stack);
        const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
        if (!frame || !frame->is_kernel) {
            *user = stack;
            break;
        }
        const char *function = wp_dictionary_string(dictionary, frame->function);
        if (!(found & STACK_KERNEL) && *function && !is_of_scheduler(function))
            found |= STACK_KERNEL | (is_named && is_file_lock(function) ? STACK_FILE : 0);
        is_named = is_named && *function;
        stack = entry->parent;
    }
    return found;
}

static uint8_t look_at_user(const struct wp_dictionary *dictionary, uint32_t stack)
{
    enum wp_lock_call call = WP_LOCK_CALL_UNKNOWN;
    const char *language = NULL;
    for (uint32_t i = 0; stack && i < USER_FRAMES; i++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, stack);
        const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
        const char *function = frame ? wp_dictionary_string(dictionary, frame->function) : "";
        bool is_known = wp_lock_call_add(&call, function);
        language = wp_lock_call_taken(call, function);
        if (is_known)
            break;
        stack = entry ? entry->parent : 0;
    }
    if (!wp_lock_call_is_held(call))
        return 0;
    return STACK_USER | (language && wp_lock_is_of_interpreter(language) ? STACK_INTERPRETER : 0);
}

/* What it says; threads wait for a lock at one place again and again. */
static uint8_t stack_says(struct wp_explainer *x, uint32_t stack)
{
    struct wp_lock_stack *known = &x->lock_stacks[stack % WP_LOCK_STACKS];
    const struct wp_dictionary *dictionary = x->timeline->dictionary;
    uint32_t user;
    if (!stack)
        return STACK_LOOKED;
    if (known->stack == stack && known->host == x->host && known->says)
        return known->says;
    *known = (struct wp_lock_stack){.stack = stack, .host = x->host, .says = look_at_kernel(dictionary, stack, &user)};
    known->says |= user ? look_at_user(dictionary, user) : 0;
    return known->says;
}

static bool is_futex(const struct wp_slice *slice)
{
    unsigned call = slice->syscall - 1u;
    return call == WP_CALL_FUTEX || call == CALL_FUTEX_WAIT || call == CALL_FUTEX_WAITV;
}

/* The lock's memory named the thread that has ended the sleep. */
static bool is_held_by(const struct wp_timeline *timeline, const struct wp_slice *slice, uint32_t thread)
{
    uint32_t tid = wp_slice_holder(slice);
    return tid && tid == timeline->threads[thread].tid &&
        (slice->cause_a & WP_SLICE_HELD_ANYWHERE ||
            timeline->identities[timeline->threads[thread].identity].process ==
                timeline->identities[slice->identity].process);
}

/* Of one that is no futex's. */
static __attribute__((noinline)) bool find_lock(struct wp_explainer *x, const struct wp_slice *slice)
{
    unsigned call = slice->syscall - 1u;
    const char *on = wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice));
    if (!strncmp(on, WP_KERNEL_LOCK, strlen(WP_KERNEL_LOCK)))
        return true;
    if (!slice->syscall || slice->state != WP_STATE_INTERRUPTIBLE)
        return false;
    uint8_t says = stack_says(x, slice->stack);
    return says & STACK_KERNEL ? says & STACK_FILE : call == CALL_FLOCK || call == CALL_FCNTL;
}

bool wp_explain_is_lock(struct wp_explainer *x, const struct wp_slice *slice)
{
    if (slice->state != WP_STATE_INTERRUPTIBLE && slice->state != WP_STATE_UNINTERRUPTIBLE)
        return false;
    if (is_futex(slice))
        return is_held_by(x->timeline, slice, slice->waker) || stack_says(x, slice->stack) & STACK_USER ||
            wp_lock_is_gil(wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice)));
    struct wp_lock_stack *known = &x->lock_stacks[slice->stack % WP_LOCK_STACKS];
    uint64_t how = (uint64_t)1 << 63 | (uint64_t)slice->wait << 24 | (uint64_t)slice->syscall << 8 | slice->state;
    if (known->how == how && known->stack == slice->stack && known->host == x->host)
        return known->is_lock;
    bool is = find_lock(x, slice);
    if (known->stack != slice->stack || known->host != x->host)
        *known = (struct wp_lock_stack){.stack = slice->stack, .host = x->host};
    known->how = how;
    known->is_lock = is;
    return is;
}

/* --- who had it --- */

/* As far as is known: two locks without names are told apart by who had them. Most names of the kernel's locks are only
 * their kinds. */
static bool is_same_lock(struct wp_explainer *x, const struct wp_slice *one, const struct wp_slice *other)
{
    const struct wp_timeline *timeline = x->timeline;
    uint32_t holder = wp_slice_holder(one);
    if (one->syscall != other->syscall || one->wait != other->wait)
        return false;
    if ((holder && holder == wp_slice_holder(other)) ||
        (is_futex(one) && stack_says(x, one->stack) & stack_says(x, other->stack) & STACK_INTERPRETER))
        return true;
    const char *on = wp_dictionary_string(timeline->dictionary, wp_timeline_wait(timeline, one));
    bool is_kind =
        !strncmp(on, WP_KERNEL_LOCK, strlen(WP_KERNEL_LOCK)) && strncmp(on, INODE_LOCK, strlen(INODE_LOCK)) != 0;
    return *on && !is_kind;
}

/* The holder's own sleep for that lock, which began after the sleeper's: before its end another one had it. NULL: the
 * holder has had it all the time, or was in the queue for it. */
static __attribute__((noinline)) const struct wp_slice *turn_of(
    struct wp_explainer *x, const struct wp_wait *wait, uint32_t holder, uint64_t to_ns, uint32_t *looks)
{
    const struct wp_slice *sleep = wait->slice;
    const struct wp_thread *thread = &x->timeline->threads[holder];
    uint64_t ordinal = wp_thread_find(thread, to_ns - 1);
    if (is_held_by(x->timeline, sleep, holder))
        return NULL;
    for (uint32_t i = 0; ordinal != thread->slice_end && i < SLICE_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_ended = slice->wake_ns && slice->wake_ns < to_ns && slice->cause == WP_CAUSE_TASK &&
            !wp_slice_signal(slice) && !slice->is_inferred &&
            !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN | WP_SLICE_UNCERTAIN));
        ++*looks;
        if (slice->out_ns <= sleep->out_ns)
            break;
        bool is_others = is_ended && slice->waker && slice->waker != holder && slice->waker != wait->thread;
        if (is_others && is_same_lock(x, sleep, slice) && wp_explain_is_lock(x, slice))
            return slice;
        if (ordinal == thread->first_slice)
            break;
    }
    return NULL;
}

bool wp_wait_on_lock(struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t from, uint64_t to)
{
    const struct wp_slice *turn;
    uint32_t looks = 0;
    if (wait->is_kernel || !wp_explain_is_lock(x, wait->slice))
        return false;
    if (x->depth) /* no part of it is taken over by another layer, which would have the whole (wp_explain_relays) */
        x->asleep[x->depth - 1].site = 0;
    for (uint32_t i = 0; i < HOLDERS && from < to && (turn = turn_of(x, wait, waker, to, &looks)); i++) {
        uint64_t low = turn->wake_ns > from ? turn->wake_ns : from;
        wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, waker, low, to, true});
        waker = turn->waker;
        to = low;
    }
    x->fleet->visits += looks / LOOKS_A_VISIT;
    if (x->depth) /* all that is left of the sleep: it may be taken over by another layer (wp_explain_relays) */
        x->asleep[x->depth - 1].site = wp_wait_site(wait->slice);
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){wait->node, waker, from, to, true});
    return true;
}
