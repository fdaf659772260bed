/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_fleet.h"

#include <stdlib.h>
#include <string.h>

#define WARM_NS 200000000u /* before the first host records */
#define TAIL_NS 300000000u /* that others record on when the base's hosts have ended */
#define PORT 7000

static const char *service_name(const void *context, uint32_t service)
{
    return ((const struct gen_plan *)context)->services[service].name;
}

/* --- what applications read --- */

static void count_read(void *context, const struct gen_end *end, uint64_t bytes)
{
    struct gen_fleet *fleet = context;
    const struct gen_end *from = &end->stream->ends[end == &end->stream->ends[0]];
    uint32_t row,
        to = end->host->number,
        other = from->host && (from->host->is_recording || from->host->is_over) ? from->host->number : UINT32_MAX;
    struct wp_intkey key = {(uint64_t)to << 32 | other, 0};
    const struct gen_loss *loss = &end->host->loss;
    bool is_lost = fleet->sim.now_ns >= loss->from_ns && fleet->sim.now_ns < loss->to_ns;
    if (!end->host->is_recording || other == to || is_lost)
        return;
    if (!wp_intmap_get(&fleet->pair_index, key, &row)) {
        row = fleet->pair_count++;
        fleet->pairs = gen_grow(fleet->pairs, &fleet->pair_room, fleet->pair_count, sizeof(*fleet->pairs));
        fleet->pairs[row] = (struct gen_pair){.from = other, .to = to};
        wp_intmap_put(&fleet->pair_index, key, row);
    }
    fleet->pairs[row].reads++;
    fleet->pairs[row].bytes += bytes;
    fleet->pairs[row].unmatchable += end->stream->options.is_old && end->stream->options.is_translated;
}

/* --- making it --- */

struct gen_stream *gen_fleet_stream(
    struct gen_fleet *fleet, struct gen_replica *client, struct gen_replica *server, bool is_first)
{
    const struct gen_plan *plan = &fleet->plan;
    struct gen_sim *sim = &fleet->sim;
    struct gen_sim way = {
        .seed = fleet->way_seed ^ (uint64_t)(client ? client->host->number : UINT32_MAX) << 32 ^ server->host->number};
    struct gen_stream_options options = {.delay_ns = plan->delay_ns / 2 + gen_below(&way, (uint32_t)plan->delay_ns),
        .jitter_ns = plan->jitter_ns,
        .retransmit_per_mille = plan->retransmit_per_mille,
        .coalesce_per_mille = plan->coalesce_per_mille,
        .read_limit = plan->read_limit,
        .backward_slower = gen_chance(&way, plan->asymmetric_per_mille),
        .is_translated = gen_chance(sim, plan->nat_per_mille),
        .is_v6 = gen_chance(sim, plan->v6_per_mille)};
    options.is_old = is_first && gen_chance(sim, plan->old_per_mille);
    options.is_mapped = !options.is_v6 && gen_chance(sim, plan->v6_per_mille);
    struct gen_stream *stream = gen_stream_create(sim, client ? client->host : NULL, server->host, fleet->stream_count,
        (uint16_t)(PORT + server->service), &options, &fleet->traffic);
    stream->ends[1].owner = server;
    stream->ends[1].readable = client ? gen_replica_readable : NULL;
    fleet->streams =
        gen_grow(fleet->streams, &fleet->stream_room, fleet->stream_count + 1, sizeof(struct gen_stream *));
    fleet->streams[fleet->stream_count++] = stream;
    return stream;
}

bool gen_fleet_is_base(const struct gen_fleet *fleet, uint32_t host)
{
    for (uint32_t i = 0; i < fleet->replica_count; i++)
        if (fleet->replicas[i]->host->number == host && fleet->plan.services[fleet->replicas[i]->service].is_base)
            return true;
    return false;
}

static void make_hosts(struct gen_fleet *fleet)
{
    struct gen_sim *sim = &fleet->sim;
    const struct gen_plan *plan = &fleet->plan;
    uint64_t origin_ns = fleet->options.origin_ns;
    fleet->hosts = gen_new(sizeof(struct gen_host *) * plan->hosts);
    for (uint32_t i = 0; i < plan->hosts; i++) {
        struct gen_host *host = fleet->hosts[i] = gen_host_create(sim, i, plan->cpus);
        host->service_name = service_name;
        host->names = plan;
        host->sample_ns = fleet->options.sample_hz ? 1000000000u / fleet->options.sample_hz : 0;
        host->clock = (struct gen_clock){.origin_ns = origin_ns,
            .drift_ppm = (int32_t)gen_below(sim, 2 * plan->drift_ppm + 1) - (int32_t)plan->drift_ppm};
        if (plan->skew_ns)
            host->clock.offset_ns = (int64_t)(gen_random(sim) % (2 * plan->skew_ns)) - (int64_t)plan->skew_ns;
        if (i && i <= plan->steps) {
            host->clock.step_count = 1;
            host->clock.steps[0].at_ns = origin_ns + WARM_NS + fleet->options.duration_ns * (1 + gen_below(sim, 6)) / 8;
            host->clock.steps[0].by_ns = 1000000u << gen_below(sim, 12);
        }
    }
}

