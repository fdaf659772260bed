/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/glossary.h"

#include <string.h>

static const struct wp_term terms[] = {
    {"understood_functions", "On-CPU", "Running on a processor, with sampled stacks that say in which function"},
    {"blocking_io", "Blocking I/O", "A request of it is at a block device"},
    {"running_not_sampled", "On-CPU, unsampled", "Running, but no sample fell into the run: the function is not known"},
    {"message_in_flight", "Message in flight", "A message was sent and is not yet read"},
    {"io_queue", "I/O queue", "A request waits in the queue before the block device"},
    {"scheduler", "Runnable", "Woken, but no processor was free yet"},
    {"remote_not_traced", "Remote, not traced", "Waits for a peer on a host that nobody records"},
    {"deliberate_sleep", "Deliberate sleep", "The program asked to sleep for a time"},
    {"hardware_wait", "Hardware wait", "An interrupt of a device ended it, and nothing recorded stands behind that"},
    {"involuntary", "Preempted", "It could have run on, but the kernel gave the processor to another thread"},
    {"kernel_block", "Blocked in the kernel", "Waits for something inside of the kernel"},
    {"timeout", "Timed out", "Waited for something that did not come before its timeout"},
    {"other_path", "Other path", "Waits for work that it did not cause; that work is a path of its own"},
    {"unaccounted", "Unaccounted", "A wait that nothing in the recording explains"},
    {"wall", "Wall time", "From the first to the last activity of the process of interest"},
    {"total", "Total time", "Length of all control paths: two threads side by side are twice the wall time"},
    {"accounted", "Accounted for", "Share of the recorded total that has an explanation"},
    {"coverage", "Coverage", "Share of the time that was recorded, when recording pauses"},
    {"path", "Control path",
        "What the process of interest did or waited for, moment by moment, through threads, processes and hosts"},
    {"stack", "Pseudo-stack", "At one moment who waits for whom, one on the other, with what really happened on top"},
    {"self", "Self", "In the function itself, without what it called or waited for"},
    {"running", "Running", "On a processor, as the innermost function"},
    {"waiting", "Waiting", "Off the processor, as the innermost function"},
    {"count", "Count", "How many intervals the time consists of"},
    {"sandwich", "Sandwich", "All that stands on a function, wherever it occurs, put together"},
    {"icicle", "Icicle", "A flame graph that hangs from the top"},
    {"cycle", "Cycle", "Processes that wait for each other in turn"},
    {"module", "Module", "The file that a function is in: a program, a library, the kernel"},
    {"aggregate", "Aggregate", "A name and a selector of threads: whose time is reported"},
    {"release", "Release", "The version of the code that ran"},
    {"exemplar", "Exemplar", "One request or wait that was kept event by event"},
    {"detached", "Detached", "Work that was started and that nobody waited for"},
    {"uncertain", "Uncertain", "Time that lost events touch"},
    {"p50", "p50", "Half of the requests took up to this long"},
    {"p90", "p90", "Nine of ten requests took up to this long"},
    {"p99", "p99", "99 of 100 requests took up to this long"},
};

const struct wp_term *wp_glossary(size_t *count)
{
    *count = sizeof(terms) / sizeof(*terms);
    return terms;
}

const struct wp_term *wp_glossary_find(const char *title)
{
    for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
        if (!strcmp(terms[i].title, title))
            return &terms[i];
    return NULL;
}
