/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_herd [SLEEPERS [SLICES [RUNS]]]: processor time and slices looked at to explain SLEEPERS threads that one
 * thread with SLICES slices wakes at once, by turns with what it did explained once for all of them, and for each (no
 * budget in either). Prints JSON.
 */
#include "aggregator/account/aggregate_body.h"
#include "aggregator/fleet/fleet.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "tests/aggregator/made_herd.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct cost {
    double cpu_s;
    uint64_t slices;
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(bool is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "bench_herd: %s\n", what);
    exit(1);
}

static struct cost explain(const struct made_herd *herd, uint32_t share)
{
    struct wp_aggregate_rule rule = {.name = "main"};
    struct wp_host_session_options options = {.rules = &rule,
        .rule_count = 1,
        .epoch_ns = 1000000000,
        .lateness_ns = 2000000000,
        .history_ns = 10000000000,
        .budget = UINT64_MAX};
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .start_real_ns = 5000000000};
    struct wp_batch batch = made_herd_batch(herd);
    struct wp_host_session *session;
    struct wp_error err = {0};
    must(!wp_selector_parse(&rule.selector, "command", NULL), "selector");
    must(!wp_host_session_create(&session, &hello, "v1", &options, NULL, &err), err.text);
    wp_explainer_options(aggregate_of(session, 0)->explainer)->share = share;
    must(!wp_host_session_take(session, &batch, &err), err.text);
    double before_s = cpu_s();
    wp_host_session_close(session);
    must(wp_host_session_progress(session)->is_ended, "the session has not ended");
    struct cost cost = {cpu_s() - before_s, wp_host_session_source(session)->fleet->visits};
    wp_host_session_destroy(session);
    wp_selector_fini(&rule.selector);
    return cost;
}

static int by_time(const void *left, const void *right)
{
    double a = ((const struct cost *)left)->cpu_s, b = ((const struct cost *)right)->cpu_s;
    return a < b ? -1 : a > b;
}

static void print(const char *name, struct cost *costs, size_t count, const char *end)
{
    qsort(costs, count, sizeof(*costs), by_time);
    printf("  \"%s\": {\"slices\": %llu, \"cpu_s\": {\"median\": %.4f, \"min\": %.4f, \"max\": %.4f}}%s\n", name,
        (unsigned long long)costs[0].slices, costs[count / 2].cpu_s, costs[0].cpu_s, costs[count - 1].cpu_s, end);
}

static uint32_t number(int argc, char **argv, int at, uint32_t otherwise)
{
    return at < argc ? (uint32_t)strtoul(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct made_herd herd = {.sleepers = number(argc, argv, 1, 3000), .slices = number(argc, argv, 2, 30000)};
    uint32_t runs = number(argc, argv, 3, 5);
    struct cost *once = calloc(runs, sizeof(*once)), *each = calloc(runs, sizeof(*each));
    must(runs && once && each, "no runs");
    made_herd_init(&herd);
    for (uint32_t i = 0; i < runs; i++) {
        once[i] = explain(&herd, WP_EXPLAIN_DEFAULTS.share);
        each[i] = explain(&herd, 0);
    }
    printf("{\n  \"sleepers\": %u, \"slices_of_waker\": %u, \"events\": %u, \"runs\": %u,\n", herd.sleepers,
        herd.slices, herd.event_count, runs);
    print("once_for_all", once, runs, ",");
    print("for_each", each, runs, "");
    printf("}\n");
    made_herd_fini(&herd);
    free(once);
    free(each);
    return 0;
}
