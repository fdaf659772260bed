/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/sample_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int wp_sample_event_open(int cpu, uint32_t frequency_hz)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = frequency_hz};
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* "0-3,5" of /sys/devices/system/cpu/online; false: it cannot be read. */
static bool next_range(FILE *file, unsigned *from, unsigned *to)
{
    char mark;
    if (fscanf(file, "%u", from) != 1)
        return false;
    *to = *from;
    if (fscanf(file, "%c", &mark) == 1 && mark == '-' && fscanf(file, "%u%c", to, &mark) < 1)
        return false;
    return true;
}

unsigned wp_sample_event_without(bool *has_event, unsigned cpus)
{
    FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    unsigned from, to, at = 0, count = 0;
    while (file && next_range(file, &from, &to)) {
        for (; at < from && at < cpus; at++)
            has_event[at] = false;
        for (; at <= to && at < cpus; at++)
            count += !has_event[at];
    }
    for (; file && at < cpus; at++)
        has_event[at] = false;
    if (file)
        fclose(file);
    return count;
}

int wp_sample_event_try(void)
{
    int cpu = sched_getcpu();
    int fd = wp_sample_event_open(cpu < 0 ? 0 : cpu, 1);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

static long paranoid(void)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    long level = 0;
    if (file && fscanf(file, "%ld", &level) != 1)
        level = 0;
    if (file)
        fclose(file);
    return level;
}

void wp_sample_event_why(int rc, char *text, size_t room)
{
    if (rc == -EACCES || rc == -EPERM)
        snprintf(text, room, "kernel.perf_event_paranoid is %ld: that asks %s", paranoid(),
            paranoid() > 2 ? "CAP_SYS_ADMIN to begin with" : "CAP_PERFMON");
    else if (rc == -ENOSYS || rc == -EOPNOTSUPP || rc == -ENOENT)
        snprintf(text, room, "the kernel has no perf events of the processor's clock");
    else
        snprintf(text, room, "no perf event: %s", strerror(-rc));
}
