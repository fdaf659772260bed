/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_TYPES_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_TYPES_H
/* What a timeline (timeline.h) consists of: threads with their slices and samples, identities, processes. */
#include "aggregator/net/clients.h"
#include "aggregator/net/messages.h"
#include "aggregator/net/woken.h"
#include "aggregator/timeline/blockops.h"
#include "aggregator/timeline/cpu_runs.h"
#include "aggregator/timeline/drop_spans.h"
#include "aggregator/timeline/leaders.h"
#include "aggregator/timeline/queue_quotas.h"
#include "proto/dictionary.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_LATE_SAMPLE_NS                                                                                              \
    20000u /* a sample may come this long after its run ended (RSP paper, 5.2), if nothing else is set */
#define WP_EARLY_WAKING_NS 100000u /* a waking may be stamped this long before the switch-out that it ends */

/* Bits of a slice's `flags`. */
enum wp_slice_flag {
    WP_SLICE_BORN = 1,      /* the thread's first: out == wake == birth, waker = creator */
    WP_SLICE_EXEC = 2,      /* no sleep: exec began a new identity */
    WP_SLICE_RENAME = 4,    /* no sleep: the thread took another name */
    WP_SLICE_UNCERTAIN = 8, /* an end of it was repaired */
    WP_SLICE_PREEMPTED = 16,
    WP_SLICE_DELIBERATE = 32, /* asleep in a call whose only purpose is to sleep */
    WP_SLICE_FIRST = 64,      /* begins where the recording begins */
    WP_SLICE_IN_IRQ = 128,    /* the waking came in interrupt context */
};

#define WP_SLICE_SYSCALL 0x3fffu /* what fits of a call: the kernel has hundreds */

/* A sleep and the run after it: [out, in) and [in, end). 0 stands for "not yet". */
struct wp_slice {
    uint64_t out_ns, wake_ns, in_ns, end_ns;
    uint64_t cause_a;         /* of the waking event: stream position; number of the datagram or block operation; of a
                               * task's: WP_HELD_BY and the signal that came with it; of a timer's: the socket + 1 on
                               * which an answer was due, 0 none. While it sleeps: ns after which its call times out,
                               * 0 unknown; or WP_HELD_BY */
    uint32_t cause_d;         /* of the waking event: socket, device, irq, vector; of a task the unix stream's number */
    uint32_t stack;           /* where it went to sleep */
    uint32_t waker;           /* thread index current at the waking, 0 idle or none */
    uint32_t identity;        /* index: who it was in this run */
    uint16_t syscall : 14;    /* number + 1, 0 none */
    bool is_asking : 1;       /* as it began the thread had asked over TCP and not been answered (asked.h) */
    bool has_late_sample : 1; /* one came later than allowed after its run: it is nobody's */
    uint8_t state : 3;        /* enum wp_task_state at out */
    uint8_t cause : 3;        /* enum wp_cause */
    bool is_cut : 1;          /* its sleep or run went on when the recording paused: in_ns, end_ns are of then */
    bool is_inferred : 1;     /* its waking was not seen: the cause is what else is known leaves (gap_repair.h) */
    uint8_t flags;            /* enum wp_slice_flag */
    uint16_t taken;           /* by control paths of which aggregates (detached.h) */
    uint16_t wait;            /* what the call waited for or was ready, or the cgroup whose quota it waits for: in the
                               * timeline's `waits`, 0 not known */
};

#define WP_SLICE_THROTTLED ((uint64_t)1) /* in cause_a of one that was preempted: by a quota, ... */
#define WP_THROTTLED_FOR(ns) (WP_SLICE_THROTTLED | (uint64_t)(ns) << 1) /* ... and for how long, if not 0 */
#define WP_SLICE_HELD ((uint64_t)1 << 63)                               /* in cause_a: ... */
#define WP_HELD_BY(tid) (WP_SLICE_HELD | (uint64_t)(tid) << 8) /* ... who may hold the lock that is waited for */
#define WP_SLICE_HELD_ANYWHERE ((uint64_t)1 << 62)             /* with WP_SLICE_HELD: a thread of any process */
#define WP_SIGNALS 65u                                         /* their numbers are 1 to 64 */

