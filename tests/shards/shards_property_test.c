/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three hosts that talk with each other, one with one shard and two with the other: what the shards' reports say
 * together is what the report of one aggregator says. WP_SEED=N runs that one only, WP_TRACES=N so many.
 */
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"

#include "../aggregator/made_fleet.h"
#include "made_shards.h"

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
#define PROBES_NS 20000000u

struct run {
    struct made_shards shards;
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options[MADE_SHARDS];
    struct wp_host_session *sessions[HOSTS];
    struct wp_report *sum;
    uint32_t of[HOSTS]; /* shard of each host */
    uint32_t done[HOSTS];
    uint64_t seq[HOSTS];
    uint64_t seed;
};

static struct wp_fleet *fleet_of(struct run *run, uint32_t host)
{
    return run->shards.shards[run->of[host]].fleet;
}

/* One probe of each host's clock by its own shard, which tells the other. */
static void probe_hosts(struct run *run, const struct made_fleet *made, uint64_t true_ns)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct wp_fleet *fleet = fleet_of(run, i);
        struct wp_fleet_host *host = &fleet->hosts[wp_host_session_source(run->sessions[i])->home];
        uint64_t forth_ns = 20000 + made_random(&run->seed) % 50000, back_ns = 20000 + made_random(&run->seed) % 50000;
        uint64_t there_ns = made_fleet_reading(made, i, true_ns + forth_ns),
                 sent_ns = true_ns + run->of[i] * MADE_CLOCK_NS;
        uint64_t times_ns[4] = {sent_ns, there_ns, there_ns, sent_ns + forth_ns + back_ns};
        wp_clocks_message(fleet->clocks, fleet->reference, times_ns[0], host->clock, times_ns[1]);
        wp_clocks_message(fleet->clocks, host->clock, times_ns[2], fleet->reference, times_ns[3]);
        memcpy(host->probed_ns, times_ns, sizeof(times_ns));
    }
}

static void begin(struct run *run, const struct made_fleet *made, uint64_t seed, const uint32_t of[HOSTS])
{
    static const char *const names[HOSTS] = {"h1", "h2", "h3"};
    *run = (struct run){.rule = {.name = "main"}, .seed = seed};
    memcpy(run->of, of, sizeof(run->of));
    made_shards_init(&run->shards);
    assert_int_equal(wp_selector_parse(&run->rule.selector, "command", NULL), 0);
    for (uint32_t i = 0; i < MADE_SHARDS; i++) {
        run->options[i] = (struct wp_host_session_options){.rules = &run->rule,
            .rule_count = 1,
            .epoch_ns = EPOCH_NS,
            .lateness_ns = LATENESS_NS,
            .history_ns = 10000000000,
            .fleet = run->shards.shards[i].fleet};
        run->shards.shards[i].fleet->expected = HOSTS;
        run->shards.shards[i].fleet->give_up_ns = 3600000000000;
    }
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct wp_hello hello = {.hostname = (char *)(uintptr_t)names[i], .start_real_ns = 5000000000};
        memset(hello.session, (int)i + 1, sizeof(hello.session));
        assert_int_equal(wp_host_session_create(&run->sessions[i], &hello, "v1", &run->options[of[i]], NULL, NULL), 0);
    }
    run->sum = wp_report_create();
    run->shards.now_ns = 500000000;
    made_shards_go_on(&run->shards, 1000000000);
    for (uint64_t at_ns = 500000000; at_ns < made->end_ns + 500000000; at_ns += PROBES_NS) {
        probe_hosts(run, made, at_ns);
        run->shards.now_ns = at_ns > run->shards.now_ns ? at_ns : run->shards.now_ns;
        made_shards_go_on(&run->shards, 100000);
        made_shards_probe(&run->shards);
    }
}

static void end(struct run *run)
{
    made_shards_part(&run->shards);
    for (uint32_t i = 0; i < HOSTS; i++)
        wp_host_session_destroy(run->sessions[i]);
    made_shards_fini(&run->shards);
    wp_report_destroy(run->sum);
    wp_selector_fini(&run->rule.selector);
}

static void resolve_all(struct run *run)
{
    for (uint32_t round = 0; round < 24; round++) { /* a question, its question, and so on */
        bool waits = false;
        for (uint32_t i = 0; i < HOSTS; i++) {
            wp_host_session_resolve(run->sessions[i]);
            waits |= wp_host_session_progress(run->sessions[i])->is_blocked;
        }
        made_shards_go_on(&run->shards, 100000);
        if (!waits)
            return;
    }
}

static void commit(struct run *run, uint32_t host)
{
    struct wp_host_session *session = run->sessions[host];
    for (uint32_t i = 0; aggregate_of(session, i); i++) {
        assert_int_equal(wp_report_merge(run->sum, closed_report_of(session, i), NULL), 0);
        wp_aggregate_next_delta(aggregate_of(session, i));
    }
}

