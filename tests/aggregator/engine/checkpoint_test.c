/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints that hold garbage: bits flipped, ends missing, and written whole with what never was. They are refused
 * with a reason or taken, and the session goes on; nothing is read out of bounds. Seeded; WP_CASES=N tries more,
 * WP_SEED=N begins there.
 */
#include "proto/batch_encode.h"
#include "tests/aggregator/made_trace.h"

#include "aggregator/engine/checkpoint.h"
#include "aggregator/engine/engine.h"
#include "common/path.h"
#include "proto/frame.h"
#include "proto/resume.pb-c.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define EVENTS 4000u
#define CUT 100u /* events of a batch */
#define HISTORY_NS 10000000u

typedef Wakepath__Resume__Checkpoint message_type;

struct place {
    char root[64], resume[80], paths[2][160]; /* of the checkpoint and of the dictionary */
    struct wp_aggregate_rule rule;
    struct wp_engine_options options;
    struct made_trace trace;
    struct wp_buffer files[2]; /* as they were written */
    uint64_t seed;
};

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t say_hello(struct wp_engine *engine)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .session = {7}, .start_real_ns = 5000000000};
    struct wp_welcome welcome;
    assert_int_equal(wp_engine_hello(engine, 1, &hello, &welcome, NULL), 0);
    return welcome.resume_seq;
}

/* Of the batches from `seq` on the first so many, or all that are left; until one is refused. True: none was. */
static bool send(struct place *place, struct wp_engine *engine, uint64_t seq, uint64_t most)
{
    int rc = 0;
    uint32_t events = place->trace.whole.event_count;
    for (uint64_t first = (seq - 1) * CUT; first < events && most && !rc; first += CUT, seq++, most--) {
        struct wp_buffer bytes = {0};
        struct wp_error err = {0};
        uint64_t end = first + CUT < events ? first + CUT : events;
        struct wp_batch batch = made_trace_cut(&place->trace, (uint32_t)first, (uint32_t)end, seq);
        batch.session[0] = 7;
        assert_int_equal(wp_batch_encode(&batch, &bytes, &err), 0);
        rc = wp_engine_batch(engine, 1, bytes.data, bytes.size, &err);
        wp_buffer_fini(&bytes);
        assert_int_equal(wp_engine_commit(engine, 0, 100, true, NULL), 0);
    }
    return !rc;
}