static void lose_some(struct gen_fleet *fleet)
{
    struct gen_sim *sim = &fleet->sim;
    uint64_t duration_ns = fleet->options.duration_ns;
    for (uint32_t i = 0, left = fleet->plan.losses; i < fleet->plan.hosts && left; i++) {
        struct gen_host *host = fleet->hosts[i];
        if (gen_fleet_is_base(fleet, i))
            continue;
        left--;
        host->loss.from_ns = fleet->begin_ns + duration_ns / 4 + gen_random(sim) % (duration_ns / 2);
        host->loss.to_ns = host->loss.from_ns + duration_ns / 20;
    }
}

/* Each worker's connections: to `fan` replicas of each service that it asks. */
static void connect_worker(struct gen_fleet *fleet, struct gen_worker *worker, uint32_t number)
{
    const struct gen_plan *plan = &fleet->plan;
    const struct gen_service *service = &plan->services[worker->replica->service];
    for (uint32_t i = 0; i < service->doing_count; i++) {
        const struct gen_doing *doing = &service->doings[i];
        for (uint32_t j = 0; j < doing->target_count; j++) {
            uint32_t target = doing->targets[j], first = 0;
            while (fleet->replicas[first]->service != target)
                first++;
            for (uint32_t k = 0; k < plan->fan; k++) {
                struct gen_stream **stream = &worker->streams[target * plan->fan + k];
                uint32_t count = plan->services[target].hosts;
                uint32_t which =
                    count > 8 * plan->fan ? gen_below(&fleet->sim, count) : (number * plan->fan + k) % count;
                if (!*stream)
                    *stream = gen_fleet_stream(fleet, worker->replica, fleet->replicas[first + which], true);
            }
        }
    }
    if (service->is_base && gen_chance(&fleet->sim, service->outside_per_mille))
        worker->outside = gen_fleet_stream(fleet, NULL, worker->replica, true);
}

static void make_workers(struct gen_fleet *fleet)
{
    const struct gen_plan *plan = &fleet->plan;
    uint32_t host = 0;
    for (uint32_t s = 0; s + 1 < plan->service_count; s++)
        for (uint32_t i = 0; i < plan->services[s].hosts; i++) {
            struct gen_replica *replica = gen_new(sizeof(*replica));
            *replica = (struct gen_replica){.service = (uint16_t)s, .host = fleet->hosts[host++ % plan->hosts]};
            fleet->replicas =
                gen_grow(fleet->replicas, &fleet->replica_room, fleet->replica_count + 1, sizeof(replica));
            fleet->replicas[fleet->replica_count++] = replica;
        }
    for (uint32_t i = 0; i < fleet->replica_count; i++)
        for (uint32_t j = 0; j < plan->services[fleet->replicas[i]->service].threads; j++) {
            fleet->workers =
                gen_grow(fleet->workers, &fleet->worker_room, fleet->worker_count + 1, sizeof(struct gen_worker *));
            fleet->workers[fleet->worker_count++] = gen_worker_create(fleet, fleet->replicas[i]);
        }
    for (uint32_t i = 0; i < fleet->worker_count; i++)
        connect_worker(fleet, fleet->workers[i], i);
}

/* --- what happens --- */

static void keep_window(void *context, uint64_t number)
{
    struct gen_fleet *fleet = context;
    uint64_t now_ns = fleet->sim.now_ns, left_ns = wp_window_left(&fleet->options.window, now_ns);
    gen_host_pause(fleet->hosts[number], !wp_window_is_open(&fleet->options.window, now_ns));
    if (left_ns != UINT64_MAX && !fleet->hosts[number]->is_over)
        gen_at(&fleet->sim, now_ns + left_ns, keep_window, fleet, number);
}

static void begin_host(void *context, uint64_t number)
{
    struct gen_fleet *fleet = context;
    struct gen_host *host = fleet->hosts[number];
    gen_host_begin(host);
    keep_window(fleet, number);
    for (uint32_t i = 0; i < fleet->worker_count; i++)
        if (fleet->workers[i]->thread->host == host) {
            fleet->workers[i]->root.since_ns = fleet->sim.now_ns;
            fleet->workers[i]->root.until_ns = UINT64_MAX;
        }
}