_Static_assert(sizeof(struct wp_slice) == 64, "a slice is a line of the cache");
_Static_assert(WP_STATES <= 8 && WP_CAUSES <= 8, "three bits");

/* Of a slice: the CPU of its run, before that the one that the thread left; and as what the thread runs there
 * (cpu_runs.h), known from its waking on, before that as what it ran. They have a ring of their own, in which each has
 * the place of its slice. */
struct wp_slice_cpu {
    uint16_t cpu, occupant;
    uint16_t held; /* to its end, by control paths of which aggregates (taken.h) */
};

#define WP_SLICE_BYTES (sizeof(struct wp_slice) + sizeof(struct wp_slice_cpu))

/* What a waking event says, until it ends a sleep. */
struct wp_waking {
    uint64_t time_ns, a; /* a, d: as cause_a, cause_d of a slice */
    uint32_t waker, d;
    uint32_t by;    /* the task that woke it, or sent the datagram that did; 0: none */
    uint32_t stack; /* where it slept, when that is known now; 0: as its switch said */
    uint16_t wait;  /* what was ready */
    uint8_t cause;
    bool in_irq;
};

/* A stack that was sampled while the thread ran. */
struct wp_sample {
    uint64_t time_ns;
    uint32_t stack;
};

/* Who a thread is between two execs or renames. */
struct wp_identity {
    uint32_t entry;   /* dictionary thread id */
    uint32_t comm;    /* dictionary string id */
    uint32_t process; /* index of the process */
    uint32_t thread;
    uint64_t aggregates; /* bit i: base of aggregate i; set by the session */
    uint64_t mates;   /* bit i: no base of aggregate i, but a thread of a process whose progress that shows (mates.h) */
    uint64_t made_ns; /* when it came up */
    uint32_t before;  /* the identity that its thread had before, 0 none */
    uint32_t process_comm; /* dictionary string id: what its process was called as it came up, where it has a name of
                              its own; else 0 */
    bool is_kernel;        /* a thread of the kernel, as the dictionary says: it is asked of each waking */
};

/* The cgroup whose quota of the CPU a process has waited for. */
struct wp_quota {
    uint32_t cgroup;    /* dictionary string id, 0 none */
    uint64_t told_ns;   /* since when that is known */
    uint64_t period_ns; /* of the quota, 0 not known */
};

/* What a process had of a cgroup's memory. */
struct wp_memory_share {
    uint64_t time_ns, bytes;
    uint32_t thread, process; /* indices: who told it, and of whom */
    uint32_t cgroup;          /* dictionary string id */
};

/* Ascending by time (memory_shares.h). */
struct wp_memory_shares {
    struct wp_memory_share *rows; /* owned */
    uint32_t count, room;
};

/* A thread group between two execs. */
struct wp_process {
    uint32_t pid;
    uint32_t comm;        /* dictionary string id of its leader (or of the first thread seen) */
    uint32_t identities;  /* of its threads */
    uint32_t started_by;  /* pid of who created it, 0 unknown (askers.h) */
    uint32_t main_thread; /* index of the last one that had its number; 0: none was met */
    uint64_t start_ns;
    uint64_t running_ns;   /* time on a CPU so far, for "busiest" */
    uint64_t made_ns;      /* when it came up */
    bool is_recorder;      /* Wakepath's own */
    bool is_grouped;       /* has no row of its own in reports (process_rows.h) ... */
    bool was_grouped;      /* ... and had none before ... */
    uint64_t looked_ns;    /* ... that was last said of it */
    uint64_t with_threads; /* bit i: aggregate i shows its progress, and threads beside its main one have come up */
    struct wp_quota quota;
    uint32_t ended_by; /* dictionary thread id of the thread that called exit_group, 0 none ... */
    uint64_t ended_ns; /* ... and when it died */
};

