/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a timeline remembers in rings, by a trickle that grows old and a burst that makes them grow, again and again:
 * whatever is read of them, and what a checkpoint says, happened. Fresh memory is filled with what never does.
 */
#include "aggregator/net/message_datagrams.h"
#include "aggregator/timeline/slices.h"
#include "aggregator/timeline/timeline_state.h"
#include "common/large.h"
#include "proto/batch.h"
#include "proto/batch_decode.h"

#include <malloc.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define START_NS 1000000000u
#define SLOW_NS 1000000000u /* a round of the trickle */
#define QUICK_NS 1000u
#define KEPT_NS 3000000000u /* of slices and samples */
#define DEVICE 8u
#define FAR_CPU 200u

struct machine {
    struct wp_dictionary *dictionary;
    struct wp_timeline timeline;
    uint64_t now_ns, key;
    uint32_t position;
};

static void begin(struct machine *m)
{
    static struct wp_bytes strings[] = {{"one", 3}, {"other", 5}};
    struct wp_thread_entry threads[] = {{.tid = 10, .pid = 10, .comm = 1}, {.tid = 11, .pid = 11, .comm = 2}};
    struct wp_socket_entry sockets[] = {
        {.family = AF_INET, .protocol = IPPROTO_TCP, .local_port = 80, .remote_port = 90},
        {.family = AF_INET, .protocol = IPPROTO_UDP, .local_port = 81, .remote_port = 91}};
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .strings = strings,
        .string_count = 2,
        .threads = threads,
        .thread_count = 2,
        .sockets = sockets,
        .socket_count = 2};
    *m = (struct machine){.now_ns = START_NS, .dictionary = wp_dictionary_create()};
    assert_int_equal(wp_dictionary_apply(m->dictionary, &batch, NULL), 0);
    assert_int_equal(wp_timeline_init(&m->timeline, m->dictionary), 0);
    m->timeline.blockops.keep_ns = KEPT_NS;
}

static void end(struct machine *m)
{
    wp_timeline_fini(&m->timeline);
    wp_dictionary_destroy(m->dictionary);
}

static void happen(struct machine *m, struct wp_event event)
{
    event.time_ns = ++m->now_ns;
    wp_timeline_event(&m->timeline, &event);
}

/* A little of everything that a ring holds. */
static void round_of(struct machine *m, uint64_t step_ns)
{
    m->now_ns += step_ns;
    m->key++;
    m->position += 10;
    happen(m, (struct wp_event){.kind = WP_EVENT_SWITCH, .other = 1, .cpu = 1});
    happen(m, (struct wp_event){.kind = WP_EVENT_SAMPLE, .thread = 1, .cpu = 1});
    for (uint8_t kind = WP_EVENT_BLOCK_INSERT; kind <= WP_EVENT_BLOCK_COMPLETE; kind++)
        happen(m, (struct wp_event){.kind = kind, .thread = 1, .d = DEVICE, .b = m->key, .c = 4096});
    happen(m, (struct wp_event){.kind = WP_EVENT_SOCK_ARRIVE, .thread = 1, .d = 1, .a = m->position, .c = 10});
    happen(m, (struct wp_event){.kind = WP_EVENT_SOCK_RECV, .thread = 1, .d = 1, .a = m->position, .c = 10});
    happen(m, (struct wp_event){.kind = WP_EVENT_SOCK_SEND, .thread = 1, .d = 1, .a = m->position, .c = 10});
    happen(m,
        (struct wp_event){
            .kind = WP_EVENT_SOCK_SEND, .thread = 1, .d = 2, .a = m->key, .c = 10, .flags = WP_SOCK_DATAGRAM});
    happen(m, (struct wp_event){.kind = WP_EVENT_SWITCH, .thread = 1, .cpu = 1, .c = WP_STATE_INTERRUPTIBLE});
    happen(m, (struct wp_event){.kind = WP_EVENT_WAKING, .thread = 2, .other = 1, .c = WP_CAUSE_TASK});
    wp_timeline_forget(&m->timeline, m->now_ns > KEPT_NS ? m->now_ns - KEPT_NS : 0);
}

/* --- what is read happened --- */

static void has_happened(const struct machine *m, uint64_t time_ns)
{
    assert_in_range(time_ns, START_NS, m->now_ns);
}

