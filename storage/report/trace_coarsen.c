/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/trace_coarsen.h"

#include <errno.h>
#include <stdlib.h>

static int compare_lengths(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/* What a row must be longer than so that at most `kept` of them are. */
static uint64_t bound_of(uint64_t *lengths, uint32_t count, uint32_t kept)
{
    if (count <= kept)
        return 0;
    qsort(lengths, count, sizeof(*lengths), compare_lengths);
    return lengths[kept] + 1;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int wp_trace_coarsen(struct wp_trace *trace, uint32_t kept)
{
    uint32_t most = trace->run_count > trace->sleep_count ? trace->run_count : trace->sleep_count, count = 0;
    uint64_t *lengths = calloc(most + 1u, sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    for (uint32_t i = 0; i < trace->run_count; i++)
        lengths[i] = trace->runs[i].length_ns;
    trace->run_grain_ns = longer(trace->run_grain_ns, bound_of(lengths, trace->run_count, kept));
    for (uint32_t i = 0; i < trace->sleep_count; i++)
        lengths[i] = trace->sleeps[i].length_ns;
    trace->sleep_grain_ns = longer(trace->sleep_grain_ns, bound_of(lengths, trace->sleep_count, kept));
    free(lengths);
    trace->grain_ns = longer(trace->grain_ns, longer(trace->run_grain_ns, trace->sleep_grain_ns));
    for (uint32_t i = 0; i < trace->run_count; i++)
        if (trace->runs[i].length_ns >= trace->run_grain_ns)
            trace->runs[count++] = trace->runs[i];
    trace->omitted += trace->run_count - count;
    trace->run_count = count;
    count = 0;
    for (uint32_t i = 0; i < trace->sleep_count; i++)
        if (trace->sleeps[i].length_ns >= trace->sleep_grain_ns)
            trace->sleeps[count++] = trace->sleeps[i];
    trace->omitted += trace->sleep_count - count;
    trace->sleep_count = count;
    return 0;
}

void wp_trace_thin_links(struct wp_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->link_count; i += 2)
        trace->links[count++] = trace->links[i];
    trace->omitted += trace->link_count - count;
    trace->link_count = count;
}
