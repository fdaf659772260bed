/* SPDX-License-Identifier: Apache-2.0 */
/* The spool: there and back, cut at every byte, damaged at many, full, acknowledged, moved to another aggregator. */
#include "collector/spool/spool.h"
#include "common/path.h"
#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/dictionary.h"
#include "proto/frame.h"
#include "tests/proto/made_batch.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define LIMIT (64u << 20)
#define SMALL (2u << 20)
#define A "tcp://a:1"
#define B "tcp://b:1"

struct fixture {
    char folder[32], spool_path[64], session_path[128];
    struct wp_hello hello;
    struct wp_spool *spool;
    struct wp_spool_session *session;
    struct made made;
    struct wp_frame_writer *writer;
    struct wp_frame_reader *reader;
    uint64_t next, events; /* next number; put in so far */
    size_t put_bytes;      /* the last one's frame */
};

/* What a receiver that takes batches in order makes of them. */
struct taken {
    struct wp_dictionary *dictionary;
    struct wp_batch batch;
    uint64_t events, dropped, batches, nameless;
    uint64_t renames, names; /* of them; those that stand before the first events */
};

static void open_spool(struct fixture *f, uint64_t limit)
{
    struct wp_error err = {0};
    if (wp_spool_open(&f->spool, f->spool_path, limit, NULL, &err) ||
        wp_spool_begin(f->spool, &f->hello, &f->session, &err))
        fail_msg("%s", err.text);
}

