/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many wait for is explained once: the same bytes come out as when it is explained for each, and it costs what
 * there is to explain and how many wait, not their product. WP_SEED=N runs that trace only, WP_TRACES=N so many.
 */
#include "tests/aggregator/made_herd.h"
#include "tests/aggregator/made_trace.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_read.h"
#include "storage/report/trace.h"
#include "storage/report/trace_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define RULES 2u

struct case_of {     /* a way to explain a trace */
    uint32_t share;  /* of the options */
    uint32_t rows;   /* of the exemplar; 0: it has no room, and pieces are wanted as sums */
    uint64_t part;   /* slices, 0: an epoch at once */
    uint64_t budget; /* 0: none */
};

struct outcome {
    struct wp_buffer reports[RULES], exemplars[RULES], windows[RULES];
    uint64_t visits, limit_ns; /* limit_ns: by the budget, as the fleet counts it */
};

static void outcome_fini(struct outcome *outcome)
{
    for (unsigned i = 0; i < RULES; i++) {
        wp_buffer_fini(&outcome->reports[i]);
        wp_buffer_fini(&outcome->exemplars[i]);
        wp_buffer_fini(&outcome->windows[i]);
    }
}

static void same(const char *what, uint64_t seed, const struct wp_buffer *left, const struct wp_buffer *right)
{
    if (left->size != right->size || memcmp(left->data, right->data, left->size))
        fail_msg("seed %llu: another %s", (unsigned long long)seed, what);
}

static void same_outcome(uint64_t seed, const struct outcome *left, const struct outcome *right)
{
    for (unsigned i = 0; i < RULES; i++) {
        same("report", seed, &left->reports[i], &right->reports[i]);
        same("exemplar", seed, &left->exemplars[i], &right->exemplars[i]);
        same("set of windows", seed, &left->windows[i], &right->windows[i]);
    }
}

static struct wp_host_session *open_session(const struct wp_host_session_options *options, const struct case_of *how)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .start_real_ns = 5000000000};
    struct wp_host_session *session;
    assert_int_equal(wp_host_session_create(&session, &hello, "v1", options, NULL, NULL), 0);
    for (unsigned i = 0; aggregate_of(session, i); i++) {
        wp_explainer_options(aggregate_of(session, i)->explainer)->share = how->share;
        wp_explainer_options(aggregate_of(session, i)->explainer)->budget = how->budget ? how->budget : UINT64_MAX;
        aggregate_of(session, i)->exemplar.row_limit = how->rows;
    }
    return session;
}

/* All that it goes on with by itself, a part after the other. */
static void go_on(struct wp_host_session *session, const struct case_of *how)
{
    do {
        wp_host_session_source(session)->fleet->pause_at =
            how->part ? wp_host_session_source(session)->fleet->visits + how->part : 0;
        wp_host_session_resolve(session);
    } while (wp_host_session_source(session)->fleet->walking);
}

/* What reports say that the budget cut; it is unaccounted, and with that reason. */
static uint64_t limited(const struct wp_host_session *session)
{
    uint64_t limit_ns = 0, reason_ns = 0;
    for (unsigned i = 0; aggregate_of(session, i); i++) {
        const struct wp_report *report = report_of(session, i);
        uint32_t count;
        const struct wp_limit_count *limits = wp_report_limits(report, &count);
        for (uint32_t j = 0; j < count; j++)
            limit_ns += strcmp(wp_report_text(report, limits[j].name), "budget") ? 0 : limits[j].ns;
        const struct wp_unexplained *rows = wp_report_unexplained_rows(report, &count);
        for (uint32_t j = 0; j < count; j++)
            reason_ns += strcmp(wp_report_text(report, rows[j].reason), "the host's epoch took too much explaining")
                ? 0
                : rows[j].ns;
    }
    assert_int_equal(limit_ns, reason_ns);
    return limit_ns;
}

static void take_outcome(struct wp_host_session *session, struct outcome *outcome)
{
    *outcome = (struct outcome){.visits = wp_host_session_source(session)->fleet->visits};
    for (unsigned i = 0; aggregate_of(session, i); i++) {
        struct wp_aggregate *aggregate = aggregate_of(session, i);
        const struct wp_exemplar_sample *sampled = wp_aggregate_sampled(aggregate);
        assert_int_equal(wp_report_encode(closed_report_of(session, i), &outcome->reports[i], NULL), 0);
        assert_int_equal(wp_trace_encode(aggregate->exemplar.trace, &outcome->exemplars[i], NULL), 0);
        for (unsigned j = 0; j < sampled->box_count; j++)
            assert_int_equal(wp_exemplars_encode(&sampled->boxes[j].set, &outcome->windows[i], NULL), 0);
    }
    outcome->limit_ns = wp_host_session_source(session)->fleet->limits[WP_LIMIT_BUDGET].ns;
    assert_int_equal(outcome->limit_ns, limited(session));
}

