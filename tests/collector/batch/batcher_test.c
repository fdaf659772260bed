/* SPDX-License-Identifier: Apache-2.0 */
/* Facts in, batches out: every batch is taken by a receiver's dictionary, and what it says is compared with the facts.
 */
#include "collector/batch/batcher.h"
#include "proto/dictionary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS 1000000u
#define AT (3200 * (uint64_t)MS)
#define CLOSED 16384u /* sockets that are known for a while */

struct taken {
    struct wp_dictionary *dictionary;
    struct wp_event *events;
    size_t count;
    uint64_t seq, watermark_ns, drops;
    bool is_last;
    int answer;
    uint32_t sessions;             /* that went on in another one */
    struct wp_dictionary **before; /* theirs */
    uint32_t *session_of;          /* by event */
};

struct bench {
    struct wp_batcher *batcher;
    struct wp_fact_sink sink;
    struct taken taken;
};

static int take(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    struct taken *t = context;
    if (t->answer)
        return wp_error_set(err, t->answer, "no room");
    if (wp_dictionary_apply(t->dictionary, batch, err))
        fail_msg("%s", err->text);
    assert_int_equal(batch->seq, ++t->seq);
    assert_in_range(batch->event_count, 0, WP_BATCH_EVENTS);
    assert_false(t->is_last);
    t->events = realloc(t->events, (t->count + batch->event_count + 1) * sizeof(*t->events));
    t->session_of = realloc(t->session_of, (t->count + batch->event_count + 1) * sizeof(*t->session_of));
    for (uint32_t i = 0; i < batch->event_count; i++) {
        assert_true(batch->events[i].time_ns >= t->watermark_ns); /* as the batch before has promised */
        assert_true(!t->count || batch->events[i].time_ns >= t->events[t->count - 1].time_ns);
        t->session_of[t->count] = t->sessions;
        t->events[t->count++] = batch->events[i];
    }
    assert_true(batch->watermark_ns >= t->watermark_ns);
    t->watermark_ns = batch->watermark_ns;
    for (uint32_t i = 0; i < batch->drop_count; i++)
        t->drops += batch->drops[i].count;
    t->is_last = batch->is_last;
    return 0;
}

static int create(void **state)
{
    static const char *const patterns[] = {"worker [0-9]+"};
    struct bench *b = calloc(1, sizeof(*b));
    struct wp_batcher_options options = {.patterns = patterns,
        .pattern_count = 1,
        .command_pid = 50,
        .self_pid = 21,
        .recorder_pid = 20,
        .batch = take,
        .context = &b->taken};
    b->taken.dictionary = wp_dictionary_create();
    *state = b;
    if (wp_batcher_create(&b->batcher, &options, NULL))
        return -1;
    b->sink = wp_batcher_sink(b->batcher);
    return 0;
}

static int destroy(void **state)
{
    struct bench *b = *state;
    wp_batcher_destroy(b->batcher);
    wp_dictionary_destroy(b->taken.dictionary);
    for (uint32_t i = 0; i < b->taken.sessions; i++)
        wp_dictionary_destroy(b->taken.before[i]);
    free(b->taken.before);
    free(b->taken.session_of);
    free(b->taken.events);
    free(b);
    return 0;
}

static void give(struct bench *b, const struct wp_fact *fact)
{
    assert_int_equal(b->sink.fact(b->sink.context, fact, NULL), 0);
}

static void mark(struct bench *b, uint64_t time_ns)
{
    assert_int_equal(b->sink.watermark(b->sink.context, time_ns, NULL), 0);
}

static const struct wp_thread_entry *thread_of(const struct bench *b, uint32_t id)
{
    return wp_dictionary_thread(b->taken.dictionary, id);
}

static const char *text(const struct bench *b, uint32_t id)
{
    return wp_dictionary_string(b->taken.dictionary, id);
}