static void close_spool(struct fixture *f)
{
    wp_spool_close(f->spool);
    f->spool = NULL;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char name[37];
    snprintf(f->folder, sizeof(f->folder), "/dev/shm/wp-spool-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->spool_path, sizeof(f->spool_path), "%s/spool", f->folder);
    f->hello = (struct wp_hello){.wire_major = WP_WIRE_MAJOR, .hostname = "box"};
    f->writer = wp_frame_writer_create(1);
    f->reader = wp_frame_reader_create();
    f->next = 1;
    made_begin(&f->made, 7);
    memcpy(f->hello.session, f->made.batch.session, 16);
    uuid_unparse_lower(f->hello.session, name);
    snprintf(f->session_path, sizeof(f->session_path), "%s/%s", f->spool_path, name);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wp_spool_close(f->spool);
    made_end(&f->made);
    wp_frame_writer_destroy(f->writer);
    wp_frame_reader_destroy(f->reader);
    wp_path_remove(f->folder, NULL);
    free(f);
    return 0;
}

static int put(struct fixture *f, uint32_t events)
{
    struct wp_buffer raw = {0}, frame = {0};
    struct wp_error err = {0};
    made_next(&f->made, events);
    assert_int_equal(f->made.batch.seq, f->next);
    for (uint32_t i = 0; i < f->made.batch.drop_count; i++)
        f->made.batch.drops[i].count %= 1000;
    assert_int_equal(wp_batch_encode(&f->made.batch, &raw, &err), 0);
    assert_int_equal(wp_frame_write(f->writer, WP_FRAME_BATCH, raw.data, raw.size, &frame, &err), 0);
    int rc = wp_spool_append(
        f->spool, f->session, &f->made.batch, &(struct wp_spool_frame){frame.data, frame.size, true}, &err);
    f->put_bytes = frame.size;
    wp_buffer_fini(&raw);
    wp_buffer_fini(&frame);
    f->next++;
    f->events += f->made.batch.event_count;
    for (uint32_t i = 0; i < f->made.batch.drop_count; i++)
        f->events += f->made.batch.drops[i].count;
    return rc;
}

static void take_one(struct fixture *f, struct taken *taken, uint64_t seq, const char *endpoint)
{
    struct wp_error err = {0};
    struct wp_frame frame;
    const uint8_t *bytes;
    size_t size;
    if (wp_spool_session_read(f->session, seq, endpoint, &bytes, &size, &err) ||
        wp_frame_read(f->reader, bytes, size, &frame, &err) ||
        wp_batch_decode(&taken->batch, frame.payload, frame.size, &err) ||
        wp_dictionary_apply(taken->dictionary, &taken->batch, &err))
        fail_msg("batch %llu: %s", (unsigned long long)seq, err.text);
    assert_int_equal(taken->batch.seq, seq);
    assert_memory_equal(taken->batch.session, f->hello.session, 16);
    taken->events += taken->batch.event_count;
    for (uint32_t i = 0; i < taken->batch.event_count; i++)
        taken->renames += taken->batch.events[i].kind == WP_EVENT_RENAME;
    for (uint32_t i = 0; i < taken->batch.drop_count; i++)
        taken->dropped += taken->batch.drops[i].count;
    for (uint32_t i = 0; i < taken->batch.thread_count; i++)
        taken->nameless += taken->batch.threads[i].tid == (1u << 30) + taken->batch.first_thread + i;
    taken->batches++;
}

/* A receiver that begins anew; of the batches before `after` it looks only at the dictionary. */
static struct taken take_behind(struct fixture *f, uint64_t after, const char *endpoint)
{
    struct taken taken = {.dictionary = wp_dictionary_create()};
    uint64_t others = 0;
    for (uint64_t seq = 1; seq <= after; seq++) {
        take_one(f, &taken, seq, endpoint);
        others += taken.events - taken.renames + taken.dropped;
        taken.names += seq == after ? taken.batch.event_count : 0;
        assert_true(seq == after || !taken.batch.event_count);
    }
    assert_int_equal(others, 0);
    taken.events = taken.dropped = 0;
    for (uint64_t seq = after + 1; seq <= wp_spool_session_last(f->session); seq++)
        take_one(f, &taken, seq, endpoint);
    wp_dictionary_destroy(taken.dictionary);
    wp_batch_fini(&taken.batch);
    return taken;
}

static struct taken take_all(struct fixture *f, const char *endpoint)
{
    return take_behind(f, 0, endpoint);
}

static void reopen(struct fixture *f, uint64_t limit)
{
    close_spool(f);
    open_spool(f, limit);
}

static char *segment_path(struct fixture *f, unsigned index)
{
    struct dirent **names;
    char *path = NULL;
    unsigned seen = 0;
    int count = scandir(f->session_path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (strstr(names[i]->d_name, ".batches") && seen++ == index)
            assert_true(asprintf(&path, "%s/%s", f->session_path, names[i]->d_name) > 0);
        free(names[i]);
    }
    free(names);
    assert_non_null(path);
    return path;
}

static void there_and_back(void **state)
{
    struct fixture *f = *state;
    struct made again;
    struct wp_batch came = {0};
    struct wp_error err = {0};
    struct wp_frame frame;
    const uint8_t *bytes;
    size_t size;
    open_spool(f, LIMIT);
    for (int i = 0; i < 200; i++)
        assert_int_equal(put(f, 300), 0);
    reopen(f, LIMIT); /* as after kill -9: nothing was said goodbye to */
    assert_string_equal(wp_spool_session_hello(f->session)->hostname, "box");
    assert_int_equal(wp_spool_session_last(f->session), 200);
    assert_int_equal(wp_spool_session_oldest(f->session), 1);
    made_begin(&again, 7);
    for (uint64_t seq = 1; seq <= 200; seq++) {
        made_next(&again, 300);
        for (uint32_t i = 0; i < again.batch.drop_count; i++)
            again.batch.drops[i].count %= 1000;
        assert_int_equal(wp_spool_session_read(f->session, seq, A, &bytes, &size, &err), 0);
        assert_int_equal(wp_frame_read(f->reader, bytes, size, &frame, &err), 0);
        assert_int_equal(wp_batch_decode(&came, frame.payload, frame.size, &err), 0);
        made_assert_equal(&again.batch, &came);
    }
    made_end(&again);
    wp_batch_fini(&came);
    struct wp_bye bye;
    wp_spool_session_bye(f->session, &bye);
    assert_int_equal(bye.last_seq, 200);
    assert_int_equal(bye.events + bye.dropped, f->events);
    assert_int_equal(put(f, 10), 0); /* and it goes on */
    assert_int_equal(take_all(f, A).events, bye.events + f->made.batch.event_count);
}

static void two_collectors(void **state)
{
    struct fixture *f = *state;
    struct wp_spool *second;
    struct wp_error err = {0};
    char pid[32];
    open_spool(f, LIMIT);
    assert_int_equal(wp_spool_open(&second, f->spool_path, LIMIT, NULL, &err), -EBUSY);
    snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
    assert_non_null(strstr(err.text, pid));
    assert_non_null(strstr(err.text, "--spool"));
}

static void torn_at_every_byte(void **state)
{
    struct fixture *f = *state;
    open_spool(f, LIMIT);
    struct stat status;
    for (int i = 0; i < 3; i++)
        assert_int_equal(put(f, 20), 0);
    char *path = segment_path(f, 0);
    struct wp_buffer whole = {0};
    assert_int_equal(wp_file_read(path, LIMIT, &whole, NULL), 0);
    close_spool(f);
    uint64_t last = 0;
    for (size_t size = 0; size < whole.size; size++) {
        FILE *file = fopen(path, "w");
        assert_true(file && fwrite(whole.data, 1, size, file) == size && !fclose(file));
        open_spool(f, LIMIT);
        uint64_t now = wp_spool_session_last(f->session);
        assert_true(now >= last && now < 3);
        last = now;
        assert_int_equal(take_all(f, A).batches, now);
        close_spool(f);
    }
    assert_int_equal(last, 2);
    made_end(&f->made); /* the last one once more: it goes behind the cut */
    made_begin(&f->made, 7);
    f->next = 1;
    open_spool(f, LIMIT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(put(f, 20), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, whole.size);
    assert_int_equal(take_all(f, A).batches, 3);
    wp_buffer_fini(&whole);
    free(path);
}

static void flip(const char *path, size_t offset)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
    assert_int_equal(fclose(file), 0);
}

/* Whatever is flipped: every number is still there, what is behind can be used, and nothing goes uncounted. */
static void damaged_anywhere(void **state)
{
    struct fixture *f = *state;
    open_spool(f, LIMIT);
    for (int i = 0; i < 8; i++)
        assert_int_equal(put(f, 20), 0);
    char *path = segment_path(f, 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    size_t step = (size_t)status.st_size / 997 + 1, gaps = 0;
    for (size_t at = 0; at < (size_t)status.st_size; at += step) {
        flip(path, at); /* under the open spool */
        struct taken taken = take_all(f, A);
        assert_int_equal(taken.batches, 8);
        assert_true(taken.events < f->events && taken.events + taken.dropped == f->events);
        reopen(f, LIMIT); /* and when it is found at the start; what is damaged at the end may have been torn */
        uint64_t last = wp_spool_session_last(f->session);
        assert_true(last >= 7);
        taken = take_all(f, A);
        gaps += taken.batches == 8 && taken.events < f->events && taken.events + taken.dropped == f->events;
        assert_int_equal(taken.batches, last);
        flip(path, at);
        reopen(f, LIMIT);
    }
    assert_true(gaps > 500);
    assert_int_equal(take_all(f, A).batches, 8);
    free(path);
}

#define SYNCED 8u
#define PAGE 4096u

/* What a crash of the machine may leave of a file behind what was synced: the size it had, or less, and each page as it
 * was or never written. */
static void lose_pages(struct fixture *f, const char *path, const struct wp_buffer *whole, size_t synced)
{
    uint8_t *left = malloc(whole->size);
    memcpy(left, whole->data, whole->size);
    unsigned odds = 1 + (unsigned)(made_random(&f->made) % 3);
    for (size_t at = synced; at < whole->size; at = (at / PAGE + 1) * PAGE) {
        size_t end = (at / PAGE + 1) * PAGE;
        if (made_random(&f->made) % 4 < odds)
            memset(left + at, 0, (end < whole->size ? end : whole->size) - at);
    }
    size_t size = made_random(&f->made) % 3 ? whole->size : synced + made_random(&f->made) % (whole->size - synced + 1);
    FILE *file = fopen(path, "w");
    assert_true(file && fwrite(left, 1, size, file) == size && !fclose(file));
    free(left);
}

/* What was synced is all there, and each number behind it has its batch or says what it lost; and it can be gone on
 * with. */
static void crash_of_the_machine(void **state)
{
    struct fixture *f = *state;
    struct wp_buffer whole = {0};
    struct stat status;
    open_spool(f, LIMIT);
    for (unsigned i = 0; i < SYNCED; i++)
        assert_int_equal(put(f, 200), 0);
    assert_int_equal(wp_spool_session_sync(f->session, NULL), 0);
    uint64_t safe_events = f->events;
    char *path = segment_path(f, 0);
    assert_int_equal(stat(path, &status), 0);
    for (unsigned i = 0; i < SYNCED; i++)
        assert_int_equal(put(f, 200), 0);
    assert_int_equal(wp_file_read(path, LIMIT, &whole, NULL), 0);
    assert_true(whole.size > (size_t)status.st_size + 8 * PAGE);
    unsigned partial = 0, gaps = 0;
    for (unsigned i = 0; i < 150; i++) {
        close_spool(f);
        lose_pages(f, path, &whole, (size_t)status.st_size);
        open_spool(f, LIMIT);
        uint64_t last = wp_spool_session_last(f->session);
        assert_true(last >= SYNCED && last <= 2 * SYNCED);
        struct taken taken = {.dictionary = wp_dictionary_create()};
        for (uint64_t seq = 1; seq <= SYNCED; seq++)
            take_one(f, &taken, seq, A);
        assert_int_equal(taken.events + taken.dropped, safe_events);
        for (uint64_t seq = SYNCED + 1; seq <= last; seq++) {
            uint64_t events = taken.events;
            take_one(f, &taken, seq, A);
            gaps += taken.events == events;
        }
        assert_true(taken.events + taken.dropped >= safe_events + (last - SYNCED));
        partial += last > SYNCED && last < 2 * SYNCED;
        wp_dictionary_destroy(taken.dictionary);
        wp_batch_fini(&taken.batch);
    }
    assert_true(partial > 10 && gaps > 10);
    wp_buffer_fini(&whole);
    free(path);
}

/* Unread events go when the limit is reached: counted, and the names of what comes behind are all there. */
static void full(void **state)
{
    struct fixture *f = *state;
    open_spool(f, SMALL);
    for (int i = 0; i < 250; i++) {
        assert_int_equal(put(f, 2000), 0);
        assert_true(wp_spool_bytes(f->spool) <= SMALL);
    }
    assert_true(wp_spool_session_lost(f->session) > 10);
    uint64_t oldest = wp_spool_session_oldest(f->session);
    assert_int_equal(oldest, wp_spool_session_lost(f->session) + 1);
    for (int again = 0; again < 2; again++) {
        struct taken taken = take_all(f, A);
        assert_int_equal(taken.batches, 250);
        assert_int_equal(taken.nameless, 0);
        assert_int_equal(taken.events + taken.dropped, f->events);
        assert_true(taken.events > 0);
        reopen(f, SMALL);
        assert_int_equal(wp_spool_session_oldest(f->session), oldest);
    }
}

/* An aggregator in the middle of what is being dropped goes on where it was: each number has its own entries. */
static void dropped_behind_a_reader(void **state)
{
    struct fixture *f = *state;
    struct taken taken = {.dictionary = wp_dictionary_create()};
    open_spool(f, SMALL);
    uint64_t seq = 0;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(put(f, 2000), 0);
        if (i % 3 == 0)
            take_one(f, &taken, ++seq, A);
    }
    assert_true(wp_spool_session_oldest(f->session) > seq);
    while (seq < 300)
        take_one(f, &taken, ++seq, A);
    assert_int_equal(taken.nameless, 0);
    assert_int_equal(taken.events + taken.dropped, f->events);
    wp_dictionary_destroy(taken.dictionary);
    wp_batch_fini(&taken.batch);
}

/* What A has acknowledged B gets without events and without Drops: it is counted there. */
static void moved(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    open_spool(f, LIMIT);
    uint64_t acked_events = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(put(f, 500), 0);
        acked_events = i < 60 ? f->events : acked_events;
    }
    assert_int_equal(wp_spool_session_acknowledge(f->session, 60, A, &err), 0);
    assert_int_equal(wp_spool_session_sync(f->session, &err), 0);
    for (int again = 0; again < 2; again++) {
        struct taken taken = take_behind(f, 60, B);
        assert_int_equal(taken.nameless, 0);
        assert_true(taken.names > 0);
        assert_int_equal(taken.events + taken.dropped, f->events - acked_events);
        taken = take_all(f, A); /* the same one after its restart: as it was, for its history */
        assert_int_equal(taken.events + taken.dropped, f->events);
        reopen(f, LIMIT);
        assert_int_equal(wp_spool_session_acked(f->session), 60);
    }
    assert_int_equal(wp_spool_session_acknowledge(f->session, 80, B, &err), 0);
    assert_true(take_behind(f, 80, "tcp://c:1").events < take_behind(f, 60, B).events);
}