static void check_messages(const struct machine *m)
{
    const struct wp_messages *messages = &m->timeline.messages;
    const struct wp_socket *socket = wp_messages_socket(messages, 1);
    struct wp_send send;
    assert_true(socket->send_ring.end - socket->send_ring.first <= (uint64_t)socket->send_ring.mask + 1);
    for (uint64_t i = socket->send_ring.first; i < socket->send_ring.end; i++)
        has_happened(m, socket->sends[i & socket->send_ring.mask].time_ns);
    for (uint64_t i = socket->receive_ring.first; i < socket->receive_ring.end; i++)
        assert_int_equal(socket->receives[i & socket->receive_ring.mask].thread, 1);
    for (uint64_t number = 0; number <= messages->datagram_count + messages->datagram_room; number++)
        if (wp_messages_datagram(messages, number, &send))
            assert_int_equal(send.end, number);
    assert_true(wp_messages_datagram(messages, messages->datagram_count, &send));
    for (uint64_t at_ns = START_NS; at_ns < m->now_ns; at_ns += 1 + (m->now_ns - START_NS) / 16)
        if (wp_messages_last_send(messages, 1, at_ns, &send))
            has_happened(m, send.time_ns);
}

static void check_thread(const struct machine *m)
{
    const struct wp_thread *thread = &m->timeline.threads[1];
    for (uint64_t at_ns = START_NS - 1; at_ns <= m->now_ns + 1; at_ns += 1 + (m->now_ns - START_NS) / 64) {
        uint64_t ordinal = wp_thread_find(thread, at_ns), sample = wp_thread_find_sample(thread, at_ns);
        assert_in_range(ordinal, thread->first_slice, thread->slice_end);
        assert_in_range(sample, thread->first_sample, thread->sample_end);
    }
    for (uint64_t i = thread->first_slice; i < thread->slice_end; i++)
        has_happened(m, wp_thread_slice(thread, i)->out_ns);
    for (uint64_t i = thread->first_sample; i < thread->sample_end; i++)
        has_happened(m, thread->samples[i & thread->sample_mask].time_ns);
}

static void check_facts(const struct machine *m, const ProtobufCBinaryData *facts)
{
    struct wp_batch batch = {0};
    uint32_t size;
    for (size_t at = 0; at < facts->len; at += size) {
        memcpy(&size, facts->data + at, sizeof(size));
        at += sizeof(size);
        assert_int_equal(wp_batch_decode(&batch, facts->data + at, size, NULL), 0);
        for (uint32_t i = 0; i < batch.event_count; i++) {
            const struct wp_event *event = &batch.events[i];
            has_happened(m, event->time_ns);
            assert_in_range(event->thread, 0, 1);
            assert_in_range(event->d, 1, DEVICE);
            assert_true(!wp_event_is_block(event) || (event->b >= 1 && event->b <= m->key && event->c == 4096));
        }
    }
    wp_batch_fini(&batch);
}

static void check_checkpoint(const struct machine *m, uint64_t horizon_ns)
{
    Wakepath__Resume__Checkpoint *out = malloc(sizeof(*out));
    uint32_t *rows;
    assert_non_null(out);
    wakepath__resume__checkpoint__init(out);
    assert_int_equal(wp_timeline_save(&m->timeline, horizon_ns, out, &rows), 0);
    check_facts(m, &out->facts);
    assert_true(out->n_threads <= 2);
    for (size_t i = 0; i < out->n_threads; i++)
        if (out->threads[i]->sample_ns)
            has_happened(m, out->threads[i]->sample_ns);
    wakepath__resume__checkpoint__free_unpacked(out, NULL);
    free(rows);
}

static void check(const struct machine *m)
{
    check_messages(m);
    check_thread(m);
    check_checkpoint(m, m->now_ns + 1);
    check_checkpoint(m, m->now_ns - QUICK_NS);
}

static void trickle_then_burst(void **state)
{
    (void)state;
    struct machine m;
    begin(&m);
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 50; i++) {
            round_of(&m, SLOW_NS);
            check(&m);
        }
        for (unsigned i = 0; i < 40u << round; i++) {
            round_of(&m, QUICK_NS);
            if (i % 9 == 0)
                check(&m);
        }
    }
    assert_true(m.timeline.blockops.first > 0 && m.timeline.blockops.mask > 7);
    assert_true(wp_messages_socket(&m.timeline.messages, 1)->send_ring.first > 0);
    end(&m);
}

/* The thread's sleeps begin in the order of time, the last `count` of them a round of run_and_sleep() after the other.
 */
static void check_order(const struct wp_thread *thread, uint64_t count)
{
    assert_true(thread->slice_end - thread->first_slice >= count);
    for (uint64_t i = thread->slice_end - count + 1; i < thread->slice_end; i++) {
        assert_int_equal(wp_thread_slice(thread, i)->out_ns - wp_thread_slice(thread, i - 1)->out_ns, 2);
        assert_int_equal(wp_thread_slice_cpu(thread, i)->cpu, 1);
    }
}

static void run_and_sleep(struct machine *m)
{
    happen(m, (struct wp_event){.kind = WP_EVENT_SWITCH, .other = 1, .cpu = 1});
    happen(m, (struct wp_event){.kind = WP_EVENT_SWITCH, .thread = 1, .cpu = 1, .c = WP_STATE_INTERRUPTIBLE});
}

