/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of sockets: found among many, across the wrap of sequence numbers, late; forgotten when the socket has
 * closed. */
#include "aggregator/net/message_datagrams.h"
#include "aggregator/net/messages.h"
#include "proto/batch.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define PAIRS 100u
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define TCP_FIN_WAIT1 4

struct place {
    struct wp_dictionary *dictionary;
    struct wp_messages messages;
};

/* Socket 2n + 1 is the client's end of connection n, 2n + 2 the server's. */
static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct wp_socket_entry entries[2 * PAIRS];
    memset(entries, 0, sizeof(entries));
    for (uint16_t i = 0; i < 2 * PAIRS; i++) {
        struct wp_socket_entry *entry = &entries[i];
        uint16_t client = (uint16_t)(40000 + i / 2);
        *entry = (struct wp_socket_entry){
            .family = AF_INET, .protocol = IPPROTO_TCP, .local = {127, 0, 0, 1}, .remote = {127, 0, 0, 1}, .netns = 1};
        entry->local_port = i % 2 ? 80 : client;
        entry->remote_port = i % 2 ? client : 80;
    }
    place->dictionary = wp_dictionary_create();
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .sockets = entries,
        .socket_count = 2 * PAIRS};
    struct wp_error err = {0};
    if (wp_dictionary_apply(place->dictionary, &batch, &err))
        fail_msg("%s", err.text);
    assert_int_equal(wp_messages_init(&place->messages, place->dictionary), 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_messages_fini(&place->messages);
    wp_dictionary_destroy(place->dictionary);
    free(place);
    return 0;
}

static void happen(struct place *place, enum wp_event_kind kind, uint64_t time_ns, uint32_t socket, uint64_t end,
    uint32_t bytes, uint32_t thread)
{
    struct wp_event event = {.kind = (uint8_t)kind, .time_ns = time_ns, .d = socket, .a = end, .c = bytes};
    wp_messages_event(&place->messages, &event, thread);
}

static void close_at(struct place *place, uint64_t time_ns, uint32_t socket)
{
    struct wp_event event = {
        .kind = WP_EVENT_SOCK_STATE, .time_ns = time_ns, .d = socket, .b = TCP_ESTABLISHED, .c = TCP_CLOSE};
    wp_messages_event(&place->messages, &event, 1);
}

/* When the other end of socket 1 read the last bytes that its side had sent before then: the request behind an answer.
 */
static bool find_request(
    const struct wp_messages *messages, uint64_t before_ns, struct wp_send *request, struct wp_receive *read)
{
    uint32_t peer = wp_messages_peer(messages, 1);
    return peer && wp_messages_last_send(messages, 1, before_ns, request) &&
        wp_messages_taken(messages, peer, (uint32_t)request->end, request->time_ns, read);
}

/* 10 000 requests and answers, the sequence numbers wrapping at the 5 000th; each is asked for at the end. */
static void each_of_many(void **state)
{
    struct place *place = *state;
    struct wp_send send;
    struct wp_receive read;
    const uint32_t first = UINT32_MAX - 500000;
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t now = 1000000 + i * (uint64_t)1000;
        uint32_t end = first + (i + 1) * 100;
        happen(place, WP_EVENT_SOCK_RECV, now + 100, 2, end, 100, 2); /* it is read before the sender's call returns */
        happen(place, WP_EVENT_SOCK_SEND, now + 200, 1, end, 100, 1);
        happen(place, WP_EVENT_SOCK_SEND, now + 600, 2, end, 100, 2);
        happen(place, WP_EVENT_SOCK_RECV, now + 700, 1, end, 100, 1);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t now = 1000000 + i * (uint64_t)1000;
        uint32_t end = first + (i + 1) * 100;
        assert_int_equal(wp_messages_match(&place->messages, 1, end, now + 550, &send), WP_MATCH_FOUND);
        assert_int_equal(send.time_ns, now + 600);
        assert_int_equal(wp_messages_match(&place->messages, 1, end - 50, now + 550, &send), WP_MATCH_FOUND);
        assert_int_equal(send.time_ns, now + 600);
        struct wp_send request;
        assert_true(find_request(&place->messages, now + 300, &request, &read));
        assert_int_equal(request.time_ns, now + 200);
        assert_int_equal(read.time_ns, now + 100);
    }
    assert_int_equal(wp_messages_match(&place->messages, 1, first - 5000, 1000000, &send), WP_MATCH_NO_SEND);
}

