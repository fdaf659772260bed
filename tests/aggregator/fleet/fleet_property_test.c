/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of the traces of three hosts that talk with each other, however their batches come. WP_SEED=N runs
 * that one only, WP_TRACES=N so many.
 */
#include "tests/aggregator/made_fleet.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define HOSTS MADE_FLEET_HOSTS
#define EPOCH_NS 5000000u
#define LATENESS_NS 10000000u
#define LONG_NS 10000000000u /* a history longer than any trace */
#define SHORT_NS 50000000u

/* NOT_SHARED: as it happened; what several wait for is explained anew for each. In all others even single slices are
 * shared. */
enum order {
    NOT_SHARED,
    AS_IT_HAPPENED,
    WITHIN_LATENESS,
    ONE_AFTER_THE_OTHER,
    IN_PARTS /* as it happened; epochs are explained some slices at a time */
};

struct fleet_run {
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options;
    struct wp_fleet *fleet;
    struct wp_host_session *sessions[HOSTS];
    struct wp_report *sums[HOSTS];
    uint32_t done[HOSTS]; /* events delivered */
    uint64_t seq[HOSTS], due_ns[HOSTS];
    uint32_t cut[HOSTS];   /* the next batch goes up to there */
    uint64_t seed, pauses; /* pauses: batches that came while an epoch was half explained ... */
    uint32_t paused;       /* ... bit i: in enum wp_walk_step i */
};

static void probe(struct fleet_run *run, const struct made_fleet *made, uint32_t host)
{
    struct wp_clocks *clocks = run->fleet->clocks;
    uint32_t node = run->fleet->hosts[wp_host_session_source(run->sessions[host])->home].clock,
             reference = run->fleet->reference;
    uint64_t seed = 7 + host; /* the same in all runs */
    for (uint64_t at_ns = 500000000; at_ns < made->end_ns + 500000000; at_ns += 20000000) {
        uint64_t forth_ns = 20000 + made_random(&seed) % 50000, back_ns = 20000 + made_random(&seed) % 50000;
        uint64_t there_ns = made_fleet_reading(made, host, at_ns + forth_ns);
        wp_clocks_message(clocks, reference, at_ns, node, there_ns);
        wp_clocks_message(clocks, node, there_ns, reference, at_ns + forth_ns + back_ns);
    }
}

static void begin(
    struct fleet_run *run, const struct made_fleet *made, enum order order, uint64_t history_ns, uint64_t seed)
{
    static const char *const names[HOSTS] = {"h1", "h2", "h3"};
    *run = (struct fleet_run){.rule = {.name = "main"}, .seed = seed};
    run->options = (struct wp_host_session_options){.rules = &run->rule,
        .rule_count = 1,
        .epoch_ns = EPOCH_NS,
        .lateness_ns = LATENESS_NS,
        .history_ns = history_ns};
    assert_int_equal(wp_selector_parse(&run->rule.selector, "command", NULL), 0);
    assert_int_equal(wp_fleet_create(&run->fleet), 0);
    run->options.fleet = run->fleet;
    run->fleet->expected = HOSTS;
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct wp_hello hello = {.hostname = (char *)(uintptr_t)names[i], .start_real_ns = 5000000000};
        assert_int_equal(wp_host_session_create(&run->sessions[i], &hello, "v1", &run->options, NULL, NULL), 0);
        run->sums[i] = wp_report_create();
        wp_explainer_options(aggregate_of(run->sessions[i], 0)->explainer)->share = order != NOT_SHARED;
        probe(run, made, i);
    }
}

static void end(struct fleet_run *run)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        wp_host_session_destroy(run->sessions[i]);
        wp_report_destroy(run->sums[i]);
    }
    wp_fleet_destroy(run->fleet);
    wp_selector_fini(&run->rule.selector);
}

static void commit(struct fleet_run *run, uint32_t host)
{
    struct wp_host_session *session = run->sessions[host];
    assert_int_equal(wp_report_merge(run->sums[host], closed_report_of(session, 0), NULL), 0);
    wp_aggregate_next_delta(aggregate_of(session, 0));
}

/* Where the next batch of that host ends, and when it comes. */
static void plan(struct fleet_run *run, const struct made_fleet *made, uint32_t host, enum order order)
{
    uint32_t count = made->hosts[host].whole.event_count, first = run->done[host];
    if (first == count) {
        run->due_ns[host] = UINT64_MAX;
        return;
    }
    uint32_t cut = first + 1 + (uint32_t)(made_random(&run->seed) % 200);
    cut = cut < count ? cut : count;
    uint64_t happened_ns = made->true_ns[host][cut - 1], before_ns = run->due_ns[host];
    run->cut[host] = cut;
    run->due_ns[host] = happened_ns;
    if (order == WITHIN_LATENESS)
        run->due_ns[host] += made_random(&run->seed) % (LATENESS_NS / 2);
    if (order == ONE_AFTER_THE_OTHER)
        run->due_ns[host] = happened_ns + (HOSTS - host) * (made->end_ns + 1);
    if (run->due_ns[host] < before_ns)
        run->due_ns[host] = before_ns;
}

