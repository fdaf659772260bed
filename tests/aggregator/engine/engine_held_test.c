/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that tell of ever more threads, sockets, names and pseudo-stacks: who holds too much is ended, and nobody else.
 */
#include "aggregator/engine/engine.h"
#include "common/path.h"
#include "proto/batch.h"
#include "proto/batch_encode.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)
#define ENTRIES 4000u
#define PEERS 4u

enum kind { SOCKETS, THREADS, STRINGS };

struct peer {
    uint8_t host, session;
    uint64_t seq;
    uint32_t strings, threads, sockets;
};

struct place {
    char root[64];
    struct wp_engine_options options;
    struct wp_engine *engine;
    struct peer peers[PEERS];
};

static void open_engine(struct place *place, uint64_t host_memory, uint64_t memory)
{
    struct wp_error err = {0};
    snprintf(place->root, sizeof(place->root), "/tmp/wp-held-test-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    place->options = WP_ENGINE_DEFAULTS;
    place->options.store = place->root;
    place->options.session.auto_aggregates = 2;
    place->options.host_memory = host_memory;
    place->options.memory = memory;
    if (wp_engine_create(&place->engine, &place->options, NULL, &err))
        fail_msg("%s", err.text);
}

static void close_engine(struct place *place)
{
    wp_engine_destroy(place->engine);
    assert_int_equal(wp_path_remove(place->root, NULL), 0);
}

static int hello(struct place *place, uint32_t peer, uint8_t host, uint8_t session)
{
    struct wp_hello said = {.hostname = (char *)(uintptr_t) "h",
        .release = (char *)(uintptr_t) "v1",
        .host = {host},
        .session = {session},
        .start_real_ns = 5000000000};
    struct wp_welcome welcome;
    place->peers[peer] = (struct peer){host, session, 1, 1, 1, 1};
    return wp_engine_hello(place->engine, peer, &said, &welcome, NULL);
}

/* ENTRIES of a kind; each socket and thread has an event. */
static int tell(struct place *place, uint32_t number, enum kind kind)
{
    struct peer *p = &place->peers[number];
    struct wp_socket_entry *sockets = calloc(ENTRIES, sizeof(*sockets));
    struct wp_thread_entry *threads = calloc(ENTRIES, sizeof(*threads));
    struct wp_bytes *strings = calloc(ENTRIES, sizeof(*strings));
    struct wp_event *events = calloc(ENTRIES, sizeof(*events));
    static char text[300];
    struct wp_batch b = {.session = {p->session},
        .seq = p->seq,
        .first_string = p->strings,
        .first_thread = p->threads,
        .first_socket = p->sockets,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .sockets = sockets,
        .threads = threads,
        .strings = strings,
        .events = events};
    memset(text, 'x', sizeof(text));
    for (uint32_t i = 0; i < ENTRIES; i++) {
        sockets[i] = (struct wp_socket_entry){.family = AF_INET,
            .protocol = IPPROTO_TCP,
            .local_port = 80,
            .remote_port = (uint16_t)(i + 1),
            .remote = {10, p->host, (uint8_t)p->seq, (uint8_t)(p->seq >> 8)},
            .netns = 1};
        threads[i] = (struct wp_thread_entry){.tid = p->threads + i, .pid = p->threads + i};
        strings[i] = (struct wp_bytes){text, sizeof(text)};
        events[i] = (struct wp_event){
            .kind = WP_EVENT_SOCK_SEND, .time_ns = p->seq * 1000000 + i, .d = p->sockets + i, .c = 10};
        if (kind == THREADS)
            events[i] =
                (struct wp_event){.kind = WP_EVENT_WAKING, .time_ns = p->seq * 1000000 + i, .other = p->threads + i};
    }
    b.socket_count = kind == SOCKETS ? ENTRIES : 0;
    b.thread_count = kind == THREADS ? ENTRIES : 0;
    b.string_count = kind == STRINGS ? ENTRIES : 0;
    b.event_count = kind == STRINGS ? 0 : ENTRIES;
    struct wp_buffer bytes = {0};
    assert_int_equal(wp_batch_encode(&b, &bytes, NULL), 0);
    int rc = wp_engine_batch(place->engine, number, bytes.data, bytes.size, NULL);
    wp_buffer_fini(&bytes);
    if (!rc) {
        p->seq++;
        p->sockets += b.socket_count;
        p->threads += b.thread_count;
        p->strings += b.string_count;
    }
    free(sockets);
    free(threads);
    free(strings);
    free(events);
    return rc;
}

static struct wp_engine_counts counts_of(const struct place *place)
{
    struct wp_engine_counts counts;
    wp_engine_count(place->engine, &counts);
    return counts;
}

/* One host floods in two sessions: its larger one goes, and the other host is heard all the same. */
static void flood(enum kind kind)
{
    struct place place;
    uint64_t now_ns = 1000000000, most = 0;
    int rc = 0;
    open_engine(&place, 24 * MIB, 0);
    assert_int_equal(hello(&place, 0, 1, 1) | hello(&place, 1, 1, 2) | hello(&place, 2, 2, 3), 0);
    assert_int_equal(tell(&place, 2, kind) | tell(&place, 1, kind), 0);
    for (unsigned i = 0; !rc && i < 400; i++) {
        wp_engine_step(place.engine, now_ns += 1100000000);
        rc = tell(&place, 0, kind);
        most = counts_of(&place).held_bytes > most ? counts_of(&place).held_bytes : most;
    }
    assert_int_equal(rc, -E2BIG);
    assert_int_equal(counts_of(&place).shed, 1);
    assert_in_range(most, 20 * MIB, 40 * MIB);
    assert_int_equal(tell(&place, 0, kind), -E2BIG);
    assert_int_equal(tell(&place, 1, kind) | tell(&place, 2, kind), 0);
    assert_int_equal(wp_engine_commit(place.engine, now_ns, 100, true, NULL), 0);
    wp_engine_step(place.engine, now_ns += 1100000000);
    assert_int_equal(tell(&place, 2, kind), 0);
    assert_in_range(counts_of(&place).held_bytes, 1, 18 * MIB); /* it has been written, and given back */
    assert_int_equal(hello(&place, 3, 1, 4), 0);
    assert_int_equal(tell(&place, 3, kind), 0);
    close_engine(&place);
}

static void a_flood_of_sockets(void **state)
{
    (void)state;
    flood(SOCKETS);
}

static void a_flood_of_threads(void **state)
{
    (void)state;
    flood(THREADS);
}

static void a_flood_of_strings(void **state)
{
    (void)state;
    flood(STRINGS);
}

/* All together hold too much: the one that holds most goes, though no host is beyond its own share. */
static void all_have_a_bound(void **state)
{
    (void)state;
    struct place place;
    uint64_t now_ns = 1000000000;
    int rc = 0;
    open_engine(&place, 0, 32 * MIB);
    for (uint8_t i = 0; i < PEERS; i++)
        assert_int_equal(hello(&place, i, (uint8_t)(i + 1), (uint8_t)(i + 1)), 0);
    for (unsigned i = 0; !rc && i < 400; i++) {
        wp_engine_step(place.engine, now_ns += 1100000000);
        rc = tell(&place, 3, STRINGS);
        for (uint32_t peer = 0; i % 3 == 0 && peer < 3; peer++)
            assert_int_equal(tell(&place, peer, STRINGS), 0);
    }
    assert_int_equal(rc, -E2BIG);
    assert_int_equal(counts_of(&place).shed, 1);
    for (uint32_t peer = 0; peer < 3; peer++)
        assert_int_equal(tell(&place, peer, STRINGS), 0);
    close_engine(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_flood_of_sockets), cmocka_unit_test(a_flood_of_threads),
        cmocka_unit_test(a_flood_of_strings), cmocka_unit_test(all_have_a_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
