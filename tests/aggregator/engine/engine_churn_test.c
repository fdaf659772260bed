/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are born, take connections and end, again and again: what is held of a session follows those that
 * live. An hour of 200 processes and 5,000 connections a second, with what is resident at each tenth: WP_BATCHES=14400
 * WP_LIFE_NS=5000000 WP_CONNECTIONS=25.
 */
#include "tests/aggregator/aggregate_of.h"
#include "aggregator/account/aggregate_body.h"
#include "aggregator/engine/engine.h"
#include "aggregator/explain/explain_node.h"
#include "aggregator/net/connections.h"
#include "aggregator/session/host_session_durable.h"
#include "aggregator/session/session_bytes.h"
#include "aggregator/session/session_deltas.h"
#include "common/path.h"
#include "proto/batch.h"
#include "proto/batch_encode.h"
#include "storage/report/report_read.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define EACH 50u /* lives of a batch */
#define LIFE_NS 1000000u
#define CONNECTIONS 25u /* of a life, at most */
#define EVENTS 4u       /* of a life, and of each of its connections */
#define RENAMES 6u      /* of a life, at most */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define BATCHES 500u  /* 25 s */
#define SOCKETS 2500u /* of 2.5 s: history, lateness, an epoch, and a second for what is on its way */
#define SOCKET_BYTES 400u

struct place {
    struct wp_aggregate_rule rule;
    struct wp_host_session_options options;
    struct wp_host_session *session;
    struct wp_engine *engine;    /* whose the session is; NULL: it is alone */
    uint32_t lives, connections; /* so far; of a life */
    uint64_t batches, life_ns;
    uint32_t process_rows; /* of an hour */
    uint32_t renames;      /* of a life */
    struct wp_thread_entry threads[EACH + 1];
    struct wp_socket_entry sockets[EACH * CONNECTIONS];
    struct wp_event events[EACH * (EVENTS * (1 + CONNECTIONS) + RENAMES + 2)];
    uint32_t event_count;
};

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void open_session(struct place *place)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .start_real_ns = 5000000000};
    place->options = (struct wp_host_session_options){.rule_count = 1,
        .rules = &place->rule,
        .epoch_ns = 50000000,
        .lateness_ns = 100000000,
        .history_ns = 500000000,
        .process_rows = place->process_rows};
    assert_int_equal(wp_selector_parse(&place->rule.selector, "comm=child", NULL), 0);
    snprintf(place->rule.name, sizeof(place->rule.name), "main");
    assert_int_equal(wp_host_session_create(&place->session, &hello, "v1", &place->options, NULL, NULL), 0);
}

static void put(struct place *place, struct wp_event event)
{
    place->events[place->event_count++] = event;
}

static void put_connection(struct place *place, uint32_t child, uint32_t socket, uint64_t at)
{
    put(place,
        (struct wp_event){.kind = WP_EVENT_SOCK_STATE,
            .time_ns = at,
            .d = socket,
            .a = (uint64_t)socket << 32 | 7,
            .b = 3,
            .c = TCP_ESTABLISHED});
    put(place,
        (struct wp_event){
            .kind = WP_EVENT_SOCK_RECV, .time_ns = at + 1, .thread = child, .d = socket, .a = 100, .c = 100});
    put(place,
        (struct wp_event){
            .kind = WP_EVENT_SOCK_SEND, .time_ns = at + 2, .thread = child, .d = socket, .a = 100, .c = 100});
    put(place,
        (struct wp_event){.kind = WP_EVENT_SOCK_STATE,
            .time_ns = at + 3,
            .thread = child,
            .d = socket,
            .b = TCP_ESTABLISHED,
            .c = TCP_CLOSE});
}

