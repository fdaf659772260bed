/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/category.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *key, *title;
} names[WP_CATEGORIES] = {
    [WP_UNDERSTOOD_FUNCTIONS] = {"understood_functions", "On-CPU"},
    [WP_BLOCKING_IO] = {"blocking_io", "Blocking I/O"},
    [WP_RUNNING_NOT_SAMPLED] = {"running_not_sampled", "On-CPU, unsampled"},
    [WP_MESSAGE_IN_FLIGHT] = {"message_in_flight", "Message in flight"},
    [WP_IO_QUEUE] = {"io_queue", "I/O queue"},
    [WP_SCHEDULER] = {"scheduler", "Runnable"},
    [WP_REMOTE_NOT_TRACED] = {"remote_not_traced", "Remote, not traced"},
    [WP_DELIBERATE_SLEEP] = {"deliberate_sleep", "Deliberate sleep"},
    [WP_HARDWARE_WAIT] = {"hardware_wait", "Hardware wait"},
    [WP_INVOLUNTARY] = {"involuntary", "Preempted"},
    [WP_KERNEL_BLOCK] = {"kernel_block", "Blocked in the kernel"},
    [WP_TIMEOUT] = {"timeout", "Timed out"},
    [WP_OTHER_PATH] = {"other_path", "Other path"},
    [WP_UNACCOUNTED] = {"unaccounted", "Unaccounted"},
};

const char *wp_category_key(enum wp_category category)
{
    return (unsigned)category < WP_CATEGORIES ? names[category].key : "";
}

const char *wp_category_title(enum wp_category category)
{
    return (unsigned)category < WP_CATEGORIES ? names[category].title : "";
}

int wp_category_find(const char *key)
{
    for (int i = 0; i < WP_CATEGORIES; i++)
        if (!strcmp(names[i].key, key))
            return i;
    return -1;
}
