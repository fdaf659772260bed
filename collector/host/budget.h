/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_BUDGET_H
#define WP_COLLECTOR_HOST_BUDGET_H
/*
 * How much of a CPU the collector may take, and how much of its work it leaves out to stay there. What was not used is
 * kept for WP_BUDGET_CREDIT_NS: a burst costs nothing but that. Then it thins, level by level, and takes the levels
 * back when the next one is likely to be affordable; a return that was too early makes the next one later. No clock of
 * its own.
 */
#include "common/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* Each leaves out what the one before does. */
enum wp_budget_level {
    WP_BUDGET_WHOLE,
    WP_BUDGET_FEW_STACKS, /* of stacks of sleeps that are not known from before, one in WP_BUDGET_STACK_ONE_IN */
    WP_BUDGET_NO_STACKS,  /* of sleeps; samples keep theirs */
    WP_BUDGET_WINDOWS,    /* events in the first half of each period of realtime only; then a fourth ... */
    WP_BUDGET_LEVELS = WP_BUDGET_WINDOWS + 6 /* ... down to a sixty-fourth */
};

#define WP_BUDGET_STACK_ONE_IN 8u
#define WP_BUDGET_PERIOD_NS                                                                                            \
    (4 * WP_NS_PER_S) /* or twice that, four times ...: no window is shorter than a second; wp_budget_lengthen */
#define WP_BUDGET_DOUBLINGS 6u    /* the most doublings: 256 s */
#define WP_BUDGET_LIST_PART 0.125 /* of the limit that lists of threads may take */
#define WP_BUDGET_CREDIT_NS (30 * WP_NS_PER_S)
#define WP_BUDGET_DEBT_NS (5 * WP_NS_PER_S)

/* State of one budget. Embedded; all times are of the clock that the caller passes in. */
struct wp_budget {
    double limit_percent; /* of one CPU; 0: none */
    unsigned level;
    unsigned doublings;   /* doublings of the period */
    double share_percent; /* what it took of a CPU when it was last judged, after share_ns */
    uint64_t share_ns;
    double credit_ns;                   /* of CPU time; below 0: debt */
    uint64_t looked_ns, looked_cost_ns; /* at the last look */
    uint64_t judged_ns, judged_cost_ns; /* at the last judgement */
    uint64_t changed_ns;                /* of the last return to more */
    uint64_t wait_ns;                   /* after the last judgement that was against it, until the next return */
    uint64_t over_ns;                   /* when it was last judged to cost too much */
};

/* limit_percent: of one CPU, 0 for no limit. Begins with the whole credit, and with nothing left out. */
void wp_budget_init(struct wp_budget *budget, double limit_percent);
/* cost_ns: CPU time so far, ever growing, of whatever beginning. As often as it likes; true when the level is another
 * one. */
bool wp_budget_look(struct wp_budget *budget, uint64_t now_ns, uint64_t cost_ns);
/* Another limit from now on. What was left out under the old one is taken back level by level; at once when there is
 * none. */
void wp_budget_change(struct wp_budget *budget, double limit_percent);
/* Each window begins with a list of all threads, which took so much CPU time: periods become so long that lists take no
 * more than their part of the limit. Only while nothing is left out by windows do they become shorter again. */
void wp_budget_lengthen(struct wp_budget *budget, uint64_t list_ns);
/* Is that realtime one in which events are left out? Hosts of one fleet leave out the same times; one with a longer
 * period begins with every second, fourth ... of the others' windows. */
bool wp_budget_pauses(const struct wp_budget *budget, uint64_t real_ns);
/* "whole", "few stacks", "no stacks", "1/2", ... */
const char *wp_budget_name(unsigned level);

#endif