static void explain(const struct wp_host_session_options *options, const struct made_trace *trace,
    const struct case_of *how, struct outcome *outcome)
{
    struct wp_host_session *session = open_session(options, how);
    struct wp_error err = {0};
    uint32_t count = trace->whole.event_count, most = how->part ? 200 : count;
    uint64_t seq = 1;
    for (uint32_t first = 0; first < count; first += most, seq++) {
        struct wp_batch batch = made_trace_cut(trace, first, first + most < count ? first + most : count, seq);
        if (wp_host_session_take(session, &batch, &err))
            fail_msg("%s", err.text);
        go_on(session, how);
    }
    wp_host_session_close(session);
    go_on(session, how);
    assert_true(wp_host_session_progress(session)->is_ended);
    take_outcome(session, outcome);
    wp_host_session_destroy(session);
}

/* --- traces made at random --- */

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

#define CPUS 4u /* the last one is the sleepers' */
#define CROWD 50u
#define PLACES 24u

/* Few workers, who wake each other all the time; many who sleep until a worker wakes them, and set a worker going now
 * and then. */
struct crowd {
    struct made_trace trace;
    uint64_t seed, now_ns;
    uint32_t sleepers, workers, places; /* places: where workers sleep */
    uint32_t running[CPUS];             /* 0: idle */
    enum { ASLEEP, RUNNABLE, ON_CPU } where[CROWD + 1];
};

static uint32_t pick(struct crowd *crowd, uint32_t below)
{
    return (uint32_t)(made_random(&crowd->seed) % below);
}

static void tell(struct crowd *crowd, struct wp_event event)
{
    struct wp_batch *b = &crowd->trace.whole;
    event.time_ns = crowd->now_ns;
    crowd->trace.use[b->event_count] =
        (struct made_use){b->string_count, b->thread_count, 0, b->frame_count, b->stack_count};
    b->events[b->event_count++] = event;
}

/* One of [first, first + count) that is there; 0: none. */
static uint32_t any(struct crowd *crowd, uint32_t first, uint32_t count, uint32_t where)
{
    uint32_t from = pick(crowd, count);
    for (uint32_t i = 0; i < count; i++)
        if (crowd->where[first + (from + i) % count] == where)
            return first + (from + i) % count;
    return 0;
}

static void wake_one(struct crowd *crowd, uint16_t cpu, uint32_t thread)
{
    static const uint8_t causes[] = {WP_CAUSE_TASK, WP_CAUSE_TIMER, WP_CAUSE_SOFTIRQ, WP_CAUSE_UNKNOWN};
    if (!thread)
        return;
    crowd->where[thread] = RUNNABLE;
    tell(crowd,
        (struct wp_event){.kind = WP_EVENT_WAKING,
            .cpu = cpu,
            .thread = crowd->running[cpu],
            .other = thread,
            .c = pick(crowd, 8) ? WP_CAUSE_TASK : causes[pick(crowd, sizeof(causes))]});
}

static void leave_cpu(struct crowd *crowd, uint16_t cpu)
{
    static const uint32_t calls[] = {0, 202, 232, 7};
    uint32_t thread = crowd->running[cpu];
    bool is_preempted = !pick(crowd, 6);
    crowd->where[thread] = is_preempted ? RUNNABLE : ASLEEP;
    crowd->running[cpu] = 0;
    tell(crowd,
        (struct wp_event){.kind = WP_EVENT_SWITCH,
            .cpu = cpu,
            .thread = thread,
            .d = thread > crowd->sleepers ? calls[pick(crowd, 2 + thread % 3)] : 0,
            .stack = thread > crowd->sleepers ? pick(crowd, crowd->places + 1) : 0,
            .c = is_preempted ? WP_STATE_RUNNING : WP_STATE_INTERRUPTIBLE,
            .flags = is_preempted ? WP_SWITCH_PREEMPTED : 0});
}

