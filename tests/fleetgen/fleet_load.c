/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_load --connect ENDPOINT [--hosts N] [--rate EVENTS] [--seconds S] [--seed N]: N collectors that are not there,
 * in one process. Each is a session with its own connection, clock and answers to time probes; together they tell of a
 * fleet whose hosts talk, as it happens, about --rate events a second and host. Prints as JSON what was sent and how
 * long it took from an event until the aggregator said that what follows from it is in the store.
 */
#include "proto/batch_encode.h"
#include "proto/frame.h"
#include "proto/transport_client.h"
#include "tests/fleetgen/gen_fleet.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 20000000u
#define EVENTS_A_REQUEST 46u /* of this plan, on all hosts together */
#define LATENCY_NS 3000000u  /* of a request */
#define DELAYS 4000000u

struct waiting { /* a batch that is not acknowledged */
    struct waiting *next;
    uint64_t seq, first_ns, last_ns; /* true times of its first and last event */
    uint32_t events;
    bool is_sent;
    size_t size;
    uint8_t frame[];
};

struct collector {
    struct wp_client *client;
    const struct gen_host *host;
    struct waiting *first, **last;
    uint32_t count;
    bool has_left;
};

struct load {
    struct gen_fleet *fleet;
    struct collector *collectors;
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t events, batches, bytes;
    float *delays_ms; /* of batches: from the middle of it to the acknowledgement */
    uint32_t delay_count, longest_queue;
};

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t host_clock(const void *context)
{
    const struct gen_host *host = context;
    return gen_clock_at(&host->clock, now_ns());
}

static void check(int rc, const struct wp_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "fleet_load: %s\n", err->text);
    exit(1);
}

static void queue_batch(void *context, struct gen_host *host, const struct wp_batch *batch)
{
    struct load *load = context;
    struct collector *collector = &load->collectors[host->number];
    struct wp_error err = {0};
    struct wp_batch whole = *batch;
    struct wp_hello hello = gen_fleet_hello(load->fleet, host);
    memcpy(whole.session, hello.session, 16);
    wp_buffer_clear(&load->raw);
    wp_buffer_clear(&load->frame);
    check(wp_batch_encode(&whole, &load->raw, &err), &err);
    check(wp_frame_write(load->frames, WP_FRAME_BATCH, load->raw.data, load->raw.size, &load->frame, &err), &err);
    struct waiting *waiting = gen_new(sizeof(*waiting) + load->frame.size);
    *waiting = (struct waiting){.seq = batch->seq,
        .events = batch->event_count,
        .size = load->frame.size,
        .first_ns = host->cut_ns,
        .last_ns = host->sim->now_ns};
    memcpy(waiting->frame, load->frame.data, load->frame.size);
    *collector->last = waiting;
    collector->last = &waiting->next;
    collector->count++;
    if (collector->count > load->longest_queue)
        load->longest_queue = collector->count;
    load->events += batch->event_count;
    load->bytes += load->frame.size;
    load->batches++;
}

static void take_acks(struct load *load, struct collector *collector, uint64_t at_ns)
{
    uint64_t acked = wp_client_acked(collector->client);
    for (struct waiting *first; (first = collector->first) && first->seq <= acked;) {
        if (first->events && load->delay_count < DELAYS)
            load->delays_ms[load->delay_count++] =
                (float)((double)(at_ns - (first->first_ns + first->last_ns) / 2) / 1e6);
        collector->first = first->next;
        if (!collector->first)
            collector->last = &collector->first;
        collector->count--;
        free(first);
    }
}

static void send_waiting(struct collector *collector)
{
    struct wp_error err = {0};
    for (struct waiting *w = collector->first; w; w = w->next) {
        if (w->is_sent)
            continue;
        int rc = wp_client_is_welcome(collector->client) && wp_client_may_send(collector->client, w->seq)
            ? wp_client_send_batch(collector->client, w->seq, w->frame, w->size, &err)
            : -EAGAIN;
        if (rc == -EAGAIN)
            return;
        check(rc, &err);
        w->is_sent = true;
    }
}

