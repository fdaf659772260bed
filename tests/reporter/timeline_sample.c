/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_sample FILE THREADS SLICES: a made-up window of a whole system, as wakepath-aggregator --system-window
 * writes it: so many threads of 20 services on eight processors, so many runs and sleeps in ten seconds, block
 * requests, messages and interrupts beside them. It begins a second before the sample "plain" (sample.h). */
#include "common/buffer.h"
#include "common/path.h"
#include "storage/report/trace_encode.h"

#include <stdio.h>
#include <stdlib.h>

#define BEGIN_NS 1789999999000000000u
#define LENGTH_NS 10000000000u
#define SERVICES 20u
#define CPUS 8u

static uint64_t chance(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed % below;
}

static void add_thread(struct wp_trace *trace, uint32_t number)
{
    char name[32], group[64];
    uint32_t service = number % SERVICES, pid = 1000 + number / 4;
    snprintf(name, sizeof(name), "%s-%u", number % 4 ? "worker" : "main", service);
    snprintf(group, sizeof(group), "/system.slice/service-%u.service", number / 4 % SERVICES);
    wp_trace_add_thread(trace,
        &(struct wp_trace_thread){.host = wp_trace_string(trace, "h"),
            .comm = wp_trace_string(trace, name),
            .pid = pid,
            .tid = number % 4 ? 100000 + number : pid,
            .is_base = !number,
            .group = wp_trace_string(trace, group),
            .is_on_path = number % 10 == 0});
}

/* A thread sleeps and runs by turns; every second time another thread has woken it. */
static void add_turns(struct wp_trace *trace, uint32_t thread, uint32_t threads, uint32_t turns, uint64_t *seed)
{
    static const uint32_t categories[] = {
        WP_OTHER_PATH, WP_BLOCKING_IO, WP_DELIBERATE_SLEEP, WP_INVOLUNTARY, WP_MESSAGE_IN_FLIGHT, WP_HARDWARE_WAIT};
    static const char *const labels[] = {
        "pthread_mutex_lock", "read", "clock_nanosleep", "preempted", "epoll_wait", "kernel"};
    uint64_t turn_ns = LENGTH_NS / turns, at_ns = chance(seed, turn_ns / 4 + 1);
    for (uint32_t i = 0; i < turns; i++, at_ns = i * turn_ns + chance(seed, turn_ns / 4 + 1)) {
        uint32_t what = (uint32_t)chance(seed, 6);
        uint64_t slept_ns = turn_ns / 4 + chance(seed, turn_ns / 4 + 1),
                 ran_ns = chance(seed, turn_ns * CPUS / threads + 1); /* half of what there is */
        wp_trace_add_sleep(trace,
            &(struct wp_trace_sleep){thread, wp_trace_string(trace, labels[what]), categories[what], at_ns, slept_ns});
        wp_trace_add_run(trace,
            &(struct wp_trace_run){
                thread, trace->threads[thread].comm, at_ns + slept_ns, ran_ns, 1 + (uint32_t)chance(seed, CPUS)});
        if (i % 2)
            wp_trace_add_link(trace,
                &(struct wp_trace_link){1 + what % 5, (uint32_t)chance(seed, threads), thread,
                    at_ns + slept_ns - slept_ns / 8, at_ns + slept_ns});
    }
}

static void add_ops(struct wp_trace *trace, uint32_t threads, uint32_t count, uint64_t *seed)
{
    static const char *const places[][3] = {{"vda", "vdb", "vdb"},
        {"tcp:10.0.0.7:5432", "tcp:10.0.0.8:80", "tcp:10.0.0.9:*"}, {"irq 24", "softirq net_rx", "irq 9"}};
    static const char *const labels[] = {"read /var/lib/db/wal", "send 128 B", "wakes"};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = i % 3;
        wp_trace_add_op(trace,
            &(struct wp_trace_op){WP_OP_BLOCK + kind, wp_trace_string(trace, places[kind][chance(seed, 3)]),
                wp_trace_string(trace, labels[kind]), 1 + (uint32_t)chance(seed, threads),
                (uint64_t)i * (LENGTH_NS / count), kind == 2 ? 0 : chance(seed, 3000000)});
    }
}

static int by_start(const void *left, const void *right)
{
    const struct wp_trace_link *a = left, *b = right;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    struct wp_buffer bytes = {0};
    struct wp_trace *trace = wp_trace_create();
    uint32_t threads = argc == 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint64_t slices = argc == 4 ? strtoull(argv[3], NULL, 10) : 0, seed = 88172645463325252u;
    if (!trace || !threads || slices / 2 < threads) {
        fprintf(stderr, "timeline_sample FILE THREADS SLICES\n");
        return 64;
    }
    for (uint32_t i = 0; i < threads; i++)
        add_thread(trace, i);
    for (uint32_t i = 0; i < threads; i++)
        add_turns(trace, i, threads, (uint32_t)(slices / 2 / threads), &seed);
    add_ops(trace, threads, 3000, &seed);
    qsort(trace->links, trace->link_count, sizeof(*trace->links), by_start);
    trace->start_ns = BEGIN_NS;
    trace->length_ns = LENGTH_NS;
    int rc = wp_trace_encode(trace, &bytes, &err);
    if (!rc)
        rc = wp_file_write_cached(argv[1], bytes.data, bytes.size, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    wp_buffer_fini(&bytes);
    wp_trace_destroy(trace);
    return rc != 0;
}
