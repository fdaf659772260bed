/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that are too long to be kept whole: the longest of their rows are. And hosts that have reports of their own.
 */
#include "aggregator/account/exemplar_sample.h"

#include "aggregator/account/aggregate_body.h"
#include "aggregator/account/top_k.h"
#include "aggregator/commit/host_parts.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/trace_decode.h"
#include "tests/aggregator/made_trace.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define MS 1000000u
#define US 1000u
#define START (1000 * (uint64_t)MS)
#define LONG_MS 100u /* what the worker does first */
#define MANY 6000u   /* and then so often: a sleep and a run */
#define FEW 50u
#define RUN_US 130u /* too long to be joined with the sleeps about it */
#define SLEEP_US 20u
#define ALL_NS(turns) ((uint64_t)MS * LONG_MS + (turns) * (uint64_t)(RUN_US + SLEEP_US) * US)

struct recording {
    struct wp_event *events;
    uint32_t count;
    uint64_t now_ns;
    struct wp_socket_entry *sockets; /* borrowed */
    uint32_t socket_count;
};

static void put(struct recording *recording, struct wp_event event)
{
    event.time_ns = recording->now_ns;
    recording->events[recording->count++] = event;
}

/* The base waits for a worker, which runs for long, and then sleeps and runs by turns before it wakes the base. */
static void make(struct recording *r, unsigned turns)
{
    *r = (struct recording){.events = calloc(3 * turns + 16, sizeof(*r->events)), .now_ns = START};
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    r->now_ns += MS;
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_INTERRUPTIBLE});
    r->now_ns += LONG_MS * (uint64_t)MS;
    for (unsigned i = 0; i < turns; i++) {
        put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 2, .c = WP_STATE_INTERRUPTIBLE});
        r->now_ns += SLEEP_US * US;
        put(r, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 1, .other = 2, .c = WP_CAUSE_TIMER});
        put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
        r->now_ns += RUN_US * US;
    }
    put(r, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 1, .thread = 2, .other = 1, .c = WP_CAUSE_TASK});
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    r->now_ns += MS;
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_DEAD});
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 2, .c = WP_STATE_DEAD});
}

/* Returns how many slices were looked at to show the windows: what they consisted of is known from the account. */
static uint64_t close_step_by_step(struct wp_host_session *session, bool has_left)
{
    struct wp_fleet *fleet = wp_host_session_source(session)->fleet;
    const struct wp_walk *walk = &aggregate_of(session, 0)->walk;
    uint64_t for_windows = 0, visits = fleet->visits;
    fleet->pause_at = visits + 1;
    wp_host_session_close(session);
    while (fleet->walking) {
        bool are_windows = walk->step == WP_WALK_WINDOWS;
        fleet->leaves += has_left && are_windows && !for_windows; /* another host, between two parts of the epoch */
        visits = fleet->visits;
        fleet->pause_at = visits + 1;
        wp_host_session_resolve(session);
        for_windows += are_windows ? fleet->visits - visits : 0;
    }
    return for_windows;
}

/* A session that has taken a recording; its rule and options are borrowed by it. */
struct made_session {
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options;
    struct wp_host_session *session;
};

static void open_session(struct made_session *made, const struct recording *recording, uint32_t worker_flags)
{
    *made = (struct made_session){.rule = {.name = "a"},
        .options = {.rules = &made->rule,
            .rule_count = 1,
            .epoch_ns = 1000000000,
            .lateness_ns = 1000000000,
            .history_ns = 10000000000,
            .timebox_s = 3600}};
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h"};
    struct wp_bytes names[] = {{"base", 4}, {"worker", 6}};
    struct wp_thread_entry threads[] = {{.tid = 1, .pid = 1, .comm = 1, .flags = WP_THREAD_COMMAND},
        {.tid = 2, .pid = 2, .comm = 2, .flags = worker_flags}};
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .strings = names,
        .string_count = 2,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .threads = threads,
        .thread_count = 2,
        .sockets = recording->sockets,
        .socket_count = recording->socket_count,
        .events = recording->events,
        .event_count = recording->count,
        .watermark_ns = recording->now_ns};
    assert_int_equal(wp_selector_parse(&made->rule.selector, "command", NULL), 0);
    assert_int_equal(wp_host_session_create(&made->session, &hello, "v1", &made->options, NULL, NULL), 0);
    assert_int_equal(wp_host_session_take(made->session, &batch, NULL), 0);
}