static void take_next(struct fleet_run *run, const struct made_fleet *made, uint32_t host)
{
    struct wp_error err = {0};
    struct wp_batch batch = made_trace_cut(&made->hosts[host], run->done[host], run->cut[host], ++run->seq[host]);
    if (wp_host_session_take(run->sessions[host], &batch, &err))
        fail_msg("%s", err.text);
    run->done[host] = run->cut[host];
    wp_host_session_resolve(run->sessions[host]);
    for (uint32_t i = 0; i < HOSTS; i++)
        if (wp_host_session_progress(run->sessions[i])->is_blocked)
            wp_host_session_resolve(run->sessions[i]);
    run->pauses += run->fleet->walking != 0;
    for (uint32_t i = 0; i < HOSTS; i++)
        if (run->fleet->walking == wp_host_session_source(run->sessions[i])->home + 1)
            run->paused |= 1u << aggregate_of(run->sessions[i], 0)->walk.step;
    if (!(made_random(&run->seed) % 4) && !run->fleet->walking)
        commit(run, host);
}

/* A few slices, none to many epochs'. */
static void allow_a_part(struct fleet_run *run, enum order order)
{
    if (order == IN_PARTS)
        run->fleet->pause_at =
            run->fleet->visits + 1 + made_random(&run->seed) % (made_random(&run->seed) % 4 ? 30 : 3000);
}

static void deliver_all(struct fleet_run *run, const struct made_fleet *made, enum order order)
{
    for (uint32_t i = 0; i < HOSTS; i++)
        plan(run, made, i, order);
    for (;;) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < HOSTS; i++)
            next = run->due_ns[i] < run->due_ns[next] ? i : next;
        if (run->due_ns[next] == UINT64_MAX)
            break;
        allow_a_part(run, order);
        take_next(run, made, next);
        plan(run, made, next, order);
    }
    uint32_t first = (uint32_t)(made_random(&run->seed) % HOSTS);
    for (uint32_t i = 0; i < HOSTS; i++)
        wp_host_session_close(run->sessions[(first + i) % HOSTS]);
    run->fleet->pause_at = 0;
    for (uint32_t round = 0; round <= HOSTS; round++) /* one may have begun an epoch */
        for (uint32_t i = 0; i < HOSTS; i++)
            wp_host_session_resolve(run->sessions[i]);
    for (uint32_t i = 0; i < HOSTS; i++) {
        assert_true(wp_host_session_progress(run->sessions[i])->is_ended);
        commit(run, i);
    }
}

static void run_in(
    struct fleet_run *run, const struct made_fleet *made, enum order order, uint64_t history_ns, uint64_t seed)
{
    begin(run, made, order, history_ns, seed);
    deliver_all(run, made, order);
}

/* --- what must hold --- */

static void categories_sum_up(const struct wp_report *report)
{
    uint32_t count;
    uint64_t by_category = 0, by_cell = 0;
    const struct wp_cell *cells = wp_report_cells(report, &count);
    for (uint32_t i = 0; i < count; i++)
        by_cell += cells[i].ns;
    for (int i = 0; i < WP_CATEGORIES; i++)
        by_category += wp_report_category(report, (enum wp_category)i);
    assert_int_equal(by_cell, wp_report_total(report));
    assert_int_equal(by_category, wp_report_total(report));
}

/* Of control paths that begin with the command on the report's own host. */
static uint64_t base_total(const struct wp_report *report)
{
    uint32_t count;
    uint64_t sum = 0;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_cell *cells = wp_report_cells(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = cells[i].node;
        while (nodes[node].parent)
            node = nodes[node].parent;
        const char *name = wp_report_text(report, frames[nodes[node].frame].name);
        if (!strncmp(name, "[b", 2) && !strchr(name, '@'))
            sum += cells[i].ns;
    }
    return sum;
}

/* The command's threads live from the beginning to the end, asleep or not. */
static uint64_t lives(const struct made_fleet *made, uint32_t host)
{
    const struct wp_batch *b = &made->hosts[host].whole;
    uint64_t sum = 0;
    for (uint32_t thread = 1; thread <= b->thread_count; thread++)
        if (b->threads[thread - 1].flags & WP_THREAD_COMMAND)
            sum += b->events[b->event_count - 1].time_ns - b->events[0].time_ns;
    return sum;
}