/* Thread 1 forks a child, which answers on connections of its own, wakes it, and ends. */
static void put_life(struct place *place, uint32_t i, uint32_t first_thread, uint32_t first_socket)
{
    uint32_t child = first_thread + i, pid = 100 + place->lives % 4000000;
    uint64_t at = 1000000000 + (uint64_t)place->lives * place->life_ns;
    place->threads[i] = (struct wp_thread_entry){.tid = pid, .pid = pid, .comm = 1, .parent = 1, .start_ns = at};
    put(place, (struct wp_event){.kind = WP_EVENT_FORK, .time_ns = at, .thread = 1, .other = child});
    put(place,
        (struct wp_event){
            .kind = WP_EVENT_SWITCH, .time_ns = at + 1000, .thread = 1, .other = child, .c = WP_STATE_INTERRUPTIBLE});
    for (uint32_t j = 0; j < place->connections; j++) {
        uint32_t n = i * place->connections + j, socket = first_socket + n;
        place->sockets[n] = (struct wp_socket_entry){.family = AF_INET,
            .protocol = IPPROTO_TCP,
            .local_port = 80,
            .remote_port = (uint16_t)(1024 + socket % 60000),
            .remote = {10, (uint8_t)(socket / 15360000), (uint8_t)(socket / 60000), 1},
            .netns = 1};
        put_connection(place, child, socket, at + 2000 + j * 10000);
    }
    for (uint32_t j = 0; place->renames && j < 2; j++) /* the parent goes back and forth */
        put(place, (struct wp_event){.kind = WP_EVENT_RENAME, .time_ns = at + 500000 + j, .thread = 1, .c = j ? 0 : 2});
    for (uint32_t j = 0; j < place->renames; j++)
        put(place,
            (struct wp_event){
                .kind = WP_EVENT_RENAME, .time_ns = at + 600000 + j, .thread = child, .c = j % 2 ? 1 : 2});
    put(place,
        (struct wp_event){
            .kind = WP_EVENT_WAKING, .time_ns = at + 700000, .thread = child, .other = 1, .c = WP_CAUSE_TASK});
    put(place,
        (struct wp_event){
            .kind = WP_EVENT_SWITCH, .time_ns = at + 800000, .thread = child, .other = 1, .c = WP_STATE_DEAD});
    place->lives++;
}

static void send_batch(struct place *place, uint64_t seq)
{
    struct wp_bytes strings[] = {{"child", 5}, {"other", 5}};
    struct wp_error err = {0};
    bool is_first = seq == 1;
    uint32_t first_thread = 2 + place->lives, first_socket = 1 + place->lives * place->connections;
    struct wp_batch b = {.session = {1},
        .seq = seq,
        .first_string = is_first ? 1 : 3,
        .first_thread = first_thread,
        .first_socket = first_socket,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .threads = place->threads,
        .thread_count = EACH,
        .sockets = place->sockets,
        .socket_count = EACH * place->connections,
        .events = place->events,
        .strings = strings,
        .string_count = is_first ? 2 : 0};
    place->event_count = 0;
    for (uint32_t i = 0; i < EACH; i++)
        put_life(place, i, first_thread, first_socket);
    b.event_count = place->event_count;
    if (is_first) { /* and the parent before them */
        memmove(place->threads + 1, place->threads, EACH * sizeof(*place->threads));
        place->threads[0] = (struct wp_thread_entry){.tid = 1, .pid = 1};
        b.first_thread = 1;
        b.thread_count = EACH + 1;
    }
    struct wp_buffer bytes = {0};
    if (place->engine
            ? wp_batch_encode(&b, &bytes, &err) || wp_engine_batch(place->engine, 1, bytes.data, bytes.size, &err)
            : wp_host_session_take(place->session, &b, &err))
        fail_msg("%s", err.text);
    wp_buffer_fini(&bytes);
    wp_session_deltas_mark_names(place->session); /* as after a commit */
    wp_host_session_durable_seq(place->session);
    for (uint32_t i = 0; seq % 100 == 0 && aggregate_of(place->session, i); i++)
        wp_aggregate_next_delta(aggregate_of(place->session, i));
}

static void tell(const struct place *place)
{
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*u %lu", &resident) == 1)
        print_message("%u processes, %u connections: %llu KiB held, %lu KiB resident\n", place->lives,
            place->lives * place->connections, (unsigned long long)wp_session_bytes(place->session) / 1024,
            resident * 4);
    if (file)
        fclose(file);
}

static uint32_t sockets_of(const struct place *place)
{
    uint32_t count = 0;
    for (uint32_t id = 1; id <= place->lives * place->connections; id++)
        count += wp_messages_socket(&wp_host_session_timeline(place->session)->messages, id) != NULL;
    return count;
}

/* A connection that is over is a row with what was sent and read, one end, and next to nothing in an index. */
static void check_sockets(const struct place *place)
{
    const struct wp_messages *messages = &wp_host_session_timeline(place->session)->messages;
    size_t of_ends = wp_connections_bytes(
        wp_host_session_source(place->session)->fleet->connections, wp_host_session_source(place->session)->home);
    uint32_t count = sockets_of(place);
    assert_in_range(count, 1, SOCKETS * place->connections);
    assert_in_range(messages->by_address.count, 0, 2 * EACH * place->connections);
    assert_in_range(wp_idtable_bytes(&messages->table) + messages->ring_bytes + of_ends, 1, count * SOCKET_BYTES);
}