static void close_session(struct made_session *made)
{
    wp_host_session_destroy(made->session);
    wp_selector_fini(&made->rule.selector);
}

/* The trace of the longest wait, which takes so long. A host has left since it was accounted for: its pieces are looked
 * up again. */
static struct wp_trace *longest_wait_with(
    const struct recording *recording, uint64_t length_ns, uint32_t worker_flags, bool has_left)
{
    struct made_session made;
    struct wp_trace *trace = NULL;
    open_session(&made, recording, worker_flags);
    uint64_t for_windows = close_step_by_step(made.session, has_left);
    assert_in_range(for_windows, has_left ? 5 : 1, has_left ? UINT32_MAX : 4);
    const struct wp_exemplar_sample *sampled = wp_aggregate_sampled(aggregate_of(made.session, 0));
    assert_int_equal(sampled->box_count, 1);
    const struct wp_exemplar_window *window = &sampled->boxes[0].set.rows[0];
    assert_int_equal(window->length_ns, length_ns);
    assert_true(window->trace.size <= WP_EXEMPLARS_BYTES);
    assert_int_equal(wp_trace_decode(&trace, window->trace.data, window->trace.size, NULL), 0);
    close_session(&made);
    return trace;
}

static struct wp_trace *longest_wait_on(const struct recording *recording, uint64_t length_ns, uint32_t worker_flags)
{
    return longest_wait_with(recording, length_ns, worker_flags, false);
}

static struct wp_trace *longest_wait(const struct recording *recording, uint64_t length_ns)
{
    return longest_wait_on(recording, length_ns, 0);
}

/* A worker of the kernel that had nothing to do, was woken by a timer and waited for a CPU. */
static void idle_kernel_threads_and_waits_for_a_cpu_are_told_apart(void **state)
{
    (void)state;
    struct recording r = {.events = calloc(16, sizeof(*r.events)), .now_ns = START};
    uint64_t idle_ns = 0, runnable_ns = 0;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
    r.now_ns += MS;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_INTERRUPTIBLE});
    r.now_ns += MS;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 2, .c = WP_STATE_INTERRUPTIBLE});
    r.now_ns += 3 * MS;
    put(&r, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 1, .other = 2, .c = WP_CAUSE_TIMER});
    r.now_ns += MS / 2;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
    r.now_ns += MS;
    put(&r, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 1, .thread = 2, .other = 1, .c = WP_CAUSE_TASK});
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    r.now_ns += MS;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_DEAD});
    struct wp_trace *trace = longest_wait_on(&r, 5 * MS + MS / 2, WP_THREAD_KERNEL);
    for (uint32_t i = 0; i < trace->sleep_count; i++) {
        const struct wp_trace_sleep *sleep = &trace->sleeps[i];
        const char *label = wp_intern_text(trace->strings, sleep->label);
        if (!strcmp(wp_intern_text(trace->strings, trace->threads[sleep->thread].comm), "base"))
            continue;
        assert_true(!strcmp(label, "kernel") || !strcmp(label, "runnable"));
        idle_ns += strcmp(label, "runnable") ? sleep->length_ns : 0;
        runnable_ns += sleep->category == WP_SCHEDULER ? sleep->length_ns : 0;
    }
    assert_int_equal(idle_ns, 3 * MS);
    assert_int_equal(runnable_ns, MS / 2);
    wp_trace_destroy(trace);
    free(r.events);
}

enum { HERS = 1, HIS, ASKING, ASKED }; /* sockets: two that others opened, the base's to the worker, that one's end */