/* What is older than the history is dropped when room is needed, so memory follows the rate and not the time. */
static void memory_follows_the_rate(void **state)
{
    struct place *place = *state;
    for (uint32_t i = 0; i < 100000; i++) /* 10 a second: 120 within the history */
        happen(place, WP_EVENT_SOCK_SEND, 1 + i * (uint64_t)100000000, 1, i * (uint64_t)100, 100, 1);
    assert_true(wp_messages_socket(&place->messages, 1)->send_ring.mask < 512);
}

static void a_reader_was_with_others(void **state)
{
    struct place *place = *state;
    struct wp_send request;
    struct wp_receive read;
    happen(place, WP_EVENT_SOCK_SEND, 1000, 1, 100, 100, 1);
    happen(place, WP_EVENT_SOCK_SEND, 5000, 4, 100, 100, 2);
    happen(place, WP_EVENT_SOCK_RECV, 6000, 2, 50, 50, 2);
    happen(place, WP_EVENT_SOCK_RECV, 6500, 2, 100, 50, 2);
    assert_true(find_request(&place->messages, 2000, &request, &read));
    assert_int_equal(read.time_ns, 6500);
    assert_int_equal(read.others_ns, 5000);
}

/* Nothing is held before the first datagram; then as much as came, up to the last 16,384; each keeps its number
 * throughout. */
static void datagrams_take_what_they_need(void **state)
{
    struct place *place = *state;
    struct wp_messages *messages = &place->messages;
    struct wp_send send;
    assert_null(messages->datagram_ring);
    assert_false(wp_messages_datagram_by(messages, 1, 1000000, &send));
    for (uint32_t i = 1; i <= 40000; i++) {
        struct wp_event event = {
            .kind = WP_EVENT_SOCK_SEND, .flags = WP_SOCK_DATAGRAM, .time_ns = i, .d = 1, .a = 1000 + i % 30000, .c = i};
        wp_messages_event(messages, &event, 7);
        if (i == 100)
            assert_true(messages->datagram_room < 1000);
        uint64_t number = wp_messages_datagram_number(messages, 1000 + i % 30000);
        assert_int_equal(number, i);
        for (uint32_t back = 0; back < 16384 && back < i; back += 1 + back * 3) {
            assert_true(wp_messages_datagram(messages, i - back, &send));
            assert_int_equal(send.bytes, i - back);
        }
        assert_false(i > 16384 && wp_messages_datagram(messages, i - 16384, &send));
    }
    assert_int_equal(messages->datagram_room, 16384);
}

