/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/account/idle_wait.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_loop.h"
#include "aggregator/explain/explain_origin.h"
#include "aggregator/net/owed.h"
#include "aggregator/timeline/holders.h"
#include "aggregator/timeline/slices.h"
#include "common/clock.h"
#include "common/code_rank.h"
#include "common/idle_place.h"
#include "common/lock_call.h"

#include <string.h>

#define LOCK_FRAMES 12u      /* of a sleep's stack, the innermost ones but the kernel's: whether one takes a lock */
#define LOOK_NS WP_NS_PER_MS /* who runs longer, and longer than such a part of the sleep before, does something */
#define LOOK_PART 100u
#define WAKINGS 64u      /* of a thread that are looked at */
#define LOOKS 8u         /* the last sleeps of a thread: whether it has done nothing else */
#define FRAMES 40u       /* the same of an interpreter's */
#define PLACE_FRAMES 64u /* and of what is known to wait for work */

enum place {
    PLACE_UNKNOWN,
    PLACE_OTHER,
    PLACE_JOINING, /* of one that waits for what others of its process do */
    PLACE_IDLE,
    PLACE_OWN /* of a thread that is a runtime's own */
};

void wp_idle_places_init(struct wp_idle_places *places)
{
    wp_idtable_init(&places->stacks, sizeof(uint8_t));
}

void wp_idle_places_fini(struct wp_idle_places *places)
{
    wp_idtable_fini(&places->stacks);
}

size_t wp_idle_places_bytes(const struct wp_idle_places *places)
{
    return wp_idtable_bytes(&places->stacks);
}

/* --- a lock --- */

/* "pthread_mutex_lock", "ObjectMonitor::enter", "queue_lock"; neither "unlock", "block" nor "clock". */
static bool names_lock(const char *name)
{
    static const char java[] = "java.util.concurrent.locks."; /* where conditions and queues live, too */
    if (wp_lock_is_gil(name) || wp_lock_call_language(name))
        return true;
    if (!strncmp(name, java, sizeof(java) - 1))
        return false;
    for (const char *at = strcasestr(name, "lock"); at; at = strcasestr(at + 1, "lock"))
        if (at == name || !strchr("bBcCnN", at[-1]))
            return true;
    return strcasestr(name, "mutex") && !strcasestr(name, "unlock");
}

struct frame {
    const char *function, *object;
    bool is_kernel;
};

/* The stack's innermost frame; *stack is its caller's from then on. */
static struct frame next_frame(const struct wp_dictionary *dictionary, uint32_t *stack)
{
    const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, *stack);
    const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
    *stack = entry ? entry->parent : 0;
    if (!frame)
        return (struct frame){.function = "", .object = "", .is_kernel = true};
    const struct wp_object_entry *object = frame->object ? wp_dictionary_object(dictionary, frame->object) : NULL;
    return (struct frame){.function = wp_dictionary_string(dictionary, frame->function),
        .object = object ? wp_dictionary_string(dictionary, object->path) : "",
        .is_kernel = frame->is_kernel};
}

/* What Python's programs call a lock is what its conditions and queues wait with as well: its functions say which. */
static bool is_in_lock(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    enum wp_lock_call call = WP_LOCK_CALL_UNKNOWN;
    bool is_interpreter = false;
    uint32_t at = slice->stack;
    for (unsigned i = 0; at && i < (is_interpreter ? FRAMES : LOCK_FRAMES);) {
        struct frame frame = next_frame(timeline->dictionary, &at);
        if (frame.is_kernel)
            continue;
        i++;
        if (call != WP_LOCK_CALL_TURN)
            wp_lock_call_add(&call, frame.function);
        if (is_interpreter && call != WP_LOCK_CALL_INTERPRETER)
            return false;
        is_interpreter = call == WP_LOCK_CALL_INTERPRETER;
        bool is_met = wp_lock_call_is_barrier(frame.function); /* who waits there works with the others */
        if (!is_interpreter && (is_met || call == WP_LOCK_CALL_TURN || names_lock(frame.function)))
            return true;
    }
    return is_interpreter;
}

static bool waits_for_lock(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    return names_lock(wp_dictionary_string(timeline->dictionary, wp_timeline_wait(timeline, slice))) ||
        is_in_lock(timeline, slice);
}

/* --- known places --- */

static enum place place_of_stack(const struct wp_dictionary *dictionary, uint32_t stack)
{
    struct wp_idle_place place = {0};
    for (unsigned i = 0; stack && i < PLACE_FRAMES; i++) {
        struct frame frame = next_frame(dictionary, &stack);
        if (!frame.is_kernel && wp_idle_place_add(&place, frame.function, wp_code_rank_of_source(frame.object)))
            return place.is_own ? PLACE_OWN : PLACE_IDLE;
    }
    return place.is_joining ? PLACE_JOINING : PLACE_OTHER;
}

