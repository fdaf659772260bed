/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_STACK_ENDS_H
#define WP_REPORTER_FACTS_STACK_ENDS_H
/*
 * How whole the stacks are: whether a layer's outermost function is one that a thread begins with (_start, clone,
 * ret_from_fork ...). Time of layers without any function is not counted: what did not stop in code, or was left out,
 * has no stack.
 */
#include "storage/report/report.h"

struct wp_stack_ends {
    uint64_t stack_ns; /* time of pseudo-stacks whose last layer has functions */
    uint64_t whole_ns; /* of that, down to the thread's beginning */
};

/* -ENOMEM. */
int wp_stack_ends_measure(const struct wp_report *report, struct wp_stack_ends *ends);

/* Whether it is one of those by which the kernel gives a CPU away (kernel/sched/core.c, kernel/time/sleep_timeout.c):
 * every wait ends in them, and who called them says why. */
bool wp_stack_is_scheduler(uint32_t style, const char *name);

#endif