/* A ring of several megabytes, that has been filled round once, grows without copying, and is small again later. */
static void a_large_ring_grows_and_shrinks(void **state)
{
    struct machine m;
    uint32_t room = 0, grown = 0;
    (void)state;
    begin(&m);
    for (uint64_t count = 1; count <= 200000; count++) {
        run_and_sleep(&m);
        if (count < 40000 && count % 64 == 0) /* the oldest half goes: what is newer goes round the ring */
            wp_timeline_forget(&m.timeline, m.now_ns - count);
        const struct wp_thread *thread = &m.timeline.threads[1];
        if (thread->slice_room == room)
            continue;
        check_order(thread, count / 3);
        assert_int_equal(m.timeline.ring_bytes, thread->slice_room * WP_SLICE_BYTES);
        bool is_large = thread->slice_room * WP_SLICE_BYTES >= WP_LARGE_BYTES;
        assert_true(!is_large || (uintptr_t)thread->slices % WP_LARGE_BYTES == 0); /* as huge pages want it */
        room = thread->slice_room;
        grown++;
    }
    assert_true(grown > 10 && room >= 160000 && room < 300000);
    wp_timeline_forget(&m.timeline, m.now_ns - 30000);
    assert_in_range(m.timeline.threads[1].slice_room, 15000, 30000);
    check_order(&m.timeline.threads[1], 15000);
    end(&m);
}

/* A checkpoint names the processor of a thread that ran; of that processor nothing need be told before the thread is
 * seen elsewhere. */
static void a_processor_not_met_since(void **state)
{
    (void)state;
    struct machine m;
    begin(&m);
    Wakepath__Resume__Slice slice = WAKEPATH__RESUME__SLICE__INIT;
    Wakepath__Resume__Thread row = WAKEPATH__RESUME__THREAD__INIT;
    Wakepath__Resume__Process process = WAKEPATH__RESUME__PROCESS__INIT;
    Wakepath__Resume__Process *processes[] = {&process};
    slice.out_ns = slice.wake_ns = slice.in_ns = START_NS;
    row.entry = row.comm = 1;
    row.cpu = FAR_CPU;
    row.slice = &slice;
    assert_int_equal(wp_timeline_set_processes(&m.timeline, processes, 1), 0);
    assert_int_equal(wp_timeline_set_thread(&m.timeline, &row), 1);
    happen(&m, (struct wp_event){.kind = WP_EVENT_SWITCH, .other = 1, .cpu = 1});
    const struct wp_thread *thread = &m.timeline.threads[1];
    assert_int_equal(thread->slice_end - thread->first_slice,
        2); /* the switch away from there was lost: repaired, at the next fact */
    assert_int_equal(wp_thread_slice(thread, thread->first_slice)->end_ns, m.now_ns);
    assert_int_equal(thread->cpu, 1);
    end(&m);
}

/* A process that calls itself something else all the time: names that no slice and no run has any more make room. */
static void names_of_runners_make_room(void **state)
{
    struct machine m;
    struct wp_cpu_run run;
    uint32_t name = 3;
    (void)state;
    begin(&m);
    happen(&m, (struct wp_event){.kind = WP_EVENT_SWITCH, .other = 2, .cpu = 2});
    happen(&m, (struct wp_event){.kind = WP_EVENT_SWITCH, .thread = 2, .cpu = 2, .c = WP_STATE_INTERRUPTIBLE});
    happen(&m, (struct wp_event){.kind = WP_EVENT_SWITCH, .other = 1, .cpu = 1});
    for (; name < 150000; name++) {
        happen(&m, (struct wp_event){.kind = WP_EVENT_RENAME, .thread = 1, .c = name});
        if (name % 1000 == 0)
            wp_timeline_forget(&m.timeline, m.now_ns - 5000);
    }
    const struct wp_cpu_runs *runs = &m.timeline.cpu_runs;
    assert_int_equal(runs->unnamed, 0);
    assert_true(wp_cpu_runs_last(runs, 1, &run));
    assert_int_equal(runs->occupants[run.occupant].comm, name - 1);
    const struct wp_thread *asleep = &m.timeline.threads[m.timeline.thread_of_entry[2] - 1];
    uint16_t left = wp_thread_ran_before(asleep, asleep->slice_end - 1).occupant;
    assert_int_equal(runs->occupants[left].comm, 2);
    end(&m);
}

int main(void)
{
    mallopt(M_PERTURB, 0xa5);
    const struct CMUnitTest tests[] = {cmocka_unit_test(trickle_then_burst),
        cmocka_unit_test(a_large_ring_grows_and_shrinks), cmocka_unit_test(a_processor_not_met_since),
        cmocka_unit_test(names_of_runners_make_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