static bool is_same(const struct wp_report *left, const struct wp_report *right)
{
    struct wp_buffer a = {0}, b = {0};
    assert_int_equal(wp_report_encode(left, &a, NULL), 0);
    assert_int_equal(wp_report_encode(right, &b, NULL), 0);
    bool same = a.size == b.size && !memcmp(a.data, b.data, a.size);
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
    return same;
}

/* All hosts are recorded, all clocks known, all is told: nothing may be shown as not known. */
static void nothing_is_missing(const struct wp_report *report)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = wp_report_text(report, frames[i].name);
        if (frames[i].style == WP_STYLE_NET && strchr(name, '('))
            fail_msg("%s", name);
    }
}

/* What transactions of a latency consisted of adds up to it; whole ones are among their rows. Returns how many there
 * are. */
static uint64_t check_transactions(const struct wp_report *report)
{
    uint32_t count;
    uint64_t number = 0;
    const struct wp_transaction *rows = wp_report_transactions(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t whole = 0, parts = 0;
        for (uint32_t j = 0; j < count; j++)
            if (rows[j].service == rows[i].service && rows[j].bucket == rows[i].bucket)
                *(rows[j].part == WP_PART_WHOLE ? &whole : &parts) += rows[j].ns;
        assert_int_equal(whole, parts);
        number += rows[i].part == WP_PART_WHOLE ? rows[i].count : 0;
    }
    return number;
}

static uint64_t edge_messages(const struct wp_report *report)
{
    uint32_t count;
    uint64_t sum = 0;
    const struct wp_report_edge *edges = wp_report_edges(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        sum += edges[i].messages;
        assert_true(edges[i].transit_ns <= edges[i].waited_ns);
    }
    return sum;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

struct seen {
    uint64_t transactions, pauses;
    uint32_t paused;
};

/* Reports are the same to the byte as long as waits are within the history, the command is on one host (else who
 * follows an other path that two waited for is who comes to it first), and nothing is learned of the clocks meanwhile.
 */
static uint64_t hold(const struct made_fleet_options *options, bool is_exact, struct seen *seen)
{
    uint64_t history_ns = is_exact ? LONG_NS : SHORT_NS;
    struct made_fleet made;
    struct fleet_run first;
    uint64_t messages = 0;
    made_fleet_init(&made, options);
    run_in(&first, &made, NOT_SHARED, history_ns, options->seed);
    for (uint32_t i = 0; i < HOSTS; i++) {
        categories_sum_up(first.sums[i]);
        assert_int_equal(base_total(first.sums[i]), i && !options->base_everywhere ? 0 : lives(&made, i));
        messages += edge_messages(first.sums[i]);
        seen->transactions += check_transactions(first.sums[i]);
        nothing_is_missing(first.sums[i]);
    }
    for (enum order order = AS_IT_HAPPENED; order <= IN_PARTS; order++) {
        struct fleet_run again;
        run_in(&again, &made, order, history_ns, options->seed + 1000 + order);
        for (uint32_t i = 0; i < HOSTS; i++) {
            categories_sum_up(again.sums[i]);
            assert_int_equal(base_total(again.sums[i]), base_total(first.sums[i]));
            if (is_exact && !is_same(again.sums[i], first.sums[i]))
                fail_msg("seed %llu: another report of host %u when batches come in order %d",
                    (unsigned long long)options->seed, i, (int)order);
        }
        seen->pauses += again.pauses;
        seen->paused |= again.paused;
        end(&again);
    }
    end(&first);
    made_fleet_fini(&made);
    return messages;
}

static void hold_all(bool base_everywhere, bool tells_leavings)
{
    uint64_t first = number("WP_SEED", 1), count = getenv("WP_SEED") ? 1 : number("WP_TRACES", 100), messages = 0;
    struct seen seen = {0};
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct made_fleet_options options = {.seed = seed,
            .events = 300 + (uint32_t)(seed * 7919 % 2500),
            .base_everywhere = base_everywhere,
            .tells_leavings = tells_leavings};
        messages += hold(&options, !base_everywhere && !tells_leavings, &seen);
    }
    print_message("%llu waits that ended with a message of another host\n", (unsigned long long)messages);
    assert_true(messages > count && seen.transactions > 0 && seen.pauses > count);
    const uint32_t steps = 1u << WP_WALK_BASE | 1u << WP_WALK_REPLIES | 1u << WP_WALK_WINDOWS;
    assert_true(count < 20 || (seen.paused & steps) == steps);
}

static void whatever_the_order(void **state)
{
    (void)state;
    hold_all(false, false);
}

static void commands_on_all_hosts(void **state)
{
    (void)state;
    hold_all(true, false);
}

static void clocks_told_apart_meanwhile(void **state)
{
    (void)state;
    hold_all(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_the_order), cmocka_unit_test(commands_on_all_hosts),
        cmocka_unit_test(clocks_told_apart_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
