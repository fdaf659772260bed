/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is under way when the generated time is over goes with the process: leak checkers need not tell of it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:gen_new\n";
}

void *gen_new(uint64_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        fprintf(stderr, "fleetgen: out of memory\n");
        exit(1);
    }
    return memory;
}

void *gen_grow(void *rows, uint32_t *room, uint32_t wanted, uint64_t size)
{
    if (wanted <= *room)
        return rows;
    uint32_t more = *room ? *room : 8;
    while (more < wanted)
        more *= 2;
    char *bigger = gen_new(more * size);
    if (rows)
        memcpy(bigger, rows, *room * size);
    free(rows);
    *room = more;
    return bigger;
}

void gen_sim_fini(struct gen_sim *sim)
{
    free(sim->due);
    *sim = (struct gen_sim){0};
}

static bool is_before(const struct gen_due *a, const struct gen_due *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

void gen_at(struct gen_sim *sim, uint64_t time_ns, gen_act act, void *context, uint64_t argument)
{
    struct gen_due due = {time_ns > sim->now_ns ? time_ns : sim->now_ns, sim->number++, act, context, argument};
    sim->due = gen_grow(sim->due, &sim->room, sim->count + 1, sizeof(*sim->due));
    uint32_t at = sim->count++;
    for (; at && is_before(&due, &sim->due[(at - 1) / 2]); at = (at - 1) / 2)
        sim->due[at] = sim->due[(at - 1) / 2];
    sim->due[at] = due;
}

static struct gen_due take_first(struct gen_sim *sim)
{
    struct gen_due first = sim->due[0], last = sim->due[--sim->count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < sim->count; at = child) {
        if (child + 1 < sim->count && is_before(&sim->due[child + 1], &sim->due[child]))
            child++;
        if (!is_before(&sim->due[child], &last))
            break;
        sim->due[at] = sim->due[child];
    }
    sim->due[at] = last;
    return first;
}

void gen_run_until(struct gen_sim *sim, uint64_t until_ns)
{
    while (sim->count && sim->due[0].time_ns <= until_ns) {
        struct gen_due due = take_first(sim);
        sim->now_ns = due.time_ns;
        due.act(due.context, due.argument);
    }
    sim->now_ns = until_ns;
}

uint64_t gen_random(struct gen_sim *sim) /* splitmix64 */
{
    uint64_t z = sim->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t gen_below(struct gen_sim *sim, uint32_t limit)
{
    return limit ? (uint32_t)((gen_random(sim) >> 32) * limit >> 32) : 0;
}

bool gen_chance(struct gen_sim *sim, uint32_t per_mille)
{
    return gen_below(sim, 1000) < per_mille;
}

uint64_t gen_about(struct gen_sim *sim, uint64_t mean, uint32_t percent)
{
    double part = (double)mean * percent / 100, u = ((double)(gen_random(sim) >> 11) + 1) * 0x1p-53;
    return (uint64_t)((double)mean - part - part * log(u));
}
