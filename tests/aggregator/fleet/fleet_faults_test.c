/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that do not do what they should: each has a defined outcome and a count. A client asks two servers in turn,
 * each on a host of its own; every 100 ms each host tells of the last ten requests.
 */
#include "aggregator/fleet/fleet.h"
#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_read.h"
#include "tests/aggregator/made_trace.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define MS 1000000u
#define SECOND 1000000000u
#define BEGIN_NS (10ull * SECOND) /* true time, which is the aggregator's clock */
#define PERIOD_NS (10ull * MS)    /* of requests */
#define TURN_NS (100ull * MS)     /* of batches */
#define TURN_REQUESTS 10u
#define EPOCH_NS (100ull * MS)
#define LATENESS_NS (200ull * MS)
#define EVENTS 128u
#define YEAR_NS (365ull * 86400 * SECOND)

enum { CLIENT, NEAR, FAR, HOSTS };

struct place {
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options;
    struct wp_fleet *fleet;
    struct wp_host_session *sessions[HOSTS];
    uint32_t told[HOSTS]; /* turns */
    uint64_t seed;
    bool tells_leavings; /* packets tell the clocks apart */
    uint32_t not_probed; /* a host, or HOSTS */
    struct wp_event events[EVENTS];
    uint32_t event_count;
};

static const int64_t offsets_ns[HOSTS] = {500 * (int64_t)SECOND, 3600 * (int64_t)SECOND, 77 * (int64_t)SECOND};

static int set_up(void **state)
{
    static const char *const names[HOSTS] = {"client", "near", "far"};
    struct place *p = calloc(1, sizeof(*p));
    *p = (struct place){.rule = {.name = "main"}, .seed = 5, .not_probed = HOSTS};
    p->options = (struct wp_host_session_options){.rules = &p->rule,
        .rule_count = 1,
        .epoch_ns = EPOCH_NS,
        .lateness_ns = LATENESS_NS,
        .history_ns = 2ull * SECOND};
    assert_int_equal(wp_selector_parse(&p->rule.selector, "command", NULL), 0);
    assert_int_equal(wp_fleet_create(&p->fleet), 0);
    p->options.fleet = p->fleet;
    p->fleet->now_ns = BEGIN_NS;
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct wp_hello hello = {.hostname = (char *)(uintptr_t)names[i]};
        assert_int_equal(wp_host_session_create(&p->sessions[i], &hello, "v1", &p->options, NULL, NULL), 0);
    }
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    for (uint32_t i = 0; i < HOSTS; i++)
        wp_host_session_destroy(p->sessions[i]);
    wp_fleet_destroy(p->fleet);
    wp_selector_fini(&p->rule.selector);
    free(p);
    return 0;
}

/* --- what happens --- */

static void happen(struct place *p, uint32_t host, uint64_t true_ns, struct wp_event event)
{
    event.time_ns = (uint64_t)((int64_t)true_ns + offsets_ns[host]);
    assert_true(p->event_count < EVENTS);
    p->events[p->event_count++] = event;
}

static void run(struct place *p, uint32_t host, uint64_t true_ns)
{
    happen(p, host, true_ns, (struct wp_event){.kind = WP_EVENT_SWITCH, .other = 1});
}

static void sleep_in_recv(struct place *p, uint32_t host, uint64_t true_ns)
{
    happen(p, host, true_ns,
        (struct wp_event){.kind = WP_EVENT_SWITCH, .thread = 1, .c = WP_STATE_INTERRUPTIBLE, .d = 46});
}

static void message(
    struct place *p, uint32_t host, uint64_t true_ns, enum wp_event_kind kind, uint32_t socket, uint32_t end)
{
    struct wp_event event = {.kind = (uint8_t)kind, .thread = 1, .d = socket, .a = end, .c = 100};
    if (kind == WP_EVENT_WAKING)
        event = (struct wp_event){.kind = WP_EVENT_WAKING,
            .other = 1,
            .c = WP_CAUSE_MESSAGE,
            .d = socket,
            .a = end,
            .flags = WP_CONTEXT_SOFTIRQ};
    happen(p, host, true_ns, event);
}

