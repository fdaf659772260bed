/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames as each version wrote them, kept in corpus_v1/ (1.0) and corpus_v1_N/: what is written today must be read
 * tomorrow, and the other way round a peer that is newer by a minor version, or by a major one, is met as docs/wire.md
 * says. A new version gets its set by `proto_corpus_test --write FOLDER`, make_corpus.py and `proto_corpus_test --texts
 * NAME`; it is not made again once it was released.
 */
#include "made_batch.h"

#include "common/path.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/dictionary.h"
#include "proto/frame.h"
#include "proto/session.h"
#include "proto/transport_client.h"
#include "proto/transport_server.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define MADE_BATCHES 12

struct corpus {
    struct wp_buffer bytes;
    size_t at;
    struct wp_frame_reader *reader;
};

/* By wire minor. */
static const char *const sets[] = {"corpus_v1", "corpus_v1_1", "corpus_v1_2", "corpus_v1_3", "corpus_v1_4",
    "corpus_v1_5", "corpus_v1_6", "corpus_v1_7", "corpus_v1_8", "corpus_v1_9"};
#define SETS (sizeof(sets) / sizeof(sets[0]))
_Static_assert(
    SETS == WP_WIRE_MINOR + 1, "each released version has a corpus: make_corpus.py, and --write of this test");

static struct corpus open_corpus(const char *set, const char *name)
{
    struct corpus c = {.reader = wp_frame_reader_create()};
    struct wp_error err = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s/%s/%s", CORPUS, set, name);
    if (wp_file_read(path, 1 << 24, &c.bytes, &err))
        fail_msg("%s", err.text);
    return c;
}

static void close_corpus(struct corpus *c)
{
    wp_frame_reader_destroy(c->reader);
    wp_buffer_fini(&c->bytes);
}

static bool next_frame(struct corpus *c, struct wp_frame *frame)
{
    struct wp_error err = {0};
    if (c->at == c->bytes.size)
        return false;
    if (wp_frame_read(c->reader, c->bytes.data + c->at, c->bytes.size - c->at, frame, &err))
        fail_msg("at byte %zu: %s", c->at, err.text);
    c->at += frame->consumed;
    return true;
}

/* --- a session as text: every field that a reader sees --- */

static void tell_batch(struct wp_buffer *out, const struct wp_batch *b)
{
    uint64_t sum = 14695981039346656037u;
    for (uint32_t i = 0; i < b->event_count; i++) {
        const struct wp_event *e = &b->events[i];
        const uint64_t fields[] = {
            e->time_ns, e->kind, e->flags, e->cpu, e->thread, e->other, e->stack, e->a, e->b, e->c, e->d};
        for (size_t j = 0; j < sizeof(fields) / sizeof(fields[0]); j++)
            sum = (sum ^ fields[j]) * 1099511628211u;
    }
    wp_buffer_printf(out, "batch %llu watermark=%llu anchor=%llu/%llu last=%d events=%u sum=%016llx\n",
        (unsigned long long)b->seq, (unsigned long long)b->watermark_ns, (unsigned long long)b->anchor_mono_ns,
        (unsigned long long)b->anchor_real_ns, b->is_last, b->event_count, (unsigned long long)sum);
    wp_buffer_printf(out,
        "  strings=%u@%u threads=%u@%u sockets=%u@%u objects=%u@%u frames=%u@%u stacks=%u@%u devices=%u drops=%u\n",
        b->string_count, b->first_string, b->thread_count, b->first_thread, b->socket_count, b->first_socket,
        b->object_count, b->first_object, b->frame_count, b->first_frame, b->stack_count, b->first_stack,
        b->device_count, b->drop_count);
    for (uint32_t i = 0; i < b->thread_count; i++) {
        const struct wp_thread_entry *t = &b->threads[i];
        wp_buffer_printf(out, "  thread %u/%u start=%llu comm=%u exe=%u cgroup=%u parent=%u flags=%u matches=%u\n",
            t->tid, t->pid, (unsigned long long)t->start_ns, t->comm, t->exe, t->cgroup, t->parent, t->flags,
            t->cmdline_matches[0]);
    }
    for (uint32_t i = 0; i < b->socket_count; i++) {
        const struct wp_socket_entry *s = &b->sockets[i];
        wp_buffer_printf(out, "  socket %u/%u %02x%02x:%u-%02x%02x:%u netns=%u\n", s->family, s->protocol, s->local[0],
            s->local[3], s->local_port, s->remote[0], s->remote[3], s->remote_port, s->netns);
    }
    for (uint32_t i = 0; i < b->drop_count; i++)
        wp_buffer_printf(out, "  drop kind=%u cpu=%u count=%llu %llu-%llu\n", b->drops[i].kind, b->drops[i].cpu,
            (unsigned long long)b->drops[i].count, (unsigned long long)b->drops[i].from_ns,
            (unsigned long long)b->drops[i].to_ns);
}

