/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_trace.h"

#include "tests/fleetgen/gen_sim.h"

#include <stdlib.h>

struct gen_trace *gen_trace_create(void)
{
    struct gen_trace *trace = gen_new(sizeof(*trace));
    trace->holders = 2;
    return trace;
}

void gen_trace_release(struct gen_trace *trace)
{
    if (!trace || --trace->holders)
        return;
    free(trace->parts);
    free(trace);
}

void gen_trace_add(
    struct gen_trace *trace, uint16_t service, enum wp_category category, uint64_t from_ns, uint64_t to_ns)
{
    if (!trace || from_ns >= to_ns)
        return;
    if (trace->sums) {
        from_ns = from_ns > trace->since_ns ? from_ns : trace->since_ns;
        to_ns = to_ns < trace->until_ns ? to_ns : trace->until_ns;
        if (from_ns >= to_ns)
            return;
        trace->sums->ns[service][category] += to_ns - from_ns;
        trace->sums->total_ns += to_ns - from_ns;
        return;
    }
    trace->parts = gen_grow(trace->parts, &trace->room, trace->count + 1, sizeof(*trace->parts));
    trace->parts[trace->count++] = (struct gen_part){from_ns, to_ns, service, (uint8_t)category};
}

void gen_trace_splice(struct gen_trace *trace, const struct gen_trace *from, uint64_t from_ns, uint64_t to_ns)
{
    for (uint32_t i = 0; from && from != trace && i < from->count; i++) {
        const struct gen_part *part = &from->parts[i];
        gen_trace_add(trace, part->service, (enum wp_category)part->category,
            part->from_ns > from_ns ? part->from_ns : from_ns, part->to_ns < to_ns ? part->to_ns : to_ns);
    }
}