/* Those of one multiple stay in the order in which they were. */
static void times_are_rounded_down(void **state)
{
    struct bench *b = *state;
    struct wp_batcher_options options = {.resolution_ns = 32, .batch = take, .context = &b->taken};
    static const uint64_t times[] = {127, 97, 130, 95, 128};
    static const uint32_t order[] = {95, 97, 127, 128, 130};
    wp_batcher_destroy(b->batcher);
    assert_int_equal(wp_batcher_create(&b->batcher, &options, NULL), 0);
    b->sink = wp_batcher_sink(b->batcher);
    mark(b, AT - 100 * MS);
    for (size_t i = 0; i < 5; i++)
        give(b,
            &(struct wp_fact){.event = {.time_ns = AT + times[i], .kind = WP_EVENT_WINDOW, .c = (uint32_t)times[i]}});
    mark(b, AT + 129);
    assert_int_equal(b->taken.watermark_ns, AT + 128);
    assert_int_equal(wp_batcher_finish(b->batcher, NULL), 0);
    assert_int_equal(b->taken.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(b->taken.events[i].time_ns, AT + order[i] / 32 * 32);
        assert_int_equal(b->taken.events[i].c, order[i]);
    }
    assert_int_equal(wp_batcher_stats(b->batcher)->late, 0);
}

static void events_come_in_order(void **state)
{
    struct bench *b = *state;
    uint64_t random = 5;
    for (uint32_t i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t now = (uint64_t)1000 * MS + i * 2000;
        give(b,
            &(struct wp_fact){
                .event = {.time_ns = now - (random >> 40) % (40 * MS), .kind = WP_EVENT_SWITCH, .c = i % 3},
                .tid = 1 + i % 7,
                .other_tid = 1 + (i + 1) % 7,
                .comm = "a",
                .other_comm = "b"});
        if (i % 500 == 0)
            mark(b, now - 50 * MS);
    }
    assert_true(b->taken.count > 60000);
    assert_int_equal(wp_batcher_finish(b->batcher, NULL), 0);
    assert_true(b->taken.is_last);
    assert_int_equal(b->taken.count, 200000);
    const struct wp_batcher_stats *stats = wp_batcher_stats(b->batcher);
    assert_int_equal(stats->events, 200000);
    assert_int_equal(stats->batches, b->taken.seq);
    assert_int_equal(stats->late, 0);
}

static void what_is_late_is_moved_and_counted(void **state)
{
    struct bench *b = *state;
    give(b, &(struct wp_fact){.event = {.time_ns = 1000 * MS, .kind = WP_EVENT_EXIT}, .tid = 1, .comm = "a"});
    mark(b, (uint64_t)1100 * MS);
    mark(b, (uint64_t)1900 * MS);
    assert_int_equal(b->taken.count, 1);
    give(b, &(struct wp_fact){.event = {.time_ns = 900 * MS, .kind = WP_EVENT_EXIT}, .tid = 2, .comm = "b"});
    wp_batcher_finish(b->batcher, NULL);
    assert_int_equal(b->taken.events[1].time_ns, (uint64_t)1900 * MS);
    assert_int_equal(wp_batcher_stats(b->batcher)->late, 1);
}

static void a_quiet_host_says_so(void **state)
{
    struct bench *b = *state;
    for (uint64_t ms = 1000; ms <= 3000; ms += 20)
        mark(b, ms * MS);
    assert_in_range(b->taken.seq, 3, 5);
    assert_true(b->taken.watermark_ns >= (uint64_t)2400 * MS);
    mark(b, 500 * MS); /* time does not go back */
    assert_true(b->taken.watermark_ns >= (uint64_t)2400 * MS);
}

