/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: bit for bit there and back, cut at every byte, every byte damaged, a full disk. */
#include "collector/send/capture_reader.h"
#include "collector/send/capture_writer.h"
#include "common/path.h"
#include "proto/batch.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define BATCHES 4u

struct made {
    char folder[32], path[64], partial[80];
    struct wp_buffer frames[BATCHES];
    struct wp_buffer file; /* the finished capture */
};

/* A few events for the small ones, many for the last: it spans several reads. */
static void make_frame(struct wp_buffer *out, uint64_t seq, uint32_t count)
{
    struct wp_event *events = calloc(count, sizeof(*events));
    struct wp_buffer raw = {0};
    uint64_t noise = 42;
    for (uint32_t i = 0; i < count; i++) {
        noise ^= noise << 13; /* xorshift64: it does not compress */
        noise ^= noise >> 7;
        noise ^= noise << 17;
        events[i] =
            (struct wp_event){.kind = WP_EVENT_BLOCK_ISSUE, .time_ns = 1000 + i, .a = noise, .b = ~noise * 3, .c = i};
    }
    struct wp_batch batch = {.session = {7},
        .seq = seq,
        .watermark_ns = 5,
        .anchor_mono_ns = 1,
        .anchor_real_ns = 2,
        .events = events,
        .event_count = count,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1};
    struct wp_error err = {0};
    if (wp_batch_encode(&batch, &raw, &err))
        fail_msg("%s", err.text);
    struct wp_frame_writer *writer = wp_frame_writer_create(1);
    assert_int_equal(wp_frame_write(writer, WP_FRAME_BATCH, raw.data, raw.size, out, NULL), 0);
    wp_frame_writer_destroy(writer);
    wp_buffer_fini(&raw);
    free(events);
}

static struct wp_capture_writer *open_writer(const struct made *made, struct wp_error *err)
{
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR,
        .hostname = "box",
        .kernel = "6.1",
        .machine = "x86_64",
        .boot_id = "",
        .version = "0",
        .source = "perf-script",
        .release = "",
        .cpus = 2};
    struct wp_capture_writer *writer = NULL;
    assert_int_equal(wp_capture_writer_open(&writer, made->path, &hello, err), 0);
    return writer;
}

/* `seqs`: the batches' numbers; last_seq: what the end claims. */
static void write_capture(struct made *made, const uint64_t *seqs, uint32_t big, uint64_t last_seq)
{
    struct wp_error err = {0};
    struct wp_capture_writer *writer = open_writer(made, &err);
    for (uint32_t i = 0; i < BATCHES; i++) {
        wp_buffer_clear(&made->frames[i]);
        make_frame(&made->frames[i], seqs[i], i == BATCHES - 1 ? big : i);
        assert_int_equal(wp_capture_writer_batch(writer, made->frames[i].data, made->frames[i].size, &err), 0);
        assert_int_equal(access(made->path, F_OK), -1); /* it has no name until it is whole */
    }
    struct wp_bye bye = {.last_seq = last_seq, .events = 9, .dropped = 3};
    assert_int_equal(wp_capture_writer_finish(writer, &bye, &err), 0);
    assert_int_equal(access(made->partial, F_OK), -1);
    wp_buffer_clear(&made->file);
    assert_int_equal(wp_file_read(made->path, 64u << 20, &made->file, NULL), 0);
}

static int setup(void **state)
{
    struct made *made = calloc(1, sizeof(*made));
    snprintf(made->folder, sizeof(made->folder), "/tmp/wp-capture-XXXXXX");
    assert_non_null(mkdtemp(made->folder));
    snprintf(made->path, sizeof(made->path), "%s/capture", made->folder);
    snprintf(made->partial, sizeof(made->partial), "%s.partial", made->path);
    *state = made;
    return 0;
}

static int teardown(void **state)
{
    struct made *made = *state;
    wp_path_remove(made->folder, NULL);
    for (uint32_t i = 0; i < BATCHES; i++)
        wp_buffer_fini(&made->frames[i]);
    wp_buffer_fini(&made->file);
    free(made);
    return 0;
}