static void transfer(struct recording *r, enum wp_event_kind kind, uint32_t thread, uint32_t socket, uint32_t end)
{
    put(r, (struct wp_event){.kind = (uint8_t)kind, .thread = thread, .d = socket, .a = end, .c = 50});
}

/* The base works for another client while the worker answers what it asked for a request: of the request's window that
 * is another path, up to where the answer is read. */
static void a_request_is_what_itself_went_through(void **state)
{
    (void)state;
    struct wp_socket_entry sockets[] = {{AF_INET, IPPROTO_TCP, 80, 40000, {10}, {11}, 1, 0},
        {AF_INET, IPPROTO_TCP, 80, 40001, {10}, {11}, 1, 0}, {AF_INET, IPPROTO_TCP, 40002, 90, {127}, {127}, 1, 0},
        {AF_INET, IPPROTO_TCP, 90, 40002, {127}, {127}, 1, 0}};
    struct recording r = {
        .events = calloc(16, sizeof(*r.events)), .now_ns = START, .sockets = sockets, .socket_count = 4};
    struct made_session made;
    struct wp_trace *trace = NULL;
    uint64_t behind_ns = 0, all_ns = 0;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
    transfer(&r, WP_EVENT_SOCK_SEND, 1, ASKING, 50);
    r.now_ns += MS;
    transfer(&r, WP_EVENT_SOCK_RECV, 1, HERS, 100);
    r.now_ns += MS;
    transfer(&r, WP_EVENT_SOCK_SEND, 1, ASKING, 100);
    transfer(&r, WP_EVENT_SOCK_RECV, 2, ASKED, 100);
    r.now_ns += MS;
    transfer(&r, WP_EVENT_SOCK_RECV, 1, HIS, 100);
    r.now_ns += 5 * MS;
    transfer(&r, WP_EVENT_SOCK_SEND, 2, ASKED, 100);
    transfer(&r, WP_EVENT_SOCK_ARRIVE, 0, ASKING, 100);
    r.now_ns += 3 * MS;
    transfer(&r, WP_EVENT_SOCK_SEND, 1, HIS, 100);
    transfer(&r, WP_EVENT_SOCK_RECV, 1, ASKING, 100);
    r.now_ns += MS;
    transfer(&r, WP_EVENT_SOCK_SEND, 1, HERS, 100);
    r.now_ns += MS;
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_DEAD});
    put(&r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 2, .c = WP_STATE_DEAD});
    open_session(&made, &r, 0);
    close_step_by_step(made.session, false);
    const struct wp_exemplar_sample *sampled = wp_aggregate_sampled(aggregate_of(made.session, 0));
    const struct wp_exemplars *set = &sampled->boxes[0].set;
    for (uint32_t i = 0; i < set->count && !trace; i++)
        if (set->rows[i].length_ns == 11 * MS)
            assert_int_equal(wp_trace_decode(&trace, set->rows[i].trace.data, set->rows[i].trace.size, NULL), 0);
    assert_non_null(trace);
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        behind_ns += trace->pieces[i].category == WP_OTHER_PATH ? trace->pieces[i].length_ns : 0;
        all_ns += trace->pieces[i].length_ns;
    }
    assert_int_equal(behind_ns, 3 * MS);
    assert_int_equal(all_ns, 11 * MS);
    wp_trace_destroy(trace);
    close_session(&made);
    free(r.events);
}