static void tell_hello(struct wp_buffer *out, const struct wp_frame *frame)
{
    struct wp_hello hello;
    struct wp_error err = {0};
    if (wp_hello_decode(&hello, frame->payload, frame->size, &err))
        fail_msg("%s", err.text);
    wp_buffer_printf(out,
        "hello %u.%u host=%02x%02x session=%02x%02x hostname=%s machine=%s source=%s release=%s cpus=%u labels=%u "
        "anchor=%llu/%llu samples=%u\n",
        hello.wire_major, hello.wire_minor, hello.host[0], hello.host[15], hello.session[0], hello.session[15],
        hello.hostname, hello.machine, hello.source, hello.release, hello.cpus, hello.label_count,
        (unsigned long long)hello.start_mono_ns, (unsigned long long)hello.start_real_ns, hello.sample_period_ns);
    wp_hello_fini(&hello);
}

static void tell_bye(struct wp_buffer *out, const struct wp_frame *frame)
{
    struct wp_bye bye;
    assert_int_equal(wp_bye_decode(&bye, frame->payload, frame->size, NULL), 0);
    wp_buffer_printf(out, "bye last=%llu events=%llu dropped=%llu\n", (unsigned long long)bye.last_seq,
        (unsigned long long)bye.events, (unsigned long long)bye.dropped);
}

static struct wp_buffer tell_session(const char *set, const char *name)
{
    struct corpus c = open_corpus(set, name);
    struct wp_buffer out = {0};
    struct wp_batch batch = {0};
    struct wp_dictionary *dictionary = wp_dictionary_create();
    struct wp_frame frame;
    struct wp_error err = {0};
    while (next_frame(&c, &frame)) {
        if (frame.type == WP_FRAME_HELLO) {
            tell_hello(&out, &frame);
        } else if (frame.type == WP_FRAME_BYE) {
            tell_bye(&out, &frame);
        } else {
            assert_int_equal(frame.type, WP_FRAME_BATCH);
            if (wp_batch_decode(&batch, frame.payload, frame.size, &err) ||
                wp_dictionary_apply(dictionary, &batch, &err))
                fail_msg("%s: %s", name, err.text);
            tell_batch(&out, &batch);
        }
    }
    wp_batch_fini(&batch);
    wp_dictionary_destroy(dictionary);
    close_corpus(&c);
    return out;
}

static void session_is(const char *set, const char *name)
{
    struct wp_buffer got = tell_session(set, name), want = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s/%s/%s.txt", CORPUS, set, name);
    assert_int_equal(wp_file_read(path, 1 << 24, &want, NULL), 0);
    assert_true(got.size > 100);
    assert_string_equal((char *)got.data, (char *)want.data);
    wp_buffer_fini(&got);
    wp_buffer_fini(&want);
}

static void old_sessions(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETS; i++) {
        session_is(sets[i], "recorded.capture");
        session_is(sets[i], "made.capture");
    }
}

/* What a collector and an aggregator of each version say they are, and that nothing of it is strange today. */
static void each_minor(void **state)
{
    (void)state;
    for (uint32_t minor = 1; minor < SETS; minor++) {
        struct corpus said = open_corpus(sets[minor], "recorded.capture"),
                      answered = open_corpus(sets[minor], "answers.frames");
        struct wp_frame frame;
        struct wp_hello hello;
        struct wp_welcome welcome;
        struct wp_error err = {0};
        unsigned kinds[WP_FRAME_TYPES] = {0};
        assert_true(next_frame(&said, &frame));
        assert_int_equal(wp_hello_decode(&hello, frame.payload, frame.size, &err), 0);
        assert_true(hello.wire_major == 1 && hello.wire_minor == minor);
        wp_hello_fini(&hello);
        while (next_frame(&answered, &frame)) {
            kinds[frame.type]++;
            if (frame.type != WP_FRAME_WELCOME)
                continue;
            assert_int_equal(wp_welcome_decode(&welcome, frame.payload, frame.size, &err), 0);
            assert_true(welcome.wire_major == 1 && welcome.wire_minor == minor);
        }
        assert_true(kinds[WP_FRAME_WELCOME] == 1 && kinds[WP_FRAME_ACK] && !kinds[WP_FRAME_REFUSED]);
        assert_int_equal(kinds[WP_FRAME_NAME_ANSWER], minor >= 4);
        close_corpus(&said);
        close_corpus(&answered);
    }
}