static void put_file(const struct place *place, int i, const uint8_t *bytes, size_t size)
{
    assert_int_equal(wp_file_write_atomic(place->paths[i], bytes, size, NULL), 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct wp_engine *engine;
    snprintf(place->root, sizeof(place->root), "/tmp/wp-checkpoint-test-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->resume, sizeof(place->resume), "%s/__resume__", place->root);
    for (int i = 0; i < 2; i++)
        snprintf(place->paths[i], sizeof(place->paths[i]), "%s/local/07000000000000000000000000000000.%s",
            place->resume, i ? "dictionary" : "checkpoint");
    assert_int_equal(wp_selector_parse(&place->rule.selector, "command", NULL), 0);
    snprintf(place->rule.name, sizeof(place->rule.name), "main");
    place->options = WP_ENGINE_DEFAULTS;
    place->options.store = place->root;
    place->options.resume = place->resume;
    place->options.session = (struct wp_host_session_options){.rules = &place->rule,
        .rule_count = 1,
        .epoch_ns = 1000000,
        .lateness_ns = 2000000,
        .history_ns = HISTORY_NS,
        .checkpoint_ns = 1000000};
    made_trace_init(&place->trace,
        &(struct made_options){.seed = 11, .events = EVENTS, .cpus = 3, .threads = 15, .drop_per_mille = 5});
    assert_int_equal(wp_engine_create(&engine, &place->options, NULL, NULL), 0);
    assert_int_equal(say_hello(engine), 1);
    assert_true(send(place, engine, 1, EVENTS / CUT * 3 / 4));
    wp_engine_destroy(engine);
    for (int i = 0; i < 2; i++)
        assert_int_equal(wp_file_read(place->paths[i], 1 << 24, &place->files[i], NULL), 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_path_remove(place->root, NULL);
    wp_buffer_fini(&place->files[0]);
    wp_buffer_fini(&place->files[1]);
    wp_selector_fini(&place->rule.selector);
    made_trace_fini(&place->trace);
    free(place);
    return 0;
}

static message_type *message_of(const struct place *place)
{
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_frame frame;
    assert_int_equal(wp_frame_read(reader, place->files[0].data, place->files[0].size, &frame, NULL), 0);
    message_type *m = wakepath__resume__checkpoint__unpack(NULL, frame.size, frame.payload);
    wp_frame_reader_destroy(reader);
    assert_non_null(m);
    return m;
}

static void put_message(const struct place *place, const message_type *m)
{
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    struct wp_buffer frame = {0};
    uint8_t *raw = malloc(wakepath__resume__checkpoint__get_packed_size(m) + 1);
    size_t size = wakepath__resume__checkpoint__pack(m, raw);
    assert_int_equal(wp_frame_write(writer, WP_FRAME_CHECKPOINT, raw, size, &frame, NULL), 0);
    put_file(place, 0, frame.data, frame.size);
    free(raw);
    wp_buffer_fini(&frame);
    wp_frame_writer_destroy(writer);
}

/* --- what is refused, and why --- */

static void assert_read(const struct place *place, const char *why)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .session = {7}, .start_real_ns = 5000000000};
    struct wp_checkpoints *checkpoints;
    struct wp_host_session *session;
    struct wp_error err = {0};
    put_file(place, 1, place->files[1].data, place->files[1].size);
    assert_int_equal(wp_checkpoints_open(&checkpoints, place->resume, "local", NULL, NULL), 0);
    assert_int_equal(wp_host_session_create(&session, &hello, "v1", &place->options.session, NULL, NULL), 0);
    int rc = wp_checkpoints_read(checkpoints, session, &err);
    if (rc != (why ? -EBADMSG : 0) || (why && !strstr(err.text, why)))
        fail_msg("'%s' wanted, %d and '%s' came", why ? why : "no refusal", rc, err.text);
    wp_host_session_destroy(session);
    wp_checkpoints_close(checkpoints);
}

/* A thread's row that has a slice. */
static Wakepath__Resume__Thread *sleeper(message_type *m)
{
    size_t i = 0;
    while (!m->threads[i]->slice)
        i++;
    return m->threads[i];
}

/* One loss more. */
static Wakepath__Resume__Span *loss(message_type *m)
{
    Wakepath__Resume__Span *span = malloc(sizeof(*span));
    m->drop_spans = realloc(m->drop_spans, (m->n_drop_spans + 1) * sizeof(span));
    assert_true(m->drop_spans && span);
    wakepath__resume__span__init(span);
    span->from_ns = span->to_ns = m->horizon_ns - 1;
    return m->drop_spans[m->n_drop_spans++] = span;
}

#define REFUSED(place, change, why)                                                                                    \
    do {                                                                                                               \
        message_type *m = message_of(place);                                                                           \
        change;                                                                                                        \
        put_message(place, m);                                                                                         \
        assert_read(place, why);                                                                                       \
        wakepath__resume__checkpoint__free_unpacked(m, NULL);                                                          \
    } while (0)

/* As an aggregator wrote it that did not keep who had the CPU. */
static void forget_runs(message_type *m)
{
    for (size_t i = 0; i < m->n_cpu_runs; i++)
        wakepath__resume__cpu_run__free_unpacked(m->cpu_runs[i], NULL);
    for (size_t i = 0; i < m->n_occupants; i++)
        wakepath__resume__occupant__free_unpacked(m->occupants[i], NULL);
    m->n_cpu_runs = m->n_occupants = 0;
    for (size_t i = 0; i < m->n_threads; i++)
        m->threads[i]->occupant = m->threads[i]->left_cpu = 0;
    m->version = 3;
}

static void garbage_is_refused(void **state)
{
    struct place *place = *state;
    REFUSED(place, (void)m, NULL);
    REFUSED(place, m->seq = 1, "behind its checkpoint");
    REFUSED(place, m->seq = UINT64_MAX, "of no batch");
    REFUSED(place, m->resolved_ns = UINT64_MAX, "not in order");
    REFUSED(place, m->horizon_ns = m->resolved_ns + 1, "not in order");
    REFUSED(place, m->start_ns = m->horizon_ns, "after its horizon");
    REFUSED(place, m->real_offset_ns = INT64_MIN, "wall time");
    REFUSED(place, m->threads[0]->entry = 0xa5a5a5a5, "the thread of row 0");
    REFUSED(place, m->threads[1]->process = (uint32_t)m->n_processes, "in thread 1");
    REFUSED(place, m->threads[1]->creator = (uint32_t)m->n_threads + 1, "in thread 1");
    REFUSED(place, m->threads[1]->cpu = 0xa5a5a5a5, "in thread 1");
    REFUSED(place, m->threads[1]->left_cpu = UINT16_MAX + 1, "processor that it left");
    REFUSED(place, m->threads[1]->occupant = (uint32_t)m->n_occupants + 4, "name that it runs as");
    REFUSED(place, m->threads[1]->occupant = UINT16_MAX, "name that it runs as");
    REFUSED(place, m->threads[1]->sample_ns = m->horizon_ns, "sample out of time");
    REFUSED(place, sleeper(m)->slice->out_ns = m->horizon_ns, "an invalid sleep");
    REFUSED(place, sleeper(m)->slice->wake_ns = 1, "an invalid sleep");
    REFUSED(place, sleeper(m)->slice->state = 8, "an invalid sleep");
    REFUSED(place, sleeper(m)->slice->cause = 7, "an invalid sleep");
    REFUSED(place, m->aggregates[0]->base_thread[0] = (uint32_t)m->n_threads, "unknown thread of interest");
    REFUSED(place, m->aggregates[0]->base_until_ns[0] = UINT64_MAX, "unknown thread of interest");
    REFUSED(place, m->aggregates[0]->n_base_until_ns--, "not as many");
    REFUSED(place, strcpy(m->aggregates[0]->release, ".."), "an invalid name, release");
    REFUSED(place, loss(m), NULL);
    REFUSED(place, loss(m)->to_ns++, "a loss out of time");
    REFUSED(place, loss(m)->to_ns--, "a loss out of time");
    REFUSED(place, m->facts.len -= 3, "does not fit");
    REFUSED(place, memset(m->facts.data, 0xa5, 4), "does not fit");
    REFUSED(place, m->dictionary_bytes++, "shorter than");
    REFUSED(place, m->version++, "of this version");
    REFUSED(place, m->version = 2, "of this version");
    REFUSED(place, forget_runs(m), NULL);
}

/* --- whatever it is, the session goes on --- */

/* The aggregator starts with what is there, and is told the rest. True: it went on from there. */
static bool go_on(struct place *place)
{
    struct wp_engine *engine;
    assert_int_equal(wp_engine_create(&engine, &place->options, NULL, NULL), 0);
    uint64_t seq = say_hello(engine);
    bool is_taken = seq > EVENTS / CUT || send(place, engine, seq, UINT64_MAX);
    assert_true(
        is_taken || seq > 1);  /* what was made anew takes all; the number of a batch may be wrong and make sense */
    wp_engine_destroy(engine); /* no Bye: the store may be that of the next case */
    return seq > 1;
}

static uint64_t any_value(uint64_t *seed, uint64_t was)
{
    uint64_t random = made_random(seed);
    const uint64_t values[] = {0, 1, was + 1, was - 1, was * 2, UINT32_MAX, UINT64_MAX, UINT64_MAX / 2, random,
        random & 0xffff, random & 0xff, 0xa5a5a5a5};
    return values[made_random(seed) % (sizeof(values) / sizeof(*values))];
}

/* What of a field has that many bytes. */
static void change_number(uint64_t *seed, void *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size);
    value = any_value(seed, value);
    memcpy(at, &value, size);
}

