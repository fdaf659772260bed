/* SPDX-License-Identifier: Apache-2.0 */
/* Which sockets are the ends of one connection, and what that tells of clocks. WP_SEED=N, WP_CONNECTIONS=N for the made
 * ones. */
#include "tests/aggregator/made_connections.h"

#include "aggregator/net/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define HOSTS 8u
#define NOBODY UINT32_MAX
#define TCP_ESTABLISHED 1

struct place {
    struct wp_clocks *clocks;
    struct wp_connections *connections;
    uint32_t nodes[HOSTS];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_int_equal(wp_clocks_create(&place->clocks), 0);
    assert_int_equal(wp_connections_create(&place->connections, place->clocks), 0);
    for (uint32_t i = 0; i < HOSTS; i++) {
        assert_int_equal(wp_clocks_add(place->clocks, &place->nodes[i]), 0);
        assert_int_equal(wp_connections_host(place->connections, i, place->nodes[i]), 0);
    }
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_connections_destroy(place->connections);
    wp_clocks_destroy(place->clocks);
    free(place);
    return 0;
}

/* --- a few words --- */

static void address(uint8_t *out, uint8_t family, const char *text)
{
    assert_int_equal(inet_pton(family, text, out), 1);
}

static void add(struct place *p, uint32_t host, uint32_t socket, const char *local, uint16_t port, const char *remote,
    uint16_t remote_port)
{
    uint8_t family = strchr(local, ':') ? AF_INET6 : AF_INET;
    struct wp_socket_entry entry = {
        .family = family, .protocol = IPPROTO_TCP, .local_port = port, .remote_port = remote_port, .netns = 100 + host};
    address(entry.local, family, local);
    address(entry.remote, family, remote);
    wp_connections_add(p->connections, host, socket, &entry);
}

static void tell(struct place *p, uint32_t host, uint32_t socket, enum wp_event_kind kind, uint64_t a, uint64_t time_ns)
{
    struct wp_event event = {.kind = (uint8_t)kind, .d = socket, .a = a, .c = 10, .time_ns = time_ns};
    if (kind == WP_EVENT_SOCK_STATE)
        event.c = TCP_ESTABLISHED;
    wp_connections_event(p->connections, host, &event);
}

static void establish(struct place *p, uint32_t host, uint32_t socket, uint32_t own, uint32_t others)
{
    tell(p, host, socket, WP_EVENT_SOCK_STATE, own | (uint64_t)others << 32, 1000);
}

/* It has sent up to there, and so much has arrived. */
static void use(struct place *p, uint32_t host, uint32_t socket, uint32_t sent, uint32_t arrived)
{
    tell(p, host, socket, WP_EVENT_SOCK_SEND, sent, 2000);
    tell(p, host, socket, WP_EVENT_SOCK_ARRIVE, arrived, 2000);
}

static void paired(struct place *p, uint32_t host, uint32_t socket, uint32_t other_host, uint32_t other_socket)
{
    struct wp_far_end end;
    assert_int_equal(wp_connections_peer(p->connections, host, socket, &end), WP_PAIR_FOUND);
    assert_int_equal(end.host, other_host);
    assert_int_equal(end.socket, other_socket);
    assert_int_equal(wp_connections_peer(p->connections, other_host, other_socket, &end), WP_PAIR_FOUND);
    assert_int_equal(end.host, host);
    assert_int_equal(end.socket, socket);
}

static void unpaired(struct place *p, uint32_t host, uint32_t socket, enum wp_pairing why)
{
    struct wp_far_end end;
    assert_int_equal(wp_connections_peer(p->connections, host, socket, &end), why);
}

/* --- by sequence numbers --- */

static void translated_addresses(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "10.0.0.1", 40000, "10.96.0.10", 80);
    add(p, 1, 1, "192.168.7.2", 8080, "192.168.7.1", 61000);
    establish(p, 0, 1, 0xfffffff0u, 77);
    unpaired(p, 0, 1, WP_PAIR_NONE);
    establish(p, 1, 1, 77, 0xfffffff0u);
    paired(p, 0, 1, 1, 1);
}