static void put(const struct made *made, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(made->path, "w");
    assert_true(file && fwrite(bytes, 1, size, file) == size);
    assert_int_equal(fclose(file), 0);
}

/* Reads all of it: the end's code; `good` batches came, each as it was written. */
static int read_all(const struct made *made, uint64_t *good, struct wp_error *err)
{
    struct wp_capture_reader *reader = NULL;
    const uint8_t *frame;
    size_t size;
    uint64_t seq;
    *good = 0;
    int rc = wp_capture_reader_open(&reader, made->path, err);
    if (rc)
        return rc;
    assert_string_equal(wp_capture_reader_hello(reader)->hostname, "box");
    while ((rc = wp_capture_reader_next(reader, &frame, &size, &seq, err)) == 1) {
        assert_true(*good < BATCHES);
        assert_null(wp_capture_reader_bye(reader));
        assert_int_equal(size, made->frames[*good].size);
        assert_memory_equal(frame, made->frames[*good].data, size);
        (*good)++;
    }
    const struct wp_bye *bye = wp_capture_reader_bye(reader);
    assert_int_equal(bye != NULL, rc == 0);
    if (bye)
        assert_true(bye->last_seq == seq && bye->events == 9 && bye->dropped == 3);
    if (!rc)
        assert_int_equal(wp_capture_reader_next(reader, &frame, &size, &seq, err), 0); /* the end stays the end */
    wp_capture_reader_close(reader);
    return rc;
}

static const uint64_t in_order[BATCHES] = {1, 2, 3, 4};

static void there_and_back(void **state)
{
    struct made *made = *state;
    struct wp_error err = {0};
    uint64_t good;
    write_capture(made, in_order, WP_BATCH_EVENTS, 4);
    assert_true(made->frames[BATCHES - 1].size > 1u << 20);
    assert_int_equal(read_all(made, &good, &err), 0);
    assert_int_equal(good, BATCHES);
    static const uint64_t gaps[BATCHES] = {3, 4, 8, 9}; /* windows may have been given up on */
    assert_int_equal(unlink(made->path), 0);
    write_capture(made, gaps, 3, 9);
    assert_int_equal(read_all(made, &good, &err), 0);
    assert_int_equal(good, BATCHES);
}

static size_t good_before(const struct made *made, size_t size)
{
    size_t good = 0, end = made->file.size, starts[BATCHES];
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint8_t *at = memmem(made->file.data, made->file.size, made->frames[i].data, made->frames[i].size);
        assert_non_null(at);
        starts[i] = (size_t)(at - made->file.data);
        end = starts[i] + made->frames[i].size;
        good += end <= size;
    }
    return good;
}

static void cut_at_every_byte(void **state)
{
    struct made *made = *state;
    write_capture(made, in_order, 3, 4);
    for (size_t size = 0; size < made->file.size; size++) {
        struct wp_error err = {0};
        uint64_t good;
        char says[64];
        put(made, made->file.data, size);
        int rc = read_all(made, &good, &err);
        assert_int_equal(rc, -EBADMSG);
        assert_int_equal(good, good_before(made, size));
        snprintf(says, sizeof(says), "behind %llu good batches", (unsigned long long)good);
        if (good && !strstr(err.text, says))
            fail_msg("cut at %zu: %s", size, err.text);
        assert_true(strstr(err.text, made->path) || strstr(err.text, "at byte "));
    }
}

static void every_byte_damaged(void **state)
{
    struct made *made = *state;
    write_capture(made, in_order, 3, 4);
    for (size_t at = 0; at < made->file.size; at++) {
        struct wp_error err = {0};
        uint64_t good;
        made->file.data[at] ^= 0x41;
        put(made, made->file.data, made->file.size);
        made->file.data[at] ^= 0x41;
        int rc = read_all(made, &good, &err);
        if (rc >= 0)
            fail_msg("byte %zu was not missed", at);
        assert_true(err.text[0]);
        assert_true(good <= good_before(made, at)); /* nothing damaged is given out */
    }
}