/* The kernel kills a process for want of memory. */
struct wp_oom {
    uint32_t
        cgroup; /* dictionary string id: WP_MEMORY_GROUP and the path of the one whose memory had run out; 0: no kill */
    uint32_t holder; /* the same: name of the process that had most of it, as far as was told by then; 0: not known */
    uint64_t bytes;  /* that the process had; 0: not known */
};

/* When a process became another program, or ended, or was chosen to be killed (process_ends.h). */
struct wp_process_end {
    uint32_t entry;           /* dictionary thread id of what it became, or ended as */
    uint64_t exec_ns, end_ns; /* of the host; 0: that did not happen then */
    uint8_t ending;           /* as of an EXIT event's flags */
    struct wp_oom oom;
};

/* How many processes got rows in reports in an hour (process_rows.h). */
struct wp_process_rows_count {
    uint64_t hour; /* of the host */
    uint32_t count;
};

/* A process had a row of that name. */
struct wp_process_name {
    uint64_t time_ns;
    uint32_t process; /* index */
    uint32_t comm;    /* dictionary string id */
    bool is_counted;  /* then, and not as the process came up or in an hour before */
};

/* One thread, from its first event until it is buried. What each event needs stands first, in a line of the cache. */
struct wp_thread {
    struct wp_slice *slices;         /* ring, owned */
    struct wp_slice_cpu *slice_cpus; /* in the same memory, behind the last of them; NULL if that is */
    uint64_t first_slice, slice_end; /* ordinals [first, end) */
    uint64_t slice_base;   /* ordinal in the ring's first place; those before it stand behind the last that is in use */
    uintptr_t slice_at[2]; /* where ordinal 0 would stand: of those from slice_base on, and of those before it */
    uint32_t slice_room;   /* of the ring: as much as is needed and a little more, no power of two */
    uint32_t identity;     /* index, now */
    uint64_t found;        /* place that was just looked up: the next one is near it */
    uint64_t named_ns;     /* slices that begin then or later are of `identity`; UINT64_MAX: none yet */
    uint32_t cpu;          /* of its last run */
    bool is_dead;
    struct wp_waking early;    /* seen while it still ran; time_ns 0: none */
    struct wp_sample *samples; /* ring, owned */
    uint64_t first_sample, sample_end, found_sample;
    uint32_t sample_mask;           /* size - 1; a ring with a NULL pointer has none */
    struct wp_slice_cpu ran_before; /* of the slice before first_slice */
    uint32_t tid;
    uint32_t creator;   /* thread index, 0 unknown */
    uint64_t birth_ns;  /* 0 unknown */
    uint64_t forked_ns; /* when it last created another one, 0: not that is known */
    uint64_t gone_ns;   /* it is dead, its last run ended then, and its slices have been forgotten; 0: no */
};

/* Since the session began, or what a checkpoint restored. */
struct wp_timeline_counts {
    uint64_t events[WP_EVENT_KINDS];
    uint64_t chain_breaks; /* a CPU's prev was not its last next */
    uint64_t repaired_in, repaired_out;
    uint64_t late_samples, lost_samples;
    uint64_t wakings_of_running, wakings_of_dead;
    uint64_t unseen_wakings, inferred_wakings; /* of sleeps that ended: of these the cause is inferred */
    uint64_t recorder_ns;                      /* time on CPUs of Wakepath's own processes, of runs that are over */
    uint64_t out_of_order;                     /* events behind the session's time, taken at its time */
    uint64_t lost_ends;                        /* of processes: there were too many between two commits */
};

/* What rules ask of the name of what a call waits for. */
enum wp_wait_kind {
    WP_WAIT_MEMORY = 1, /* a cgroup's memory (WP_MEMORY_GROUP) */
    WP_WAIT_STREAM = 2  /* a unix socket */
};

/* What calls wait for. */
struct wp_wait_name {
    uint32_t string; /* id */
    uint32_t kinds;  /* enum wp_wait_kind */
};

