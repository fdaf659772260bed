/* SPDX-License-Identifier: Apache-2.0 */
/* What two shards say to each other, piece by piece, and what becomes of it when one is away, forgets, or talks
 * nonsense. */
#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_questions.h"
#include "made_shards.h"

#include "proto/shard_wire.h"
#include "storage/value/category.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define SECOND_NS 1000000000u
#define ESTABLISHED 1

/* A client's host with the first shard, a server's with the second. */
struct fixture {
    struct made_shards all;
    struct wp_host_session_options options[MADE_SHARDS];
    struct wp_aggregate_rule rule;
    struct wp_host_session *sessions[MADE_SHARDS];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    static char *const names[MADE_SHARDS] = {"client", "server"};
    if (!f)
        return -1;
    made_shards_init(&f->all);
    strcpy(f->rule.name, "web");
    wp_selector_parse(&f->rule.selector, "command", NULL);
    for (uint32_t i = 0; i < MADE_SHARDS; i++) {
        f->options[i] = (struct wp_host_session_options){.fleet = f->all.shards[i].fleet,
            .epoch_ns = SECOND_NS,
            .lateness_ns = SECOND_NS,
            .history_ns = 10ull * SECOND_NS,
            .rules = &f->rule,
            .rule_count = 1};
        struct wp_hello hello = {.hostname = names[i], .start_real_ns = 1};
        memset(hello.session, (int)i + 1, 16);
        if (wp_host_session_create(&f->sessions[i], &hello, "v1", &f->options[i], NULL, NULL))
            return -1;
        f->all.shards[i].fleet->give_up_ns = 5ull * SECOND_NS;
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    made_shards_part(&f->all);
    for (uint32_t i = 0; i < MADE_SHARDS; i++)
        wp_host_session_destroy(f->sessions[i]);
    made_shards_fini(&f->all);
    wp_selector_fini(&f->rule.selector);
    free(f);
    return 0;
}

static struct wp_connections *connections(struct fixture *f, uint32_t shard)
{
    return f->all.shards[shard].fleet->connections;
}

static const struct wp_shard_counts *counts(struct fixture *f, uint32_t shard)
{
    return wp_shards_counts(f->all.shards[shard].shards);
}

/* The batch that defines socket 1 of that host, one end of the one connection. */
static void define_socket(struct fixture *f, uint32_t shard)
{
    struct wp_socket_entry entry = {.family = AF_INET, .protocol = IPPROTO_TCP, .netns = 1};
    uint32_t addresses[2] = {htonl(0x0a000001), htonl(0x0a000002)};
    memcpy(entry.local, &addresses[shard], 4);
    memcpy(entry.remote, &addresses[!shard], 4);
    entry.local_port = shard ? 80 : 40000;
    entry.remote_port = shard ? 40000 : 80;
    struct wp_event event = {.kind = WP_EVENT_SOCK_STATE,
        .c = ESTABLISHED,
        .b = 2,
        .d = 1,
        .time_ns = 1000,
        .a = shard ? 7ull << 32 | 5 : 5ull << 32 | 7};
    struct wp_batch batch = {.seq = 1,
        .events = &event,
        .event_count = 1,
        .first_socket = 1,
        .socket_count = 1,
        .sockets = &entry,
        .first_string = 1,
        .first_thread = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1};
    struct wp_error err = {0};
    memset(batch.session, (int)shard + 1, 16);
    if (wp_host_session_take(f->sessions[shard], &batch, &err))
        fail_msg("%s", err.text);
}

static uint32_t foreign_host(struct fixture *f, uint32_t shard)
{
    const struct wp_fleet *fleet = f->all.shards[shard].fleet;
    for (uint32_t i = 0; i < fleet->count; i++)
        if (fleet->hosts[i].timeline && fleet->hosts[i].is_foreign)
            return i;
    return UINT32_MAX;
}

static void connect_all(struct fixture *f)
{
    define_socket(f, 0);
    define_socket(f, 1);
    made_shards_go_on(&f->all, SECOND_NS);
    made_shards_go_on(&f->all, SECOND_NS);
}

/* What the first shard's host waited for until `at_ns`. */
static struct wp_shard_wait a_wait(struct fixture *f, uint64_t at_ns)
{
    return (struct wp_shard_wait){.owner = 0,
        .host = 0,
        .thread = 1,
        .far_host = foreign_host(f, 0),
        .far_socket = 1,
        .from_ns = at_ns - 1000,
        .to_ns = at_ns,
        .arrival_ns = at_ns,
        .start_ns = at_ns - 1000,
        .hops = WP_SHARD_HOPS};
}

static void hosts_and_ends_are_told(void **state)
{
    struct fixture *f = *state;
    struct wp_far_end far;
    connect_all(f);
    for (uint32_t i = 0; i < MADE_SHARDS; i++) {
        uint32_t host = foreign_host(f, i);
        assert_int_not_equal(host, UINT32_MAX);
        assert_string_equal(f->all.shards[i].fleet->hosts[host].hostname, i ? "client" : "server");
        assert_int_equal(wp_connections_peer(connections(f, i), 0, 1, &far), WP_PAIR_FOUND);
        assert_int_equal(far.host, host);
        assert_int_equal(far.socket, 1);
        assert_true(wp_connections_talk(connections(f, i), 0, host));
        assert_true(wp_shards_concern(f->all.shards[i].shards, 0));
        assert_int_equal(counts(f, i)->ends_told, 1);
        assert_int_equal(counts(f, i)->ends_heard, 1);
        assert_int_equal(counts(f, i)->bad, 0);
    }
}

static void clocks_of_shards_are_compared(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_state shard;
    connect_all(f);
    for (int i = 0; i < 20; i++)
        made_shards_go_on(&f->all, SECOND_NS / 2);
    wp_shards_state(f->all.shards[0].shards, 0, &shard);
    assert_string_equal(shard.name, "b");
    assert_true(shard.is_up);
    assert_int_equal(shard.hosts, 1);
    assert_true(shard.bound_ns < SECOND_NS / 100);
}

/* Bytes of the connection went there and back, so their clocks compare. */
static void cross(struct fixture *f)
{
    static const struct {
        uint32_t shard;
        uint8_t kind;
        uint64_t time_ns, position;
    } marks[] = {{1, WP_EVENT_SOCK_LEAVE, 20 * SECOND_NS, 108}, {0, WP_EVENT_SOCK_ARRIVE, 20 * SECOND_NS + 1000, 108},
        {0, WP_EVENT_SOCK_LEAVE, 20 * SECOND_NS + 2000, 106}, {1, WP_EVENT_SOCK_ARRIVE, 20 * SECOND_NS + 3000, 106}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        struct wp_event event = {.kind = marks[i].kind, .d = 1, .time_ns = marks[i].time_ns, .a = marks[i].position};
        wp_connections_event(connections(f, marks[i].shard), 0, &event);
    }
}

/* Messages that say something of the other shard's host's clock. */
static uint64_t compared(struct fixture *f, uint32_t shard)
{
    const struct wp_fleet *fleet = f->all.shards[shard].fleet;
    struct wp_clock_health health = {0};
    uint32_t foreign = foreign_host(f, shard);
    if (foreign == UINT32_MAX || !wp_clocks_health(fleet->clocks, fleet->hosts[foreign].clock, &health))
        return 0;
    return health.messages;
}

static void marks_are_told_again_to_one_that_missed_them(void **state)
{
    struct fixture *f = *state;
    connect_all(f);
    assert_int_equal(compared(f, 0) + compared(f, 1), 0);
    cross(f);
    made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(compared(f, 0), 2); /* there, and back */
    assert_int_equal(compared(f, 1), 2);
    made_shards_restart(&f->all, 0);
    assert_int_equal(foreign_host(f, 0), UINT32_MAX);
    for (int i = 0; i < 8; i++)
        made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(compared(f, 0), 2);
}

static void a_host_that_left_is_gone(void **state)
{
    struct fixture *f = *state;
    connect_all(f);
    wp_host_session_destroy(f->sessions[1]);
    f->sessions[1] = NULL;
    made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(foreign_host(f, 0), UINT32_MAX);
}

static void what_is_asked_is_answered(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_reply reply;
    connect_all(f);
    struct wp_shard_wait wait = a_wait(f, 500000000);
    struct wp_shards *shards = f->all.shards[0].shards;
    wp_fleet_aggregate(f->all.shards[0].fleet, "web", "v1");
    f->all.shards[1].fleet->hosts[0].known_ns = 100ull * SECOND_NS;
    assert_false(wp_shards_look(shards, &wait, false, &reply));
    assert_int_equal(wp_shards_open(shards, 0), 0);
    assert_false(wp_shards_look(shards, &wait, true, &reply));
    assert_int_equal(wp_shards_open(shards, 0), 1);
    made_shards_go_on(&f->all, 1000);
    assert_int_equal(wp_shards_open(shards, 0), 0);
    assert_true(wp_shards_look(shards, &wait, false, &reply));
    assert_string_equal(reply.answer->missing, "");
    assert_int_equal(reply.answer->n_piece_ns, 1);
    assert_int_equal(reply.answer->piece_ns[0], 1000);
    assert_int_equal(reply.answer->piece_category[0], WP_UNACCOUNTED); /* nothing that was sent matches */
    assert_int_equal(counts(f, 0)->answered, 1);
    assert_int_equal(counts(f, 1)->questions, 1);
    wait.from_ns -= 5000; /* for more than was asked: again */
    assert_true(wp_shards_look(shards, &wait, false, &reply));
    wp_shards_look(shards, &wait, true, &reply);
    made_shards_go_on(&f->all, 1000);
    assert_true(wp_shards_look(shards, &wait, false, &reply));
    assert_int_equal(reply.answer->piece_ns[0], 6000);
    assert_int_equal(counts(f, 0)->asked, 2);
}

static void answers_that_cannot_go_are_said_again(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_reply reply;
    connect_all(f);
    struct wp_shard_wait first = a_wait(f, 500000000), second = a_wait(f, 600000000);
    struct wp_shards *shards = f->all.shards[0].shards;
    wp_fleet_aggregate(f->all.shards[0].fleet, "web", "v1");
    f->all.shards[1].fleet->hosts[0].known_ns = 100ull * SECOND_NS;
    f->all.is_stuck = true;
    wp_shards_look(shards, &first, true, &reply);
    for (int i = 0; i < 3; i++)
        made_shards_go_on(&f->all, 1000);
    wp_shards_look(shards, &second, true, &reply);
    made_shards_go_on(&f->all, 1000);
    assert_int_equal(wp_shards_open(shards, 0), 2);
    assert_true(f->all.held_up > 1);
    f->all.is_stuck = false;
    made_shards_go_on(&f->all, 1000);
    assert_int_equal(wp_shards_open(shards, 0), 0);
    assert_true(wp_shards_look(shards, &first, false, &reply));
    assert_string_equal(reply.answer->missing, "");
    assert_true(wp_shards_look(shards, &second, false, &reply));
    assert_int_equal(counts(f, 0)->answered, 2);
    assert_int_equal(counts(f, 1)->questions, 2); /* asked once each */
}

static void who_never_reads_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_reply reply;
    connect_all(f);
    struct wp_shard_wait wait = a_wait(f, 500000000);
    wp_fleet_aggregate(f->all.shards[0].fleet, "web", "v1");
    f->all.shards[1].fleet->hosts[0].known_ns = 100ull * SECOND_NS;
    f->all.is_stuck = true;
    wp_shards_look(f->all.shards[0].shards, &wait, true, &reply);
    for (int i = 0; i < 12; i++)
        made_shards_go_on(&f->all, SECOND_NS);
    uint32_t before = f->all.held_up;
    assert_int_equal(wp_shards_open(f->all.shards[0].shards, 0), 0); /* given up */
    f->all.is_stuck = false;
    made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(f->all.held_up, before);
    assert_int_equal(counts(f, 0)->answered, 0);
}

