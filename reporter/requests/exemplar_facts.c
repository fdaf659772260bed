/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/requests/exemplar_facts.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/facts.h"
#include "reporter/requests/slow_requests.h"
#include "storage/report/trace_decode.h"

#include <stdlib.h>
#include <string.h>

#define TYPICAL 2u /* shown of a service: the nearest to its median */
#define NAME_BYTES 120u

struct builder {
    struct wp_facts *facts;
    const struct wp_exemplars *set;
    const struct wp_service_fact *services;
    size_t service_count, room;
};

static const struct wp_service_fact *service_of(const struct builder *builder, const char *name)
{
    for (size_t i = 0; i < builder->service_count; i++)
        if (!strcmp(builder->services[i].name, name))
            return &builder->services[i];
    return NULL;
}

/* How many times longer the one is than the other, whichever it is. */
static double apart(uint64_t a_ns, uint64_t b_ns)
{
    double a = (double)a_ns + 1, b = (double)b_ns + 1;
    return a > b ? a / b : b / a;
}

/* The place of a drawn row among those of its service by their nearness to the median, 0 the nearest. */
static unsigned nearness(const struct builder *builder, uint32_t row, uint32_t from, uint32_t to, uint64_t median_ns)
{
    const struct wp_exemplar_window *rows = builder->set->rows;
    double own = apart(rows[row].length_ns, median_ns);
    unsigned nearer = 0;
    for (uint32_t i = from; i < to; i++) {
        double other = apart(rows[i].length_ns, median_ns);
        nearer += i != row && (wp_exemplars_roles(builder->set, i) & WP_EXEMPLAR_SAMPLED) &&
            (other < own || (other <= own && i < row));
    }
    return nearer;
}

static void describe_wait(struct wp_pool *pool, struct wp_exemplar_fact *fact)
{
    static const char *const titles[WP_EXEMPLARS_SLOWEST + 1] = {
        "A wait sampled at random", "The longest wait", "The second longest wait", "The third longest wait"};
    fact->title = titles[fact->rank];
    fact->why =
        wp_pool_printf(pool, "%s%s%s", fact->rank ? "One of the longest sleeps of the process of interest." : "",
            fact->rank && fact->is_typical ? " " : "",
            fact->is_typical ? "Sampled at random from all its sleeps, in proportion to "
                               "their length: a moment of waiting, picked at random, lies in one like it."
                             : "");
}

static void describe_request(struct wp_pool *pool, struct wp_exemplar_fact *fact, const struct wp_service_fact *service)
{
    const char *name = wp_pool_clip(pool, fact->service, NAME_BYTES);
    const char *median = service ? wp_human_duration(pool, service->median_ns) : "";
    static const char *const which[WP_EXEMPLARS_SLOWEST + 1] = {
        "A typical", "The slowest", "The second slowest", "The third slowest"};
    fact->title = wp_pool_printf(pool, "%s request on %s", which[fact->rank], name);
    const char *slow = !fact->rank ? ""
        : service                  ? wp_pool_printf(pool,
                                         "One of the slowest of the %s requests that were answered; half of "
                                                          "them took up to %s.",
                                         wp_human_count(pool, service->count), median)
                                   : "One of the slowest requests that were answered.";
    const char *typical = !fact->is_typical ? ""
        : service                           ? wp_pool_printf(pool,
                                                  "Near the median of the %s requests, which is %s: sampled at random "
                                                                            "from those of about this length.",
                                                  wp_human_count(pool, service->count), median)
                                            : "Sampled at random from those of about this length.";
    fact->why = wp_pool_printf(pool, "%s%s%s", slow, *slow && *typical ? " " : "", typical);
}

/* What stood on top for longest. */
static void find_most(struct wp_pool *pool, struct wp_exemplar_fact *fact)
{
    const struct wp_trace *trace = fact->trace;
    uint64_t *sums = calloc(trace->node_count + 1u, sizeof(*sums));
    uint32_t best = 0;
    fact->most = "";
    pool->failed |= !sums;
    for (uint32_t i = 0; sums && i < trace->piece_count; i++)
        if (!trace->paths[trace->pieces[i].path].is_base)
            continue;
        else if ((sums[trace->pieces[i].node] += trace->pieces[i].length_ns) > fact->most_ns) {
            best = trace->pieces[i].node;
            fact->most_ns = sums[best];
            fact->most_category = trace->pieces[i].category;
        }
    if (best)
        fact->most = wp_pool_text(pool, wp_intern_text(trace->strings, trace->frames[trace->nodes[best].frame].name));
    free(sums);
}

