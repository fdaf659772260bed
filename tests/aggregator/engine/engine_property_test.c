/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every trace, held against traces made at random. WP_SEED=N runs that one only, WP_TRACES=N so many
 * (tests/more.sh: 1000).
 */
#include "tests/aggregator/made_trace.h"

#include "aggregator/account/exemplar_sample.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "aggregator/timeline/slices.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"
#include "storage/report/trace_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define RULES 4u
#define PROGRESS 3u /* the rule that shows the progress of the command */
#define NEVER_NS ((uint64_t)1 << 60)

/* What a run has put into its store. */
struct sums {
    struct wp_report *reports[RULES];
    struct wp_exemplars exemplars[RULES];
};

struct trial {
    uint64_t seed; /* of the trace that is being held, 0: none */
};

struct engine {
    struct wp_aggregate_rule rules[RULES];
    struct wp_host_session_options options;
};

static void engine_init(struct engine *engine, uint64_t history_ns)
{
    static const char *const selectors[RULES] = {"command,threads", "comm=b3", "pid=101", "command"};
    *engine = (struct engine){
        .options = {.rule_count = RULES, .epoch_ns = 5000000, .lateness_ns = 10000000, .history_ns = history_ns}};
    engine->options.rules = engine->rules;
    for (unsigned i = 0; i < RULES; i++) {
        snprintf(engine->rules[i].name, sizeof(engine->rules[i].name), "a%u", i);
        assert_int_equal(wp_selector_parse(&engine->rules[i].selector, selectors[i], NULL), 0);
    }
}

static void engine_fini(struct engine *engine)
{
    for (unsigned i = 0; i < RULES; i++)
        wp_selector_fini(&engine->rules[i].selector);
}

static struct wp_host_session *begin_session(const struct engine *engine)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .start_real_ns = 5000000000};
    struct wp_host_session *session;
    assert_int_equal(wp_host_session_create(&session, &hello, "v1", &engine->options, NULL, NULL), 0);
    return session;
}

/* A commit without a store: the delta goes into `sums`, and a new one begins. */
static void commit(struct wp_host_session *session, struct sums *sums)
{
    for (uint32_t i = 0; i < RULES; i++) {
        assert_int_equal(wp_report_merge(sums->reports[i], closed_report_of(session, i), NULL), 0);
        const struct wp_exemplar_sample *sampled = wp_aggregate_sampled(aggregate_of(session, i));
        for (uint32_t j = 0; j < sampled->box_count; j++) {
            const struct wp_exemplars *news = &sampled->boxes[j].set;
            for (uint32_t k = 0; k < news->count; k++)
                if (news->rows[k].trace.size)
                    assert_int_equal(wp_exemplars_add(&sums->exemplars[i], &news->rows[k]), 0);
        }
        wp_aggregate_mark_stored(aggregate_of(session, i), wp_host_session_progress(session)->resolved_ns, false, 0);
    }
}

/* Cuts the trace into batches of up to `most` events (0: one) and commits now and then; `sums`: RULES empty reports. */
static struct wp_host_session *run(
    const struct engine *engine, const struct made_trace *trace, uint32_t most, uint64_t seed, struct sums *sums)
{
    struct wp_host_session *session = begin_session(engine);
    struct wp_error err = {0};
    uint32_t count = trace->whole.event_count;
    uint64_t seq = 1;
    for (uint32_t first = 0, end; first < count; first = end, seq++) {
        end = most ? first + 1 + (uint32_t)(made_random(&seed) % most) : count;
        end = end < count ? end : count;
        struct wp_batch batch = made_trace_cut(trace, first, end, seq);
        if (wp_host_session_take(session, &batch, &err))
            fail_msg("%s", err.text);
        wp_host_session_resolve(session);
        if (most && !(made_random(&seed) % 4))
            commit(session, sums);
    }
    wp_host_session_close(session);
    commit(session, sums);
    return session;
}

static void make_sums(struct sums *sums)
{
    *sums = (struct sums){0};
    for (unsigned i = 0; i < RULES; i++)
        sums->reports[i] = wp_report_create();
}

static void drop_sums(struct sums *sums)
{
    for (unsigned i = 0; i < RULES; i++) {
        wp_report_destroy(sums->reports[i]);
        wp_exemplars_fini(&sums->exemplars[i]);
    }
}

