/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern_cpu.h"

static bool is_garbage(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    bool is_stopped = of->call_size != 0;
    pattern->sure = WP_SURETY_CERTAIN;
    pattern->evidence = is_stopped ? "the runtime's collector runs while threads are stopped"
                                   : "samples of the CPU are in the runtime's collector";
    return of->cause->kind == WP_CAUSE_KIND_GARBAGE;
}

const struct wp_pattern_rule wp_pattern_cpu[] = {
    {"garbage_collection", "Garbage collection", is_garbage},
    {NULL, NULL, NULL},
};