/* Embedded; wp_timeline_init() comes first. Tables may move with each event. */
struct wp_timeline {
    struct wp_dictionary *dictionary; /* borrowed */
    struct wp_thread *threads;        /* [0] is the idle task */
    uint32_t thread_count, thread_room;
    uint32_t *live; /* indices of threads that are not buried, ascending; owned */
    uint32_t live_count, live_room;
    struct wp_identity *identities; /* [0] idle */
    uint32_t identity_count, identity_room;
    struct wp_process *processes; /* [0] idle */
    uint32_t process_count, process_room;
    uint32_t process_rows; /* of reports, in an hour; 0: WP_PROCESS_ROWS */
    struct wp_process_rows_count rows_now, rows_before;
    struct wp_process_name *row_names; /* of these two hours, in the order of time; owned */
    uint32_t row_name_count, row_name_room;
    struct wp_intmap row_names_now; /* process index and string id of those of this hour */
    struct wp_idtable threads_table, identities_table, processes_table, identity_of_entry_table,
        thread_of_entry_table;   /* own those
                                  * that the pointers show; what is buried is zeros */
    uint32_t *thread_of_entry;   /* dictionary thread id -> thread index + 1 */
    uint32_t *identity_of_entry; /* dictionary thread id -> identity */
    uint32_t entry_room, entry_identity_room;
    struct wp_intmap process_of_pid;
    struct wp_leaders leaders;
    uint32_t *cpu_thread; /* thread index + 1 that runs there; 0 unknown */
    uint64_t *cpu_time;   /* last switch there */
    uint32_t cpu_room;
    struct wp_cpu_runs cpu_runs; /* who ran when on each; the last run of each began at its cpu_time */
    struct wp_wait_name *waits;  /* what calls wait for; [0] is none. Past 65535 there are no more */
    uint32_t wait_count, wait_room;
    struct wp_intmap wait_of_string;
    struct wp_memory_shares memory;
    struct wp_queue_quotas queue_quotas;
    uint32_t last_wait;        /* string that was looked up last ... */
    uint16_t last_wait_number; /* ... and what was found */
    struct wp_blockops blockops;
    struct wp_messages messages;
    struct wp_woken woken;       /* by tasks, of these; and by their datagrams */
    struct wp_clients clients;   /* of other processes' threads */
    uint64_t late_sample_ns;     /* a sample may come this long after its run ended */
    uint64_t start_ns, now_ns;   /* first and last event */
    uint64_t ring_bytes;         /* rings of slices and samples, as they are on the heap */
    bool continues, goes_on;     /* the recording began before it, in another session; ends in another one */
    uint64_t held_bytes;         /* slices and samples that wp_timeline_forget() left, the last time */
    uint64_t window_ns;          /* when the recording last went on; 0: it never paused */
    uint64_t paused_ns;          /* since when it pauses; 0: it does not */
    struct wp_drop_spans pauses; /* those that are over ... */
    uint64_t past_pauses_ns;     /* ... and how long were those that are forgotten */
    struct wp_timeline_counts counts;
    /* Called for each new identity, so that its base memberships can be set. May be NULL. */
    void (*identity_made)(void *context, struct wp_timeline *timeline, uint32_t identity);
    void *context;
    struct wp_process_end *ends; /* that the store does not have yet; owned */
    uint32_t end_count, end_room;
    bool failed; /* out of memory: events were lost */
};

/* What a slice's call waited for, as a string id; 0: not known. */
static inline uint32_t wp_timeline_wait(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    return slice->wait < timeline->wait_count ? timeline->waits[slice->wait].string : 0;
}

/* Is it of one of these kinds (enum wp_wait_kind)? */
static inline bool wp_timeline_wait_is(const struct wp_timeline *timeline, const struct wp_slice *slice, uint32_t kinds)
{
    return slice->wait && slice->wait < timeline->wait_count && timeline->waits[slice->wait].kinds & kinds;
}

/* Number of the thread that may hold the lock that it waits, or waited until a task woke it, for; 0: not known. */
static inline uint32_t wp_slice_holder(const struct wp_slice *slice)
{
    bool is_told = !slice->wake_ns || slice->cause == WP_CAUSE_TASK;
    return is_told && slice->cause_a & WP_SLICE_HELD ? (uint32_t)(slice->cause_a >> 8) : 0;
}