static void stacks_sockets_and_drops(void **state)
{
    struct bench *b = *state;
    static const struct wp_named_frame frames[] = {
        {"main", "/bin/a", 16, false}, {"read", "/lib/c", 32, false}, {"sys_read", "[kernel]", 64, true}};
    struct wp_fact fact = {.event = {.time_ns = 5 * MS, .kind = WP_EVENT_SWITCH},
        .tid = 1,
        .comm = "a",
        .frames = frames,
        .frame_count = 3,
        .stack_key = 9};
    give(b, &fact);
    fact.frames = NULL; /* said before */
    fact.frame_count = 0;
    give(b, &fact);
    give(b, &(struct wp_fact){.socket = {.key = 77, .entry = {.family = 2, .protocol = 6, .local_port = 80}}});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 6 * MS, .kind = WP_EVENT_SOCK_SEND, .c = 3}, .tid = 1, .socket = {.key = 77}});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 7 * MS, .kind = WP_EVENT_SOCK_STATE, .c = 7}, .socket = {.key = 77}}); /* closed */
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 8 * MS, .kind = WP_EVENT_SOCK_SEND, .c = 3}, .tid = 1, .socket = {.key = 77}});
    for (uint64_t key = 1000; key < 1000 + CLOSED; key++) { /* so many others close */
        give(b, &(struct wp_fact){.socket = {.key = key, .entry = {.family = 2, .protocol = 6, .local_port = 81}}});
        give(b,
            &(struct wp_fact){
                .event = {.time_ns = 9 * MS, .kind = WP_EVENT_SOCK_STATE, .c = 7}, .socket = {.key = key}});
    }
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 10 * MS, .kind = WP_EVENT_SOCK_SEND, .c = 3}, .tid = 1, .socket = {.key = 77}});
    struct wp_drop drop = {.kind = WP_EVENT_SWITCH, .count = 12, .from_ns = 1, .to_ns = 2};
    b->sink.drops(b->sink.context, &drop, NULL);
    wp_batcher_finish(b->batcher, NULL);
    const struct wp_event *e = b->taken.events;
    assert_true(e[0].stack && e[0].stack == e[1].stack);
    const char *wanted[] = {"sys_read", "read", "main"};
    uint32_t stack = e[0].stack;
    for (unsigned i = 0; i < 3; i++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(b->taken.dictionary, stack);
        const struct wp_frame_entry *frame = wp_dictionary_frame(b->taken.dictionary, entry->frame);
        assert_string_equal(text(b, frame->function), wanted[i]);
        assert_int_equal(frame->is_kernel, i == 0);
        stack = entry->parent;
    }
    assert_int_equal(stack, 0);
    assert_int_equal(wp_dictionary_socket(b->taken.dictionary, e[2].d)->local_port, 80);
    assert_int_equal(e[4].d, e[2].d); /* a reset closes it before it wakes who waits there */
    assert_int_equal(e[5 + CLOSED].time_ns, 10 * MS);
    assert_int_equal(e[5 + CLOSED].d, 0); /* that key stands for nothing any more */
    assert_int_equal(b->taken.drops, 12);
    assert_int_equal(wp_batcher_stats(b->batcher)->dropped, 12);
}

