/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/running_files.h"

#include "collector/unwind/met_file.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES 64u
#define FILES 256u
#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD of include/linux/sched.h, Linux 6.1 */

struct busy {
    uint64_t ticks; /* of CPU time so far */
    uint32_t pid;
};

/* proc_pid_stat(5): the name may have any character. False: it is gone, or the kernel's own. */
static bool read_ticks(uint32_t pid, uint64_t *ticks)
{
    char path[64], text[1024];
    unsigned long long user, kernel;
    unsigned flags;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    const char *fields = strrchr(text, ')');
    if (!fields ||
        sscanf(fields + 1, " %*c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %llu %llu", &flags, &user, &kernel) != 3)
        return false;
    *ticks = user + kernel;
    return !(flags & KERNEL_THREAD);
}

/* Keeps the list in order, the busiest first. */
static unsigned put(struct busy *list, unsigned count, struct busy one)
{
    unsigned at = count < PROCESSES ? count : PROCESSES - 1;
    if (at < count && list[at].ticks >= one.ticks)
        return count;
    for (; at && list[at - 1].ticks < one.ticks; at--)
        list[at] = list[at - 1];
    list[at] = one;
    return count < PROCESSES ? count + 1 : count;
}

static unsigned find_busy(struct busy *list)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *folder = opendir("/proc");
    while (folder && (entry = readdir(folder))) {
        struct busy one = {.pid = (uint32_t)strtoul(entry->d_name, NULL, 10)};
        if (!isdigit((unsigned char)*entry->d_name) || one.pid == (uint32_t)getpid())
            continue;
        count = read_ticks(one.pid, &one.ticks) ? put(list, count, one) : count;
    }
    if (folder)
        closedir(folder);
    return count;
}

static void take_mapped(uint32_t pid, void (*take)(void *context, const struct wp_met_file *file), void *context)
{
    char path[64], line[4400], perms[8];
    unsigned found = 0;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && found < FILES && fgets(line, sizeof(line), maps)) {
        struct wp_met_file met = {.pid = pid};
        unsigned high, low;
        if (sscanf(line, "%" SCNx64 "-%*x %7s %*x %x:%x %" SCNu64, &met.address, perms, &high, &low, &met.inode) != 5 ||
            !met.inode || !strchr(perms, 'x'))
            continue;
        met.device = high << 20 | (low & 0xfffff);
        take(context, &met);
        found++;
    }
    if (maps)
        fclose(maps);
}

void wp_running_files(void (*take)(void *context, const struct wp_met_file *file), void *context)
{
    struct busy list[PROCESSES];
    unsigned count = find_busy(list);
    for (unsigned i = 0; i < count; i++)
        take_mapped(list[i].pid, take, context);
}