static void packet(
    struct place *p, uint32_t host, uint64_t true_ns, enum wp_event_kind kind, uint32_t socket, uint32_t end)
{
    if (p->tells_leavings)
        happen(p, host, true_ns, (struct wp_event){.kind = (uint8_t)kind, .d = socket, .a = end, .c = 100});
}

/* Request n, sent at the start of its period, is answered after 5 ms of work. Even ones go near. */
static void request(struct place *p, uint32_t host, uint32_t n)
{
    uint64_t at = BEGIN_NS + n * PERIOD_NS;
    uint32_t end = (n / 2 + 1) * 100, socket = host == CLIENT ? 1 + n % 2 : 1;
    if (host == CLIENT) {
        packet(p, host, at + 90000, WP_EVENT_SOCK_LEAVE, socket, end);
        message(p, host, at + 100000, WP_EVENT_SOCK_SEND, socket, end);
        sleep_in_recv(p, host, at + 110000);
        packet(p, host, at + 5490000, WP_EVENT_SOCK_ARRIVE, socket, end);
        message(p, host, at + 5500000, WP_EVENT_WAKING, socket, end);
        run(p, host, at + 5510000);
        message(p, host, at + 5520000, WP_EVENT_SOCK_RECV, socket, end);
    } else if (host == (n % 2 ? FAR : NEAR)) {
        packet(p, host, at + 290000, WP_EVENT_SOCK_ARRIVE, socket, end);
        message(p, host, at + 300000, WP_EVENT_WAKING, socket, end);
        run(p, host, at + 310000);
        message(p, host, at + 320000, WP_EVENT_SOCK_RECV, socket, end);
        packet(p, host, at + 5290000, WP_EVENT_SOCK_LEAVE, socket, end);
        message(p, host, at + 5300000, WP_EVENT_SOCK_SEND, socket, end);
        sleep_in_recv(p, host, at + 5310000);
    }
}

static void begin(struct place *p, uint32_t host)
{
    for (uint32_t socket = 1; socket <= (host == CLIENT ? 2u : 1u); socket++) {
        uint32_t which = host == CLIENT ? socket : host; /* of the two connections */
        uint64_t isn = host == CLIENT ? 10 + which : 20 + which, others = host == CLIENT ? 20 + which : 10 + which;
        happen(p, host, BEGIN_NS,
            (struct wp_event){.kind = WP_EVENT_SOCK_STATE, .d = socket, .c = 1, .a = isn | others << 32});
    }
    run(p, host, BEGIN_NS);
    if (host != CLIENT)
        sleep_in_recv(p, host, BEGIN_NS + 1000);
}

static void set_socket(struct wp_socket_entry *entry, uint32_t from, uint32_t to)
{
    *entry = (struct wp_socket_entry){.family = AF_INET,
        .protocol = IPPROTO_TCP,
        .netns = 1,
        .local = {10, 0, 0, (uint8_t)(1 + from)},
        .remote = {10, 0, 0, (uint8_t)(1 + to)},
        .local_port = from == CLIENT ? (uint16_t)(4000 + to) : 80,
        .remote_port = to == CLIENT ? (uint16_t)(4000 + from) : 80};
}