/* Who records, what he starts, and the process that will be the command until it is. */
static void the_recorders_own(void **state)
{
    struct bench *b = *state;
    give(b,
        &(struct wp_fact){.event = {.time_ns = 1 * MS, .kind = WP_EVENT_FORK},
            .tid = 10,
            .pid = 10,
            .comm = "sh",
            .other_tid = 11,
            .other_pid = 11,
            .other_comm = "sh"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 2 * MS, .kind = WP_EVENT_FORK},
            .tid = 20,
            .pid = 20,
            .comm = "wakepath",
            .other_tid = 50,
            .other_pid = 50,
            .other_comm = "wakepath"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 3 * MS, .kind = WP_EVENT_FORK, .flags = WP_FORK_THREAD},
            .tid = 21,
            .pid = 21,
            .other_tid = 22,
            .other_pid = 21,
            .other_comm = "names"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 4 * MS, .kind = WP_EVENT_EXEC}, .tid = 50, .pid = 50, .comm = "make"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 5 * MS, .kind = WP_EVENT_FORK},
            .tid = 50,
            .pid = 50,
            .other_tid = 51,
            .other_pid = 51,
            .other_comm = "make"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 6 * MS, .kind = WP_EVENT_STATE},
            .tid = 20,
            .pid = 20,
            .comm = "wakepath",
            .start_ns = 1});
    wp_batcher_finish(b->batcher, NULL);
    const struct wp_event *e = b->taken.events;
    assert_true(thread_of(b, e[5].thread)->flags & WP_THREAD_SELF); /* met again */
    assert_false((thread_of(b, e[0].thread)->flags | thread_of(b, e[0].other)->flags) & WP_THREAD_SELF);
    assert_true(thread_of(b, e[1].thread)->flags & thread_of(b, e[1].other)->flags & WP_THREAD_SELF);
    assert_true(thread_of(b, e[2].thread)->flags & thread_of(b, e[2].other)->flags & WP_THREAD_SELF);
    assert_int_equal(thread_of(b, e[3].other)->flags, WP_THREAD_COMMAND);
    assert_false(thread_of(b, e[4].other)->flags & WP_THREAD_SELF);
}

/* --- sessions that go on in another one --- */

static bool may(void *context)
{
    (void)context;
    return true;
}

static int goes_on(void *context, uint8_t session[16], struct wp_error *err)
{
    struct taken *t = context;
    (void)err;
    assert_true(t->is_last);
    t->before = realloc(t->before, (t->sessions + 1) * sizeof(*t->before));
    t->before[t->sessions++] = t->dictionary;
    t->dictionary = wp_dictionary_create();
    t->seq = 0;
    t->is_last = false;
    memset(session, (int)t->sessions, 16);
    return 0;
}

static int create_renewing(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct wp_batcher_options options = {
        .batch = take, .may_renew = may, .renew = goes_on, .session_bytes = 65536, .context = &b->taken};
    b->taken.dictionary = wp_dictionary_create();
    *state = b;
    if (wp_batcher_create(&b->batcher, &options, NULL))
        return -1;
    b->sink = wp_batcher_sink(b->batcher);
    return 0;
}

static const struct wp_dictionary *dictionary_of(const struct taken *t, size_t event)
{
    return t->session_of[event] < t->sessions ? t->before[t->session_of[event]] : t->dictionary;
}

/* Short threads and connections come and go, one thread, one connection and their stack stay: each event is told once,
 * in order, and names what it is of, whichever session it is in. */
