/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_WORK_H
#define WP_COLLECTOR_BPF_WORK_H
/*
 * What the programs cost, and what they leave out when that is too much (collector/host/budget.h). The time of one run
 * in WP_WORK_ONE_IN is taken: statistics of the kernel's own need CAP_SYS_ADMIN and two readings of the clock a run. A
 * prime, so that programs that take turns are all met.
 */
#include "ring_record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* What is rare stands apart from the rest: the programs run among others' code, so caches hold little of theirs. */
#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#endif
#ifndef unlikely
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

struct wp_work wp_work[WP_WORK_CPUS];
__u32 wp_walk_one_in =
    1; /* of the switches whose stack is not known already one in so many is walked; 0: none has a stack */

static __always_inline struct wp_work *work_here(void)
{
    __u32 cpu = bpf_get_smp_processor_id();
    barrier_var(cpu);
    return &wp_work[cpu & (WP_WORK_CPUS - 1)];
}

/* 0: this run is not taken. */
static __always_inline __u64 begin_work(void)
{
    struct wp_work *work = work_here();
    work->runs++;
    if (likely(work->until_next--))
        return 0;
    work->until_next = WP_WORK_ONE_IN - 1;
    return bpf_ktime_get_ns();
}

static __always_inline void end_work(__u64 began_ns)
{
    if (likely(!began_ns))
        return;
    struct wp_work *work = work_here();
    __u64 ended_ns = bpf_ktime_get_ns();
    __u64 ns = ended_ns - began_ns,
          clock_ns = bpf_ktime_get_ns() - ended_ns; /* reading it takes as long as a short run */
    ns = ns > clock_ns ? ns - clock_ns : 0;
    work->taken++;
    work->taken_ns += ns < WP_WORK_MOST_NS ? ns : WP_WORK_MOST_NS;
}

/* The body of a program with what it does as ____name: the time it takes is counted. */
#define WORK_TIMED(name, args...)                                                                                      \
    {                                                                                                                  \
        __u64 began_ns = begin_work();                                                                                 \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wint-conversion\"") int rc =                 \
            ____##name(___bpf_ctx_cast(args));                                                                         \
        _Pragma("GCC diagnostic pop") end_work(began_ns);                                                              \
        return rc;                                                                                                     \
    }

/* As BPF_PROG of libbpf, with its time taken. */
#define WORK_PROG(name, args...)                                                                                       \
    name(unsigned long long *ctx);                                                                                     \
    static __always_inline int ____##name(unsigned long long *ctx, ##args);                                            \
    int name(unsigned long long *ctx)                                                                                  \
        WORK_TIMED(name, args) static __always_inline int ____##name(unsigned long long *ctx, ##args)

/*
 * The same, of calls whose first argument `is_wanted`: a tracepoint that every socket or packet passes has something to
 * report at few. All others pay for nothing that those need, not even for registers, and are not counted.
 */
#define WORK_PROG_IF(name, is_wanted, args...)                                                                         \
    name(unsigned long long *ctx);                                                                                     \
    static __always_inline int ____##name(unsigned long long *ctx, ##args);                                            \
    static __noinline int name##_counted(unsigned long long *ctx) WORK_TIMED(name, args) int name(                     \
        unsigned long long *ctx)                                                                                       \
    {                                                                                                                  \
        return is_wanted((void *)(unsigned long)ctx[0]) ? name##_counted(ctx) : 0;                                     \
    }                                                                                                                  \
    static __always_inline int ____##name(unsigned long long *ctx, ##args)

/* Is a walk of this switch's stack wanted? Those that are not are counted. */
static __always_inline bool is_walk_wanted(void)
{
    if (wp_walk_one_in == 1)
        return true;
    struct wp_work *work = work_here();
    if (wp_walk_one_in && ++work->unwalked_run >= wp_walk_one_in) {
        work->unwalked_run = 0;
        return true;
    }
    work->unwalked++;
    return false;
}

#endif