static void the_longest_rows_are_kept(void **state)
{
    (void)state;
    struct recording recording;
    uint64_t longest_piece = 0, longest_run = 0, shortest_piece = UINT64_MAX, kept_ns = 0;
    make(&recording, MANY);
    struct wp_trace *trace = longest_wait(&recording, ALL_NS(MANY));
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        uint64_t ns = trace->pieces[i].length_ns;
        longest_piece = ns > longest_piece ? ns : longest_piece;
        shortest_piece = ns < shortest_piece ? ns : shortest_piece;
        kept_ns += ns;
    }
    for (uint32_t i = 0; i < trace->run_count; i++)
        longest_run = trace->runs[i].length_ns > longest_run ? trace->runs[i].length_ns : longest_run;
    assert_int_equal(longest_piece, LONG_MS * (uint64_t)MS); /* at the beginning, where rows used to be lost */
    assert_int_equal(longest_run, LONG_MS * (uint64_t)MS);
    assert_int_equal(shortest_piece, RUN_US * US); /* no sleep is there for which a run is not */
    assert_int_equal(kept_ns, LONG_MS * (uint64_t)MS + (trace->piece_count - 1) * (uint64_t)RUN_US * US);
    assert_true(trace->piece_count <= 2000 && trace->run_count <= 2000 && trace->sleep_count <= 2000);
    assert_true(trace->piece_count >= 100);
    assert_true(trace->omitted >= 2 * MANY - trace->piece_count);
    for (uint32_t i = 0; i < trace->link_count; i++)
        assert_true(trace->links[i].to_ns <= trace->length_ns);
    wp_trace_destroy(trace);
    free(recording.events);
}

static void what_fits_is_kept_whole(void **state)
{
    (void)state;
    struct recording recording;
    make(&recording, FEW);
    for (unsigned has_left = 0; has_left < 2; has_left++) {
        struct wp_trace *trace = longest_wait_with(&recording, ALL_NS(FEW), 0, has_left);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < trace->piece_count; i++)
            sum += trace->pieces[i].length_ns;
        assert_int_equal(trace->omitted, 0);
        assert_int_equal(sum, trace->length_ns);
        wp_trace_destroy(trace);
    }
    free(recording.events);
}

static void what_ended_before_the_window_is_not_missing(void **state)
{
    (void)state;
    struct wp_exemplar exemplar;
    assert_int_equal(wp_exemplar_init(&exemplar, NULL, 0, NULL, 1), 0);
    wp_exemplar_begin(&exemplar, START, 0);
    wp_exemplar_piece(&exemplar, 0, 1, &(struct wp_piece_row){.start_ns = START - MS, .end_ns = START});
    assert_int_equal(exemplar.trace->omitted, 0);
    exemplar.row_limit = 0;
    wp_exemplar_piece(&exemplar, 0, 1, &(struct wp_piece_row){.start_ns = START - MS, .end_ns = START + 1});
    assert_int_equal(exemplar.trace->omitted, 1);
    wp_exemplar_fini(&exemplar);
}

/* Base and worker wake each other; some wait for a CPU for long after that, some lose theirs. */
static void make_turns(struct recording *r, unsigned turns)
{
    *r = (struct recording){.events = calloc(8 * turns + 2, sizeof(*r->events)), .now_ns = START};
    put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    for (unsigned i = 0; i < turns; i++) {
        r->now_ns += 30 * US;
        put(r, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 0, .thread = 1, .other = 2, .c = WP_CAUSE_TASK});
        put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .thread = 1, .c = WP_STATE_INTERRUPTIBLE});
        r->now_ns += i % 5 ? 10 * US : 150 * US;
        put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
        r->now_ns += 50 * US;
        if (i % 3 == 0) {
            put(r,
                (struct wp_event){.kind = WP_EVENT_SWITCH,
                    .cpu = 1,
                    .thread = 2,
                    .c = WP_STATE_RUNNING,
                    .flags = WP_SWITCH_PREEMPTED});
            r->now_ns += 20 * US;
            put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .other = 2});
            r->now_ns += 5 * US;
        }
        put(r, (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = 1, .thread = 2, .other = 1, .c = WP_CAUSE_TASK});
        put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 1, .thread = 2, .c = WP_STATE_INTERRUPTIBLE});
        r->now_ns += 10 * US;
        put(r, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = 0, .other = 1});
    }
}