static void facts_are_waited_for_not_long(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_reply reply;
    connect_all(f);
    struct wp_shard_wait wait = a_wait(f, 50ull * SECOND_NS); /* the server's host has not told of that yet */
    wp_fleet_aggregate(f->all.shards[0].fleet, "web", "v1");
    wp_shards_look(f->all.shards[0].shards, &wait, true, &reply);
    made_shards_go_on(&f->all, 1000);
    assert_int_equal(wp_shards_open(f->all.shards[0].shards, 0), 1);
    f->all.shards[1].fleet->hosts[0].heard_ns = UINT64_MAX / 4; /* not silent */
    made_shards_go_on(&f->all, 2ull * SECOND_NS);
    assert_int_equal(wp_shards_open(f->all.shards[0].shards, 0), 1);
    made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(wp_shards_open(f->all.shards[0].shards, 0), 0);
    assert_true(wp_shards_look(f->all.shards[0].shards, &wait, false, &reply));
    assert_string_equal(reply.answer->missing, "not told in time");
    assert_int_equal(counts(f, 1)->late, 1);
    assert_int_equal(counts(f, 0)->refused, 1);
}

/* It would cut the handshake short, which the other side counts as refused. */
static void a_new_link_is_not_renewed_at_once(void **state)
{
    struct fixture *f = *state;
    made_shards_go_on(&f->all, 1000ull * SECOND_NS); /* a machine's clock is far from zero */
    assert_int_equal(f->all.renewals, 0);
    f->all.is_cut = true;
    made_shards_go_on(&f->all, 5ull * SECOND_NS);
    assert_int_equal(f->all.renewals, MADE_SHARDS);
}