static void closed_sockets_are_forgotten(void **state)
{
    struct place *place = *state;
    struct wp_send send;
    for (uint32_t i = 0; i < PAIRS; i++) {
        happen(place, WP_EVENT_SOCK_SEND, 1000 + i, 2 * i + 2, 100, 100, 2);
        happen(place, WP_EVENT_SOCK_RECV, 1000 + i, 2 * i + 1, 100, 100, 1);
    }
    for (uint32_t i = 0; i < PAIRS - 1; i++) {
        close_at(place, 2000 + i, 2 * i + 1);
        close_at(place, 2000 + i, 2 * i + 2);
    }
    wp_messages_forget(&place->messages, 2050);
    for (uint32_t i = 0; i < PAIRS; i++) {
        bool is_kept = i >= 50;
        assert_int_equal(!!wp_messages_socket(&place->messages, 2 * i + 2), is_kept);
        assert_int_equal(!!wp_messages_socket(&place->messages, 2 * i + 1), is_kept);
        assert_int_equal(!!wp_dictionary_socket(place->dictionary, 2 * i + 1), is_kept);
        if (is_kept)
            assert_int_equal(wp_messages_match(&place->messages, 2 * i + 1, 100, 1500, &send), WP_MATCH_FOUND);
    }
    wp_messages_forget(&place->messages, 1000000);
    assert_null(wp_messages_socket(&place->messages, 2 * PAIRS - 2));
    assert_non_null(wp_messages_socket(&place->messages, 2 * PAIRS)->sends);
    assert_int_equal(place->messages.by_address.count, 4);
    happen(place, WP_EVENT_SOCK_SEND, 2000000, 2, 200, 100, 2); /* of one that is gone: nothing comes of it */
    assert_null(wp_messages_socket(&place->messages, 2));
    close_at(place, 2000000, 2 * PAIRS);
    close_at(place, 2000000, 2 * PAIRS - 1);
    wp_messages_forget(&place->messages, 3000000);
    assert_int_equal(place->messages.by_address.count, 0);
    assert_int_equal(place->messages.ring_bytes, 0);
    assert_int_equal(place->messages.table.kept_pages, 0);
}

/* When bytes came is remembered of the last sixteen, in the room that those need which came. */
static void arrivals_take_what_they_need(void **state)
{
    struct wp_arrivals arrivals = {0};
    (void)state;
    assert_int_equal(wp_arrivals_of(&arrivals, 5), 0);
    for (uint32_t i = 1; i <= 40; i++) {
        uint32_t room = 1;
        while (room < i && room < WP_ARRIVALS)
            room *= 2;
        wp_arrivals_add(&arrivals, &(struct wp_arrival){1000 + i, 10 * i - 100});
        wp_arrivals_add(&arrivals, &(struct wp_arrival){9000, 10 * i - 105}); /* again, and for nothing */
        assert_int_equal(arrivals.room, room);
        for (uint32_t j = 1; j <= i; j++)
            assert_int_equal(
                wp_arrivals_of(&arrivals, 10 * j - 104), i < WP_ARRIVALS || j + WP_ARRIVALS > i + 1 ? 1000 + j : 0);
        assert_true(wp_arrivals_are_read(&arrivals, 10 * i - 100));
        assert_false(wp_arrivals_are_read(&arrivals, 10 * i - 101));
    }
    wp_arrivals_fini(&arrivals);
}

/* A request and an answer: of what is over and read so much stays as explanations ask for. Its other end is known, and
 * its address belongs to who comes next. */
static void what_is_over_takes_little(void **state)
{
    struct place *place = *state;
    struct wp_send send;
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t client = 2 * i + 1, server = 2 * i + 2;
        happen(place, WP_EVENT_SOCK_SEND, 1000, client, 100, 100, 1);
        happen(place, WP_EVENT_SOCK_ARRIVE, 1100, server, 100, 100, 0);
        happen(place, WP_EVENT_SOCK_RECV, 1200, server, 100, 100, 2);
        happen(place, WP_EVENT_SOCK_SEND, 1300, server, 50, 50, 2);
        happen(place, WP_EVENT_SOCK_ARRIVE, 1400, client, 50, 50, 0);
        happen(place, WP_EVENT_SOCK_RECV, 1500, client, 50, 50, 1);
        close_at(place, 1600, client);
        close_at(place, 1700, server);
        assert_int_equal(wp_messages_match(&place->messages, server, 100, 1100, &send), WP_MATCH_FOUND);
        assert_int_equal(wp_messages_match(&place->messages, client, 50, 1400, &send), WP_MATCH_FOUND);
    }
    assert_int_equal(place->messages.by_address.count, 0);
    assert_in_range(place->messages.ring_bytes, 1, 2 * PAIRS * (sizeof(struct wp_send) + sizeof(struct wp_receive)));
    wp_messages_forget(&place->messages, 1650);
    assert_int_equal(wp_messages_peer(&place->messages, 2), 0);
    wp_messages_forget(&place->messages, 1000000);
    assert_int_equal(place->messages.ring_bytes, 0);
}