/* Names of a stack's frames do not change. */
static enum place place_of(const struct wp_idle_wait *wait, uint32_t stack)
{
    const struct wp_dictionary *dictionary = wait->timeline->dictionary;
    if (!stack)
        return PLACE_OTHER;
    if (wp_idtable_reserve(&wait->places->stacks, stack))
        return place_of_stack(dictionary, stack);
    uint8_t *known = (uint8_t *)wait->places->stacks.items + stack;
    if (*known == PLACE_UNKNOWN)
        *known = (uint8_t)place_of_stack(dictionary, stack);
    return *known;
}

/* A thread of a runtime's own, by its name. */
static bool is_of_runtime(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    const struct wp_identity *who = &timeline->identities[slice->identity];
    bool is_own = who->process_comm && who->process_comm != who->comm; /* a thread with a name of its own */
    return is_own && wp_idle_thread(wp_dictionary_string(timeline->dictionary, who->comm));
}

/* --- work from its own service --- */

enum whose {
    WHOSE_OTHER,
    WHOSE_SERVICE, /* of another process that is asked about, too */
    WHOSE_PROCESS
};

/* Who ended that sleep. */
static enum whose whose_waking(const struct wp_idle_wait *wait)
{
    const struct wp_timeline *timeline = wait->timeline;
    const struct wp_slice *slice = wait->slice;
    const struct wp_thread *waker = &timeline->threads[slice->waker];
    uint64_t ordinal = waker->slices ? wp_thread_find(waker, slice->wake_ns) : waker->slice_end;
    uint32_t identity = ordinal == waker->slice_end ? waker->identity : wp_thread_slice(waker, ordinal)->identity;
    if (!(timeline->identities[identity].aggregates & wait->bit))
        return WHOSE_OTHER;
    bool is_own = timeline->processes[timeline->identities[identity].process].pid ==
        timeline->processes[timeline->identities[slice->identity].process].pid;
    return is_own ? WHOSE_PROCESS : WHOSE_SERVICE;
}

static bool is_for_own(const struct wp_idle_wait *wait, struct wp_explainer *x)
{
    const struct wp_slice *slice = wait->slice;
    if (slice->cause != WP_CAUSE_TASK || !slice->waker || slice->waker == wait->thread || slice->is_inferred)
        return false;
    enum whose whose = whose_waking(wait);
    if (whose == WHOSE_OTHER || waits_for_lock(wait->timeline, slice))
        return false;
    uint64_t oldest_ns;
    enum wp_origin origin = wp_explain_waking(x, wait->thread, slice, &oldest_ns);
    if (origin == WP_ORIGIN_NOT_KNOWN) /* what it asked for before that is forgotten */
        return whose == WHOSE_PROCESS && slice->out_ns > oldest_ns;
    return origin == WP_ORIGIN_OTHER;
}

/* --- requests --- */

static bool is_accepting(const struct wp_slice *slice)
{
    return slice->syscall == 43 + 1 || slice->syscall == 288 + 1; /* accept, accept4 of x86-64 */
}

static bool is_for_request(const struct wp_idle_wait *wait)
{
    const struct wp_slice *slice = wait->slice;
    return slice->cause == WP_CAUSE_MESSAGE && !(slice->cause_a & WP_POSITION_ACKNOWLEDGES) && !slice->is_asking &&
        wp_owed_nothing(&wait->timeline->messages, slice->cause_d, slice->out_ns);
}

/* Behind that sleep the thread ran until then: it has looked around, and has not done anything. */
static bool is_look(const struct wp_slice *slice, uint64_t until_ns)
{
    uint64_t ran_ns = until_ns - slice->in_ns;
    return slice->in_ns && until_ns >= slice->in_ns &&
        (ran_ns < LOOK_NS || ran_ns < (slice->in_ns - slice->out_ns) / LOOK_PART);
}

/* Of a wait that was going on when the recording began: neither where it is nor what led to it is known. */
static bool is_from_before(const struct wp_slice *slice)
{
    return slice->flags & WP_SLICE_FIRST && !slice->stack && !(slice->flags & WP_SLICE_DELIBERATE);
}