/* But for the window that is kept whole, which fills up to a bound of its own. */
static uint64_t held_besides(const struct place *place)
{
    return wp_session_bytes(place->session) - wp_exemplar_bytes(&aggregate_of(place->session, 0)->exemplar);
}

static void what_is_held_follows_what_lives(void **state)
{
    (void)state;
    struct place *place = calloc(1, sizeof(*place));
    const struct wp_timeline *timeline;
    uint64_t early = 0;
    place->connections = (uint32_t)number("WP_CONNECTIONS", 1) % (CONNECTIONS + 1);
    place->batches = number("WP_BATCHES", BATCHES);
    place->life_ns = number("WP_LIFE_NS", LIFE_NS);
    open_session(place);
    timeline = wp_host_session_timeline(place->session);
    for (uint64_t seq = 1; seq <= place->batches; seq++) {
        send_batch(place, seq);
        if (seq == place->batches / 2)
            early = held_besides(place);
        if (seq % (place->batches / 10) == 0)
            tell(place);
    }
    uint64_t late = held_besides(place);
    uint32_t living = 4000; /* of 4 s: history and lateness, and five times the history */
    assert_int_equal(place->lives, place->batches * EACH);
    assert_in_range(timeline->live_count, 1, living);
    assert_in_range(timeline->process_of_pid.count, 1, living + 1);
    assert_in_range(aggregate_of(place->session, 0)->base_count, 1, living);
    assert_null(wp_dictionary_thread(wp_host_session_dictionary(place->session), 2));
    assert_null(wp_dictionary_socket(wp_host_session_dictionary(place->session), 1));
    assert_non_null(wp_dictionary_thread(wp_host_session_dictionary(place->session), 1));
    assert_int_equal(timeline->counts.chain_breaks, 0);
    check_sockets(place);
    if (late > early + early / 20)
        fail_msg("%llu bytes after a half, %llu at the end", (unsigned long long)early, (unsigned long long)late);
    wp_host_session_destroy(place->session);
    wp_selector_fini(&place->rule.selector);
    free(place);
}

/* More than the history is kept to explain with, as memory allows: of connections, too. */
static void what_is_kept_to_look_back_has_a_bound(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    (void)state;
    place->connections = 5;
    place->life_ns = LIFE_NS;
    open_session(place);
    place->options.lookback_ns = 3600000000000;
    place->options.lookback_bytes = 4 << 20;
    for (uint64_t seq = 1; seq <= 300; seq++)
        send_batch(place, seq);
    assert_in_range(wp_messages_bytes(&wp_host_session_timeline(place->session)->messages), 1 << 20, 8 << 20);
    wp_host_session_destroy(place->session);
    wp_selector_fini(&place->rule.selector);
    free(place);
}

/* What an explanation remembers of its way is asked for again or not: of processes and connections that come and go, it
 * is not. */
static void what_is_remembered_has_a_bound(void **state)
{
    struct wp_explainer x = {0};
    size_t bytes = 0;
    (void)state;
    for (uint32_t i = 0; i < 1000000; i++) {
        wp_explain_remember(&x, (struct wp_intkey){i, 1}, i);
        bytes = wp_intmap_bytes(&x.sites) > bytes ? wp_intmap_bytes(&x.sites) : bytes;
    }
    assert_in_range(bytes, 1, 8 << 20);
    wp_intmap_fini(&x.sites);
}

/* The rows of a report, and of them the one for all that have none of their own. */
static uint32_t rows_of(const struct wp_report *report, const struct wp_report_process **others)
{
    uint32_t count;
    const struct wp_report_process *rows = wp_report_processes(report, &count);
    *others = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(wp_report_text(report, rows[i].comm), WP_REPORT_OTHERS))
            *others = &rows[i];
    return count;
}

static uint64_t time_of(const struct wp_report *report)
{
    uint32_t count;
    const struct wp_report_process *rows = wp_report_processes(report, &count);
    uint64_t ns = 0;
    for (uint32_t i = 0; i < count; i++)
        ns += rows[i].total_ns;
    return ns;
}

static void have_lived(struct place *place, uint32_t process_rows)
{
    place->life_ns = LIFE_NS;
    place->process_rows = process_rows;
    open_session(place);
    for (uint64_t seq = 1; seq <= 40; seq++)
        send_batch(place, seq);
}

static void no_longer(struct place *place)
{
    wp_host_session_destroy(place->session);
    wp_selector_fini(&place->rule.selector);
    free(place);
}

