/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/doing.h"

/* What a process did while it was on top of the pseudo-stack. */
static const char *const doing[WP_CATEGORIES] = {
    [WP_UNDERSTOOD_FUNCTIONS] = "runs its own code",
    [WP_BLOCKING_IO] = "waits for the disk",
    [WP_RUNNING_NOT_SAMPLED] = "runs, with no sample to say in which function",
    [WP_MESSAGE_IN_FLIGHT] = "waits for messages on their way",
    [WP_IO_QUEUE] = "waits in the disk's queue",
    [WP_SCHEDULER] = "is runnable and waits for a CPU",
    [WP_REMOTE_NOT_TRACED] = "waits for a peer that nobody records",
    [WP_DELIBERATE_SLEEP] = "sleeps on purpose",
    [WP_HARDWARE_WAIT] = "waits for hardware",
    [WP_INVOLUNTARY] = "is preempted",
    [WP_KERNEL_BLOCK] = "is blocked inside the kernel",
    [WP_TIMEOUT] = "waits until a timeout",
    [WP_OTHER_PATH] = "waits for others that are busy",
    [WP_UNACCOUNTED] = "waits without an explanation",
};

const char *wp_category_doing(enum wp_category category)
{
    return doing[category];
}