/* It was in that call before the recording began, and is again behind a look. */
static bool is_back_soon(const struct wp_thread *thread, uint64_t ordinal)
{
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    if (!is_from_before(slice) || !slice->end_ns || !is_look(slice, slice->end_ns))
        return false;
    for (unsigned i = 0; i < LOOKS && ++ordinal < thread->slice_end; i++) {
        const struct wp_slice *next = wp_thread_slice(thread, ordinal);
        if (!(next->flags & WP_SLICE_PREEMPTED))
            return next->syscall == slice->syscall;
    }
    return false;
}

/* It looks around, and asks nobody ever: a process that watches over others. */
static bool is_watching(const struct wp_idle_wait *wait)
{
    const struct wp_thread *thread = &wait->timeline->threads[wait->thread];
    uint64_t ordinal = wp_thread_find(thread, wait->slice->out_ns);
    if (ordinal == thread->slice_end || wp_acts_since(&wait->timeline->messages.acts, wait->thread, 0))
        return false;
    return ordinal == thread->first_slice ? is_back_soon(thread, ordinal)
                                          : is_look(wp_thread_slice(thread, ordinal - 1), wait->slice->out_ns);
}

static bool is_by_timer(const struct wp_idle_wait *wait)
{
    const struct wp_slice *slice = wait->slice;
    return slice->cause == WP_CAUSE_TIMER && wp_wait_is_choosing(slice) && !slice->is_asking && !slice->wait &&
        (wp_owed_ever(&wait->timeline->messages, wait->thread, slice->out_ns) || is_watching(wait));
}

/* --- housekeeping --- */

static bool is_leader(const struct wp_idle_wait *wait)
{
    const struct wp_timeline *timeline = wait->timeline;
    return timeline->threads[wait->thread].tid ==
        timeline->processes[timeline->identities[wait->slice->identity].process].pid;
}

/* Nobody has to do with what it sleeps for: no connection, no pipe, no lock. */
static bool is_by_clock(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    static const char *const kinds[] = {"tcp ", "udp ", "unix", "pipe"};
    const char *name = wp_dictionary_string(timeline->dictionary, wp_timeline_wait(timeline, slice));
    for (size_t i = 0; slice->wait && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strncmp(name, kinds[i], 4))
            return false;
    return slice->cause == WP_CAUSE_TIMER && !slice->is_asking && !slice->is_inferred;
}

/* Who was woken then, at the sleep that this ended; NULL: it is not known. */
static const struct wp_slice *sleep_of(const struct wp_timeline *timeline, const struct wp_woken_one *one)
{
    const struct wp_thread *thread = &timeline->threads[one->thread];
    uint64_t ordinal = thread->slices && one->time_ns ? wp_thread_find(thread, one->time_ns - 1) : thread->slice_end;
    const struct wp_slice *slice = ordinal == thread->slice_end ? NULL : wp_thread_slice(thread, ordinal);
    return slice && slice->wake_ns >= one->time_ns ? slice : NULL;
}

/* That waking gave a lock on, such as an interpreter's: it is no work for who got it. Or it was of a thread of the
 * runtime's own, such as a compiler. Or, is_old: who was woken waited for work, as far as is known; what it waits for
 * in truth stands in its own account. */
static bool gives_nothing(const struct wp_idle_wait *wait, const struct wp_woken_one *one, bool is_old)
{
    const struct wp_slice *slice = sleep_of(wait->timeline, one);
    return slice &&
        (waits_for_lock(wait->timeline, slice) || is_of_runtime(wait->timeline, slice) ||
            (is_old && (is_from_before(slice) || place_of(wait, slice->stack) >= PLACE_IDLE)));
}

/* Whether the thread gave work to others, as far as its last wakings say. */
static bool gives_work(const struct wp_idle_wait *wait, bool is_old)
{
    const struct wp_woken_list *list = wp_woken_by(&wait->timeline->woken, wait->thread);
    if (!list || !list->last.thread)
        return false;
    if (list->ring.end - list->ring.first > WAKINGS || !gives_nothing(wait, &list->last, is_old))
        return true;
    for (uint64_t i = list->ring.first; i < list->ring.end; i++)
        if (!gives_nothing(wait, wp_woken_at(list, i), is_old))
            return true;
    return false;
}

/* A thread beside the main one that was asleep when the recording began, until a timer: it has looked around, no
 * message came from or to it, and nobody has waited for it. */
static bool is_old_pause(const struct wp_idle_wait *wait)
{
    const struct wp_timeline *timeline = wait->timeline;
    const struct wp_slice *slice = wait->slice;
    return is_from_before(slice) && slice->end_ns && is_look(slice, slice->end_ns) && is_by_clock(timeline, slice) &&
        !is_leader(wait) && !waits_for_lock(timeline, slice) &&
        !wp_messages_has_part(&timeline->messages, wait->thread) && !gives_work(wait, true);
}

