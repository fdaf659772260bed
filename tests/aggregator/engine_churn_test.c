/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are born, take a connection and end, again and again: what is held of a session follows those that live. */
#include "aggregator/connections.h"
#include "aggregator/held.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define EACH 50u              /* lives of a batch */
#define LIFE_NS 1000000u
#define EVENTS 8u             /* of a life */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define BATCHES 1000u         /* 50 s; what was sent is remembered for 12 s beyond the history */

struct place {
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options;
    struct wp_host_session *session;
    uint32_t lives;
    struct wp_thread_entry threads[EACH + 1];
    struct wp_socket_entry sockets[EACH];
    struct wp_event events[EACH * EVENTS];
};

static void open_session(struct place *place)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t)"h", .start_real_ns = 5000000000};
    place->options = (struct wp_host_session_options){.rule_count = 1, .rules = &place->rule, .epoch_ns = 50000000,
        .lateness_ns = 100000000, .history_ns = 500000000};
    assert_int_equal(wp_selector_parse(&place->rule.selector, "comm=child", NULL), 0);
    snprintf(place->rule.name, sizeof(place->rule.name), "main");
    assert_int_equal(wp_host_session_create(&place->session, &hello, "v1", &place->options, NULL, NULL), 0);
}

/* Thread 1 forks a child, which reads a message on a connection of its own, sleeps, and ends. */
static void put_life(struct place *place, uint32_t i, uint32_t first_thread, uint32_t first_socket)
{
    uint32_t child = first_thread + i, socket = first_socket + i;
    uint64_t at = 1000000000 + (uint64_t)place->lives * LIFE_NS;
    place->threads[child - first_thread] = (struct wp_thread_entry){.tid = 100 + place->lives % 4000000, .pid = 100 + place->lives % 4000000,
        .comm = 1, .parent = 1, .start_ns = at};
    place->sockets[i] = (struct wp_socket_entry){.family = AF_INET, .protocol = IPPROTO_TCP, .local_port = 80,
        .remote_port = (uint16_t)(1024 + place->lives % 60000), .remote = {10, 0, (uint8_t)(place->lives / 60000), 1}, .netns = 1};
    const struct wp_event life[EVENTS] = {
        {.kind = WP_EVENT_FORK, .time_ns = at, .thread = 1, .other = child},
        {.kind = WP_EVENT_SWITCH, .time_ns = at + 1000, .thread = 1, .other = child, .c = WP_STATE_INTERRUPTIBLE},
        {.kind = WP_EVENT_SOCK_STATE, .time_ns = at + 2000, .d = socket, .a = (uint64_t)place->lives << 32 | 7, .b = 3, .c = TCP_ESTABLISHED},
        {.kind = WP_EVENT_SOCK_RECV, .time_ns = at + 3000, .thread = child, .d = socket, .a = 100, .c = 100},
        {.kind = WP_EVENT_SOCK_SEND, .time_ns = at + 50000, .thread = child, .d = socket, .a = 100, .c = 100},
        {.kind = WP_EVENT_SOCK_STATE, .time_ns = at + 60000, .thread = child, .d = socket, .b = TCP_ESTABLISHED, .c = TCP_CLOSE},
        {.kind = WP_EVENT_WAKING, .time_ns = at + 70000, .thread = child, .other = 1, .c = WP_CAUSE_TASK},
        {.kind = WP_EVENT_SWITCH, .time_ns = at + 80000, .thread = child, .other = 1, .c = WP_STATE_DEAD}};
    memcpy(place->events + i * EVENTS, life, sizeof(life));
    place->lives++;
}

static void send_batch(struct place *place, uint64_t seq)
{
    static const char text[] = "child";
    struct wp_bytes string = {text, 5};
    struct wp_error err = {0};
    bool is_first = seq == 1;
    uint32_t first_thread = 2 + place->lives, first_socket = 1 + place->lives;
    struct wp_batch b = {.seq = seq, .first_string = is_first ? 1 : 2, .first_thread = first_thread, .first_socket = first_socket,
        .first_object = 1, .first_frame = 1, .first_stack = 1, .threads = place->threads, .thread_count = EACH, .sockets = place->sockets,
        .socket_count = EACH, .events = place->events, .event_count = EACH * EVENTS, .strings = &string, .string_count = is_first};
    for (uint32_t i = 0; i < EACH; i++)
        put_life(place, i, first_thread, first_socket);
    if (is_first) { /* and the parent before them */
        memmove(place->threads + 1, place->threads, EACH * sizeof(*place->threads));
        place->threads[0] = (struct wp_thread_entry){.tid = 1, .pid = 1};
        b.first_thread = 1;
        b.thread_count = EACH + 1;
    }
    if (wp_host_session_take(place->session, &b, &err))
        fail_msg("%s", err.text);
    place->session->genealogy_done = wp_dictionary_thread_count(place->session->dictionary); /* as after a commit */
    wp_host_session_durable_seq(place->session);
    for (uint32_t i = 0; seq % 100 == 0 && i < place->session->aggregate_count; i++)
        wp_aggregate_next_delta(place->session->aggregates[i]);
}

static void what_is_held_follows_what_lives(void **state)
{
    (void)state;
    struct place *place = calloc(1, sizeof(*place));
    const struct wp_timeline *timeline;
    uint64_t early = 0;
    open_session(place);
    timeline = &place->session->timeline;
    for (uint64_t seq = 1; seq <= BATCHES; seq++) {
        send_batch(place, seq);
        if (seq == BATCHES / 2)
            early = wp_held_by_session(place->session);
    }
    uint64_t late = wp_held_by_session(place->session);
    uint32_t living = 4000; /* of 4 s: history and lateness, and five times the history */
    assert_int_equal(place->lives, BATCHES * EACH);
    assert_in_range(timeline->live_count, 1, living);
    assert_in_range(timeline->process_of_pid.count, 1, living + 1);
    assert_int_equal(place->session->aggregates[0]->base_count <= living, true);
    assert_null(wp_dictionary_thread(place->session->dictionary, 2));
    assert_null(wp_dictionary_socket(place->session->dictionary, 1));
    assert_non_null(wp_dictionary_thread(place->session->dictionary, 1));
    assert_int_equal(timeline->counts.chain_breaks, 0);
    if (late > early + early / 20)
        fail_msg("%llu bytes after a half, %llu at the end", (unsigned long long)early, (unsigned long long)late);
    wp_host_session_destroy(place->session);
    wp_selector_fini(&place->rule.selector);
    free(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_held_follows_what_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