static void the_same_addresses_in_two_networks(void **state)
{
    struct place *p = *state;
    for (uint32_t i = 0; i < 2; i++) {
        add(p, 2 * i, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
        add(p, 2 * i + 1, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    }
    for (uint32_t host = 0; host < 4; host++)
        establish(p, host, 1, host % 2 ? 500 + host / 2 : 900 + host / 2, host % 2 ? 900 + host / 2 : 500 + host / 2);
    paired(p, 0, 1, 1, 1);
    paired(p, 2, 1, 3, 1);
    assert_true(wp_connections_talk(p->connections, 0, 1));
    assert_false(wp_connections_talk(p->connections, 0, 2));
}

/* The ports of a connection that has closed and is still asked for. */
static void ports_used_again(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
    add(p, 1, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    use(p, 0, 1, 1000, 2000); /* the old one is older than the recording */
    use(p, 1, 1, 2000, 1000);
    paired(p, 0, 1, 1, 1);
    add(p, 0, 2, "10.0.0.1", 40000, "10.0.0.2", 80);
    add(p, 1, 2, "10.0.0.2", 80, "10.0.0.1", 40000);
    establish(p, 1, 2, 3000000000u, 4000000000u);
    establish(p, 0, 2, 4000000000u, 3000000000u);
    paired(p, 0, 2, 1, 2);
    paired(p, 0, 1, 1, 1);
    wp_connections_remove(p->connections, 0, 1);
    wp_connections_remove(p->connections, 1, 1);
    unpaired(p, 0, 1, WP_PAIR_NONE);
    paired(p, 0, 2, 1, 2);
}

/* What was thought of a connection by its addresses gives way to what its numbers say. */
static void numbers_come_late(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
    add(p, 1, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    add(p, 2, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    use(p, 0, 1, 1000, 2000);
    use(p, 1, 1, 2000, 1000);
    paired(p, 0, 1, 1, 1);
    establish(p, 2, 1, 1900, 900);
    establish(p, 0, 1, 900, 1900);
    paired(p, 0, 1, 2, 1);
    unpaired(p, 1, 1, WP_PAIR_NONE);
}

/* --- by addresses --- */

static void older_than_the_recording(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
    add(p, 1, 1, "::ffff:10.0.0.2", 80, "::ffff:10.0.0.1", 40000);
    tell(p, 0, 1, WP_EVENT_SOCK_SEND, 50, 2000); /* behind a wrap that the other end has not come to */
    tell(p, 1, 1, WP_EVENT_SOCK_ARRIVE, 0xfffffff0u, 2000);
    unpaired(p, 0, 1, WP_PAIR_NONE); /* one direction is little to go by */
    tell(p, 1, 1, WP_EVENT_SOCK_SEND, 7000, 2000);
    tell(p, 0, 1, WP_EVENT_SOCK_ARRIVE, 7000, 2000);
    paired(p, 0, 1, 1, 1);
}

static void positions_far_apart(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
    add(p, 1, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    for (int i = 0; i < 100; i++) {
        use(p, 0, 1, 1000, 2000);
        use(p, 1, 1, 2000, 1000 + (1u << 30));
    }
    unpaired(p, 0, 1, WP_PAIR_NONE);
    unpaired(p, 1, 1, WP_PAIR_NONE);
}

static void one_direction_alone(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
    add(p, 1, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    for (uint32_t i = 0; i < 20; i++) {
        tell(p, 0, 1, WP_EVENT_SOCK_SEND, i * 1000, 2000);
        tell(p, 1, 1, WP_EVENT_SOCK_ARRIVE, i * 1000, 2000);
    }
    unpaired(p, 0, 1, WP_PAIR_NONE);
    for (uint32_t i = 20; i < 100; i++) {
        tell(p, 0, 1, WP_EVENT_SOCK_SEND, i * 1000, 2000);
        tell(p, 1, 1, WP_EVENT_SOCK_ARRIVE, i * 1000, 2000);
    }
    paired(p, 0, 1, 1, 1);
}

static void either_could_be_the_one(void **state)
{
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct place *p = *state;
    for (unsigned i = 0; i < 6; i++) { /* whoever is told of first */
        uint32_t socket = 1 + i;
        uint16_t port = (uint16_t)(40000 + i);
        add(p, 0, socket, "10.0.0.1", port, "10.0.0.2", 80);
        add(p, 1, socket, "10.0.0.2", 80, "10.0.0.1", port);
        add(p, 2, socket, "10.0.0.2", 80, "10.0.0.1", port);
        for (unsigned j = 0; j < 3; j++)
            use(p, orders[i][j], socket, orders[i][j] ? 2000 : 1000, orders[i][j] ? 1000 : 2000);
        for (uint32_t host = 0; host < 3; host++)
            for (int times = 0; times < 40; times++)
                use(p, host, socket, host ? 2000 : 1000, host ? 1000 : 2000);
        for (uint32_t host = 0; host < 3; host++)
            unpaired(p, host, socket, WP_PAIR_AMBIGUOUS);
        tell(p, 0, socket, WP_EVENT_SOCK_RECV, 2000, 2000);
    }
    uint32_t count, seen = 0;
    const struct wp_traffic *rows = wp_connections_traffic(p->connections, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].to != 0)
            continue;
        seen++;
        assert_int_equal(rows[i].from, NOBODY);
        assert_int_equal(rows[i].messages, 6);
        assert_int_equal(rows[i].ambiguous, 6);
        assert_int_equal(rows[i].ambiguous_bytes, 60);
    }
    assert_int_equal(seen, 1);
    wp_connections_remove(p->connections, 2, 1);
    for (int times = 0; times < 20; times++)
        use(p, 0, 1, 1000, 2000);
    paired(p, 0, 1, 1, 1);
}

static void not_a_connection_of_two_hosts(void **state)
{
    struct place *p = *state;
    add(p, 0, 1, "127.0.0.1", 40000, "127.0.0.1", 80);
    add(p, 1, 1, "127.0.0.1", 80, "127.0.0.1", 40000);
    add(p, 0, 2, "10.0.0.1", 80, "0.0.0.0", 0); /* listens */
    for (int i = 0; i < 100; i++) {
        use(p, 0, 1, 1000, 2000);
        use(p, 1, 1, 2000, 1000);
        use(p, 0, 2, 1000, 2000);
        use(p, 0, 77, 1, 1); /* was never told of */
    }
    unpaired(p, 0, 1, WP_PAIR_NONE);
    unpaired(p, 0, 2, WP_PAIR_NONE);
    tell(p, 0, 1, WP_EVENT_SOCK_RECV, 2000, 2000);
    uint32_t count;
    wp_connections_traffic(p->connections, &count);
    assert_int_equal(count, 0);
}

/* --- hosts --- */

static void connect_hosts(struct place *p, uint32_t one, uint32_t other, uint32_t socket)
{
    add(p, one, socket, "10.0.0.1", (uint16_t)(1000 + socket), "10.0.0.2", 80);
    add(p, other, socket, "10.0.0.2", 80, "10.0.0.1", (uint16_t)(1000 + socket));
    establish(p, one, socket, socket, 5);
    establish(p, other, socket, 5, socket);
    paired(p, one, socket, other, socket);
}

static void who_talks_with_whom(void **state)
{
    struct place *p = *state;
    uint32_t count;
    connect_hosts(p, 0, 1, 10);
    connect_hosts(p, 1, 2, 11);
    connect_hosts(p, 3, 4, 12);
    assert_true(wp_connections_talk(p->connections, 0, 2));
    assert_false(wp_connections_talk(p->connections, 0, 3));
    assert_false(wp_connections_talk(p->connections, 0, 5000));
    tell(p, 2, 11, WP_EVENT_SOCK_RECV, 50, 3000);
    tell(p, 4, 12, WP_EVENT_SOCK_RECV, 50, 3000);
    wp_connections_traffic(p->connections, &count);
    assert_int_equal(count, 2);
    wp_connections_remove_host(p->connections, 1); /* who stood between */
    assert_false(wp_connections_talk(p->connections, 0, 2));
    assert_true(wp_connections_talk(p->connections, 3, 4));
    unpaired(p, 0, 10, WP_PAIR_NONE);
    unpaired(p, 1, 10, WP_PAIR_NONE);
    const struct wp_traffic *rows = wp_connections_traffic(p->connections, &count);
    assert_int_equal(count, 1); /* that number may be another host's tomorrow */
    assert_int_equal(rows[0].to, 4);
    assert_int_equal(wp_connections_host(p->connections, 1, p->nodes[1]), 0);
    assert_false(wp_connections_talk(p->connections, 0, 1));
    connect_hosts(p, 1, 5, 20);
    assert_true(wp_connections_talk(p->connections, 1, 5));
}

static void datagrams_are_talk(void **state)
{
    struct place *p = *state;
    uint32_t host;
    wp_connections_datagram(p->connections, 77, 0);
    assert_true(wp_connections_datagram_host(p->connections, 77, &host));
    assert_int_equal(host, 0);
    assert_false(wp_connections_talk(p->connections, 0, 1));
    wp_connections_datagram_taken(p->connections, 77, 1);
    assert_true(wp_connections_talk(p->connections, 0, 1));
    wp_connections_datagram_taken(p->connections, 78, 3); /* told of in the other order */
    assert_false(wp_connections_datagram_host(p->connections, 78, &host));
    wp_connections_datagram(p->connections, 78, 2);
    assert_true(wp_connections_talk(p->connections, 2, 3));
    wp_connections_datagram_taken(p->connections, 79, 3);
    wp_connections_remove_host(p->connections, 2); /* another one with that number has sent nothing */
    assert_false(wp_connections_datagram_host(p->connections, 78, &host));
    wp_connections_remove_host(p->connections, 3);
    wp_connections_datagram(p->connections, 79, 2);
    assert_false(wp_connections_talk(p->connections, 2, 3));
    assert_true(wp_connections_datagram_host(p->connections, 77, &host));
    for (uint64_t key = 1000; key < 1000000; key++) {
        wp_connections_datagram(p->connections, key, 4);
        assert_true(key < 1200 || wp_connections_datagram_host(p->connections, key - 200000 * (key > 201000), &host));
    }
    assert_false(wp_connections_datagram_host(p->connections, 77, &host)); /* some are remembered, not all */
}

/* A hostile host may give all its sockets one address and one pair of numbers: what that costs grows no faster than
 * they do. */
/* Two hosts are heard by turns, and a short connection may be over at one before the other says a word of it: its
 * numbers find it. So they find one that a session tells which goes on behind the one that told it. */
static void over_before_the_other_end_is_told(void **state)
{
    struct place *p = *state;
    struct wp_event close = {.kind = WP_EVENT_SOCK_STATE, .d = 1, .b = TCP_ESTABLISHED, .c = 7, .time_ns = 3000};
    size_t empty = wp_connections_bytes(p->connections, 0);
    add(p, 0, 1, "10.0.0.1", 40000, "10.0.0.2", 80);
    establish(p, 0, 1, 5, 7);
    use(p, 0, 1, 100, 50);
    tell(p, 0, 1, WP_EVENT_SOCK_RECV, 50, 2500);
    wp_connections_event(p->connections, 0, &close);
    tell(p, 0, 1, WP_EVENT_SOCK_RECV, 60, 3500);
    unpaired(p, 0, 1, WP_PAIR_NONE);
    add(p, 1, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    establish(p, 1, 1, 7, 5);
    paired(p, 0, 1, 1, 1);
    uint32_t count;
    const struct wp_traffic *rows = wp_connections_traffic(p->connections, &count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(rows[i].messages, rows[i].from == 1 ? 2 : 0);
    wp_connections_remove(p->connections, 1, 1);
    unpaired(p, 0, 1, WP_PAIR_NONE);
    add(p, 2, 1, "10.0.0.2", 80, "10.0.0.1", 40000);
    establish(p, 2, 1, 7, 5);
    unpaired(p, 2, 1, WP_PAIR_NONE); /* it was over at both ends that were known */
    assert_true(wp_connections_bytes(p->connections, 0) > empty);
    wp_connections_remove(p->connections, 0, 1);
    assert_in_range(wp_connections_bytes(p->connections, 0), 0, empty + 1024);
}

static void many_of_one_kind(void **state)
{
    struct place *p = *state;
    for (uint32_t host = 0; host < 2; host++)
        for (uint32_t socket = 1; socket <= 200000; socket++) {
            add(p, host, socket, "10.0.0.1", 80, "10.0.0.1", 80);
            establish(p, host, socket, 5, host ? 5 : 6);
            use(p, host, socket, 9, 9);
        }
    wp_connections_remove_host(p->connections, 1);
    for (uint32_t socket = 1; socket <= 200000; socket++)
        wp_connections_remove(p->connections, 0, socket);
    unpaired(p, 0, 1, WP_PAIR_NONE);
}

/* --- made ones --- */

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

struct tally {
    uint64_t paired, right, wanted, found, impossible, not_recorded, ambiguous;
};

static void ask(
    struct tally *tally, const struct wp_connections *connections, const struct made_connections *made, uint32_t index)
{
    const struct made_end *end = &made->ends[index];
    struct wp_far_end far;
    enum wp_pairing pairing = wp_connections_peer(connections, end->host, end->socket, &far);
    const struct made_end *peer = end->peer == NOBODY ? NULL : &made->ends[end->peer];
    bool is_right = pairing == WP_PAIR_FOUND && peer && far.host == peer->host && far.socket == peer->socket;
    tally->paired += pairing == WP_PAIR_FOUND;
    tally->ambiguous += pairing == WP_PAIR_AMBIGUOUS;
    tally->right += is_right;
    tally->not_recorded += !peer;
    tally->impossible += peer && !end->is_matchable;
    tally->wanted += peer && end->is_matchable;
    tally->found += end->is_matchable && is_right;
}

static void feed(struct wp_connections *connections, const struct made_connections *made, struct tally *tally)
{
    for (uint32_t i = 0; i < made->step_count; i++) {
        const struct made_step *step = &made->steps[i];
        const struct made_end *end = &made->ends[step->end];
        if (step->kind == MADE_ADD)
            wp_connections_add(connections, end->host, end->socket, &end->entry);
        else if (step->kind == MADE_EVENT)
            wp_connections_event(connections, end->host, &step->event);
        else if (step->kind == MADE_ASK)
            ask(tally, connections, made, step->end);
        else
            wp_connections_remove(connections, end->host, end->socket);
    }
}

/* Clocks that the connections' own packets told apart: the truth is inside the bound. */
static void clocks_are_true(struct wp_clocks *clocks, const uint32_t *nodes, const struct made_connections *made)
{
    uint64_t asked = 0, settled = 0;
    for (uint32_t a = 0; a < made->host_count; a++)
        for (uint32_t b = 0; b < made->host_count; b++)
            for (int64_t at_s = 12; at_s < 30 && a != b; at_s += 3) {
                struct wp_offset offset;
                int64_t truth = made->offset_ns[b] - made->offset_ns[a];
                if (!wp_clocks_map(
                        clocks, nodes[a], (uint64_t)(at_s * 1000000000 + made->offset_ns[a]), nodes[b], &offset))
                    continue;
                asked++;
                settled += offset.is_settled;
                assert_true(llabs(offset.offset_ns - truth) <= (int64_t)offset.bound_ns);
            }
    print_message("clocks asked %llu times, settled %llu\n", (unsigned long long)asked, (unsigned long long)settled);
    assert_true(asked > 0);
}

static void made_ones(void **state)
{
    (void)state;
    uint64_t first = number("WP_SEED", 1), cases = getenv("WP_SEED") ? 1 : 3;
    struct tally tally = {0};
    for (uint64_t seed = first; seed < first + cases; seed++) {
        struct made_connections made;
        struct wp_clocks *clocks;
        struct wp_connections *connections;
        uint32_t *nodes, hosts = 60;
        made_connections_init(&made, seed, hosts, (uint32_t)number("WP_CONNECTIONS", 6000), 20);
        assert_int_equal(wp_clocks_create(&clocks), 0);
        assert_int_equal(wp_connections_create(&connections, clocks), 0);
        nodes = calloc(hosts, sizeof(*nodes));
        for (uint32_t i = 0; i < hosts; i++) {
            assert_int_equal(wp_clocks_add(clocks, &nodes[i]), 0);
            assert_int_equal(wp_connections_host(connections, i, nodes[i]), 0);
        }
        feed(connections, &made, &tally);
        clocks_are_true(clocks, nodes, &made);
        wp_connections_destroy(connections);
        wp_clocks_destroy(clocks);
        made_connections_fini(&made);
        free(nodes);
    }
    double precision = 100 * (double)tally.right / (double)tally.paired,
           recall = 100 * (double)tally.found / (double)tally.wanted;
    print_message("ends with both recorded %llu (and %llu of which too little is told), without %llu; ambiguous %llu\n",
        (unsigned long long)tally.wanted, (unsigned long long)tally.impossible, (unsigned long long)tally.not_recorded,
        (unsigned long long)tally.ambiguous);
    print_message("precision %.4f %% recall %.4f %%\n", precision, recall);
    assert_true(tally.wanted > 1000);
    assert_true(precision >= 99.99);
    assert_true(recall >= 99.5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(translated_addresses), TEST(the_same_addresses_in_two_networks),
        TEST(ports_used_again), TEST(numbers_come_late), TEST(older_than_the_recording), TEST(positions_far_apart),
        TEST(one_direction_alone), TEST(either_could_be_the_one), TEST(not_a_connection_of_two_hosts),
        TEST(who_talks_with_whom), TEST(datagrams_are_talk), TEST(over_before_the_other_end_is_told),
        TEST(many_of_one_kind), cmocka_unit_test(made_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