/* --- what must hold of a report --- */

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
    assert_true(wp_report_uncertain_ns(report) <= wp_report_total(report));
    uint64_t unexplained = 0;
    const struct wp_unexplained *rows = wp_report_unexplained_rows(report, &count);
    for (uint32_t i = 0; i < count; i++)
        unexplained += rows[i].ns;
    if (count < WP_REPORT_UNEXPLAINED)
        assert_int_equal(unexplained, wp_report_category(report, WP_UNACCOUNTED));
}

/* The time of control paths that begin at a process called "b...", the command's. */
static uint64_t base_total(const struct wp_report *report, bool is_progress)
{
    uint32_t count;
    uint64_t sum = 0;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_cell *cells = wp_report_cells(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = cells[i].node;
        for (; nodes[node].parent; node = nodes[node].parent) {
            const struct wp_frame_info *frame = &frames[nodes[node].frame];
            bool is_base = frame->style == WP_STYLE_PROCESS && !strncmp(wp_report_text(report, frame->name), "[b", 2);
            /* the command's time is nobody else's; who it was before it was first seen is not known */
            assert_true(is_progress || !is_base || cells[i].category == WP_UNACCOUNTED);
        }
        if (!strncmp(wp_report_text(report, frames[nodes[node].frame].name), "[b", 2))
            sum += cells[i].ns;
    }
    return sum;
}

/* Slices follow each other without gap; the time of those that can be accounted for is returned, of the rule's base
 * only. */
static uint64_t slices_follow(const struct wp_host_session *session, unsigned rule)
{
    const struct wp_timeline *timeline = wp_host_session_timeline(session);
    uint64_t sum = 0;
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        for (uint64_t n = thread->first_slice; n < thread->slice_end; n++) {
            const struct wp_slice *slice = wp_thread_slice(thread, n);
            bool is_last = n + 1 == thread->slice_end;
            assert_true(!slice->wake_ns || slice->wake_ns >= slice->out_ns);
            assert_true(!slice->in_ns || slice->in_ns >= (slice->wake_ns ? slice->wake_ns : slice->out_ns));
            assert_true(!slice->end_ns || (slice->in_ns && slice->end_ns >= slice->in_ns));
            assert_true(is_last || (slice->end_ns && slice->end_ns <= wp_thread_slice(thread, n + 1)->out_ns));
            if (!(timeline->identities[slice->identity].aggregates & wp_aggregate_id(aggregate_of(session, rule))->bit))
                continue;
            sum += (slice->end_ns ? slice->end_ns : timeline->now_ns) - slice->out_ns;
        }
    }
    return sum;
}

/* Every link goes forward: who wakes runs then (or began to within the overlap that is allowed), whoever creates was
 * there before, and a block request was queued, issued and done in that order before it woke anybody. */
static uint64_t links_go_forward(const struct wp_host_session *session, bool is_whole)
{
    const struct wp_timeline *timeline = wp_host_session_timeline(session);
    uint64_t links = 0;
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        assert_true(!thread->birth_ns || thread->first_slice == thread->slice_end ||
            wp_thread_slice(thread, thread->first_slice)->out_ns >= thread->birth_ns);
        for (uint64_t n = thread->first_slice; n < thread->slice_end; n++) {
            const struct wp_slice *slice = wp_thread_slice(thread, n);
            const struct wp_thread *waker = &timeline->threads[slice->waker];
            if (!slice->wake_ns || !slice->waker || !waker->slices)
                continue;
            uint64_t at = wp_thread_find(waker, slice->wake_ns - 1); /* its run may end at that very moment */
            if (at == waker->slice_end)
                continue;
            links++;
            assert_true(!is_whole || wp_thread_slice(waker, at)->in_ns <= slice->wake_ns + WP_EARLY_WAKING_NS);
            assert_true(!is_whole || wp_thread_slice(waker, at)->in_ns);
        }
    }
    for (uint64_t number = timeline->blockops.first + 1; number <= timeline->blockops.count; number++) {
        const struct wp_blockop *op = wp_blockops_at(&timeline->blockops, number);
        assert_true(!op->issue_ns || op->insert_ns <= op->issue_ns);
        assert_true(!op->done_ns || op->issue_ns <= op->done_ns);
    }
    return links;
}