/* All that there is to hear and to say now. True when every one has been welcomed. */
static bool turn(struct load *load)
{
    bool are_welcome = true;
    for (uint32_t i = 0; i < load->fleet->plan.hosts; i++) {
        struct collector *collector = &load->collectors[i];
        struct wp_error err = {0};
        check(wp_client_poll(collector->client, 0, &err), &err);
        take_acks(load, collector, now_ns());
        send_waiting(collector);
        are_welcome &= wp_client_is_welcome(collector->client);
    }
    return are_welcome;
}

static uint64_t waiting_batches(const struct load *load)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < load->fleet->plan.hosts; i++)
        count += load->collectors[i].count;
    return count;
}

static void pause_until(uint64_t until_ns)
{
    uint64_t at_ns = now_ns();
    if (at_ns < until_ns)
        usleep((useconds_t)((until_ns - at_ns) / 1000));
}

static uint64_t resident_kb(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static double processor_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void make_plan(struct gen_plan *plan, uint32_t hosts, uint32_t rate)
{
    char text[1024], why[300];
    uint32_t web = hosts * 3 / 10, api = hosts * 4 / 10, db = hosts - web - api;
    uint64_t each_ns = (uint64_t)web * EVENTS_A_REQUEST * 1000000000u / ((uint64_t)rate * hosts);
    uint64_t pause_us = each_ns > LATENCY_NS + 100000 ? (each_ns - LATENCY_NS) / 1000 : 100;
    snprintf(text, sizeof(text),
        "hosts %u cpus=2 skew=20 drift=50\n"
        "service web hosts=%u threads=1 base pause=%llu\n busy 200\n call api\n busy 100\n"
        "service api hosts=%u threads=2\n busy 300\n call db\n"
        "service db hosts=%u threads=2\n busy 200\n disk 300\nlinks fan=2\n",
        hosts, web, (unsigned long long)pause_us, api, db);
    if (hosts < 10 || !gen_plan_parse(plan, text, why, sizeof(why))) {
        fprintf(stderr, "fleet_load: at least 10 hosts\n");
        exit(64);
    }
}

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return a < b ? -1 : a > b;
}

static double at_share(const struct load *load, double share)
{
    return load->delay_count ? (double)load->delays_ms[(uint32_t)((load->delay_count - 1) * share)] : -1;
}

static void open_all(struct load *load, const char *endpoint)
{
    struct gen_fleet *fleet = load->fleet;
    load->collectors = gen_new(fleet->plan.hosts * sizeof(*load->collectors));
    for (uint32_t i = 0; i < fleet->plan.hosts; i++) {
        struct gen_host *host = fleet->hosts[i];
        struct collector *collector = &load->collectors[i];
        struct wp_client_options options = {.endpoint = endpoint, .is_insecure = true};
        struct wp_hello hello = gen_fleet_hello(fleet, host);
        struct wp_error err = {0};
        host->uplink = queue_batch;
        host->context = load;
        collector->host = host;
        collector->last = &collector->first;
        check(wp_client_open_with(&collector->client, &options, &hello, &err), &err);
        wp_client_answer_probes(collector->client, host_clock, host);
    }
}

/* Nothing has happened yet: all of it happens so much later. */
static void begin_at(struct gen_fleet *fleet, uint64_t begin_ns)
{
    uint64_t later_ns = begin_ns - fleet->sim.now_ns;
    for (uint32_t i = 0; i < fleet->sim.count; i++)
        fleet->sim.due[i].time_ns += later_ns;
    fleet->sim.now_ns += later_ns;
    fleet->begin_ns += later_ns;
}

static void run(struct load *load, uint64_t until_ns)
{
    for (uint64_t next_ns = now_ns(); next_ns < until_ns; next_ns += TICK_NS) {
        pause_until(next_ns);
        gen_run_until(&load->fleet->sim, next_ns);
        turn(load);
        if (now_ns() > next_ns + 10 * TICK_NS && next_ns + 10 * TICK_NS < until_ns) /* not faster than this machine */
            next_ns = now_ns() - TICK_NS;
    }
}