/* Acknowledged batches go when they are older than the history, their names stay; it takes little. */
static void acknowledged(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    open_spool(f, SMALL);
    uint64_t most = 0, last_ns[301] = {0};
    for (uint64_t i = 1; i <= 300; i++) {
        f->made.batch.watermark_ns += 1000000000; /* a second later */
        assert_int_equal(put(f, 1000), 0);
        assert_int_equal(wp_spool_session_acknowledge(f->session, i, A, &err), 0);
        last_ns[i] = f->made.batch.watermark_ns;
        most = wp_spool_bytes(f->spool) > most ? wp_spool_bytes(f->spool) : most;
    }
    assert_int_equal(wp_spool_session_lost(f->session), 0);
    uint64_t oldest = wp_spool_session_oldest(f->session);
    assert_true(oldest > 200);
    assert_true(last_ns[oldest - 1] + 30000000000u < last_ns[300]); /* what went is older */
    struct taken taken = take_all(f, A);
    assert_true(taken.dropped < f->events / 2);
    assert_int_equal(taken.nameless, 0);
    assert_true(most <= SMALL);
}

/* The disk is full of names alone: they are forgotten, and what comes can still be used. */
static void full_of_names(void **state)
{
    struct fixture *f = *state;
    open_spool(f, 700u << 10);
    for (int i = 0; i < 1500; i++)
        assert_int_equal(put(f, 50), 0);
    assert_true(wp_spool_bytes(f->spool) <= 700u << 10);
    for (int again = 0; again < 2; again++) {
        struct taken taken = take_all(f, A);
        assert_int_equal(taken.batches, 1500);
        assert_true(taken.events > 0 && taken.nameless > 0);
        reopen(f, 700u << 10);
    }
}