/* How many rows are kept or counted as left out, of each kind so many at most kept. */
static uint64_t rows_within(const struct made_session *made, uint32_t limit, uint64_t until_ns)
{
    const struct wp_session_source *source = wp_host_session_source(made->session);
    struct wp_exemplar exemplar;
    assert_int_equal(wp_exemplar_init(&exemplar, source->fleet, source->home, NULL, 1), 0);
    exemplar.row_limit = limit;
    wp_exemplar_begin(&exemplar, START + 100 * US, 0);
    wp_exemplar_path(&exemplar, source->home, 1);
    wp_exemplar_path(&exemplar, source->home, 2);
    for (unsigned part = 1; part <= 3; part++)
        wp_exemplar_extend(&exemplar, START + (until_ns - START) / 3 * part);
    const struct wp_trace *trace = exemplar.trace;
    uint64_t kept = (uint64_t)trace->run_count + trace->sleep_count + trace->link_count;
    assert_true(trace->run_count <= limit && trace->sleep_count <= limit && trace->link_count <= limit);
    assert_true(limit > 1000 ? !trace->omitted : trace->omitted > 100);
    uint64_t sum = kept + trace->omitted;
    wp_exemplar_fini(&exemplar);
    return sum;
}

static void what_has_no_place_is_counted(void **state)
{
    (void)state;
    struct recording recording;
    struct made_session made;
    make_turns(&recording, 100);
    open_session(&made, &recording, 0);
    uint64_t all = rows_within(&made, 100000, recording.now_ns);
    assert_in_range(all, 500, 1000);
    for (uint32_t limit = 2; limit < 100; limit *= 3)
        assert_int_equal(rows_within(&made, limit, recording.now_ns), all);
    close_session(&made);
    free(recording.events);
}

/* Against sorting, with many of one length, or lengths of all sizes. */
static void largest_are_the_longest(void **state)
{
    (void)state;
    for (uint64_t seed = 1, random = 1; seed <= 300; seed++) {
        uint64_t lengths[200], sum = 0;
        uint32_t count = (uint32_t)(made_random(&random) % 200), limit = (uint32_t)(made_random(&random) % 220),
                 kept = 0;
        struct wp_top_k top = {0};
        for (uint32_t i = 0; i < count; i++)
            wp_top_k_add(&top,
                lengths[i] = seed % 2 ? made_random(&random) % 20 : made_random(&random) >> made_random(&random) % 64);
        for (int again = 0; again < 2; again++) {
            kept = 0;
            sum = 0;
            wp_top_k_choose(&top, limit);
            for (uint32_t i = 0; i < count; i++)
                if (wp_top_k_has(&top, lengths[i])) {
                    kept++;
                    sum += lengths[i];
                }
        }
        assert_int_equal(kept, count < limit ? count : limit);
        for (uint32_t i = 0; i < count; i++) /* the sum of the longest: each length as often as it is there */
            for (uint32_t j = i + 1; j < count; j++)
                if (lengths[j] > lengths[i]) {
                    uint64_t longer = lengths[j];
                    lengths[j] = lengths[i];
                    lengths[i] = longer;
                }
        for (uint32_t i = 0; i < kept; i++)
            sum -= lengths[i];
        assert_int_equal(sum, 0);
        wp_top_k_fini(&top);
    }
}

static void so_many_hosts_have_their_own(void **state)
{
    (void)state;
    struct wp_host_parts none = {0}, two = {.limit = 2};
    assert_false(wp_host_parts_has(NULL, "a"));
    assert_false(wp_host_parts_has(&none, "a"));
    for (int again = 0; again < 2; again++) {
        assert_true(wp_host_parts_has(&two, "a"));
        assert_true(wp_host_parts_has(&two, "b"));
        assert_false(wp_host_parts_has(&two, "c"));
    }
    wp_host_parts_fini(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(idle_kernel_threads_and_waits_for_a_cpu_are_told_apart),
        cmocka_unit_test(a_request_is_what_itself_went_through), cmocka_unit_test(the_longest_rows_are_kept),
        cmocka_unit_test(what_fits_is_kept_whole), cmocka_unit_test(what_has_no_place_is_counted),
        cmocka_unit_test(what_ended_before_the_window_is_not_missing), cmocka_unit_test(largest_are_the_longest),
        cmocka_unit_test(so_many_hosts_have_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
