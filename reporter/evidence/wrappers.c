/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/wrappers.h"

#include "reporter/evidence/cause_lock.h"

#include <string.h>

bool wp_wrapper_is_for_child(const struct wp_facts *facts, uint32_t sleep)
{
    static const char *const calls[] = {"wait4", "waitid", "rt_sigsuspend", "rt_sigtimedwait", "pause"};
    const char *call;
    size_t size = sleep ? wp_cause_call(facts, sleep, &call) : 0;
    for (size_t i = 0; size && i < sizeof(calls) / sizeof(*calls); i++)
        if (size == strlen(calls[i]) && !strncmp(call, calls[i], size))
            return true;
    return false;
}

bool wp_wrapper_is_name(const struct wp_facts *facts, uint32_t process)
{
    static const char *const names[] = {"sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "make", "gmake", "ninja",
        "timeout", "env", "nice", "nohup", "setsid", "stdbuf", "time", "xargs", "sudo", "su", "tini"};
    const char *name = wp_facts_frame_name(facts, facts->flame.nodes[process].frame);
    for (size_t i = 0; *name == '[' && i < sizeof(names) / sizeof(*names); i++) {
        size_t size = strlen(names[i]);
        if (!strncmp(name + 1, names[i], size) && name[1 + size] == ']')
            return true;
    }
    return false;
}