static void deliver_all(struct run *run, const struct made_fleet *made)
{
    for (;;) {
        uint32_t next = UINT32_MAX;
        uint64_t least_ns = UINT64_MAX;
        for (uint32_t i = 0; i < HOSTS; i++) {
            uint32_t count = made->hosts[i].whole.event_count;
            if (run->done[i] < count && made->true_ns[i][run->done[i]] < least_ns) {
                least_ns = made->true_ns[i][run->done[i]];
                next = i;
            }
        }
        if (next == UINT32_MAX)
            break;
        uint32_t count = made->hosts[next].whole.event_count,
                 cut = run->done[next] + 1 + (uint32_t)(made_random(&run->seed) % 200);
        struct wp_error err = {0};
        struct wp_batch batch =
            made_trace_cut(&made->hosts[next], run->done[next], cut < count ? cut : count, ++run->seq[next]);
        if (wp_host_session_take(run->sessions[next], &batch, &err))
            fail_msg("%s", err.text);
        run->done[next] = cut < count ? cut : count;
        resolve_all(run);
    }
    for (uint32_t i = 0; i < HOSTS; i++)
        wp_host_session_close(run->sessions[i]);
    for (uint32_t round = 0; round < 40; round++)
        resolve_all(run);
    for (uint32_t i = 0; i < HOSTS; i++) {
        assert_true(wp_host_session_progress(run->sessions[i])->is_ended);
        commit(run, i);
    }
}

/* --- what must hold --- */

static uint64_t edge_messages(const struct wp_report *report)
{
    uint32_t count;
    uint64_t sum = 0;
    const struct wp_report_edge *edges = wp_report_edges(report, &count);
    for (uint32_t i = 0; i < count; i++)
        sum += edges[i].messages;
    return sum;
}

static void nothing_is_missing(const struct wp_report *report)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = wp_report_text(report, frames[i].name);
        if (frames[i].style == WP_STYLE_NET && strchr(name, '(') && !strstr(name, WP_SHARD_FAR))
            fail_msg("%s", name);
    }
}

static uint64_t apart(const struct wp_report *one, const struct wp_report *other)
{
    uint64_t sum = 0;
    for (int i = 0; i < WP_CATEGORIES; i++) {
        uint64_t a = wp_report_category(one, (enum wp_category)i), b = wp_report_category(other, (enum wp_category)i);
        sum += a > b ? a - b : b - a;
    }
    return sum / 2;
}

struct figures {
    uint64_t messages, other_messages, apart_ns, total_ns, asked, unanswered;
};

static void compare(uint64_t seed, struct figures *figures)
{
    static const uint32_t together[HOSTS] = {0, 0, 0}, shares[3][HOSTS] = {{0, 1, 1}, {0, 1, 0}, {1, 0, 0}};
    struct made_fleet_options options = {
        .seed = seed, .events = 300 + (uint32_t)(seed * 7919 % 2500), .tells_leavings = true};
    struct made_fleet made;
    struct run one, many;
    made_fleet_init(&made, &options);
    begin(&one, &made, seed, together);
    deliver_all(&one, &made);
    begin(&many, &made, seed, shares[seed % 3]);
    deliver_all(&many, &made);
    nothing_is_missing(one.sum);
    nothing_is_missing(many.sum);
    figures->messages += edge_messages(one.sum);
    figures->other_messages += edge_messages(many.sum);
    figures->apart_ns += apart(one.sum, many.sum);
    figures->total_ns += wp_report_total(one.sum);
    for (uint32_t i = 0; i < MADE_SHARDS; i++) {
        figures->asked += wp_shards_counts(many.shards.shards[i].shards)->answered;
        figures->unanswered += wp_shards_counts(many.shards.shards[i].shards)->unanswered;
    }
    uint64_t total_ns = wp_report_total(one.sum), other_ns = wp_report_total(many.sum);
    if ((total_ns > other_ns ? total_ns - other_ns : other_ns - total_ns) > total_ns / 100)
        fail_msg("seed %llu: %llu ns of one aggregator, %llu of two", (unsigned long long)seed,
            (unsigned long long)total_ns, (unsigned long long)other_ns);
    end(&one);
    end(&many);
    made_fleet_fini(&made);
}

/* The clocks of hosts of two shards are compared over one station more, so that what lies within their bound may be
 * told apart otherwise. */
static void two_shards_are_one_aggregator(void **state)
{
    const char *seed_text = getenv("WP_SEED"), *count_text = getenv("WP_TRACES");
    uint64_t first = seed_text ? strtoull(seed_text, NULL, 0) : 1,
             count = seed_text ? 1
        : count_text           ? strtoull(count_text, NULL, 0)
                               : 40;
    struct figures all = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++)
        compare(seed, &all);
    print_message("%llu messages, %llu over shards, %llu questions, %.4f %% of the time in another category\n",
        (unsigned long long)all.messages, (unsigned long long)all.other_messages, (unsigned long long)all.asked,
        100.0 * (double)all.apart_ns / (double)all.total_ns);
    assert_true(seed_text || all.asked > count);
    assert_int_equal(all.unanswered, 0);
    assert_true(all.apart_ns * 100 < all.total_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_shards_are_one_aggregator)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
