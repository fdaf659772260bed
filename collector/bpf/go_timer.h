/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_GO_TIMER_H
#define WP_COLLECTOR_BPF_GO_TIMER_H
/*
 * Go: whose timer ends a sleep. Of the threads that have no goroutine to run one sleeps in epoll_pwait until the
 * earliest timer is due that any P has (findRunnable of runtime/proc.go). That timer wakes the goroutine that called
 * time.Sleep, or the one that receives from its channel (time.After, a Ticker). Where it stands is a second stack of
 * the sleep, which holds if it was the timer that ended it. A timer is believed if it is due by then, is in its P's
 * heap unchanged, and calls the function of such a one: with wrong offsets nothing is invented.
 */
#include "interp_walk.h"

#define GO_PS 1024u
#define GO_LATE_NS 1000000 /* timeouts are whole milliseconds, rounded down */

struct go_search {
    const struct wp_go_offsets *at;
    __u64 all, p, when, changed; /* changed: the earliest timer that its heap has elsewhere; 0: none */
    __u32 is_unread, reserved;
};

static long look_at_p(__u32 index, void *argument)
{
    struct go_search *s = argument;
    __u64 p, when[2];
    if (!s->at || !read_user(&p, sizeof(p), s->all + index * 8ull)) {
        s->is_unread = 1;
        return 1;
    }
    if (!p) /* allp grows before its Ps are there */
        return 0;
    if (p & 7 || !read_user(when, sizeof(when), p + s->at->when)) {
        s->is_unread = 1;
        return 1;
    }
    if (when[0] && (!s->when || when[0] < s->when)) {
        s->when = when[0];
        s->p = p;
    }
    if (when[1] && (!s->changed || when[1] < s->changed))
        s->changed = when[1];
    return 0;
}

/* The P whose first timer is the earliest of all, and due when the sleep times out; 0: there is none. */
static __always_inline __u64 find_p(struct go_search *s, const struct wp_interp_process *process, __u64 timeout_ns)
{
    __u64 slice[2], until_ns = bpf_ktime_get_ns() + timeout_ns + GO_LATE_NS;
    if (!read_user(slice, sizeof(slice), process->file.runtime) || !slice[0] || slice[0] & 7 || slice[1] > GO_PS)
        return 0;
    s->at = &process->file.go;
    s->all = slice[0];
    bpf_loop((__u32)slice[1], look_at_p, s, 0);
    return !s->is_unread && s->when <= until_ns && (!s->changed || s->changed > s->when) ? s->p : 0;
}

/* What the goroutine's timer would call, and with what; false: it is none that is as its heap says. */
struct go_timer {
    __u64 function, argument;
};

static __always_inline bool read_timer(struct go_timer *timer, const struct go_search *s)
{
    __u64 heap[2], entry[2] = {}, words[6];
    __u32 state;
    if (!read_user(heap, sizeof(heap), s->p + s->at->heap) || !heap[1] || heap[0] & 7 ||
        !read_user(entry, s->at->has_when ? 16 : 8, heap[0]) || entry[0] & 7 ||
        (s->at->has_when && entry[1] != s->when) || !read_user(words, sizeof(words), entry[0] + s->at->timer) ||
        !read_user(&state, sizeof(state), entry[0] + s->at->timer_state))
        return false;
    /* timerWaiting alone; since Go 1.23: neither timerModified nor timerZombie, in the second byte */
    if (s->at->has_when ? state >> 8 & 6 : state != 1)
        return false;
    /* when, period, f, arg: a type and a word */
    if (words[0] == s->when) {
        timer->function = words[2];
        timer->argument = words[4];
    } else if (s->at->has_when && words[1] == s->when) { /* Go 1.24 */
        timer->function = words[3];
        timer->argument = words[5];
    } else {
        return false;
    }
    return read_user(&timer->function, 8, timer->function); /* of a closure: its code */
}

static __always_inline __u64 goroutine_of(const struct go_timer *timer, const struct wp_interp_process *process)
{
    __u64 receiver, goroutine;
    if (timer->function == process->file.code_type)
        return timer->argument;
    if (!process->file.inner || timer->function != process->file.inner ||
        !read_user(&receiver, 8, timer->argument + process->file.go.receivers) || !receiver || receiver & 7 ||
        !read_user(&goroutine, 8, receiver))
        return 0;
    return goroutine;
}

/* The goroutine whose timer the running thread waits for, which falls asleep for at most timeout_ns; 0: it is not
 * known. Not static: the verifier walks it once. */
__noinline __u64 timer_goroutine(__u64 timeout_ns)
{
    struct wp_interp_process *process = interp_here(current_task());
    struct go_search search = {};
    struct go_timer timer;
    __u32 zero = 0;
    if (!wp_interps || !process || WP_INTERP_LANGUAGE(process->file.version) != WP_INTERP_GO)
        return 0;
    search.p = find_p(&search, process, timeout_ns);
    __u64 goroutine = search.p && read_timer(&timer, &search) ? goroutine_of(&timer, process) : 0;
    struct wp_interp_counts *counts = bpf_map_lookup_elem(&interp_counts, &zero);
    if (counts)
        counts->ends[WP_INTERP_GO][goroutine ? WP_INTERP_COMPLETE
                : search.is_unread           ? WP_INTERP_UNREADABLE
                                             : WP_INTERP_NO_THREAD]++;
    return goroutine & 7 ? 0 : goroutine;
}

#endif