/* One direction is shut, and the other goes on for long: what is remembered of it is forgotten again and again. */
static void half_closed_sockets_stay(void **state)
{
    struct place *place = *state;
    struct wp_event shut = {
        .kind = WP_EVENT_SOCK_STATE, .time_ns = 1000, .d = 1, .b = TCP_ESTABLISHED, .c = TCP_FIN_WAIT1};
    wp_messages_event(&place->messages, &shut, 1);
    for (uint32_t i = 1; i < 50; i++) {
        happen(place, WP_EVENT_SOCK_RECV, 10000 * i, 1, 100 * i, 100, 1);
        assert_non_null(wp_messages_socket(&place->messages, 1)->receives);
        wp_messages_forget(&place->messages, 10000 * i + 5000);
        assert_non_null(wp_messages_socket(&place->messages, 1));
        assert_int_equal(place->messages.ring_bytes, 0);
    }
    close_at(place, 1000000, 1);
    wp_messages_forget(&place->messages, 2000000);
    assert_null(wp_messages_socket(&place->messages, 1));
}

/* Its close was lost: it is over when another one has its addresses. */
static void an_address_used_again_ends_the_one_before(void **state)
{
    struct place *place = *state;
    struct wp_socket_entry again = *wp_dictionary_socket(place->dictionary, 1);
    struct wp_batch batch = {.seq = 2,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 2 * PAIRS + 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .sockets = &again,
        .socket_count = 1};
    happen(place, WP_EVENT_SOCK_SEND, 1000, 1, 100, 100, 1);
    assert_int_equal(wp_messages_peer(&place->messages, 2), 1);
    assert_int_equal(wp_dictionary_apply(place->dictionary, &batch, NULL), 0);
    happen(place, WP_EVENT_SOCK_SEND, 2000, 2 * PAIRS + 1, 100, 100, 1);
    assert_non_null(wp_messages_socket(&place->messages, 1));
    wp_messages_forget(&place->messages, 3000);
    assert_null(wp_messages_socket(&place->messages, 1));
    assert_int_equal(wp_messages_peer(&place->messages, 2), 2 * PAIRS + 1);
}

/* Of datagram sockets, those that the collector has forgotten itself by then are forgotten; one in use stays. */
static void datagram_sockets_have_a_bound(void **state)
{
    enum { EACH = 1 << 17, TIMES = 4 };
    const uint32_t first = 2 * PAIRS + 1;
    struct place *place = *state;
    struct wp_socket_entry *entries = calloc(EACH, sizeof(*entries));
    struct wp_event event = {.kind = WP_EVENT_SOCK_SEND, .flags = WP_SOCK_DATAGRAM, .c = 1};
    uint32_t held = 0;
    for (uint32_t i = 0; i < EACH; i++)
        entries[i] = (struct wp_socket_entry){.family = AF_INET, .protocol = IPPROTO_UDP, .local_port = 53};
    for (uint32_t round = 0; round < TIMES; round++) {
        struct wp_batch batch = {.seq = round + 2,
            .first_string = 1,
            .first_thread = 1,
            .first_socket = first + round * EACH,
            .first_object = 1,
            .first_frame = 1,
            .first_stack = 1,
            .sockets = entries,
            .socket_count = EACH};
        assert_int_equal(wp_dictionary_apply(place->dictionary, &batch, NULL), 0);
        for (uint32_t i = 0; i < EACH; i++) {
            event.time_ns++;
            event.d = i % 1000 ? batch.first_socket + i : first;
            wp_messages_event(&place->messages, &event, 1);
        }
    }
    for (uint32_t id = first + 1; id < first + TIMES * EACH; id++)
        held += wp_dictionary_socket(place->dictionary, id) != NULL;
    assert_in_range(held, EACH, 2 * EACH + TIMES * EACH / 1000 + TIMES); /* a thousandth was never used */
    assert_non_null(wp_dictionary_socket(place->dictionary, first));
    assert_null(wp_dictionary_socket(place->dictionary, first + 1));
    assert_non_null(wp_dictionary_socket(place->dictionary, 1)); /* a stream */
    free(entries);
}