/* When the quota was there again that took its CPU from the thread; 0: none did; UINT64_MAX: as it runs again, for it
 * is not told. */
static inline uint64_t wp_slice_quota_end(const struct wp_slice *slice)
{
    if (!(slice->flags & WP_SLICE_PREEMPTED && slice->cause_a & WP_SLICE_THROTTLED))
        return 0;
    return slice->cause_a == WP_SLICE_THROTTLED ? UINT64_MAX : slice->out_ns + (slice->cause_a >> 1);
}

/* The signal that ended the sleep; 0: none did. */
static inline unsigned wp_slice_signal(const struct wp_slice *slice)
{
    return slice->wake_ns && slice->cause == WP_CAUSE_TASK ? slice->cause_a & 0xff : 0;
}

/* It is another one from now on: slices that it has stay who they are. */
static inline void wp_thread_be(struct wp_thread *thread, uint32_t identity)
{
    thread->named_ns = thread->identity ? UINT64_MAX : 0;
    thread->identity = identity;
}

/* `ordinal` is in [first_slice, slice_end). Valid until the thread gets another slice or some are forgotten. */
static inline struct wp_slice *wp_thread_slice(const struct wp_thread *thread, uint64_t ordinal)
{
    return (struct wp_slice *)(thread->slice_at[ordinal < thread->slice_base] + ordinal * sizeof(struct wp_slice));
}

/* Where that slice ran, and as what. Valid as long as the slice. */
static inline struct wp_slice_cpu *wp_thread_slice_cpu(const struct wp_thread *thread, uint64_t ordinal)
{
    uint64_t place = ordinal - thread->slice_base;
    return &thread->slice_cpus[place < thread->slice_room ? place : place + thread->slice_room];
}

/* The same of the slice before it, which may be forgotten: what the thread left as the sleep of that slice began. */
static inline struct wp_slice_cpu wp_thread_ran_before(const struct wp_thread *thread, uint64_t ordinal)
{
    return ordinal > thread->first_slice ? *wp_thread_slice_cpu(thread, ordinal - 1) : thread->ran_before;
}

/* Where the last slice, which there is, and its CPU stand in their rings: never behind those that are newer. */
static inline uint64_t wp_thread_last_place(const struct wp_thread *thread)
{
    return thread->slice_end - 1 - thread->slice_base;
}

/* What the thread does now; NULL: not known, it was never seen or not since the recording paused. */
static inline struct wp_slice *wp_thread_last(const struct wp_thread *thread)
{
    if (thread->slice_end <= thread->first_slice)
        return NULL;
    struct wp_slice *slice =
        (struct wp_slice *)(thread->slice_at[0] + (thread->slice_end - 1) * sizeof(struct wp_slice));
    return slice->is_cut ? NULL : slice;
}

/* When the window that is open now, or was last, began. */
static inline uint64_t wp_timeline_window_start(const struct wp_timeline *timeline)
{
    return timeline->window_ns ? timeline->window_ns : timeline->start_ns;
}

/* So much more time of it on a CPU. */
static inline void wp_timeline_add_running(struct wp_timeline *timeline, uint32_t identity, uint64_t ns)
{
    struct wp_process *process = &timeline->processes[timeline->identities[identity].process];
    process->running_ns += ns;
    timeline->counts.recorder_ns += process->is_recorder ? ns : 0;
}

/* Whether that identity is a thread of the kernel. */
static inline bool wp_is_kernel_thread(const struct wp_timeline *timeline, uint32_t identity)
{
    return timeline->identities[identity].is_kernel;
}

/* Whether it is one of Wakepath's own processes: what that does is the cost of recording, and nobody's explanation. */
static inline bool wp_is_recorder(const struct wp_timeline *timeline, uint32_t identity)
{
    return timeline->processes[timeline->identities[identity].process].is_recorder;
}

#endif