static void step(struct crowd *crowd)
{
    uint16_t cpu = (uint16_t)pick(crowd, CPUS);
    bool is_last = cpu == CPUS - 1;
    uint32_t first = is_last ? 1 : crowd->sleepers + 1, count = is_last ? crowd->sleepers : crowd->workers,
             what = pick(crowd, 100);
    crowd->now_ns += pick(crowd, 4) ? pick(crowd, 3000) : 0;
    if (!crowd->running[cpu]) {
        uint32_t next = any(crowd, first, count, RUNNABLE);
        if (!next && what < 20)
            wake_one(crowd, cpu, any(crowd, crowd->sleepers + 1, crowd->workers, ASLEEP));
        if (!next)
            return;
        crowd->running[cpu] = next;
        crowd->where[next] = ON_CPU;
        tell(crowd, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = cpu, .other = next});
    } else if (what < 50) {
        leave_cpu(crowd, cpu);
    } else if (what < 60) {
        tell(crowd,
            (struct wp_event){
                .kind = WP_EVENT_SAMPLE, .cpu = cpu, .thread = crowd->running[cpu], .stack = pick(crowd, 3)});
    } else if (what < 68) {
        wake_one(crowd, cpu,
            any(crowd, is_last ? crowd->sleepers + 1 : 1, is_last ? crowd->workers : crowd->sleepers, ASLEEP));
    } else if (!is_last) {
        wake_one(crowd, cpu, any(crowd, crowd->sleepers + 1, crowd->workers, ASLEEP));
    }
}

static void make_crowd(struct crowd *crowd, uint64_t seed)
{
    static const char *const strings[] = {"sleeper", "worker", "other", "f", "g"};
    uint32_t events = seed % 10 ? 300 + (uint32_t)(seed * 7919 % 1500) : 8000;
    *crowd = (struct crowd){.seed = seed, .now_ns = 1000000000};
    crowd->sleepers = 2 + pick(crowd, 40);
    crowd->places = seed % 2 ? 2 : PLACES;
    crowd->workers = 1 + pick(crowd, seed % 4 ? 4 : 7);
    struct wp_batch *b = &crowd->trace.whole;
    *b = (struct wp_batch){.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .is_last = true,
        .string_count = 5,
        .thread_count = crowd->sleepers + crowd->workers,
        .frame_count = PLACES,
        .stack_count = PLACES,
        .strings = calloc(5, sizeof(*b->strings)),
        .threads = calloc(CROWD, sizeof(*b->threads)),
        .frames = calloc(PLACES, sizeof(*b->frames)),
        .stacks = calloc(PLACES, sizeof(*b->stacks)),
        .events = calloc(events + 1, sizeof(*b->events))};
    crowd->trace.use = calloc(events + 1, sizeof(*crowd->trace.use));
    for (uint32_t i = 0; i < 5; i++)
        b->strings[i] = (struct wp_bytes){strdup(strings[i]), (uint32_t)strlen(strings[i])};
    for (uint32_t i = 0; i < b->thread_count; i++) {
        bool is_base = i < crowd->sleepers;
        b->threads[i] = (struct wp_thread_entry){.tid = 100 + i,
            .pid = seed % 2 && is_base ? 100 : 100 + i,
            .start_ns = 1,
            .comm = is_base ? 1 : 2 + i % 2,
            .flags = is_base ? WP_THREAD_COMMAND : 0};
        crowd->where[i + 1] = pick(crowd, 2) ? ASLEEP : RUNNABLE;
        tell(crowd,
            (struct wp_event){.kind = WP_EVENT_STATE,
                .thread = i + 1,
                .c = crowd->where[i + 1] == ASLEEP ? WP_STATE_INTERRUPTIBLE : WP_STATE_RUNNING});
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        b->frames[i] = (struct wp_frame_entry){.function = 4 + i % 2};
        b->stacks[i] = (struct wp_stack_entry){i % 2 ? i : 0, 1 + i};
    }
    while (b->event_count < events)
        step(crowd);
    b->watermark_ns = crowd->now_ns;
}

/* Returns how many slices less were looked at. */
static uint64_t hold(const struct wp_host_session_options *options, uint64_t seed, struct case_of how)
{
    struct crowd crowd;
    struct outcome each, shared;
    make_crowd(&crowd, seed);
    explain(options, &crowd.trace, &how, &each);
    how.share = 1;
    explain(options, &crowd.trace, &how, &shared);
    same_outcome(seed, &each, &shared);
    assert_true(shared.visits <= each.visits);
    uint64_t less = each.visits - shared.visits;
    outcome_fini(&each);
    outcome_fini(&shared);
    made_trace_fini(&crowd.trace);
    return less;
}