static void a_long_session_goes_on_in_others(void **state)
{
    struct bench *b = *state;
    static const struct wp_named_frame frames[] = {{"main", "/bin/a", 16, false}, {"read", "/lib/c", 32, false}};
    char name[32];
    give(b, &(struct wp_fact){.socket = {.key = 5, .entry = {.family = 2, .protocol = 6, .local_port = 443}}});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = MS, .kind = WP_EVENT_SOCK_STATE, .c = 1, .b = 2, .a = 99}, .socket = {.key = 5}});
    uint32_t rounds = 4000,
             known = UINT32_MAX; /* the source tells the stack anew, but what is on its way names it alone */
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t at = (uint64_t)(10 + i) * 10 * MS;
        uint32_t tid = 100 + i % 50;
        snprintf(name, sizeof(name), "w%u", i);
        give(b,
            &(struct wp_fact){.event = {.time_ns = at, .kind = WP_EVENT_FORK},
                .tid = 7,
                .pid = 7,
                .comm = "parent",
                .other_tid = tid,
                .other_pid = tid,
                .other_comm = name});
        give(b,
            &(struct wp_fact){
                .event = {.time_ns = at + 1, .kind = WP_EVENT_SWITCH, .c = WP_STATE_INTERRUPTIBLE, .d = 1},
                .tid = 7,
                .other_tid = tid,
                .frames = i % 7 || known == b->taken.sessions ? NULL : frames,
                .frame_count = i % 7 || known == b->taken.sessions ? 0 : 2,
                .stack_key = 9});
        known = i % 7 ? known : b->taken.sessions;
        give(b,
            &(struct wp_fact){
                .socket = {.key = 1000 + i, .entry = {.family = 2, .protocol = 6, .local_port = (uint16_t)(i + 1)}}});
        give(b,
            &(struct wp_fact){.event = {.time_ns = at + 2, .kind = WP_EVENT_SOCK_STATE, .c = 7},
                .tid = tid,
                .socket = {.key = 1000 + i}});
        give(b,
            &(struct wp_fact){
                .event = {.time_ns = at + 3, .kind = WP_EVENT_SOCK_SEND, .c = 3}, .tid = tid, .socket = {.key = 5}});
        give(b,
            &(struct wp_fact){
                .event = {.time_ns = at + 4, .kind = WP_EVENT_SWITCH, .c = WP_STATE_DEAD}, .tid = tid, .other_tid = 7});
        mark(b, at > 300 * MS ? at - 300 * MS : 0);
    }
    assert_int_equal(wp_batcher_finish(b->batcher, NULL), 0);
    const struct taken *t = &b->taken;
    assert_true(t->sessions >= 5);
    size_t told = 1;
    uint32_t connections = 0, round = 0;
    for (size_t i = 1; i < t->count; i++) {
        const struct wp_dictionary *d = dictionary_of(t, i);
        const struct wp_event *e = &t->events[i];
        if (e->kind == WP_EVENT_SOCK_STATE && e->c == 1) { /* how the connection began is said once in each */
            assert_int_equal(wp_dictionary_socket(d, e->d)->local_port, 443);
            assert_true(e->a == 99 && e->b == 2 && t->session_of[i] == ++connections);
            continue;
        }
        round = (uint32_t)(told++ - 1) / 5;
        snprintf(name, sizeof(name), "w%u", round);
        const char *who = wp_dictionary_string(d, wp_dictionary_thread(d, e->thread)->comm);
        const char *other = e->other ? wp_dictionary_string(d, wp_dictionary_thread(d, e->other)->comm) : "";
        unsigned step = (unsigned)(told - 2) % 5;
        assert_string_equal(who, step < 2 ? "parent" : name);
        assert_string_equal(other, step < 2 ? name : step == 4 ? "parent" : "");
        if (step == 1) {
            const struct wp_stack_entry *stack = wp_dictionary_stack(d, e->stack);
            assert_string_equal(wp_dictionary_string(d, wp_dictionary_frame(d, stack->frame)->function), "read");
        }
        if (step == 2 || step == 3)
            assert_int_equal(wp_dictionary_socket(d, e->d)->local_port, step == 2 ? (uint16_t)(round + 1) : 443);
    }
    assert_int_equal(told, 1 + 5 * rounds);
    assert_int_equal(connections, t->sessions);
    for (uint32_t i = 0; i < t->sessions; i++)
        assert_in_range(wp_dictionary_bytes(t->before[i]), 65536, 2 * 65536);
    assert_int_equal(wp_batcher_stats(b->batcher)->late, 0);
}

/* So many datagram sockets are known in each of two generations (collector/batch/socket_table.c). */
#define OTHERS 65536u

static void define_datagram(struct bench *b, uint64_t key, uint16_t port)
{
    give(b, &(struct wp_fact){.socket = {.key = key, .entry = {.family = 2, .protocol = 17, .local_port = port}}});
}

static void send_datagram(struct bench *b, uint64_t key, uint64_t time_ns)
{
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = time_ns, .kind = WP_EVENT_SOCK_SEND, .c = 3}, .tid = 1, .socket = {.key = key}});
}