/* A batch that is larger than half of the spool is taken, too: what is older goes for it. */
static void large_batches(void **state)
{
    struct fixture *f = *state;
    const uint64_t limit = 1u << 20;
    int large = 0;
    open_spool(f, limit);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(put(f, 65000), 0);
        assert_true(wp_spool_bytes(f->spool) <= limit);
        large += f->put_bytes > limit / 2;
    }
    assert_true(large > 0);
    struct taken taken = take_all(f, A);
    assert_int_equal(taken.batches, 12);
    assert_int_equal(taken.nameless, 0);
    assert_int_equal(taken.events + taken.dropped, f->events);
}

/* A session that was left: found by the next collector, delivered, removed. */
static void left_over(void **state)
{
    struct fixture *f = *state;
    struct wp_error err = {0};
    open_spool(f, LIMIT);
    for (int i = 0; i < 5; i++)
        assert_int_equal(put(f, 20), 0);
    struct wp_bye bye = {.last_seq = 5, .events = 9, .dropped = 1}, found;
    uint64_t before = wp_spool_session_bytes(f->session);
    assert_int_equal(wp_spool_session_set_bye(f->session, &bye, &err), 0);
    uint64_t with_bye = wp_spool_session_bytes(f->session);
    assert_true(with_bye > before);
    assert_int_equal(wp_spool_session_set_bye(f->session, &bye, &err), 0); /* in place of the first */
    assert_int_equal(wp_spool_session_bytes(f->session), with_bye);
    close_spool(f);
    struct wp_hello hello = f->hello;
    hello.session[0] ^= 1;
    assert_int_equal(wp_spool_open(&f->spool, f->spool_path, LIMIT, NULL, &err), 0);
    assert_int_equal(wp_spool_begin(f->spool, &hello, &f->session, &err), 0);
    struct wp_spool_session *old = wp_spool_backlog(f->spool);
    assert_non_null(old);
    assert_int_equal(wp_spool_session_last(old), 5);
    assert_int_equal(wp_spool_session_bytes(old), with_bye);
    wp_spool_session_bye(old, &found);
    assert_int_equal(found.events, 9);
    wp_spool_remove(f->spool, old);
    assert_null(wp_spool_backlog(f->spool));
    assert_int_equal(access(f->session_path, F_OK), -1);
    close_spool(f); /* nothing was put into the new one: it leaves nothing */
    assert_int_equal(wp_spool_open(&f->spool, f->spool_path, LIMIT, NULL, &err), 0);
    assert_null(wp_spool_backlog(f->spool));
}