static void one_that_is_silent_is_given_up(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_reply reply;
    struct wp_shard_state shard;
    connect_all(f);
    struct wp_shard_wait wait = a_wait(f, 500000000);
    struct wp_shards *shards = f->all.shards[0].shards;
    wp_fleet_aggregate(f->all.shards[0].fleet, "web", "v1");
    f->all.is_cut = true;
    wp_shards_look(shards, &wait, true, &reply);
    made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(wp_shards_open(shards, 0), 1);
    made_shards_go_on(&f->all, 5ull * SECOND_NS);
    made_shards_go_on(&f->all, SECOND_NS);
    assert_int_equal(wp_shards_open(shards, 0), 0);
    assert_false(wp_shards_look(shards, &wait, false, &reply));
    assert_int_equal(counts(f, 0)->unanswered, 1);
    assert_true(f->all.renewals > 0);
    wp_shards_state(shards, 0, &shard);
    assert_false(shard.is_up);
    const struct wp_fleet_host *host = &f->all.shards[0].fleet->hosts[foreign_host(f, 0)];
    assert_true(host->is_over && host->is_resolved && host->is_followed); /* nobody waits for it */
    struct wp_socket_entry entry = {.family = AF_INET, .protocol = IPPROTO_TCP, .remote_port = 99};
    uint32_t address = htonl(0x0a000002);
    memcpy(entry.remote, &address, 4);
    assert_true(wp_shards_is_lost(shards, &entry)); /* a connection that began since then */
    wait.arrival_ns++;
    wp_shards_look(shards, &wait, true, &reply);
    assert_int_equal(wp_shards_open(shards, 0), 0); /* at once */
    f->all.is_cut = false;
    for (int i = 0; i < 3; i++)
        made_shards_go_on(&f->all, SECOND_NS);
    wp_shards_state(shards, 0, &shard);
    assert_true(shard.is_up);
    assert_false(f->all.shards[0].fleet->hosts[foreign_host(f, 0)].is_over);
    assert_false(wp_shards_is_lost(shards, &entry));
}