static void old_answers(void **state)
{
    (void)state;
    struct corpus c = open_corpus(sets[0], "answers.frames");
    struct wp_frame frame;
    struct wp_welcome welcome;
    assert_true(next_frame(&c, &frame));
    assert_int_equal(frame.type, WP_FRAME_WELCOME);
    assert_int_equal(wp_welcome_decode(&welcome, frame.payload, frame.size, NULL), 0);
    assert_true(
        welcome.wire_major == 1 && welcome.wire_minor == 0 && welcome.resume_seq == 77 && welcome.credit == 256);
    assert_true(next_frame(&c, &frame));
    assert_int_equal(frame.type, WP_FRAME_ACK);
    Wakepath__Wire__Ack *ack = wakepath__wire__ack__unpack(NULL, frame.size, frame.payload);
    assert_true(ack && ack->seq == 76);
    wakepath__wire__ack__free_unpacked(ack, NULL);
    for (int is_fatal = 0; is_fatal < 2; is_fatal++) {
        assert_true(next_frame(&c, &frame));
        assert_int_equal(frame.type, WP_FRAME_REFUSED);
        Wakepath__Wire__Refused *refused = wakepath__wire__refused__unpack(NULL, frame.size, frame.payload);
        assert_non_null(refused);
        assert_string_equal(refused->reason, "a damaged frame");
        assert_int_equal(refused->is_fatal, is_fatal);
        wakepath__wire__refused__free_unpacked(refused, NULL);
    }
    assert_false(next_frame(&c, &frame));
    close_corpus(&c);
}

/* --- newer peers --- */

/* Fields that this version has never heard of, of each wire type: numbers 1000 to 1003. */
static void add_unknown_fields(struct wp_buffer *raw)
{
    static const uint8_t fields[] = {0xc0, 0x3e, 0x96, 0x01, 0xc9, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8, 0xd2, 0x3e, 3, 'n',
        'e', 'w', 0xdd, 0x3e, 1, 2, 3, 4};
    assert_int_equal(wp_buffer_append(raw, fields, sizeof(fields)), 0);
}

static void newer_minor_is_read(void **state)
{
    (void)state;
    struct wp_error err = {0};
    struct corpus c = open_corpus(sets[0], "made.capture");
    struct wp_frame frame;
    unsigned frames = 0;
    while (next_frame(&c, &frame)) {
        struct wp_buffer raw = {0}, plain = {0}, newer = {0};
        struct wp_batch before = {0}, after = {0};
        struct wp_hello hello;
        wp_buffer_append(&raw, frame.payload, frame.size);
        add_unknown_fields(&raw);
        if (frame.type == WP_FRAME_HELLO) {
            if (wp_hello_decode(&hello, raw.data, raw.size, &err))
                fail_msg("%s", err.text);
            wp_hello_fini(&hello);
        } else if (frame.type == WP_FRAME_BATCH) {
            assert_int_equal(wp_batch_decode(&before, frame.payload, frame.size, &err), 0);
            if (wp_batch_decode(&after, raw.data, raw.size, &err))
                fail_msg("%s", err.text);
            tell_batch(&plain, &before);
            tell_batch(&newer, &after);
            assert_string_equal((char *)plain.data, (char *)newer.data);
        }
        frames++;
        wp_batch_fini(&before);
        wp_batch_fini(&after);
        wp_buffer_fini(&raw);
        wp_buffer_fini(&plain);
        wp_buffer_fini(&newer);
    }
    assert_int_equal(frames, MADE_BATCHES + 2);
    close_corpus(&c);
}

struct meeting {
    char endpoint[64];
    void *context, *raw;
};

static struct meeting meet(int type)
{
    struct meeting m = {.context = zmq_ctx_new()};
    int none = 0;
    m.raw = zmq_socket(m.context, type);
    snprintf(m.endpoint, sizeof(m.endpoint), "ipc:///tmp/wp-corpus-%d", (int)getpid());
    zmq_setsockopt(m.raw, ZMQ_LINGER, &none, sizeof(none));
    return m;
}