static void put_text(const char *folder, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(wp_file_write_atomic(path, text, strlen(text), NULL), 0);
}

static void expect_text(const char *folder, const char *name, const char *text)
{
    char path[160];
    struct wp_buffer found = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(wp_file_read(path, 4096, &found, NULL), 0);
    assert_string_equal((const char *)found.data, text);
    wp_buffer_fini(&found);
}

/* The folder of the user's choice holds files of his own. */
static void strangers(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"lock", "reserve"};
    char path[160];
    assert_int_equal(mkdir(f->spool_path, 0700), 0);
    put_text(f->spool_path, "notes", "precious");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct wp_error err = {0};
        put_text(f->spool_path, names[i], "precious");
        assert_int_equal(wp_spool_open(&f->spool, f->spool_path, LIMIT, NULL, &err), -EEXIST);
        assert_non_null(strstr(err.text, "--spool"));
        expect_text(f->spool_path, names[i], "precious");
        snprintf(path, sizeof(path), "%s/%s", f->spool_path, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    open_spool(f, LIMIT);
    assert_int_equal(put(f, 20), 0);
    put_text(f->session_path, "notes", "precious");
    wp_spool_remove(f->spool, f->session);
    expect_text(f->session_path, "notes", "precious");
    snprintf(path, sizeof(path), "%s/hello", f->session_path);
    assert_int_equal(access(path, F_OK), -1);
    expect_text(f->spool_path, "notes", "precious");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(there_and_back), TEST(two_collectors), TEST(torn_at_every_byte),
        TEST(damaged_anywhere), TEST(crash_of_the_machine), TEST(full), TEST(dropped_behind_a_reader), TEST(moved),
        TEST(acknowledged), TEST(full_of_names), TEST(large_batches), TEST(left_over), TEST(strangers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
