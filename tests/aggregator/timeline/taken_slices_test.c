/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a checkpoint says of slices that control paths took: of a timeline that saw the same events after that each has
 * its marks again, as the aggregates are numbered now, and is held to its end by whom it was.
 */
#include "aggregator/timeline/taken_slices.h"

#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/taken.h"
#include "aggregator/timeline/timeline_state.h"
#include "proto/batch.h"
#include "proto/batch_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define RUNS 9u
#define STEP_NS 1000u
#define WHOLE (1u << 2) /* the aggregate that holds each second run to its end, */
#define PART (1u << 5)  /* and the one that holds a part of each third */

struct host {
    struct wp_dictionary *dictionary;
    struct wp_timeline timeline;
};

/* A thread that runs and sleeps in turns. */
static void host_init(struct host *host)
{
    static struct wp_bytes strings[] = {{"one", 3}};
    struct wp_thread_entry threads[] = {{.tid = 10, .pid = 10, .comm = 1}};
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .strings = strings,
        .string_count = 1,
        .threads = threads,
        .thread_count = 1};
    *host = (struct host){.dictionary = wp_dictionary_create()};
    assert_int_equal(wp_dictionary_apply(host->dictionary, &batch, NULL), 0);
    assert_int_equal(wp_timeline_init(&host->timeline, host->dictionary), 0);
    for (uint64_t i = 1; i <= RUNS; i++) {
        struct wp_event in = {.kind = WP_EVENT_SWITCH, .other = 1, .cpu = 1, .time_ns = 2 * i * STEP_NS};
        struct wp_event out = {.kind = WP_EVENT_SWITCH,
            .thread = 1,
            .cpu = 1,
            .c = WP_STATE_INTERRUPTIBLE,
            .time_ns = in.time_ns + STEP_NS};
        wp_timeline_event(&host->timeline, &in);
        wp_timeline_event(&host->timeline, &out);
    }
}

static void host_fini(struct host *host)
{
    wp_timeline_fini(&host->timeline);
    wp_dictionary_destroy(host->dictionary);
}

static const struct wp_thread *thread_of(const struct host *host)
{
    for (uint32_t i = 0; i < host->timeline.live_count; i++)
        if (host->timeline.threads[host->timeline.live[i]].slices)
            return &host->timeline.threads[host->timeline.live[i]];
    fail_msg("no thread has slices");
    return NULL;
}

static void take_some(const struct wp_thread *thread)
{
    for (uint64_t i = thread->first_slice; i < thread->slice_end; i++) {
        uint64_t end_ns = wp_thread_slice(thread, i)->end_ns;
        if (i % 2 == 0)
            wp_slice_taken(thread, i, end_ns, WHOLE);
        if (i % 3 == 0 && end_ns)
            wp_slice_taken(thread, i, end_ns - STEP_NS / 2, PART);
    }
}

/* A mark of aggregate n is that of n + 1 now. */
static uint16_t as_now(uint16_t mark)
{
    return (uint16_t)(mark << 1 | mark >> 15);
}

static void marks_come_back(void **state)
{
    (void)state;
    struct host before, after;
    host_init(&before);
    host_init(&after);
    const struct wp_thread *was = thread_of(&before), *is = thread_of(&after);
    take_some(was);
    Wakepath__Resume__Checkpoint saved = WAKEPATH__RESUME__CHECKPOINT__INIT;
    assert_int_equal(wp_taken_slices_save(&before.timeline, 0, &saved), 0);
    assert_int_equal(saved.n_taken, 1);
    uint16_t marks[16];
    for (unsigned i = 0; i < 16; i++)
        marks[i] = as_now((uint16_t)(1u << i));
    wp_taken_slices_restore(&after.timeline, saved.taken, saved.n_taken, marks);
    unsigned whole = 0, part = 0;
    assert_int_equal(was->slice_end - was->first_slice, is->slice_end - is->first_slice);
    for (uint64_t i = was->first_slice; i < was->slice_end; i++) {
        uint16_t taken = wp_thread_slice(was, i)->taken, held = wp_thread_slice_cpu(was, i)->held;
        assert_int_equal(wp_thread_slice(is, i)->taken, as_now(taken));
        assert_int_equal(wp_thread_slice_cpu(is, i)->held, as_now(held));
        whole += held == WHOLE;
        part += taken & PART && !(held & PART);
    }
    assert_in_range(whole, 2, RUNS);
    assert_in_range(part, 2, RUNS);
    for (size_t i = 0; i < saved.n_taken; i++)
        wakepath__resume__taken__free_unpacked(saved.taken[i], NULL);
    free(saved.taken);
    host_fini(&before);
    host_fini(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