static void end_host(void *context, uint64_t number)
{
    struct gen_fleet *fleet = context;
    gen_host_end(fleet->hosts[number]);
    for (uint32_t i = 0; i < fleet->worker_count; i++) /* a sleep that has not ended is not accounted for */
        if (fleet->workers[i]->thread->host->number == number)
            fleet->workers[i]->root.until_ns = 0;
}

static void start_worker(void *context, uint64_t number)
{
    struct gen_fleet *fleet = context;
    gen_worker_start(fleet->workers[number]);
}

struct gen_fleet *gen_fleet_create(const struct gen_plan *plan, const struct gen_fleet_options *options)
{
    struct gen_fleet *fleet = gen_new(sizeof(*fleet));
    struct gen_sim *sim = &fleet->sim;
    fleet->plan = *plan;
    fleet->options = *options;
    if (!fleet->options.origin_ns)
        fleet->options.origin_ns = GEN_ORIGIN_NS;
    *sim =
        (struct gen_sim){.seed = options->world ? options->world : options->seed, .now_ns = fleet->options.origin_ns};
    fleet->way_seed = gen_random(sim);
    fleet->traffic = (struct gen_traffic){.read = count_read, .context = fleet};
    make_hosts(fleet);
    make_workers(fleet);
    sim->seed = options->seed; /* what is there is there, what happens is another matter */
    fleet->begin_ns = sim->now_ns + WARM_NS + plan->stagger_ns + 1000000;
    fleet->end_ns = options->duration_ns ? fleet->begin_ns + options->duration_ns : UINT64_MAX;
    lose_some(fleet);
    for (uint32_t i = 0; i < plan->hosts; i++) {
        bool is_base = gen_fleet_is_base(fleet, i);
        uint64_t at_ns = is_base ? fleet->begin_ns : sim->now_ns + WARM_NS + gen_random(sim) % (plan->stagger_ns + 1);
        gen_at(sim, at_ns, begin_host, fleet, i);
        if (options->duration_ns)
            gen_at(sim, fleet->end_ns + (is_base ? 0 : TAIL_NS), end_host, fleet, i);
    }
    for (uint32_t i = 0; i < fleet->worker_count; i++) /* they ask for nothing before all are recorded */
        gen_at(sim, sim->now_ns + 1000 + gen_below(sim, 100000000), start_worker, fleet, i);
    return fleet;
}

void gen_fleet_destroy(struct gen_fleet *fleet)
{
    if (!fleet)
        return;
    for (uint32_t i = 0; i < fleet->worker_count; i++)
        gen_worker_destroy(fleet->workers[i]);
    for (uint32_t i = 0; i < fleet->stream_count; i++)
        gen_stream_destroy(fleet->streams[i]);
    for (uint32_t i = 0; i < fleet->replica_count; i++) {
        free(fleet->replicas[i]->idle);
        free(fleet->replicas[i]->ready);
        free(fleet->replicas[i]);
    }
    for (uint32_t i = 0; i < fleet->plan.hosts; i++)
        gen_host_destroy(fleet->hosts[i]);
    free(fleet->hosts);
    free(fleet->workers);
    free(fleet->streams);
    free(fleet->replicas);
    free(fleet->pairs);
    wp_intmap_fini(&fleet->pair_index);
    gen_sim_fini(&fleet->sim);
    free(fleet);
}

void gen_fleet_run(struct gen_fleet *fleet)
{
    gen_run_until(&fleet->sim, fleet->end_ns + TAIL_NS + 1);
}

struct wp_hello gen_fleet_hello(const struct gen_fleet *fleet, const struct gen_host *host)
{
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR,
        .wire_minor = WP_WIRE_MINOR,
        .hostname = (char *)(uintptr_t)host->name,
        .kernel = "6.1.0",
        .machine = "x86_64",
        .boot_id = "generated",
        .version = "0",
        .source = "generated",
        .release = (char *)(uintptr_t)(fleet->options.release ? fleet->options.release : ""),
        .cpus = host->cpu_count,
        .sample_period_ns = host->sample_ns};
    uint64_t word = fleet->options.seed;
    memcpy(hello.session, &word, 8);
    memcpy(hello.session + 8, &host->number, 4);
    memcpy(hello.session + 12, "sess", 4);
    memcpy(hello.host, "fleetgen", 8);
    memcpy(hello.host + 12, &host->number, 4);
    hello.start_mono_ns = gen_clock_at(&host->clock, fleet->options.origin_ns);
    hello.start_real_ns = hello.start_mono_ns + 1700000000000000000u;
    return hello;
}