/* From the cursor on to the end of that slice it is its thread's run, or what took the CPU from it. */
static void holds_run(const struct wp_timeline *timeline, const struct wp_slice *slice, struct wp_cpu_cursor cursor)
{
    for (bool is_over = false; !is_over;) {
        struct wp_cpu_run run = wp_cpu_cursor_run(&cursor);
        bool is_seized = timeline->cpu_runs.occupants[run.occupant].for_comm >= WP_OCCUPANT_STEAL;
        assert_int_equal(run.process, is_seized ? 0 : timeline->identities[slice->identity].process);
        assert_true(run.occupant >= WP_OCCUPANT_FIRST);
        is_over = slice->end_ns && run.end_ns >= slice->end_ns;
        if (!is_over && !wp_cpu_cursor_on(&cursor)) {
            assert_true(!slice->end_ns && run.end_ns == UINT64_MAX && !is_seized);
            is_over = true;
        }
    }
}

/* Who ran when on each CPU is when its threads ran: no run is missing, longer or another's. */
static void cpus_have_their_runs(const struct wp_host_session *session)
{
    const struct wp_timeline *timeline = wp_host_session_timeline(session);
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        for (uint64_t n = thread->first_slice; n < thread->slice_end; n++) {
            const struct wp_slice *slice = wp_thread_slice(thread, n);
            struct wp_cpu_cursor cursor;
            if (!slice->in_ns || slice->end_ns == slice->in_ns)
                continue;
            uint32_t cpu = wp_thread_slice_cpu(thread, n)->cpu;
            assert_true(wp_cpu_runs_find(&timeline->cpu_runs, cpu, slice->in_ns, &cursor));
            assert_true(wp_cpu_cursor_run(&cursor).start_ns <= slice->in_ns);
            holds_run(timeline, slice, cursor);
        }
    }
}

/* All of it says who had the CPU, or why that is not known; nothing is lost where nothing was. */
static void runnable_time_is_explained(const struct wp_report *report, bool is_whole)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_cell *cells = wp_report_cells(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (cells[i].category != WP_SCHEDULER && cells[i].category != WP_INVOLUNTARY)
            continue;
        const struct wp_node *node = &nodes[cells[i].node];
        assert_int_equal(frames[node->frame].style, WP_STYLE_SCHED);
        assert_int_equal(frames[nodes[node->parent].frame].style, WP_STYLE_SCHED);
        assert_true(!is_whole || !strstr(wp_report_text(report, frames[node->frame].name), "were lost"));
    }
}

static void same_bytes(const struct wp_report *left, const struct wp_report *right)
{
    struct wp_buffer a = {0}, b = {0};
    assert_int_equal(wp_report_encode(left, &a, NULL), 0);
    assert_int_equal(wp_report_encode(right, &b, NULL), 0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
}

/* Windows of interest are inside the trace, and the pieces of one make it up, gaps and overlaps aside. */
static void windows_make_sense(const struct wp_exemplars *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct wp_exemplar_window *row = &set->rows[i];
        struct wp_trace *trace;
        uint64_t sum = 0;
        assert_int_equal(wp_trace_decode(&trace, row->trace.data, row->trace.size, NULL), 0);
        assert_int_equal(trace->start_ns, row->start_ns);
        assert_int_equal(trace->length_ns, row->length_ns);
        assert_true(trace->path_count >= 1 && trace->paths[0].is_base);
        assert_int_equal(trace->threads[trace->paths[0].thread].tid, row->tid);
        for (uint32_t j = 0; j < trace->piece_count; j++) {
            assert_true(trace->pieces[j].start_ns + trace->pieces[j].length_ns <= trace->length_ns);
            sum += trace->pieces[j].length_ns;
        }
        assert_true(trace->omitted || sum == row->length_ns || *row->service);
        for (uint32_t j = 0; j < trace->run_count; j++)
            assert_true(trace->runs[j].start_ns + trace->runs[j].length_ns <= trace->length_ns);
        for (uint32_t j = 0; j < trace->sleep_count; j++)
            assert_true(trace->sleeps[j].start_ns + trace->sleeps[j].length_ns <= trace->length_ns);
        for (uint32_t j = 0; j < trace->link_count; j++)
            assert_true(trace->links[j].to_ns <= trace->length_ns);
        wp_trace_destroy(trace);
    }
}