static void define_sockets(struct place *place, uint32_t first, struct wp_socket_entry *entries, uint32_t count)
{
    struct wp_batch batch = {.seq = 2,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = first,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .sockets = entries,
        .socket_count = count};
    assert_int_equal(wp_dictionary_apply(place->dictionary, &batch, NULL), 0);
}

/* A peer may say of an event on a stream that it is of a datagram: the socket is kept however many of datagrams are
 * forgotten, and its addresses are still those that another one of them is compared with. */
static void a_stream_is_never_a_datagram_socket(void **state)
{
    enum { EACH = (1 << 17) + 1 };
    const uint32_t first = 2 * PAIRS + 1;
    struct place *place = *state;
    struct wp_socket_entry *entries = calloc(EACH, sizeof(*entries)),
                           twin = *wp_dictionary_socket(place->dictionary, 1);
    struct wp_event event = {.kind = WP_EVENT_SOCK_SEND, .flags = WP_SOCK_DATAGRAM, .time_ns = 2000, .d = 1};
    for (uint32_t i = 0; i < EACH; i++)
        entries[i] = (struct wp_socket_entry){.family = AF_INET, .protocol = IPPROTO_UDP, .local_port = 53};
    happen(place, WP_EVENT_SOCK_SEND, 1000, 1, 100, 100, 1);
    wp_messages_event(&place->messages, &event, 1);
    define_sockets(place, first, entries, EACH);
    for (uint32_t round = 0; round < 2; round++)
        for (event.d = first; event.d < first + EACH - 1; event.d++)
            wp_messages_event(&place->messages, &event, 1);
    event.d = first + EACH - 1;
    wp_messages_event(&place->messages, &event, 1);
    assert_non_null(wp_dictionary_socket(place->dictionary, 1));
    twin.netns++;
    define_sockets(place, first + EACH, &twin, 1);
    happen(place, WP_EVENT_SOCK_SEND, 3000, first + EACH, 100, 100, 1);
    assert_non_null(wp_messages_socket(&place->messages, 1));
    assert_non_null(wp_messages_socket(&place->messages, first + EACH));
    free(entries);
}

/* Wherever the one before was found, as a search through all of them finds it. */
static void a_ring_is_searched_from_anywhere(void **state)
{
    (void)state;
    uint64_t times[64], seed = 1;
    for (uint32_t first = 0; first < 200; first += 37) {
        struct wp_message_ring ring = {.first = first, .end = first + 60, .mask = 63};
        for (uint32_t i = first; i < ring.end; i++)
            times[i & ring.mask] = 10 + (i - first) * (i - first) / 40;
        for (uint32_t asked = 0; asked < 500; asked++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t time_ns = (seed >> 33) % 110;
            uint32_t expected = first;
            while (expected < ring.end && times[expected & ring.mask] <= time_ns)
                expected++;
            assert_int_equal(wp_message_ring_after(times, &ring, sizeof(*times), time_ns), expected);
        }
    }
    struct wp_message_ring none = {0};
    assert_int_equal(wp_message_ring_after(NULL, &none, sizeof(*times), 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(each_of_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_follows_the_rate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_was_with_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(datagrams_take_what_they_need, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closed_sockets_are_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(datagram_sockets_have_a_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_is_never_a_datagram_socket, set_up, tear_down),
        cmocka_unit_test(arrivals_take_what_they_need), cmocka_unit_test(a_ring_is_searched_from_anywhere),
        cmocka_unit_test_setup_teardown(what_is_over_takes_little, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_closed_sockets_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_address_used_again_ends_the_one_before, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