/* Processes beyond the bound of an hour share a row, with all their time, and the report says how much that was. */
static void rows_of_processes_have_a_bound(void **state)
{
    struct place *free_place = calloc(1, sizeof(*free_place)), *place = calloc(1, sizeof(*place));
    const struct wp_report_process *others;
    uint32_t limits;
    (void)state;
    have_lived(free_place, 0);
    have_lived(place, 100);
    const struct wp_report *whole = report_of(free_place->session, 0), *bound = report_of(place->session, 0);
    assert_in_range(rows_of(whole, &others), 1000, 2001);
    assert_null(others);
    assert_int_equal(rows_of(bound, &others), 100); /* 99, pid 1 counts too, and the others */
    assert_non_null(others);
    assert_int_equal(others->pid, 0);
    assert_int_equal(time_of(bound), time_of(whole));
    const struct wp_limit_count *limit = wp_report_limits(bound, &limits);
    while (limits && strcmp(wp_report_text(bound, limit->name), "processes"))
        limit++, limits--;
    assert_true(limits && limit->count);
    assert_int_equal(limit->ns, others->total_ns);
    no_longer(free_place);
    no_longer(place);
}

/* Requests of an epoch are as many as a host says. */
static void what_is_kept_for_requests_is_held(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    (void)state;
    have_lived(place, 0);
    uint64_t before = wp_session_bytes(place->session);
    uint32_t first = 0;
    for (uint32_t i = 0; i < 100000; i++)
        wp_request_pieces_expect(&aggregate_of(place->session, 0)->requests, &first, i, i + 1);
    assert_true(wp_session_bytes(place->session) >= before + 100000 * sizeof(struct wp_request));
    no_longer(place);
}

/* A thread's number may be any: the window holds those that are in it. */
static void what_a_window_takes_is_held(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    (void)state;
    have_lived(place, 0);
    struct wp_aggregate *aggregate = aggregate_of(place->session, 0);
    uint64_t before = wp_session_bytes(place->session);
    struct wp_trace *trace = aggregate->exemplar.trace;
    assert_non_null(trace);
    for (uint32_t i = 0; i < 10000; i++)
        wp_trace_add_run(trace, &(struct wp_trace_run){0, 0, i, 1, 0});
    assert_true(wp_session_bytes(place->session) >= before + 10000 * sizeof(struct wp_trace_run));
    no_longer(place);
}

/* A process that goes from one name to another and back has two rows. */
static void a_name_that_it_had_is_no_other_row(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    (void)state;
    place->renames = RENAMES;
    have_lived(place, 0);
    assert_int_equal(wp_host_session_timeline(place->session)->rows_now.count, 2 * place->lives + 2);
    no_longer(place);
}

/* Three runs at that time, of the first process, the second one, and the second one by its other name. */
static void run_in_turn(struct place *place, uint64_t seq, uint64_t at, bool is_renamed)
{
    struct wp_bytes strings[] = {{"child", 5}, {"other", 5}};
    struct wp_error err = {0};
    bool is_first = seq == 1;
    place->event_count = 0;
    put(place, (struct wp_event){.kind = WP_EVENT_SWITCH, .time_ns = at, .other = 1, .c = WP_STATE_RUNNING});
    put(place, (struct wp_event){.kind = WP_EVENT_SWITCH, .time_ns = at + 10, .thread = 1, .other = 2, .c = 1});
    if (is_renamed)
        put(place, (struct wp_event){.kind = WP_EVENT_RENAME, .time_ns = at + 20, .thread = 2, .c = 2});
    put(place, (struct wp_event){.kind = WP_EVENT_SWITCH, .time_ns = at + 30, .thread = 2, .c = 1});
    place->threads[0] = (struct wp_thread_entry){.tid = 1, .pid = 1, .comm = 1};
    place->threads[1] = (struct wp_thread_entry){.tid = 2, .pid = 2, .comm = 1};
    struct wp_batch b = {.session = {1},
        .seq = seq,
        .first_string = is_first ? 1 : 3,
        .first_thread = is_first ? 1 : 3,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .threads = place->threads,
        .thread_count = is_first ? 2 : 0,
        .events = place->events,
        .event_count = place->event_count,
        .strings = strings,
        .string_count = is_first ? 2 : 0};
    if (wp_host_session_take(place->session, &b, &err))
        fail_msg("%s", err.text);
}

