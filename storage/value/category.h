/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_CATEGORY_H
#define WP_STORAGE_VALUE_CATEGORY_H
/*
 * Every nanosecond of a report's total has exactly one category, ordered from best to least understood (after the
 * categories of "A Recursive Systemic Profiler", Speyer and Mena, with those added that hosts and sockets need).
 * The numbers are stored: never renumber.
 */
#include <stdint.h>

enum wp_category {
    WP_UNDERSTOOD_FUNCTIONS = 0, /* running, with stacks */
    WP_BLOCKING_IO,              /* a block request is at the device */
    WP_RUNNING_NOT_SAMPLED,      /* running, no sample fell into the run */
    WP_MESSAGE_IN_FLIGHT,        /* sent, not yet arrived */
    WP_IO_QUEUE,                 /* a block request is queued, not yet at the device */
    WP_SCHEDULER,                /* runnable, not running */
    WP_REMOTE_NOT_TRACED,        /* waiting for a peer that nobody records */
    WP_DELIBERATE_SLEEP,         /* nanosleep and kin */
    WP_HARDWARE_WAIT,            /* ended by an interrupt with nothing traced behind it */
    WP_INVOLUNTARY,              /* preempted */
    WP_KERNEL_BLOCK,             /* other kernel blocks, e.g. migration, RCU */
    WP_TIMEOUT,                  /* a wait that timed out */
    WP_OTHER_PATH,               /* waiting on another control path */
    WP_UNACCOUNTED,
    WP_CATEGORIES
};

/* The key in JSON: "understood_functions" ... */
const char *wp_category_key(enum wp_category category);
/* For people: "In understood functions" ... */
const char *wp_category_title(enum wp_category category);
/* -1 for an unknown key. */
int wp_category_find(const char *key);

#endif
