/* SPDX-License-Identifier: Apache-2.0 */
#include "made_batch.h"

#include "proto/dictionary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Sessions of good batches are taken, and everything can be asked for afterwards. */
static void good_sessions(void **state)
{
    (void)state;
    struct made *made = malloc(sizeof(*made));
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct wp_dictionary *d = wp_dictionary_create();
        struct wp_error err = {0};
        made_begin(made, seed);
        for (int i = 0; i < 20; i++) {
            made_next(made, 100);
            const struct wp_batch *b = &made->batch;
            if (wp_dictionary_apply(d, b, &err))
                fail_msg("seed %llu batch %d: %s", (unsigned long long)seed, i, err.text);
            for (uint32_t j = 0; j < b->thread_count; j++)
                assert_memory_equal(wp_dictionary_thread(d, b->first_thread + j), &b->threads[j],
                    offsetof(struct wp_thread_entry, parent_pid)); /* it knows the rest by itself */
            for (uint32_t j = 0; j < b->stack_count; j++)
                assert_memory_equal(wp_dictionary_stack(d, b->first_stack + j), &b->stacks[j], sizeof(b->stacks[j]));
            for (uint32_t j = 0; j < b->string_count; j++)
                assert_true(
                    !strncmp(wp_dictionary_string(d, b->first_string + j), b->strings[j].data, b->strings[j].size));
        }
        assert_int_equal(wp_dictionary_thread_count(d), made->threads);
        assert_int_equal(wp_dictionary_socket_count(d), made->sockets);
        assert_int_equal(wp_dictionary_frame_count(d), made->frames);
        assert_null(wp_dictionary_thread(d, 0));
        assert_null(wp_dictionary_thread(d, made->threads + 1));
        assert_string_equal(wp_dictionary_string(d, 0), "");
        assert_string_equal(wp_dictionary_string(d, UINT32_MAX), "");
        wp_dictionary_destroy(d);
        made_end(made);
    }
    free(made);
}

struct one {
    struct wp_batch batch;
    struct wp_event event;
    struct wp_thread_entry thread;
    struct wp_object_entry object;
    struct wp_frame_entry frame;
    struct wp_stack_entry stack;
    struct wp_socket_entry socket;
    struct wp_bytes string;
    struct wp_device_entry device;
};

/* One good entry of each, to be spoilt. */
static void fill(struct one *o)
{
    *o = (struct one){.string = {"name", 4},
        .thread = {.tid = 1, .comm = 1},
        .object = {.path = 1},
        .frame = {.object = 1, .function = 1},
        .stack = {.frame = 1},
        .device = {.device = 7, .name = 1},
        .event = {.time_ns = 1, .kind = WP_EVENT_SWITCH, .thread = 1, .stack = 1}};
    o->batch = (struct wp_batch){.seq = 1,
        .events = &o->event,
        .event_count = 1,
        .strings = &o->string,
        .string_count = 1,
        .threads = &o->thread,
        .thread_count = 1,
        .objects = &o->object,
        .object_count = 1,
        .frames = &o->frame,
        .frame_count = 1,
        .stacks = &o->stack,
        .stack_count = 1,
        .sockets = &o->socket,
        .socket_count = 1,
        .devices = &o->device,
        .device_count = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .first_socket = 1};
}

static void refused(struct one *o)
{
    struct wp_dictionary *d = wp_dictionary_create();
    struct wp_error err = {0};
    assert_int_equal(wp_dictionary_apply(d, &o->batch, &err), -EINVAL);
    assert_true(strlen(err.text) > 10);
    assert_int_equal(wp_dictionary_thread_count(d), 0); /* nothing of it was taken */
    assert_string_equal(wp_dictionary_string(d, 1), "");
    fill(o);
    assert_int_equal(wp_dictionary_apply(d, &o->batch, &err), 0); /* and the session goes on */
    assert_string_equal(wp_dictionary_device(d, 7), "name");
    assert_null(wp_dictionary_device(d, 8));
    wp_dictionary_destroy(d);
}

#define REFUSED(...)                                                                                                   \
    do {                                                                                                               \
        struct one o;                                                                                                  \
        fill(&o);                                                                                                      \
        __VA_ARGS__;                                                                                                   \
        refused(&o);                                                                                                   \
    } while (0)

