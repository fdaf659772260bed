/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/garbage.h"

#include "storage/report/report_read.h"

#include <string.h>

static bool is_named(const char *name)
{
    static const char *const begins[] = {"gc_collect", "PyGC_Collect", "_PyGC_Collect", "runtime.gcBgMarkWorker",
        "runtime.gcAssistAlloc", "runtime.gcDrain", "v8::internal::Heap::CollectGarbage", "rb_gc_start", "gc_start",
        "gc_sweep", "gc_marks", "G1CollectedHeap::", "GCTaskThread::", "VM_G1", "VM_GenCollect", "VM_ParallelGC",
        "VM_CollectFor", "VM_Shenandoah", "VM_Z", "GenCollectedHeap::", "DefNewGeneration::collect",
        "PSScavenge::", "PSParallelCompact::", "luaC_step", "luaC_fullgc", "lua_gc", "runtime.gcStart",
        "runtime.gcMark", "runtime.gcSweep", "rb_gc_mark", "zend_gc_collect_cycles",
        "v8::internal::Heap::PerformGarbageCollection", "v8::internal::Scavenger",
        "v8::internal::MarkCompactCollector::", "v8::internal::ConcurrentMarking::"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    return false;
}

/* What a program calls itself to have its garbage collected, in the language's own file for it. */
static bool is_of_file(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count && !strcmp(wp_report_text(facts->report, frames[frame].object), "<internal:gc>");
}

bool wp_garbage_is_function(const struct wp_facts *facts, uint32_t node)
{
    return is_named(wp_facts_frame_name(facts, facts->flame.nodes[node].frame)) || is_of_file(facts, node);
}

bool wp_garbage_is_thread(const struct wp_facts *facts, uint32_t node)
{
    static const char *const begins[] = {
        "[GC Thread#", "[G1 Conc#", "[G1 Main Marker", "[ParGC Thread#", "[ZWorker", "[XWorker", "[Shenandoah GC"};
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    if (frame >= count || !*wp_report_text(facts->report, frames[frame].object))
        return false;
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (!strncmp(wp_report_text(facts->report, frames[frame].name), begins[i], strlen(begins[i])))
            return true;
    return false;
}
