/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/cpu_slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000u /* the shortest that the kernel gives */
#define RESET_ON_FORK 1u /* SCHED_FLAG_RESET_ON_FORK of include/uapi/linux/sched.h */

/* struct sched_attr of include/uapi/linux/sched/types.h, its first version: later C libraries have one of their own. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns; /* runtime_ns: of a fairly scheduled thread its slice */
};

void wp_cpu_slice_shorten(void)
{
    struct attributes a = {.size = sizeof(a)};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || (a.policy != SCHED_OTHER && a.policy != SCHED_BATCH))
        return;
    a.runtime_ns = SLICE_NS;
    a.flags &= RESET_ON_FORK;
    syscall(SYS_sched_setattr, 0, &a, 0);
}

void wp_cpu_slice_yield(void)
{
    sched_yield();
}