static void assert_says(const struct made *made, uint64_t want_good, const char *says)
{
    struct wp_error err = {0};
    uint64_t good;
    assert_int_equal(read_all(made, &good, &err), -EBADMSG);
    print_message("%s\n", err.text);
    assert_int_equal(good, want_good);
    assert_non_null(strstr(err.text, says));
}

static void whole_frames_in_the_wrong_place(void **state)
{
    struct made *made = *state;
    static const uint64_t twice[BATCHES] = {1, 2, 2, 3};
    write_capture(made, twice, 3, 3);
    assert_says(made, 2, "batch 2 stands behind batch 2");
    unlink(made->path);
    write_capture(made, in_order, 3, 5);
    assert_says(made, 4, "its last batch is 4, it says 5");
    unlink(made->path);
    write_capture(made, in_order, 3, 4);
    struct wp_buffer more = {0};
    wp_buffer_append(&more, made->file.data, made->file.size);
    wp_buffer_append(&more, made->file.data, made->file.size);
    put(made, more.data, more.size);
    assert_says(made, 4, "a frame behind the last one");
    put(made, more.data, made->file.size + 1);
    assert_says(made, 4, "a frame cut short");
    put(made, made->frames[0].data, made->frames[0].size);
    assert_says(made, 0, "does not begin with a Hello");
    put(made, (const uint8_t *)"", 0);
    assert_says(made, 0, "is not a capture");
    put(made, (const uint8_t *)"PERFILE2 and the rest of a recording of something else", 54);
    assert_says(made, 0, "is not a capture");
    wp_buffer_fini(&more);
}

static void no_such_file(void **state)
{
    struct made *made = *state;
    struct wp_capture_reader *reader = NULL;
    struct wp_capture_writer *writer = NULL;
    struct wp_error err = {0};
    struct wp_hello hello = {
        .hostname = "", .kernel = "", .machine = "", .boot_id = "", .version = "", .source = "", .release = ""};
    assert_int_equal(wp_capture_reader_open(&reader, made->path, &err), -ENOENT);
    assert_non_null(strstr(err.text, made->path));
    assert_int_equal(wp_capture_writer_open(&writer, "/nonexistent/capture", &hello, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/capture"));
    assert_null(reader);
    assert_null(writer);
    wp_capture_reader_close(NULL);
    wp_capture_writer_abort(NULL);
}

static void given_up(void **state)
{
    struct made *made = *state;
    struct wp_error err = {0};
    make_frame(&made->frames[0], 1, 3);
    struct wp_capture_writer *writer = open_writer(made, &err);
    assert_int_equal(wp_capture_writer_batch(writer, made->frames[0].data, made->frames[0].size, &err), 0);
    assert_int_equal(access(made->partial, F_OK), 0);
    wp_capture_writer_abort(writer);
    assert_int_equal(access(made->partial, F_OK), -1);
    assert_int_equal(access(made->path, F_OK), -1);
}

/* The disk fills up in the middle: the descriptor of the partial file is turned into one of /dev/full. */
static void a_full_disk(void **state)
{
    struct made *made = *state;
    struct wp_error err = {0};
    make_frame(&made->frames[0], 1, 3);
    int next = dup(STDERR_FILENO); /* the number that the writer's open will get */
    assert_true(next >= 0);
    close(next);
    struct wp_capture_writer *writer = open_writer(made, &err);
    FILE *full = fopen("/dev/full", "w");
    int kept = dup(next);
    assert_true(full && kept >= 0 && dup2(fileno(full), next) == next);
    assert_int_equal(wp_capture_writer_batch(writer, made->frames[0].data, made->frames[0].size, &err), -ENOSPC);
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, "the disk is full"));
    assert_non_null(strstr(err.text, made->partial));
    assert_int_equal(dup2(kept, next), next); /* there is room again, but a batch is missing */
    assert_int_equal(wp_capture_writer_batch(writer, made->frames[0].data, made->frames[0].size, &err), -ENOSPC);
    struct wp_bye bye = {.last_seq = 1};
    assert_int_equal(wp_capture_writer_finish(writer, &bye, &err), -ENOSPC);
    assert_int_equal(access(made->partial, F_OK), -1);
    assert_int_equal(access(made->path, F_OK), -1);
    close(kept);
    fclose(full);
}