/* What is used stays known, whatever comes and goes; a key that is given again is another socket's. */
static void sockets_that_are_used(void **state)
{
    struct bench *b = *state;
    define_datagram(b, 5, 443);
    for (uint64_t i = 0; i < 4 * (OTHERS / 2); i++) {
        if (!(i % (OTHERS / 4)))
            send_datagram(b, 5, MS + i);
        define_datagram(b, 1000 + i, 80);
    }
    send_datagram(b, 5, 2 * MS);
    define_datagram(b, 5, 444);
    send_datagram(b, 5, 3 * MS);
    assert_int_equal(wp_batcher_finish(b->batcher, NULL), 0);
    const struct wp_event *last = &b->taken.events[b->taken.count - 1];
    assert_true(b->taken.count == 10);
    for (const struct wp_event *e = b->taken.events; e < last; e++)
        assert_int_equal(wp_dictionary_socket(b->taken.dictionary, e->d)->local_port, 443);
    assert_int_equal(wp_dictionary_socket(b->taken.dictionary, last->d)->local_port, 444);
}

static void threads_and_their_names(void **state)
{
    struct bench *b = *state;
    give(b,
        &(struct wp_fact){.event = {.time_ns = 1 * MS, .kind = WP_EVENT_FORK},
            .tid = 10,
            .pid = 10,
            .comm = "sh",
            .other_tid = 50,
            .other_pid = 50,
            .other_comm = "sh",
            .start_ns = 1 * MS});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 2 * MS, .kind = WP_EVENT_RENAME}, .tid = 50, .pid = 50, .comm = "python3"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 3 * MS, .kind = WP_EVENT_EXEC},
            .tid = 50,
            .pid = 50,
            .comm = "python3",
            .exe = "/usr/bin/python3",
            .cmdline = "python3 worker 7"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 4 * MS, .kind = WP_EVENT_FORK, .flags = WP_FORK_THREAD},
            .tid = 50,
            .pid = 50,
            .other_tid = 51,
            .other_pid = 50,
            .other_comm = "python3"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 5 * MS, .kind = WP_EVENT_RENAME}, .tid = 51, .pid = 50, .comm = "pool"});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 6 * MS, .kind = WP_EVENT_SWITCH, .c = WP_STATE_DEAD}, .tid = 51, .pid = 50});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 7 * MS, .kind = WP_EVENT_FORK},
            .tid = 10,
            .pid = 10,
            .other_tid = 51,
            .other_pid = 51,
            .other_comm = "sh"});
    give(b, &(struct wp_fact){.event = {.time_ns = 8 * MS, .kind = WP_EVENT_EXIT}, .tid = 51, .pid = 51});
    wp_batcher_finish(b->batcher, NULL);
    const struct wp_event *e = b->taken.events;
    assert_string_equal(text(b, thread_of(b, e[0].other)->comm), "sh");
    assert_int_equal(thread_of(b, e[0].other)->parent, e[0].thread);
    assert_string_equal(text(b, e[1].c), "sh"); /* the name was of the program to come */
    assert_int_equal(e[2].thread, e[0].other);
    const struct wp_thread_entry *python = thread_of(b, e[2].other), *pool = thread_of(b, e[3].other);
    assert_string_equal(text(b, python->comm), "python3");
    assert_string_equal(text(b, python->exe), "/usr/bin/python3");
    assert_string_equal(text(b, python->cmdline_matches[0]), "worker [0-9]+");
    assert_int_equal(python->flags & WP_THREAD_COMMAND, WP_THREAD_COMMAND);
    assert_int_equal(thread_of(b, e[0].other)->flags & WP_THREAD_COMMAND, 0);
    assert_int_equal(pool->flags & WP_THREAD_COMMAND, WP_THREAD_COMMAND);
    assert_int_equal(pool->exe, python->exe);
    assert_string_equal(text(b, pool->cmdline_matches[0]), "worker [0-9]+");
    assert_string_equal(text(b, e[4].c), "pool");
    assert_int_equal(e[5].thread, e[3].other);
    assert_int_not_equal(e[6].other, e[3].other); /* the number was used again */
    assert_int_equal(e[7].thread, e[6].other);
    assert_int_equal(thread_of(b, e[7].thread)->flags & WP_THREAD_COMMAND, 0);
    for (uint32_t id = 1; *text(b, id); id++) /* command lines never leave the host */
        assert_null(strstr(text(b, id), "worker 7"));
}