static void part(struct meeting *m)
{
    zmq_close(m->raw);
    zmq_ctx_term(m->context);
    unlink(m->endpoint + 6);
}

/* A client of this version and a server of another, played with a raw socket. The client's last return value. */
static int meet_server(uint32_t major, uint32_t minor, uint8_t frame_major, struct wp_error *err)
{
    struct meeting m = meet(ZMQ_ROUTER);
    struct wp_client *client;
    struct wp_buffer raw = {0}, frame = {0};
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR, .session = {5}};
    uint8_t identity[32], bytes[1024];
    int rc = 0, size = -1;
    unlink(m.endpoint + 6);
    assert_int_equal(zmq_bind(m.raw, m.endpoint), 0);
    assert_int_equal(wp_client_open_with(&client, &(struct wp_client_options){.endpoint = m.endpoint}, &hello, err), 0);
    for (int i = 0; i < 500 && size < 0; i++) {
        assert_true(wp_client_poll(client, 10, err) >= 0);
        size = zmq_recv(m.raw, identity, sizeof(identity), ZMQ_DONTWAIT);
    }
    assert_int_equal(size, 17);
    zmq_recv(m.raw, bytes, sizeof(bytes), 0);
    wp_welcome_encode(
        &(struct wp_welcome){.wire_major = major, .wire_minor = minor, .resume_seq = 3, .credit = 9}, &raw, NULL);
    add_unknown_fields(&raw);
    wp_frame_write(writer, WP_FRAME_WELCOME, raw.data, raw.size, &frame, NULL);
    frame.data[4] = frame_major;
    for (int i = frame_major == 1; i < 2; i++) { /* a single frame of another version may be a damaged one */
        zmq_send(m.raw, identity, (size_t)size, ZMQ_SNDMORE);
        zmq_send(m.raw, frame.data, frame.size, 0);
    }
    for (int i = 0; i < 500 && rc >= 0 && !wp_client_is_welcome(client); i++)
        rc = wp_client_poll(client, 10, err);
    if (rc >= 0)
        assert_int_equal(wp_client_welcome(client)->resume_seq, 3);
    wp_client_close(client);
    wp_frame_writer_destroy(writer);
    wp_buffer_fini(&raw);
    wp_buffer_fini(&frame);
    part(&m);
    return rc;
}

static void another_server(void **state)
{
    (void)state;
    struct wp_error err = {0};
    assert_true(meet_server(1, 9, 1, &err) >= 0);
    assert_int_equal(meet_server(2, 0, 1, &err), -ECONNREFUSED);
    assert_non_null(strstr(err.text, "2.0"));
    assert_non_null(strstr(err.text, "1.9"));
    assert_int_equal(meet_server(2, 0, 2, &err), -ECONNREFUSED); /* its frames are of another version too */
    assert_non_null(strstr(err.text, "version 2"));
    assert_non_null(strstr(err.text, "version 1"));
}

/* A server of this version and a client of another: what it answers, as text; "" for a Hello that was taken. */
static void meet_client(uint32_t major, uint32_t minor, uint8_t frame_major, char answer[256])
{
    struct meeting m = meet(ZMQ_DEALER);
    struct wp_server *server;
    struct wp_server_message message;
    struct wp_buffer raw = {0}, frame = {0};
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_hello hello = {.wire_major = major, .wire_minor = minor, .session = {5}};
    struct wp_frame got;
    uint8_t identity[17] = {'W', 5}, bytes[1024];
    int size = -1, taken = 0;
    struct wp_error err = {0};
    if (wp_server_open_with(&server, &(struct wp_server_options){.endpoint = m.endpoint}, &err))
        fail_msg("%s", err.text);
    zmq_setsockopt(m.raw, ZMQ_ROUTING_ID, identity, sizeof(identity));
    assert_int_equal(zmq_connect(m.raw, m.endpoint), 0);
    wp_hello_encode(&hello, &raw, NULL);
    add_unknown_fields(&raw);
    wp_frame_write(writer, WP_FRAME_HELLO, raw.data, raw.size, &frame, NULL);
    frame.data[4] = frame_major;
    zmq_send(m.raw, frame.data, frame.size, 0);
    for (int i = 0; i < 500 && !taken && size < 0; i++) {
        taken = wp_server_poll(server, 10, &message, NULL);
        size = zmq_recv(m.raw, bytes, sizeof(bytes), ZMQ_DONTWAIT);
    }
    *answer = 0;
    if (!taken) {
        assert_true(size > 0);
        assert_int_equal(wp_frame_read(reader, bytes, (size_t)size, &got, NULL), 0);
        Wakepath__Wire__Refused *refused = wakepath__wire__refused__unpack(NULL, got.size, got.payload);
        assert_true(refused && refused->is_fatal);
        snprintf(answer, 256, "%s", refused->reason);
        wakepath__wire__refused__free_unpacked(refused, NULL);
    } else {
        assert_int_equal(message.hello->wire_minor, minor);
    }
    wp_server_close(server);
    wp_frame_writer_destroy(writer);
    wp_frame_reader_destroy(reader);
    wp_buffer_fini(&raw);
    wp_buffer_fini(&frame);
    part(&m);
}