static void one_that_was_started_again_is_asked_again(void **state)
{
    struct fixture *f = *state;
    struct wp_shard_reply reply;
    connect_all(f);
    struct wp_shard_wait wait = a_wait(f, 500000000);
    wp_fleet_aggregate(f->all.shards[0].fleet, "web", "v1");
    f->all.shards[1].fleet->hosts[0].known_ns = 100ull * SECOND_NS;
    wp_shards_look(f->all.shards[0].shards, &wait, true, &reply);
    wp_shards_step(f->all.shards[0].shards);
    f->all.is_cut = true; /* the question is on its way, and lost */
    made_shards_go_on(&f->all, 1000);
    f->all.is_cut = false;
    made_shards_restart(&f->all, 1);
    for (int i = 0; i < 4; i++)
        made_shards_go_on(&f->all, SECOND_NS / 2);
    assert_int_equal(counts(f, 0)->asked, 2);
    assert_int_equal(counts(f, 0)->unanswered, 0);
    assert_true(wp_shards_look(f->all.shards[0].shards, &wait, false, &reply));
    assert_int_not_equal(foreign_host(f, 0), UINT32_MAX);
}

static void bad_messages_are_refused_and_counted(void **state)
{
    struct fixture *f = *state;
    struct wp_buffer raw = {0};
    uint8_t run[16] = {9};
    connect_all(f);
    Wakepath__Shard__Hello hello = WAKEPATH__SHARD__HELLO__INIT;
    hello.wire_major = 1;
    hello.run = (ProtobufCBinaryData){16, run};
    hello.shard = "a"; /* our own name */
    wp_shard_pack(&hello.base, &raw);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_HELLO, raw.data, raw.size, NULL), -EINVAL);
    hello.shard = "../b";
    wp_buffer_clear(&raw);
    wp_shard_pack(&hello.base, &raw);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_HELLO, raw.data, raw.size, NULL), -EINVAL);
    Wakepath__Shard__Question question = WAKEPATH__SHARD__QUESTION__INIT, *rows[WP_SHARD_QUESTIONS + 1];
    Wakepath__Shard__Questions questions = WAKEPATH__SHARD__QUESTIONS__INIT;
    question.session = question.asker = (ProtobufCBinaryData){16, run};
    question.aggregate = "web";
    question.release = "v1";
    question.to_ns = 1;
    question.horizon_ns = 1;
    for (size_t i = 0; i < WP_SHARD_QUESTIONS + 1; i++)
        rows[i] = &question;
    questions.questions = rows;
    questions.n_questions = 1;
    wp_buffer_clear(&raw);
    wp_shard_pack(&questions.base, &raw);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_QUESTIONS, raw.data, raw.size, NULL), 0);
    questions.n_questions = WP_SHARD_QUESTIONS + 1;
    wp_buffer_clear(&raw);
    wp_shard_pack(&questions.base, &raw);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_QUESTIONS, raw.data, raw.size, NULL), -EINVAL);
    questions.n_questions = 1;
    question.from_ns = 2; /* ends before it begins */
    wp_buffer_clear(&raw);
    wp_shard_pack(&questions.base, &raw);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_QUESTIONS, raw.data, raw.size, NULL), -EINVAL);
    question.from_ns = 0;
    question.hops = WP_SHARD_HOPS + 1;
    wp_buffer_clear(&raw);
    wp_shard_pack(&questions.base, &raw);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_QUESTIONS, raw.data, raw.size, NULL), -EINVAL);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_ANSWERS, raw.data, raw.size, NULL), -EINVAL);
    assert_int_equal(made_shards_call(&f->all, 0, WP_FRAME_SHARD_FACTS, "\xff\xff", 2, NULL), -EINVAL);
    assert_int_equal(counts(f, 0)->bad, 7);
    wp_buffer_fini(&raw);
    made_shards_go_on(&f->all, SECOND_NS); /* the good one was about a host that is not there */
    assert_int_equal(counts(f, 0)->late, 1);
    assert_int_not_equal(foreign_host(f, 1), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hosts_and_ends_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clocks_of_shards_are_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_are_told_again_to_one_that_missed_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_that_left_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_asked_is_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_that_cannot_go_are_said_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_reads_is_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_are_waited_for_not_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_link_is_not_renewed_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_silent_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_started_again_is_asked_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_messages_are_refused_and_counted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
