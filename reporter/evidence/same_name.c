/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/same_name.h"

#include "storage/report/trace.h"

#include <string.h>

static bool begins_path(const struct wp_trace *trace, uint32_t pid)
{
    bool does = false;
    for (uint32_t i = 0; i < trace->path_count && !does; i++)
        does = trace->paths[i].is_base && trace->paths[i].thread < trace->thread_count &&
            trace->threads[trace->paths[i].thread].pid == pid;
    return does;
}

bool wp_same_name_runs_most(const struct wp_facts *facts, const struct wp_trace *trace, const char *name)
{
    uint64_t own_ns = 0, other_ns = 0;
    for (uint32_t i = 0; i < facts->process_count; i++) {
        const struct wp_process_fact *process = &facts->processes[i];
        size_t size = strlen(process->comm);
        if (*name != '[' || strncmp(name + 1, process->comm, size) != 0 || strcmp(name + 1 + size, "]") != 0)
            continue;
        *(begins_path(trace, process->pid) ? &own_ns : &other_ns) += process->running_ns;
    }
    return own_ns && other_ns > own_ns;
}