/* The next turn of that host, with a promise that so much more is told than there is. */
static void tell_ahead(struct place *p, uint32_t host, uint64_t ahead_ns)
{
    uint32_t turn = p->told[host]++;
    struct wp_bytes name = {host == CLIENT ? "client" : "server", 6};
    struct wp_thread_entry thread = {
        .tid = 100, .pid = 100, .comm = 1, .flags = host == CLIENT ? WP_THREAD_COMMAND : 0};
    struct wp_socket_entry sockets[2];
    struct wp_batch batch = {.seq = turn + 1,
        .events = p->events,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1};
    struct wp_error err = {0};
    p->event_count = 0;
    if (!turn) {
        begin(p, host);
        set_socket(&sockets[0], host, host == CLIENT ? NEAR : CLIENT);
        set_socket(&sockets[1], host, FAR);
        batch.strings = &name;
        batch.threads = &thread;
        batch.sockets = sockets;
        batch.string_count = batch.thread_count = 1;
        batch.socket_count = host == CLIENT ? 2 : 1;
    } else {
        batch.first_string = batch.first_thread = 2;
        batch.first_socket = host == CLIENT ? 3 : 2;
    }
    for (uint32_t i = 0; i < TURN_REQUESTS; i++)
        request(p, host, turn * TURN_REQUESTS + i);
    batch.event_count = p->event_count;
    batch.watermark_ns = (uint64_t)((int64_t)(BEGIN_NS + (turn + 1) * TURN_NS) + offsets_ns[host]) + ahead_ns;
    if (wp_host_session_take(p->sessions[host], &batch, &err))
        fail_msg("%s", err.text);
    wp_host_session_resolve(p->sessions[host]);
}

static void tell(struct place *p, uint32_t host)
{
    tell_ahead(p, host, 0);
}

/* A time probe, which takes 50 us each way; `lie_ns`: what the host adds to its clock. */
static void probe(struct place *p, uint32_t host, int64_t lie_ns)
{
    uint32_t clock = p->fleet->hosts[wp_host_session_source(p->sessions[host])->home].clock,
             reference = p->fleet->reference;
    uint64_t now = p->fleet->now_ns, there = (uint64_t)((int64_t)now + offsets_ns[host] + lie_ns) - 50000;
    wp_clocks_message(p->fleet->clocks, reference, now - 100000, clock, there);
    wp_clocks_message(p->fleet->clocks, clock, there, reference, now);
}

/* 100 ms go by: the aggregator does what it does a few times a second. */
static void pass(struct place *p, bool far_lies)
{
    p->fleet->now_ns += TURN_NS;
    for (uint32_t i = 0; i < HOSTS; i++)
        if (i != p->not_probed)
            probe(p, i, i == FAR && far_lies ? (int64_t)(made_random(&p->seed) % (2 * SECOND)) - SECOND : 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        if (wp_host_session_progress(p->sessions[i])->is_blocked)
            wp_host_session_resolve(p->sessions[i]);
}

static void all_is_well(struct place *p, uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++) {
        pass(p, false);
        for (uint32_t host = 0; host < HOSTS; host++)
            tell(p, host);
    }
}

/* --- what came of it --- */

/* How far the client's time has been explained, behind the aggregator's clock. */
static uint64_t behind(const struct place *p)
{
    return p->fleet->now_ns + (uint64_t)offsets_ns[CLIENT] - wp_host_session_progress(p->sessions[CLIENT])->resolved_ns;
}

/* How far it is when nothing is wrong: the epoch that is going on, lateness, and a turn on the way. */
#define WELL_NS (LATENESS_NS + 2 * EPOCH_NS + TURN_NS)

static const struct wp_fleet_host *host_of(const struct place *p, uint32_t host)
{
    return &p->fleet->hosts[wp_host_session_source(p->sessions[host])->home];
}

static uint64_t edge(const struct place *p, const char *from)
{
    uint32_t count;
    const struct wp_report *report = report_of(p->sessions[CLIENT], 0);
    const struct wp_report_edge *edges = wp_report_edges(report, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(wp_report_text(report, edges[i].from), from) &&
            !strcmp(wp_report_text(report, edges[i].to), "client"))
            return edges[i].messages;
    return 0;
}

