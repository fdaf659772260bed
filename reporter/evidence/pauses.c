/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/pauses.h"

#include "storage/report/report_read.h"

#include <string.h>

/* HotSpot (safepoint.cpp, vmThread.cpp, gcLocker.cpp), Go (proc.go), V8 (heap/safepoint.cc, collection-barrier.cc). */
const char *wp_pause_words(const struct wp_facts *facts, uint32_t node)
{
    static const struct {
        const char *begin, *words;
    } rows[] = {{"SafepointSynchronize::block", "at a safepoint"}, {"SafepointMechanism::process", "at a safepoint"},
        {"VMThread::execute", "at a safepoint"}, {"VMThread::wait_until_executed", "at a safepoint"},
        {"GCLocker::stall_until_clear", "until native code lets go of arrays"}, {"HandshakeState::", "at a handshake"},
        {"runtime.gcstopm", "as all goroutines are"}, {"runtime.stopTheWorld", "until all goroutines are"},
        {"v8::internal::IsolateSafepoint::", "at a safepoint"}, {"v8::internal::LocalHeap::", "at a safepoint"},
        {"v8::internal::CollectionBarrier::", "until memory is free"}};
    const char *name = wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!strncmp(name, rows[i].begin, strlen(rows[i].begin)))
            return rows[i].words;
    return NULL;
}

bool wp_pause_is_after_call(const struct wp_facts *facts, uint32_t sleep)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t at = sleep; at && wp_facts_frame_style(facts, nodes[at].frame) != WP_STYLE_PROCESS;
         at = nodes[at].parent)
        if (!strcmp(wp_facts_frame_name(facts, nodes[at].frame), "runtime.exitsyscall0"))
            return true;
    return false;
}

bool wp_pause_is_thread(const struct wp_facts *facts, uint32_t node)
{
    static const char begin[] = "[VM Thread]";
    uint32_t count, frame = facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count && *wp_report_text(facts->report, frames[frame].object) &&
        !strncmp(wp_report_text(facts->report, frames[frame].name), begin, sizeof(begin) - 1);
}

/* java.lang.VirtualThread of JDK 21 to 25, createDelayedTaskScheduler; a thread's name has 15 characters. */
bool wp_pause_is_timer_thread(const struct wp_facts *facts, uint32_t node, uint32_t sleep)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    if (strcmp(wp_facts_frame_name(facts, nodes[node].frame), "[VirtualThread-u]") != 0)
        return false;
    for (uint32_t at = sleep; at && at != node; at = nodes[at].parent)
        if (!strcmp(wp_facts_frame_name(facts, nodes[at].frame), "java.lang.VirtualThread.run"))
            return false;
    return true;
}

size_t wp_pause_operation_size(const char *function)
{
    const char *end = strncmp(function, "VM_", 3) ? NULL : strstr(function, "::");
    return end && strncmp(function, "VM_Operation:", 13) != 0 ? (size_t)(end - function) : 0;
}
