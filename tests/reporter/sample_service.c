/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/reporter/sample_service.h"

#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "tests/reporter/sample.h"

#include <math.h>

#define SECOND 1000000000ull
#define START (1790000000ull * SECOND)
#define THREADS 4u
#define PIECES 8u /* in which a hop's time of a second comes: no piece is longer than a second */

#define WEB "[web];main@web;serve@web"
#define AUTH WEB ";check_token@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.4:7000 reply;[auth]"
#define DATABASE WEB ";query@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.5:5432 reply;[postgres]"

static const struct {
    const char *stack;
    enum wp_category category;
    double us, spread; /* of one request: mean, and standard deviation as part of it */
} hops[SERVICE_HOPS] = {
    {WEB ";render@web", WP_UNDERSTOOD_FUNCTIONS, 1900, 0.4},
    {WEB ";parse@web", WP_UNDERSTOOD_FUNCTIONS, 420, 0.3},
    {WEB ";sched:runnable", WP_SCHEDULER, 110, 1.5},
    {AUTH ";verify@auth", WP_UNDERSTOOD_FUNCTIONS, 1300, 0.5},
    {AUTH ";sleep:recvfrom;tcp:10.0.0.9:636 nobody records this peer", WP_REMOTE_NOT_TRACED, 2600, 0.8},
    {DATABASE ";ReadBuffer@postgres;pread@libc.so.6;sleep:pread64;io:read vda", WP_BLOCKING_IO, 5200, 0.7},
    {DATABASE ";ExecProcNode@postgres", WP_UNDERSTOOD_FUNCTIONS, 2300, 0.5},
    {DATABASE ";sched:runnable", WP_SCHEDULER, 160, 1.8},
    {WEB ";query@web;recv@libc.so.6;sleep:recvfrom;tcp:10.0.0.5:5432 reply", WP_MESSAGE_IN_FLIGHT, 380, 0.9},
    {WEB ";log@web;write@libc.so.6;sleep:write;io:write vdb", WP_IO_QUEUE, 300, 1.2},
};

const char *const service_hop_names[SERVICE_HOPS] = {"web", "web", "web", "web › auth", "web › auth", "web › postgres",
    "web › postgres", "web › postgres", "web", "web"};

static uint64_t next(uint64_t *seed) /* splitmix64 (Steele, Lea and Flood) */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A normal deviate (Box and Muller). */
static double normal(uint64_t *seed)
{
    double u = ((double)(next(seed) >> 11) + 0.5) / 9007199254740992.0,
           v = (double)(next(seed) >> 11) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static void add(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t at_ns, double ns)
{
    for (unsigned i = 0; i < PIECES && ns >= PIECES; i++) {
        uint64_t start = at_ns + i * (SECOND / PIECES);
        double part = fmin(ns / PIECES, SECOND / PIECES);
        wp_report_add_at(report, node, category, start, start + (uint64_t)part);
    }
}

static void add_second(struct wp_report *report, const struct service_options *options,
    const uint32_t nodes[SERVICE_HOPS + 1], double load, uint64_t at_ns, uint64_t *seed)
{
    double mean = options->requests * load, requests = fmax(0, mean + sqrt(mean) * normal(seed)), left = THREADS * 1e9;
    for (unsigned i = 0; i < SERVICE_HOPS; i++) {
        double each = hops[i].us * 1e3 * (1 + options->slower[i]);
        double ns = fmax(0, requests * each + sqrt(requests) * hops[i].spread * each * normal(seed));
        add(report, nodes[i], hops[i].category, at_ns, ns);
        left -= ns;
    }
    for (unsigned i = 0; i < THREADS && left > 0; i++)
        add(report, nodes[SERVICE_HOPS], WP_REMOTE_NOT_TRACED, at_ns, left / THREADS);
}

/* Requests as they come: each hop as long as it is, and for one of twenty the disk twelve times as long. */
void sample_service_requests(struct wp_report *report, unsigned requests, uint64_t seed)
{
    for (unsigned i = 0; i < requests; i++) {
        uint64_t hop_ns[SERVICE_HOPS], sum = 250000, at = START + i * (SECOND / 100);
        for (unsigned hop = 0; hop < SERVICE_HOPS; hop++) {
            double us = fmax(1, hops[hop].us * (1 + 0.2 * normal(&seed)));
            sum += hop_ns[hop] = (uint64_t)(us * 1000 * (hop == SERVICE_DISK && i % 20 == 7 ? 12 : 1));
        }
        wp_report_transaction(report, "tcp port 80", at, sum);
        unsigned bucket = wp_latency_bucket(sum);
        wp_report_transaction_part(
            report, &(struct wp_transaction_part){"tcp port 80", "", "", WP_PART_UNREAD, bucket, 250000});
        for (unsigned hop = 0; hop < SERVICE_HOPS; hop++)
            wp_report_transaction_part(report,
                &(struct wp_transaction_part){"tcp port 80", service_hop_names[hop], hop == SERVICE_DISK ? "pread" : "",
                    hops[hop].category, bucket, hop_ns[hop]});
    }
}

struct wp_report *sample_service(const struct service_options *options)
{
    struct wp_report *report = wp_report_create();
    uint32_t nodes[SERVICE_HOPS + 1];
    uint64_t seed = options->seed * 7919 + 1, start = START + (options->hour * 3600 + options->later_s) * SECOND;
    double drift = 0;
    for (unsigned i = 0; report && i < SERVICE_HOPS; i++)
        nodes[i] = sample_node(report, hops[i].stack);
    if (!report)
        return NULL;
    nodes[SERVICE_HOPS] = sample_node(report, "[web];main@web;accept4@libc.so.6;sleep:accept4;tcp:0.0.0.0:80 clients");
    for (unsigned i = 0; i < options->seconds; i++) {
        drift = 0.7 * drift + options->steps * 0.714 * normal(&seed); /* 0.714: its deviation is `steps` then */
        add_second(report, options, nodes, 1 + drift, start + i * SECOND, &seed);
    }
    wp_report_activity(report, start, start + options->seconds * SECOND);
    wp_report_window(report, options->seconds * SECOND, options->seconds * SECOND);
    wp_report_host(report, "web-1");
    wp_report_events(report, "switch", 1000u * options->seconds, 0);
    wp_report_process_add(report, wp_report_process(report, "web-1", "web", 812, START - SECOND),
        THREADS * options->seconds * SECOND, options->seconds * SECOND / 4);
    return report;
}