/* Time at labels that end so. */
static uint64_t labelled(const struct place *p, const char *end)
{
    uint32_t count;
    uint64_t sum = 0, total = 0;
    const struct wp_report *report = report_of(p->sessions[CLIENT], 0);
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_cell *cells = wp_report_cells(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = wp_report_text(report, frames[nodes[cells[i].node].frame].name);
        size_t length = strlen(name), wanted = strlen(end);
        sum += length > wanted && !strcmp(name + length - wanted, end) ? cells[i].ns : 0;
        total += cells[i].ns;
    }
    assert_int_equal(total, wp_report_total(report));
    return sum;
}

/* Requests to one of the servers that have been explained. */
static uint64_t explained(const struct place *p)
{
    return (wp_host_session_progress(p->sessions[CLIENT])->resolved_ns - (uint64_t)offsets_ns[CLIENT] - BEGIN_NS) /
        PERIOD_NS / 2;
}

static void new_report(struct place *p)
{
    wp_aggregate_next_delta(aggregate_of(p->sessions[CLIENT], 0));
}

/* --- */

static void nothing_is_wrong(void **state)
{
    struct place *p = *state;
    all_is_well(p, 50);
    assert_true(behind(p) <= WELL_NS);
    assert_int_equal(edge(p, "near"), explained(p));
    assert_int_equal(edge(p, "far"), explained(p));
    assert_int_equal(labelled(p, ")"), 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        assert_int_equal(host_of(p, i)->given_up_count, 0);
}

static void vanish(struct place *p)
{
    all_is_well(p, 20);
    for (uint32_t i = 0; i < 70; i++) {
        pass(p, false);
        tell(p, CLIENT);
        tell(p, NEAR);
        if (i == 40) /* it may be late */
            assert_true(wp_host_session_progress(p->sessions[CLIENT])->is_blocked && behind(p) > 4ull * SECOND);
    }
}

static void one_vanishes(void **state)
{
    struct place *p = *state;
    vanish(p);
    assert_true(behind(p) <= WELL_NS);
    assert_int_equal(edge(p, "near"), explained(p));
    assert_in_range(edge(p, "far"), 80, 110); /* of the first two seconds */
    assert_true(labelled(p, "(not told in time)") > 300 * 5 * (uint64_t)MS);
    assert_int_equal(host_of(p, FAR)->given_up_count, 1);
    assert_int_equal(host_of(p, NEAR)->given_up_count, 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        wp_host_session_close(p->sessions[i]);
    for (uint32_t i = 0; i < HOSTS; i++) {
        wp_host_session_resolve(p->sessions[i]);
        assert_true(wp_host_session_progress(p->sessions[i])->is_ended);
    }
    assert_int_equal(edge(p, "near"), p->told[CLIENT] * TURN_REQUESTS / 2);
}

static void it_comes_back_late(void **state)
{
    struct place *p = *state;
    vanish(p);
    uint32_t turns = 0;
    while (p->told[FAR] < p->told[CLIENT]) {
        pass(p, false);
        tell(p, CLIENT);
        tell(p, NEAR);
        for (uint32_t i = 0; i < 3; i++)
            tell(p, FAR);
        assert_true(behind(p) <= WELL_NS); /* nobody waits for it meanwhile */
        assert_true(++turns < 100);
    }
    assert_int_equal(host_of(p, FAR)->given_up_count, 1);
    new_report(p);
    uint64_t before = explained(p);
    all_is_well(p, 30);
    assert_false(host_of(p, FAR)->is_given_up);
    assert_true(behind(p) <= WELL_NS);
    assert_in_range(edge(p, "far"), explained(p) - before - 10, explained(p) - before + 1);
    assert_int_equal(edge(p, "near"), explained(p) - before);
}

static void one_never_gets_on(void **state)
{
    struct place *p = *state;
    all_is_well(p, 20);
    for (uint32_t i = 0; i < 200; i++) {
        pass(p, false);
        tell(p, CLIENT);
        tell(p, NEAR);
        if (i % 10 == 0)
            tell(p, FAR);                         /* it is heard all the time */
        assert_true(behind(p) <= 11ull * SECOND); /* twice the time after which it is given up */
    }
    assert_true(behind(p) <= WELL_NS);
    assert_true(host_of(p, FAR)->given_up_count >= 1);
    assert_int_equal(edge(p, "near"), explained(p));
    assert_true(labelled(p, "(not told in time)") > 0);
}

static void one_is_ahead_of_time(void **state)
{
    struct place *p = *state;
    all_is_well(p, 20);
    for (uint32_t i = 0; i < 200; i++) {
        pass(p, false);
        tell(p, CLIENT);
        tell(p, NEAR);
        tell_ahead(p, FAR, YEAR_NS);
    }
    assert_true(behind(p) <= WELL_NS);
    assert_int_equal(edge(p, "near"), explained(p));
    assert_int_equal(host_of(p, CLIENT)->given_up_count, 0); /* nobody is late because it says so */
    assert_int_equal(host_of(p, NEAR)->given_up_count, 0);
    assert_true(edge(p, "far") > 0);
    for (uint32_t i = 0; i < 100; i++) { /* another one is away meanwhile, and comes back */
        pass(p, false);
        tell(p, CLIENT);
        tell_ahead(p, FAR, YEAR_NS);
        for (uint32_t turns = 0; i > 70 && turns < 10 && p->told[NEAR] < p->told[CLIENT]; turns++)
            tell(p, NEAR);
    }
    assert_int_equal(host_of(p, NEAR)->given_up_count, 1);
    assert_false(host_of(p, NEAR)->is_given_up);
    assert_true(behind(p) <= WELL_NS);
}

static void one_lies_about_its_clock(void **state)
{
    struct place *p = *state;
    for (uint32_t i = 0; i < 300; i++) {
        pass(p, true);
        for (uint32_t host = 0; host < HOSTS; host++)
            tell(p, host);
    }
    struct wp_clock_health health;
    assert_true(wp_clocks_health(p->fleet->clocks, host_of(p, FAR)->clock, &health));
    assert_false(health.is_usable);
    assert_true(health.contradictions >= 8);
    assert_true(wp_clocks_health(p->fleet->clocks, host_of(p, NEAR)->clock, &health));
    assert_true(health.is_usable);
    assert_true(behind(p) <= WELL_NS);
    assert_int_equal(edge(p, "near"), explained(p));
    new_report(p);
    for (uint32_t i = 0; i < 20; i++) {
        pass(p, true);
        for (uint32_t host = 0; host < HOSTS; host++)
            tell(p, host);
    }
    assert_int_equal(edge(p, "far"), 0); /* shown, and not linked */
    assert_true(labelled(p, "(clock not known)") > 80 * 5 * (uint64_t)MS);
}

/* Its clock is known by its packets alone: it is paced with the others all the same. */
static void one_is_never_probed(void **state)
{
    struct place *p = *state;
    for (uint32_t who = CLIENT; who < HOSTS; who++) {
        p->not_probed = who;
        p->tells_leavings = true;
        all_is_well(p, 50);
        assert_true(behind(p) <= WELL_NS);
        assert_int_equal(edge(p, "near"), explained(p));
        assert_int_equal(edge(p, "far"), explained(p));
        for (uint32_t i = 0; i < HOSTS; i++)
            assert_int_equal(host_of(p, i)->given_up_count, 0);
        p->tells_leavings = false; /* and from here on nothing tells it: it is not held up, and not linked */
        new_report(p);
        for (uint32_t i = 0; i < 300; i++) {
            pass(p, false);
            for (uint32_t host = 0; host < HOSTS; host++)
                tell(p, host);
            assert_true(behind(p) <= WELL_NS);
        }
        assert_true(labelled(p, "(clock not known)") > 50 * 5 * (uint64_t)MS);
        tear_down((void **)&p);
        set_up((void **)&p);
        *state = p;
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(nothing_is_wrong), TEST(one_vanishes), TEST(it_comes_back_late),
        TEST(one_never_gets_on), TEST(one_is_ahead_of_time), TEST(one_lies_about_its_clock), TEST(one_is_never_probed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