/* What is no file is written to as it comes, and stays what it is: /dev/null above all. */
static void a_pipe(void **state)
{
    struct made *made = *state;
    struct wp_error err = {0};
    struct stat status;
    uint8_t got[4096];
    assert_int_equal(mkfifo(made->path, 0600), 0);
    int reader = open(made->path, O_RDONLY | O_NONBLOCK);
    make_frame(&made->frames[0], 1, 3);
    struct wp_capture_writer *writer = open_writer(made, &err);
    assert_int_equal(wp_capture_writer_batch(writer, made->frames[0].data, made->frames[0].size, &err), 0);
    struct wp_bye bye = {.last_seq = 1};
    assert_int_equal(wp_capture_writer_finish(writer, &bye, &err), 0);
    assert_true(read(reader, got, sizeof(got)) > (ssize_t)made->frames[0].size);
    assert_int_equal(access(made->partial, F_OK), -1);
    assert_true(!stat(made->path, &status) && S_ISFIFO(status.st_mode));
    writer = open_writer(made, &err);
    wp_capture_writer_abort(writer);
    assert_true(!stat(made->path, &status) && S_ISFIFO(status.st_mode));
    close(reader);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *path, const char *text)
{
    struct wp_buffer found = {0};
    assert_int_equal(wp_file_read(path, 4096, &found, NULL), 0);
    assert_string_equal((const char *)found.data, text);
    wp_buffer_fini(&found);
}

static void refused(const struct made *made, int code)
{
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR, .hostname = "box"};
    struct wp_capture_writer *writer = NULL;
    struct wp_error err = {0};
    assert_int_equal(wp_capture_writer_open(&writer, made->path, &hello, &err), code);
    assert_non_null(strstr(err.text, made->path));
    assert_null(writer);
}

/* What is no capture is neither cut nor replaced nor removed; one that was killed is begun again, a whole one replaced.
 */
static void strangers(void **state)
{
    struct made *made = *state;
    char victim[128];
    snprintf(victim, sizeof(victim), "%s/victim", made->folder);
    write_text(made->partial, "precious");
    refused(made, -EEXIST);
    expect_text(made->partial, "precious");
    assert_int_equal(rename(made->partial, victim), 0);
    assert_int_equal(symlink(victim, made->partial), 0);
    refused(made, -ELOOP);
    expect_text(victim, "precious");
    assert_int_equal(unlink(made->partial), 0);
    write_text(made->path, "precious");
    refused(made, -EEXIST);
    expect_text(made->path, "precious");
    assert_int_equal(unlink(made->path), 0);
    struct wp_capture_writer *first = open_writer(made, NULL), *second;
    refused(made, -EBUSY);
    assert_int_equal(link(made->partial, made->path), 0); /* keeps it, as a kill does */
    wp_capture_writer_abort(first);
    assert_int_equal(rename(made->path, made->partial), 0);
    second = open_writer(made, NULL);
    assert_int_equal(wp_capture_writer_finish(second, &(struct wp_bye){0}, NULL), 0);
    second = open_writer(made, NULL);
    assert_int_equal(wp_capture_writer_finish(second, &(struct wp_bye){0}, NULL), 0);
    assert_int_equal(access(made->path, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(there_and_back), TEST(cut_at_every_byte), TEST(every_byte_damaged),
        TEST(whole_frames_in_the_wrong_place), TEST(no_such_file), TEST(given_up), TEST(a_full_disk), TEST(a_pipe),
        TEST(strangers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