/* The thread of interest that comes first; "" and 0 where there is none. */
static void take_thread(struct wp_pool *pool, struct wp_exemplar_fact *fact)
{
    const struct wp_trace *trace = fact->trace;
    for (uint32_t i = 0; i < trace->path_count; i++) {
        if (!trace->paths[i].is_base || trace->paths[i].thread >= trace->thread_count)
            continue;
        const struct wp_trace_thread *thread = &trace->threads[trace->paths[i].thread];
        fact->comm = wp_pool_text(pool, wp_intern_text(trace->strings, thread->comm));
        fact->host = wp_pool_text(pool, wp_intern_text(trace->strings, thread->host));
        fact->pid = thread->pid;
        fact->tid = thread->tid;
        return;
    }
}

void wp_exemplar_facts_window(struct wp_pool *pool, struct wp_exemplar_fact *fact, struct wp_trace *trace)
{
    *fact = (struct wp_exemplar_fact){.service = "",
        .host = "",
        .comm = "",
        .start_ns = trace->start_ns,
        .length_ns = trace->length_ns,
        .is_beginning = true,
        .trace = trace};
    take_thread(pool, fact);
    fact->title = wp_pool_printf(pool, "A recording that began on %s", wp_human_time(pool, fact->start_ns));
    fact->why = "All that happened from the beginning of a recording until there was room for no more.";
    find_most(pool, fact);
}

static void take_row(struct builder *builder, uint32_t row, unsigned rank, bool is_typical)
{
    struct wp_facts *facts = builder->facts;
    struct wp_pool *pool = &facts->pool;
    const struct wp_exemplar_window *window = &builder->set->rows[row];
    struct wp_exemplar_fact *fact = &facts->exemplars.rows[facts->exemplars.count];
    *fact = (struct wp_exemplar_fact){.service = wp_pool_text(pool, window->service),
        .host = wp_pool_text(pool, window->host),
        .comm = "",
        .tid = window->tid,
        .start_ns = window->start_ns,
        .length_ns = window->length_ns,
        .rank = rank,
        .is_typical = is_typical};
    if (facts->exemplars.count >= builder->room ||
        wp_trace_decode(&fact->trace, window->trace.data, window->trace.size, NULL))
        return; /* checked when it was read: out of memory */
    if (fact->trace->path_count && fact->trace->paths[0].thread < fact->trace->thread_count) {
        const struct wp_trace_thread *thread = &fact->trace->threads[fact->trace->paths[0].thread];
        fact->comm = wp_pool_text(pool, wp_intern_text(fact->trace->strings, thread->comm));
        fact->pid = thread->pid;
    }
    if (*window->service)
        describe_request(pool, fact, service_of(builder, window->service));
    else
        describe_wait(pool, fact);
    find_most(pool, fact);
    facts->exemplars.count++;
}

static void take_service(struct builder *builder, uint32_t from, uint32_t to)
{
    const char *name = builder->set->rows[from].service;
    const struct wp_service_fact *service = service_of(builder, name);
    for (uint32_t i = from; i < to; i++) {
        unsigned roles = wp_exemplars_roles(builder->set, i);
        bool is_typical = roles & WP_EXEMPLAR_SAMPLED &&
            (!*name || (service && nearness(builder, i, from, to, service->median_ns) < TYPICAL));
        if (roles & WP_EXEMPLAR_SLOW || is_typical)
            take_row(builder, i, roles & WP_EXEMPLAR_SLOW ? i - from + 1 : 0, is_typical);
    }
}

static uint32_t end_of(const struct wp_exemplars *set, uint32_t from)
{
    uint32_t to = from;
    while (to < set->count && !strcmp(set->rows[to].service, set->rows[from].service))
        to++;
    return to;
}

void wp_exemplar_facts_build(struct wp_facts *facts, const struct wp_exemplars *set)
{
    struct builder builder = {.facts = facts, .set = set, .room = set->count};
    builder.services = wp_slow_requests_build(&facts->pool, facts, &builder.service_count);
    facts->exemplars.rows = wp_pool_alloc(&facts->pool, (set->count + 1u) * sizeof(*facts->exemplars.rows));
    if (!facts->exemplars.rows)
        return;
    for (uint32_t from = 0, to; from < set->count; from = to) { /* requests first */
        to = end_of(set, from);
        if (*set->rows[from].service)
            take_service(&builder, from, to);
    }
    if (set->count && !*set->rows[0].service)
        take_service(&builder, 0, end_of(set, 0));
}

void wp_exemplar_facts_fini(struct wp_exemplar_facts *exemplars)
{
    for (size_t i = 0; i < exemplars->count; i++)
        wp_trace_destroy(exemplars->rows[i].trace);
    exemplars->count = 0;
}

unsigned wp_exemplar_facts_find(const struct wp_facts *facts, const char *service, bool is_typical)
{
    for (size_t i = 0; i < facts->exemplars.count; i++) {
        const struct wp_exemplar_fact *fact = &facts->exemplars.rows[i];
        if (!strcmp(fact->service, service) && (is_typical ? fact->is_typical : fact->rank == 1))
            return (unsigned)i + 1;
    }
    return 0;
}