static void the_same_as_for_each(void **state)
{
    static const char *const selectors[RULES] = {"command,threads", "pid=102"};
    struct wp_aggregate_rule rules[RULES] = {{.name = "a0"}, {.name = "a1"}};
    struct wp_host_session_options options = {
        .rules = rules, .rule_count = RULES, .epoch_ns = 1000000, .lateness_ns = 1000000};
    uint64_t first = number("WP_SEED", 1), count = getenv("WP_SEED") ? 1 : number("WP_TRACES", 150), less = 0;
    for (unsigned i = 0; i < RULES; i++)
        assert_int_equal(wp_selector_parse(&rules[i].selector, selectors[i], NULL), 0);
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct case_of how = {.rows = seed % 4 ? (uint32_t)(seed % 300) : 60000};
        options.history_ns = seed % 3 ? 3000000 : (uint64_t)1 << 60;
        options.fit_ns = options.join_ns =
            seed % 5 ? 1 + seed % 3000 : 100000; /* of what began earlier the causes decide */
        less += hold(&options, seed, how);
        how.part = 1 + seed % 50;
        less += hold(&options, seed, how);
    }
    print_message("%llu slices less\n", (unsigned long long)less);
    assert_true(less > count * 10);
    for (unsigned i = 0; i < RULES; i++)
        wp_selector_fini(&rules[i].selector);
    (void)state;
}

/* --- a herd --- */

static void explain_herd(const struct made_herd *herd, const struct case_of *how, struct outcome *outcome)
{
    struct wp_aggregate_rule rule = {.name = "main"};
    struct wp_host_session_options options = {
        .rules = &rule, .rule_count = 1, .epoch_ns = 1000000000, .lateness_ns = 2000000000, .history_ns = 10000000000};
    struct wp_batch batch = made_herd_batch(herd);
    struct wp_error err = {0};
    assert_int_equal(wp_selector_parse(&rule.selector, "command,threads", NULL), 0);
    struct wp_host_session *session = open_session(&options, how);
    if (wp_host_session_take(session, &batch, &err))
        fail_msg("%s", err.text);
    wp_host_session_close(session);
    go_on(session, how);
    assert_true(wp_host_session_progress(session)->is_ended);
    take_outcome(session, outcome);
    wp_host_session_destroy(session);
    wp_selector_fini(&rule.selector);
}

/* By default, and with an exemplar that is soon full. */
static void hold_herd(struct made_herd *herd)
{
    struct outcome each, shared;
    made_herd_init(herd);
    explain_herd(herd, &(struct case_of){.rows = 5000}, &each);
    explain_herd(herd, &(struct case_of){.share = WP_EXPLAIN_DEFAULTS.share, .rows = 5000, .part = 1000}, &shared);
    same_outcome(0, &each, &shared);
    uint64_t product = (uint64_t)herd->sleepers * herd->slices;
    print_message("%u sleepers, %u slices: %llu looked at, %llu when each is explained by itself\n", herd->sleepers,
        herd->slices, (unsigned long long)shared.visits, (unsigned long long)each.visits);
    assert_true(each.visits > product);
    assert_true(shared.visits < product / (herd->is_parted ? 2 : 10)); /* most of it for the windows that are kept */
    outcome_fini(&each);
    outcome_fini(&shared);
    made_herd_fini(herd);
}

static void threads_of_one_process(void **state)
{
    (void)state;
    hold_herd(&(struct made_herd){.sleepers = 1000, .slices = 2000});
}

/* Their pieces have the same pseudo-stacks, and are told of for each: whose they are differs. */
static void threads_of_many_processes(void **state)
{
    (void)state;
    hold_herd(&(struct made_herd){.sleepers = 300, .slices = 2000, .is_parted = true});
}

/* A bound bites on what is looked at, and that is little: none of it is cut. */
static void within_the_budget(void **state)
{
    struct made_herd herd = {.sleepers = 300, .slices = 2000};
    struct outcome each, shared;
    made_herd_init(&herd);
    explain_herd(&herd, &(struct case_of){.budget = 50000}, &each);
    explain_herd(&herd, &(struct case_of){.budget = 50000, .share = WP_EXPLAIN_DEFAULTS.share}, &shared);
    assert_true(each.limit_ns > 0);
    assert_int_equal(shared.limit_ns, 0);
    outcome_fini(&each);
    outcome_fini(&shared);
    made_herd_fini(&herd);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_as_for_each), cmocka_unit_test(threads_of_one_process),
        cmocka_unit_test(threads_of_many_processes), cmocka_unit_test(within_the_budget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