/* Some field of it or of what is in it; how deep follows from chance. */
static void change(uint64_t *seed, ProtobufCMessage *m)
{
    const ProtobufCFieldDescriptor *field = &m->descriptor->fields[made_random(seed) % m->descriptor->n_fields];
    char *at = (char *)m + field->offset;
    size_t size = field->type == PROTOBUF_C_TYPE_UINT32 ? 4 : field->type == PROTOBUF_C_TYPE_BOOL ? 0 : 8, count = 0;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, (char *)m + field->quantifier_offset, sizeof(count));
        at = *(char **)(void *)at;
        if (!count)
            return;
        size_t item = made_random(seed) % count;
        at += item * (size == 4 ? 4 : 8);
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage *inner;
        memcpy(&inner, at, sizeof(inner));
        if (inner)
            change(seed, inner);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *bytes = (ProtobufCBinaryData *)(void *)at;
        if (bytes->len)
            bytes->data[made_random(seed) % bytes->len] ^= (uint8_t)(1u << made_random(seed) % 8);
        if (made_random(seed) % 4 == 0)
            bytes->len = bytes->len ? made_random(seed) % bytes->len : 0;
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        char *text;
        memcpy(&text, at, sizeof(text));
        if (*text)
            *text = (char)(1 + made_random(seed) % 127);
    } else if (size) {
        change_number(seed, at, size);
    }
}

static void written_with_garbage(void **state)
{
    struct place *place = *state;
    uint64_t first = setting("WP_SEED", 1), cases = setting("WP_CASES", 150);
    unsigned resumed = 0;
    for (uint64_t seed = first; seed < first + cases; seed++) {
        uint64_t chance = seed;
        message_type *m = message_of(place);
        for (uint64_t changes = 1 + made_random(&chance) % 3; changes; changes--)
            change(&chance, &m->base);
        put_message(place, m);
        put_file(place, 1, place->files[1].data, place->files[1].size);
        wakepath__resume__checkpoint__free_unpacked(m, NULL);
        resumed += go_on(place);
    }
    print_message("%u of %u went on\n", resumed, (unsigned)cases);
    assert_true(resumed > 0 && resumed < cases);
}

static void flipped_and_cut(void **state)
{
    struct place *place = *state;
    uint64_t first = setting("WP_SEED", 1), cases = setting("WP_CASES", 60);
    for (uint64_t seed = first; seed < first + cases; seed++) {
        uint64_t chance = seed;
        int which = seed % 3 == 0;
        struct wp_buffer bytes = {0};
        assert_int_equal(wp_buffer_append(&bytes, place->files[which].data, place->files[which].size), 0);
        if (made_random(&chance) % 3)
            bytes.data[made_random(&chance) % bytes.size] ^= (uint8_t)(1u << made_random(&chance) % 8);
        else
            bytes.size = made_random(&chance) % bytes.size;
        put_file(place, !which, place->files[!which].data, place->files[!which].size);
        put_file(place, which, bytes.data, bytes.size);
        wp_buffer_fini(&bytes);
        go_on(place);
    }
}

int main(void)
{
    mallopt(M_PERTURB, 0xa5);
    const struct CMUnitTest tests[] = {cmocka_unit_test(garbage_is_refused), cmocka_unit_test(written_with_garbage),
        cmocka_unit_test(flipped_and_cut)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