static void close_all(struct load *load)
{
    for (uint32_t i = 0; i < load->fleet->plan.hosts; i++)
        gen_host_end(load->fleet->hosts[i]);
    for (uint64_t from_ns = now_ns(); waiting_batches(load) && now_ns() < from_ns + 20000000000u;
         pause_until(now_ns() + TICK_NS)) {
        turn(load);
        for (uint32_t i = 0; i < load->fleet->plan.hosts;
             i++) { /* the rest is resolved when all have said that it is all */
            struct collector *collector = &load->collectors[i];
            struct wp_bye bye = {
                .last_seq = load->fleet->hosts[i]->batch.seq - 1, .events = load->fleet->hosts[i]->events};
            struct wp_error err = {0};
            struct waiting *w = collector->first;
            while (w && w->is_sent)
                w = w->next;
            if (!w && !collector->has_left)
                collector->has_left = !wp_client_bye(collector->client, &bye, &err);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct option table[] = {{"connect", 1, 0, 'c'}, {"hosts", 1, 0, 'h'}, {"rate", 1, 0, 'r'},
        {"seconds", 1, 0, 't'}, {"seed", 1, 0, 's'}, {0}};
    const char *endpoint = NULL;
    uint32_t hosts = 1000, rate = 200;
    double seconds = 30;
    struct gen_fleet_options options = {.seed = 1};
    struct load load = {0};
    struct gen_plan plan;
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        switch (c) {
        case 'c':
            endpoint = optarg;
            break;
        case 'h':
            hosts = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'r':
            rate = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 't':
            seconds = strtod(optarg, NULL);
            break;
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        default:
            return 64;
        }
    }
    if (!endpoint || !rate)
        return 64;
    make_plan(&plan, hosts, rate);
    options.origin_ns = now_ns();
    load.fleet = gen_fleet_create(&plan, &options);
    load.frames = wp_frame_writer_create(1);
    load.delays_ms = gen_new(DELAYS * sizeof(float));
    open_all(&load, endpoint);
    while (!turn(&load))
        pause_until(now_ns() + TICK_NS);
    uint64_t begin_ns = now_ns();
    double used_s = processor_s();
    fprintf(
        stderr, "fleet_load: %u hosts are welcome after %.1f s\n", hosts, (double)(begin_ns - options.origin_ns) / 1e9);
    begin_at(load.fleet, begin_ns);
    run(&load, begin_ns + (uint64_t)(seconds * 1e9));
    uint64_t sent_ns = now_ns(), behind = waiting_batches(&load), resident = resident_kb();
    used_s = processor_s() - used_s;
    uint64_t events = load.events, delays = load.delay_count;
    close_all(&load);
    qsort(load.delays_ms, delays, sizeof(float), compare);
    load.delay_count = (uint32_t)delays;
    printf("{\"hosts\":%u,\"seconds\":%.1f,\"events\":%llu,\"events_per_s\":%.0f,\"batches\":%llu,\"bytes_per_event\":%"
           ".2f,\"talking_pairs\":%u,"
           "\"visible_ms\":{\"median\":%.0f,\"p99\":%.0f,\"max\":%.0f,\"batches\":%llu},\"waiting_batches\":%llu,"
           "\"most_waiting_of_one\":%u,"
           "\"processor_s\":%.2f,\"rss_kb_per_collector\":%.1f,\"unacknowledged\":%llu}\n",
        hosts, (double)(sent_ns - begin_ns) / 1e9, (unsigned long long)events,
        (double)events / ((double)(sent_ns - begin_ns) / 1e9), (unsigned long long)load.batches,
        (double)load.bytes / (double)load.events, load.fleet->pair_count, at_share(&load, 0.5), at_share(&load, 0.99),
        at_share(&load, 1), (unsigned long long)delays, (unsigned long long)behind, load.longest_queue, used_s,
        (double)resident / hosts, (unsigned long long)waiting_batches(&load));
    return 0; /* what is left goes with the process */
}
