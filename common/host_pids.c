/* SPDX-License-Identifier: Apache-2.0 */
#include "common/host_pids.h"

#include <stdio.h>
#include <sys/stat.h>

#define FIRST_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO: include/linux/proc_ns.h of Linux 5.18 to 6.18 */

bool wp_host_pids_are_seen(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) || status.st_ino == FIRST_PID_NAMESPACE;
}

bool wp_host_has_threads(uint32_t pid)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%u/task", pid);
    return !stat(path, &status) && status.st_nlink > 3; /* the folder's own two, and the first thread's */
}