static void same_windows(const struct wp_exemplars *left, const struct wp_exemplars *right)
{
    struct wp_buffer a = {0}, b = {0};
    assert_int_equal(wp_exemplars_encode(left, &a, NULL), 0);
    assert_int_equal(wp_exemplars_encode(right, &b, NULL), 0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
}

/* --- one trace --- */

static void hold(const struct made_options *options)
{
    struct engine engine, remembering;
    struct made_trace trace;
    struct sums whole, cut, all;
    made_trace_init(&trace, options);
    engine_init(&engine, 50000000);
    engine_init(&remembering, NEVER_NS);
    make_sums(&whole);
    make_sums(&all);
    wp_host_session_destroy(run(&engine, &trace, 0, 0, &whole));
    struct wp_host_session *session = run(&remembering, &trace, 0, 0, &all);
    for (unsigned i = 0; i < RULES; i++) {
        categories_sum_up(whole.reports[i]);
        categories_sum_up(all.reports[i]);
        runnable_time_is_explained(whole.reports[i], !options->drop_per_mille);
        runnable_time_is_explained(all.reports[i], !options->drop_per_mille);
        windows_make_sense(&whole.exemplars[i]);
        windows_make_sense(&all.exemplars[i]);
    }
    uint64_t base_ns = base_total(all.reports[0], false), progress_ns = base_total(all.reports[PROGRESS], true);
    assert_int_equal(base_ns, slices_follow(session, 0));
    /* progress is the main thread's life, and what others led to on other paths: those of its own threads among them */
    uint64_t main_ns = slices_follow(session, PROGRESS);
    assert_true(main_ns <= progress_ns && progress_ns <= wp_report_total(all.reports[PROGRESS]));
    assert_true(
        wp_report_total(all.reports[PROGRESS]) - main_ns <= wp_report_category(all.reports[PROGRESS], WP_OTHER_PATH));
    uint64_t links = links_go_forward(session, !options->drop_per_mille);
    assert_true(links || options->events < 500);
    /* what was waited for on other paths is followed once at most */
    assert_true(wp_report_total(all.reports[0]) - base_ns <= wp_report_category(all.reports[0], WP_OTHER_PATH));
    if (!options->drop_per_mille) {
        assert_int_equal(base_ns, trace.base_ns);
        assert_int_equal(base_total(whole.reports[0], false), trace.base_ns);
        assert_int_equal(wp_host_session_timeline(session)->counts.chain_breaks, 0);
        cpus_have_their_runs(session);
    }
    wp_host_session_destroy(session);
    static const uint32_t sizes[] = {1, 40, 3000};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        make_sums(&cut);
        wp_host_session_destroy(run(&engine, &trace, sizes[i], options->seed + i, &cut));
        for (unsigned j = 0; j < RULES; j++) {
            same_bytes(whole.reports[j], cut.reports[j]);
            same_windows(&whole.exemplars[j], &cut.exemplars[j]);
        }
        drop_sums(&cut);
    }
    drop_sums(&whole);
    drop_sums(&all);
    engine_fini(&engine);
    engine_fini(&remembering);
    made_trace_fini(&trace);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Most traces are small, so that there are many; what takes time to build up needs a large one now and then. */
static void hold_all(struct trial *trial, uint32_t drop_per_mille)
{
    uint64_t first = number("WP_SEED", 1), count = getenv("WP_SEED") ? 1 : number("WP_TRACES", 150);
    for (trial->seed = first; trial->seed < first + count; trial->seed++) {
        uint64_t seed = trial->seed;
        bool is_large = seed % 25 == 0;
        struct made_options options = {.seed = seed,
            .events = is_large ? 500 + (uint32_t)(seed * 7919 % 6000) : 50 + (uint32_t)(seed * 7919 % 400),
            .cpus = 1 + (uint32_t)(seed % 6),
            .threads = 8 + (uint32_t)(seed % 30),
            .drop_per_mille = drop_per_mille,
            .burst_events = seed % 4 == 1 ? 40 : 0};
        hold(&options);
    }
    trial->seed = 0;
}

static void whole_traces(void **state)
{
    hold_all(*state, 0);
}

static void traces_with_few_losses(void **state)
{
    hold_all(*state, 5);
}

static void traces_with_many_losses(void **state)
{
    hold_all(*state, 200);
}

static int say_seed(void **state)
{
    const struct trial *trial = *state;
    if (trial->seed)
        print_message("failed with WP_SEED=%llu\n", (unsigned long long)trial->seed);
    return 0;
}

int main(void)
{
    struct trial trial = {0};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate_setup_teardown(whole_traces, NULL, say_seed, &trial),
        cmocka_unit_test_prestate_setup_teardown(traces_with_few_losses, NULL, say_seed, &trial),
        cmocka_unit_test_prestate_setup_teardown(traces_with_many_losses, NULL, say_seed, &trial)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