/* The bound is of an hour: who had no row has one in a later hour, as it runs or takes another name. */
static void a_later_hour_has_rows_for_others(void **state)
{
    const uint64_t hour = 3600000000000;
    struct place *place = calloc(1, sizeof(*place));
    (void)state;
    place->process_rows = 1;
    open_session(place);
    const struct wp_timeline *timeline = wp_host_session_timeline(place->session);
    run_in_turn(place, 1, 1000000000, false);
    assert_false(timeline->processes[1].is_grouped);
    assert_true(timeline->processes[2].is_grouped);
    run_in_turn(place, 2, 2000000000, true); /* another name is no way out */
    assert_true(timeline->processes[2].is_grouped);
    run_in_turn(place, 3, hour + 1000000000, false);
    assert_false(timeline->processes[2].is_grouped);
    assert_int_equal(timeline->rows_now.count, 1);
    no_longer(place);
}

static uint64_t begin_engine(struct place *place, const char *store, const char *resume)
{
    struct wp_engine_options options = WP_ENGINE_DEFAULTS;
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .session = {1}, .start_real_ns = 5000000000};
    struct wp_welcome welcome;
    struct wp_error err = {0};
    options.store = store;
    options.resume = resume;
    options.session.rules = &place->rule;
    options.session.rule_count = 1;
    options.session.epoch_ns = 50000000;
    options.session.lateness_ns = 100000000;
    options.session.history_ns = 500000000;
    options.session.checkpoint_ns = 1000000000;
    options.session.process_rows = place->process_rows;
    if (wp_engine_create(&place->engine, &options, NULL, &err) ||
        wp_engine_hello(place->engine, 1, &hello, &welcome, &err))
        fail_msg("%s", err.text);
    place->session = wp_engine_session(place->engine, 0);
    return welcome.resume_seq;
}

/* What is forgotten is not in a checkpoint, and not there after a restart from it. */
static void a_restart_brings_nobody_back(void **state)
{
    (void)state;
    struct place *place = calloc(1, sizeof(*place));
    char root[] = "/tmp/wp-churn-test-XXXXXX", store[64], resume[64];
    assert_non_null(mkdtemp(root));
    snprintf(store, sizeof(store), "%s/store", root);
    snprintf(resume, sizeof(resume), "%s/resume", root);
    assert_int_equal(wp_selector_parse(&place->rule.selector, "comm=child", NULL), 0);
    snprintf(place->rule.name, sizeof(place->rule.name), "main");
    place->connections = 1;
    place->life_ns = LIFE_NS;
    place->process_rows = 3 * 600 * EACH;
    place->renames = 1;
    assert_int_equal(begin_engine(place, store, resume), 1);
    for (uint64_t seq = 1; seq <= 600; seq++) {
        send_batch(place, seq);
        if (seq % 20 == 0)
            assert_int_equal(wp_engine_commit(place->engine, seq, 100, true, NULL), 0);
    }
    uint32_t rows = wp_host_session_timeline(place->session)->rows_now.count;
    wp_engine_destroy(place->engine);
    uint64_t next = begin_engine(place, store, resume);
    assert_in_range(next, 550, 600);
    assert_in_range(wp_host_session_timeline(place->session)->live_count, 1, 4000);
    assert_null(wp_dictionary_thread(wp_host_session_dictionary(place->session), 2));
    assert_null(wp_dictionary_socket(wp_host_session_dictionary(place->session), 1));
    assert_non_null(wp_dictionary_thread(wp_host_session_dictionary(place->session), 1));
    assert_non_null(wp_dictionary_socket(wp_host_session_dictionary(place->session), (uint32_t)(next - 2) * EACH));
    place->lives = (uint32_t)(next - 1) * EACH;
    for (uint64_t seq = next; seq <= 600; seq++)
        send_batch(place, seq);
    assert_int_equal(
        wp_host_session_timeline(place->session)->rows_now.count, rows); /* each process and its other name once */
    wp_engine_destroy(place->engine);
    wp_selector_fini(&place->rule.selector);
    assert_int_equal(wp_path_remove(root, NULL), 0);
    free(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_held_follows_what_lives),
        cmocka_unit_test(what_is_kept_to_look_back_has_a_bound), cmocka_unit_test(what_is_remembered_has_a_bound),
        cmocka_unit_test(rows_of_processes_have_a_bound), cmocka_unit_test(what_is_kept_for_requests_is_held),
        cmocka_unit_test(what_a_window_takes_is_held), cmocka_unit_test(a_name_that_it_had_is_no_other_row),
        cmocka_unit_test(a_later_hour_has_rows_for_others), cmocka_unit_test(a_restart_brings_nobody_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