static void another_client(void **state)
{
    (void)state;
    char answer[256];
    meet_client(1, 9, 1, answer);
    assert_string_equal(answer, "");
    meet_client(2, 4, 1, answer);
    assert_non_null(strstr(answer, "2.4"));
    assert_non_null(strstr(answer, "1.9"));
    meet_client(2, 4, 2, answer);
    assert_non_null(strstr(answer, "version 2"));
    assert_non_null(strstr(answer, "version 1"));
}

/* --- how the corpus was made --- */

static int write_file(const char *folder, const char *name, const struct wp_buffer *bytes)
{
    char path[512];
    struct wp_error err = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int rc = wp_file_write_atomic(path, bytes->data, bytes->size, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc;
}

static void add_frame(
    struct wp_frame_writer *writer, enum wp_frame_type type, struct wp_buffer *raw, struct wp_buffer *out)
{
    wp_frame_write(writer, type, raw->data, raw->size, out, NULL);
    wp_buffer_clear(raw);
}

static int write_made(struct wp_frame_writer *writer, const char *folder)
{
    struct made *made = malloc(sizeof(*made));
    struct wp_buffer raw = {0}, out = {0};
    made_begin(made, 20261121);
    struct wp_hello hello = {.wire_major = 1,
        .hostname = (char *)(uintptr_t) "made",
        .kernel = (char *)(uintptr_t) "6.1",
        .machine = (char *)(uintptr_t) "x86_64",
        .source = (char *)(uintptr_t) "bpf",
        .release = (char *)(uintptr_t) "v1",
        .cpus = 2,
        .host = {1, [15] = 2},
        .start_mono_ns = 5,
        .start_real_ns = 6,
        .sample_period_ns = 1000,
        .label_count = 1,
        .labels = {{(char *)(uintptr_t) "rack", (char *)(uintptr_t) "7"}}};
    memcpy(hello.session, made->batch.session, 16);
    wp_hello_encode(&hello, &raw, NULL);
    add_frame(writer, WP_FRAME_HELLO, &raw, &out);
    uint64_t events = 0;
    for (int i = 0; i < MADE_BATCHES; i++) {
        made_next(made, 60);
        wp_batch_encode(&made->batch, &raw, NULL);
        add_frame(writer, WP_FRAME_BATCH, &raw, &out);
        events += made->batch.event_count;
    }
    wp_bye_encode(&(struct wp_bye){.last_seq = MADE_BATCHES, .events = events, .dropped = 3}, &raw, NULL);
    add_frame(writer, WP_FRAME_BYE, &raw, &out);
    int rc = write_file(folder, "made.capture", &out);
    made_end(made);
    free(made);
    wp_buffer_fini(&raw);
    wp_buffer_fini(&out);
    return rc;
}

static int write_new(const char *folder)
{
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    int rc = write_made(writer, folder);
    wp_frame_writer_destroy(writer);
    return rc;
}

/* What is in the sessions of a set, as they are read now: to be looked at when the set is added. */
static int write_texts(const char *set)
{
    static const char *const sessions[] = {"recorded.capture", "made.capture"};
    int rc = 0;
    for (size_t i = 0; !rc && i < 2; i++) {
        char name[64];
        struct wp_buffer text = tell_session(set, sessions[i]);
        snprintf(name, sizeof(name), "%s/%s.txt", set, sessions[i]);
        rc = write_file(CORPUS, name, &text);
        wp_buffer_fini(&text);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(old_sessions), cmocka_unit_test(old_answers),
        cmocka_unit_test(each_minor), cmocka_unit_test(newer_minor_is_read), cmocka_unit_test(another_server),
        cmocka_unit_test(another_client)};
    if (argc == 3 && !strcmp(argv[1], "--write"))
        return write_new(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "--texts"))
        return write_texts(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