/* Node.js 24 renames its main thread: that is no other program, and neither is its child until it runs one. */
static void a_main_thread_called_so_is_its_program(void **state)
{
    struct bench *b = *state;
    give(b,
        &(struct wp_fact){.event = {.time_ns = 1 * MS, .kind = WP_EVENT_EXEC},
            .tid = 50,
            .pid = 50,
            .comm = "node",
            .exe = "/usr/bin/node"});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 2 * MS, .kind = WP_EVENT_RENAME}, .tid = 50, .pid = 50, .comm = "MainThread"});
    give(b,
        &(struct wp_fact){.event = {.time_ns = 3 * MS, .kind = WP_EVENT_FORK},
            .tid = 50,
            .pid = 50,
            .other_tid = 60,
            .other_pid = 60,
            .other_comm = "MainThread"});
    give(b,
        &(struct wp_fact){
            .event = {.time_ns = 4 * MS, .kind = WP_EVENT_RENAME}, .tid = 50, .pid = 50, .comm = "api worker"});
    wp_batcher_finish(b->batcher, NULL);
    const struct wp_event *e = b->taken.events;
    assert_string_equal(text(b, e[1].c), "node");
    assert_string_equal(text(b, thread_of(b, e[2].other)->comm), "node");
    assert_string_equal(text(b, e[3].c), "api worker");
}

static void an_error_of_the_uplink_ends_it(void **state)
{
    struct bench *b = *state;
    struct wp_error err = {0};
    b->taken.answer = -ENOSPC;
    assert_int_equal(wp_batcher_finish(b->batcher, &err), -ENOSPC);
    assert_string_equal(err.text, "no room");
    struct wp_batcher *batcher;
    static const char *const bad[] = {"("};
    assert_int_equal(
        wp_batcher_create(&batcher, &(struct wp_batcher_options){.patterns = bad, .pattern_count = 1}, &err), -EINVAL);
}

/* Many different functions go through more dictionary than one batch may have. */
static void many_names(void **state)
{
    struct bench *b = *state;
    char name[32];
    for (uint32_t i = 0; i < 400000; i++) {
        struct wp_named_frame frame = {name, "/bin/a", i, false};
        snprintf(name, sizeof(name), "function_%u", i);
        give(b,
            &(struct wp_fact){.event = {.time_ns = (uint64_t)1000 * MS + i, .kind = WP_EVENT_SAMPLE},
                .tid = 1,
                .comm = "a",
                .frames = &frame,
                .frame_count = 1});
    }
    wp_batcher_finish(b->batcher, NULL);
    assert_int_equal(b->taken.count, 400000);
    const struct wp_stack_entry *stack = wp_dictionary_stack(b->taken.dictionary, b->taken.events[399999].stack);
    assert_string_equal(text(b, wp_dictionary_frame(b->taken.dictionary, stack->frame)->function), "function_399999");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
    const struct CMUnitTest tests[] = {TEST(times_are_rounded_down), TEST(events_come_in_order),
        TEST(what_is_late_is_moved_and_counted), TEST(a_quiet_host_says_so),
        cmocka_unit_test_setup_teardown(a_long_session_goes_on_in_others, create_renewing, destroy),
        TEST(stacks_sockets_and_drops), TEST(sockets_that_are_used), TEST(threads_and_their_names),
        TEST(a_main_thread_called_so_is_its_program), TEST(the_recorders_own), TEST(an_error_of_the_uplink_ends_it),
        TEST(many_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