/* A thread beside the main one that sleeps by the clock at one place, looks around and sleeps again, and has never
 * asked or woken anybody: nobody waits for it. */
static bool is_housekeeping(const struct wp_idle_wait *wait)
{
    const struct wp_timeline *timeline = wait->timeline;
    const struct wp_thread *thread = &timeline->threads[wait->thread];
    if (!is_by_clock(timeline, wait->slice) || is_leader(wait) || gives_work(wait, false) ||
        wp_acts_since(&timeline->messages.acts, wait->thread, 0) || waits_for_lock(timeline, wait->slice))
        return false;
    uint64_t ordinal = wp_thread_find(thread, wait->slice->out_ns), next_ns = wait->slice->out_ns;
    if (ordinal == thread->slice_end || ordinal == thread->first_slice)
        return false;
    bool has_slept = false;
    for (unsigned looked = 0; looked < LOOKS && ordinal-- > thread->first_slice; looked++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_old = is_from_before(slice) && slice->syscall == wait->slice->syscall && is_by_clock(timeline, slice);
        bool is_start = slice->flags & (WP_SLICE_BORN | WP_SLICE_FIRST);
        bool is_alike = slice->syscall == wait->slice->syscall &&
            wp_explain_is_one_place(timeline->dictionary, slice->stack, wait->slice->stack);
        if (!is_look(slice, next_ns))
            return false;
        bool is_sleep = !is_start && !(slice->flags & WP_SLICE_PREEMPTED) && !waits_for_lock(timeline, slice);
        if (is_sleep && (!is_alike || !is_by_clock(timeline, slice)))
            return false;
        has_slept = has_slept || is_sleep || is_old;
        next_ns = slice->out_ns;
    }
    return has_slept;
}

/* --- all of them --- */

/* The recording paused before it was woken. */
static bool is_cut_asleep(const struct wp_slice *slice)
{
    return slice->is_cut && !slice->wake_ns;
}

/* Where it sleeps. A loop that is there as the recording goes on, in the call in which it was as it paused, is where it
 * was. */
static enum place place_of_wait(const struct wp_idle_wait *wait)
{
    const struct wp_thread *thread = &wait->timeline->threads[wait->thread];
    const struct wp_slice *slice = wait->slice;
    if (slice->stack || !is_from_before(slice) || !wp_wait_is_choosing(slice))
        return place_of(wait, slice->stack);
    uint64_t ordinal = wp_thread_find(thread, slice->out_ns);
    for (unsigned i = 0; i < LOOKS && ordinal != thread->slice_end && ordinal > thread->first_slice; i++) {
        const struct wp_slice *before = wp_thread_slice(thread, --ordinal);
        if (!is_cut_asleep(before) || before->syscall != slice->syscall)
            break;
        if (before->stack)
            return place_of(wait, before->stack);
    }
    return PLACE_OTHER;
}

bool wp_idle_wait_is_idle(const struct wp_idle_wait *wait, struct wp_explainer *x)
{
    const struct wp_slice *slice = wait->slice;
    const uint8_t others = WP_SLICE_BORN | WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_PREEMPTED;
    bool is_cut = is_cut_asleep(slice);
    if ((!slice->wake_ns && !is_cut) || !slice->syscall || slice->state != WP_STATE_INTERRUPTIBLE ||
        slice->flags & others || wp_owed_by(&wait->timeline->messages, wait->thread, slice->out_ns))
        return false;
    enum place place = place_of_wait(wait);
    if (place == PLACE_OWN || (!is_cut && is_housekeeping(wait)))
        return true;
    if (slice->flags & WP_SLICE_DELIBERATE)
        return false;
    if (is_cut) /* what would have ended it is not known */
        return is_accepting(slice) || place == PLACE_IDLE || is_of_runtime(wait->timeline, slice);
    return is_accepting(slice) || is_for_request(wait) || is_by_timer(wait) || place == PLACE_IDLE ||
        (place == PLACE_JOINING && wp_slice_is_interrupted(wait->timeline, slice)) ||
        is_of_runtime(wait->timeline, slice) || is_old_pause(wait) || is_for_own(wait, x);
}

bool wp_idle_wait_is_known(const struct wp_idle_wait *wait)
{
    return (place_of(wait, wait->slice->stack) >= PLACE_IDLE ||
               (is_of_runtime(wait->timeline, wait->slice) && wait->slice->stack)) &&
        !is_in_lock(wait->timeline, wait->slice);
}