static void refusals(void **state)
{
    (void)state;
    REFUSED(o.batch.first_string = 2);
    REFUSED(o.batch.first_thread = 0);
    REFUSED(o.batch.first_stack = 5);
    REFUSED(o.thread.comm = 2);
    REFUSED(o.thread.exe = UINT32_MAX);
    REFUSED(o.thread.cgroup = 2);
    REFUSED(o.thread.workload = 2);
    REFUSED(o.thread.parent = 2);
    REFUSED(o.thread.parent = 1);
    REFUSED(o.thread.cmdline_matches[3] = 9);
    REFUSED(o.object.path = 2);
    REFUSED(o.frame.object = 2);
    REFUSED(o.frame.function = 2);
    REFUSED(o.frame.file = 2);
    REFUSED(o.frame.inlined = 1); /* itself */
    REFUSED(o.frame.inlined = 2); /* nobody */
    REFUSED(o.stack.parent = 1);
    REFUSED(o.stack.parent = 7);
    REFUSED(o.stack.frame = 0);
    REFUSED(o.stack.frame = 2);
    REFUSED(o.device.name = 2);
    REFUSED(o.event.thread = 2);
    REFUSED(o.event.other = UINT32_MAX);
    REFUSED(o.event.stack = 2);
    REFUSED(o.event = (struct wp_event){.kind = WP_EVENT_SOCK_SEND, .d = 2});
    REFUSED(o.event = (struct wp_event){.kind = WP_EVENT_WAKING, .c = WP_CAUSE_MESSAGE, .d = 2});
    REFUSED(o.event = (struct wp_event){.kind = WP_EVENT_RENAME, .c = 2});
    REFUSED(o.event = (struct wp_event){.kind = WP_EVENT_SWITCH, .wait = 2});
    REFUSED(o.event = (struct wp_event){.kind = WP_EVENT_WAKING, .wait = UINT32_MAX});
}

/* A peer that never stops naming things: refused at the limit, with all that it said before in place. */
static void endless(void **state)
{
    (void)state;
    struct wp_dictionary *d = wp_dictionary_create();
    struct wp_error err = {0};
    struct one o;
    size_t limit = 100000;
    uint32_t taken = 0;
    char text[WP_STRING_BYTES] = "x";
    int rc = 0;
    wp_dictionary_limit(d, limit);
    for (; !rc && taken < 100; taken += !rc) {
        fill(&o);
        o.string = (struct wp_bytes){text, sizeof(text)};
        o.batch.first_string = o.batch.first_thread = o.batch.first_object = o.batch.first_frame = o.batch.first_stack =
            o.batch.first_socket = taken + 1;
        rc = wp_dictionary_apply(d, &o.batch, &err);
    }
    assert_int_equal(rc, -E2BIG);
    assert_non_null(strstr(err.text, "begin anew"));
    assert_true(taken >= 20 && taken * sizeof(text) <= limit);
    assert_int_equal(wp_dictionary_thread_count(d), taken);
    assert_int_equal(strlen(wp_dictionary_string(d, taken)), 1);
    struct wp_batch none = {.seq = 1};
    assert_int_equal(wp_dictionary_apply(d, &none, &err), 0);
    struct wp_thread_entry threads[2000] = {{.tid = 1}}; /* entries without strings count as well */
    none.threads = threads;
    none.thread_count = 2000;
    none.first_thread = taken + 1;
    assert_int_equal(wp_dictionary_apply(d, &none, &err), -E2BIG);
    wp_dictionary_destroy(d);
}

/* What the creator was is known behind its end, whichever of the two comes first in a batch. */
static void parents_are_kept(void **state)
{
    (void)state;
    struct wp_error err = {0};
    struct wp_dictionary *d = wp_dictionary_create();
    struct wp_thread_entry threads[] = {
        {.tid = 11, .pid = 11, .parent = 2}, {.tid = 10, .pid = 10, .start_ns = 5}, {.tid = 12, .pid = 12}};
    struct wp_batch batch = {.seq = 1, .threads = threads, .first_thread = 1, .thread_count = 3};
    assert_int_equal(wp_dictionary_apply(d, &batch, &err), 0);
    wp_dictionary_forget_thread(d, 2);
    threads[0].parent_pid = 7; /* what the batch says of it does not count */
    batch.first_thread = 4;
    batch.thread_count = 1;
    assert_int_equal(wp_dictionary_apply(d, &batch, &err), 0);
    assert_int_equal(wp_dictionary_thread(d, 1)->parent_pid, 10);
    assert_int_equal(wp_dictionary_thread(d, 1)->parent_start_ns, 5);
    assert_int_equal(wp_dictionary_thread(d, 3)->parent_pid, 0);
    assert_int_equal(wp_dictionary_thread(d, 4)->parent_pid, 0);
    wp_dictionary_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_sessions), cmocka_unit_test(refusals),
        cmocka_unit_test(endless), cmocka_unit_test(parents_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
