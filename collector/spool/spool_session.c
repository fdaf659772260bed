/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool_session.h"

#include "collector/spool/spool_files.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/path.h"
#include "proto/batch_encode.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_NS (30 * WP_NS_PER_S) /* of acknowledged events, for an aggregator that restarts */
#define SMALL_FILE 65536u

struct wp_spool_session {
    char *path;
    struct wp_hello hello;
    struct wp_bye bye;
    bool has_bye;
    uint64_t segment_bytes;
    struct wp_spool_files files;
    struct wp_spool_acks acks;
    uint64_t events, dropped, lost, torn, hello_bytes, bye_bytes;
    struct wp_frame_writer *writer;
    struct wp_buffer raw, frame;
};

/* --- opening --- */

static int small_file(
    struct wp_spool_session *s, const char *name, enum wp_frame_type type, struct wp_frame *frame, struct wp_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", s->path, name);
    wp_buffer_clear(&s->raw);
    int rc = wp_file_read(path, SMALL_FILE, &s->raw, err);
    if (!rc)
        rc = wp_frame_read(s->files.reader, s->raw.data, s->raw.size, frame, err);
    if (!rc && frame->type != type)
        rc = wp_error_set(err, -EBADMSG, "'%s' is another frame", path);
    return rc == -EAGAIN ? -EBADMSG : rc;
}

static int put_small_file(struct wp_spool_session *s, const char *name, enum wp_frame_type type, struct wp_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", s->path, name);
    wp_buffer_clear(&s->frame);
    int rc = wp_frame_write(s->writer, type, s->raw.data, s->raw.size, &s->frame, err);
    if (!rc)
        rc = wp_file_write_atomic(path, s->frame.data, s->frame.size, err);
    if (!rc)
        *(type == WP_FRAME_HELLO ? &s->hello_bytes : &s->bye_bytes) = s->frame.size;
    return rc ? rc : wp_folder_sync(s->path, err);
}

static void claim(struct wp_spool_session *s)
{
    s->files.claimed_seq = s->bye.last_seq;
    s->files.claimed_held = 1 + (uint32_t)(s->bye.events + s->bye.dropped);
}

static int read_hello(struct wp_spool_session *s, struct wp_error *err)
{
    struct wp_frame frame;
    int rc = small_file(s, "hello", WP_FRAME_HELLO, &frame, err);
    if (!rc)
        rc = wp_hello_decode(&s->hello, frame.payload, frame.size, err);
    s->hello_bytes = s->raw.size;
    if (!rc && !small_file(s, "bye", WP_FRAME_BYE, &frame, NULL))
        s->has_bye = !wp_bye_decode(&s->bye, frame.payload, frame.size, NULL);
    if (!rc)
        s->bye_bytes = s->raw.size;
    if (s->has_bye)
        claim(s);
    memcpy(s->files.session, s->hello.session, 16);
    s->files.acks = &s->acks;
    return rc;
}

static int make_folder(struct wp_spool_session *s, const struct wp_hello *hello, struct wp_error *err)
{
    if (mkdir(s->path, 0700) && errno != EEXIST)
        return wp_error_errno(err, -errno, "cannot make '%s'", s->path);
    wp_buffer_clear(&s->raw);
    int rc = wp_hello_encode(hello, &s->raw, err);
    if (!rc)
        rc = put_small_file(s, "hello", WP_FRAME_HELLO, err);
    return rc ? rc : wp_name_sync(s->path, err);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = wp_spool_segment_first(*(struct wp_spool_segment *const *)a),
             y = wp_spool_segment_first(*(struct wp_spool_segment *const *)b);
    return x < y ? -1 : x > y;
}

static int add_segment(struct wp_spool_session *s, struct wp_spool_segment *segment, struct wp_error *err)
{
    if (WP_ARRAY_FIT(s->files.segments, s->files.room, s->files.count + 1)) {
        wp_spool_segment_close(segment);
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    }
    s->files.segments[s->files.count++] = segment;
    return 0;
}

/* Of a file that is in the dictionary already only its removal was left to do. */
static int take_segment(struct wp_spool_session *s, const char *path, struct wp_error *err)
{
    struct wp_spool_segment *segment;
    int rc = wp_spool_segment_open(&segment, path, false, err);
    if (rc)
        return rc;
    s->torn += wp_spool_segment_torn(segment);
    if (wp_spool_segment_last(segment) <= wp_spool_segment_last(s->files.dictionary)) {
        wp_spool_segment_remove(segment);
        return 0;
    }
    wp_spool_segment_rest(segment);
    return add_segment(s, segment, err);
}

static int open_files(struct wp_spool_session *s, struct wp_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/dictionary", s->path);
    int rc = wp_spool_segment_open(&s->files.dictionary, path, true, err);
    DIR *folder = rc ? NULL : opendir(s->path);
    if (!rc && !folder)
        rc = wp_error_errno(err, -errno, "cannot read '%s'", s->path);
    if (!rc)
        s->torn += wp_spool_segment_torn(s->files.dictionary);
    for (struct dirent *entry; !rc && (entry = readdir(folder));) {
        size_t size = strlen(entry->d_name);
        if (size <= 8 || strcmp(entry->d_name + size - 8, ".batches"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", s->path, entry->d_name);
        rc = take_segment(s, path, err);
    }
    if (folder)
        closedir(folder);
    if (!rc && s->files.count)
        qsort(s->files.segments, s->files.count, sizeof(struct wp_spool_segment *), by_number);
    return rc;
}

static void sum(struct wp_spool_session *s, struct wp_spool_segment *segment)
{
    struct wp_spool_head head;
    for (size_t i = 0; i < wp_spool_segment_count(segment); i++) {
        if (wp_spool_segment_head(segment, i, &head, NULL) || head.first_seq <= s->files.last_seq)
            continue;
        s->events += head.events;
        s->dropped += head.dropped;
        s->files.last_seq = head.last_seq;
        s->files.last_ns = head.last_ns;
        s->files.held = wp_spool_head_held(&head);
        memcpy(s->files.known, head.after, sizeof(s->files.known));
    }
    wp_spool_segment_rest(segment);
}

static int set_up(struct wp_spool_session *s, const char *path, const struct wp_hello *hello, struct wp_error *err)
{
    s->path = strdup(path);
    s->writer = wp_frame_writer_create(1);
    s->files.reader = wp_frame_reader_create();
    s->files.batches = wp_spool_batches_create();
    s->files.range = wp_spool_range_create();
    if (!s->path || !s->writer || !s->files.reader || !s->files.batches || !s->files.range)
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    if (strlen(path) > PATH_MAX - 64)
        return wp_error_set(err, -ENAMETOOLONG, "the name of the spool is too long");
    int rc = read_hello(s, err);
    if (rc && hello && rc != -ENOMEM) {
        rc = make_folder(s, hello, err);
        if (!rc)
            rc = read_hello(s, err);
    }
    if (!rc)
        rc = open_files(s, err);
    if (!rc)
        rc = wp_spool_acks_open(&s->acks, s->path, err);
    if (rc)
        return rc;
    sum(s, s->files.dictionary);
    for (size_t i = 0; i < s->files.count; i++)
        sum(s, s->files.segments[i]);
    return 0;
}

int wp_spool_session_open(struct wp_spool_session **session, const char *path, const struct wp_hello *hello,
    uint64_t segment_bytes, struct wp_error *err)
{
    struct wp_spool_session *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    s->segment_bytes = segment_bytes;
    s->files.held = 1;
    int rc = set_up(s, path, hello, err);
    if (rc) {
        wp_spool_session_close(s);
        return rc;
    }
    *session = s;
    return 0;
}

void wp_spool_session_close(struct wp_spool_session *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->files.count; i++)
        wp_spool_segment_close(s->files.segments[i]);
    free(s->files.segments);
    wp_spool_segment_close(s->files.dictionary);
    wp_spool_acks_fini(&s->acks);
    wp_hello_fini(&s->hello);
    wp_frame_writer_destroy(s->writer);
    wp_frame_reader_destroy(s->files.reader);
    wp_spool_batches_destroy(s->files.batches);
    wp_spool_range_destroy(s->files.range);
    wp_buffer_fini(&s->files.record);
    wp_buffer_fini(&s->raw);
    wp_buffer_fini(&s->frame);
    free(s->path);
    free(s);
}

/* --- reading --- */

bool wp_spool_session_is_past(const struct wp_spool_session *s, uint64_t seq, const char *endpoint)
{
    return wp_spool_acks_is_foreign(&s->acks, seq, endpoint) ||
        (seq <= wp_spool_acks_last(&s->acks) && seq < wp_spool_session_oldest(s));
}

/* Behind the last batch without events those who follow begin: with the names that threads have by then. */
static int read_past(
    struct wp_spool_session *s, uint64_t seq, const char *endpoint, struct wp_batch **batch, struct wp_error *err)
{
    struct wp_spool_head next;
    bool is_whole;
    if (seq == 1)
        wp_spool_batches_forget_names(s->files.batches);
    int rc = wp_spool_files_decode(&s->files, seq, batch, &is_whole, err);
    if (!rc)
        rc = wp_spool_batches_take_names(s->files.batches, *batch, err);
    if (rc || wp_spool_session_is_past(s, seq + 1, endpoint) || !wp_spool_files_neighbour(&s->files, seq, false, &next))
        return rc;
    return wp_spool_batches_give_names(s->files.batches, *batch, next.first_ns, err);
}

int wp_spool_session_read(struct wp_spool_session *s, uint64_t seq, const char *endpoint, const uint8_t **frame,
    size_t *size, struct wp_error *err)
{
    struct wp_spool_head head;
    struct wp_batch *batch;
    bool is_after = !wp_spool_session_is_past(s, seq, endpoint), is_whole;
    int got = is_after ? wp_spool_files_fetch(&s->files, seq, &head, err) : 0;
    if (got < 0)
        return got;
    if (got) {
        *frame = s->files.record.data;
        *size = s->files.record.size;
        return 0;
    }
    int rc = is_after ? wp_spool_files_decode(&s->files, seq, &batch, &is_whole, err)
                      : read_past(s, seq, endpoint, &batch, err);
    wp_buffer_clear(&s->raw);
    wp_buffer_clear(&s->frame);
    if (!rc)
        rc = wp_batch_encode(batch, &s->raw, err);
    if (!rc)
        rc = wp_frame_write(s->writer, WP_FRAME_BATCH, s->raw.data, s->raw.size, &s->frame, err);
    *frame = s->frame.data;
    *size = s->frame.size;
    return rc;
}

/* --- writing --- */

static int next_segment(struct wp_spool_session *s, uint64_t seq, struct wp_error *err)
{
    char path[PATH_MAX];
    struct wp_spool_segment *segment, *last = s->files.count ? s->files.segments[s->files.count - 1] : NULL;
    if (last && wp_spool_segment_bytes(last) < s->segment_bytes)
        return 0;
    int rc = last ? wp_spool_segment_sync(last, err) : 0;
    snprintf(path, sizeof(path), "%s/%020llu.batches", s->path, (unsigned long long)seq);
    if (!rc)
        rc = wp_spool_segment_open(&segment, path, true, err);
    if (rc)
        return rc;
    wp_folder_sync(s->path, NULL); /* a disk that fails will say so when it is written to */
    if (last && last != s->files.awake)
        wp_spool_segment_rest(last);
    return add_segment(s, segment, err);
}

int wp_spool_session_append(
    struct wp_spool_session *s, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err)
{
    struct wp_spool_head head;
    if (batch->seq <= s->files.last_seq)
        return 0;
    int rc = next_segment(s, batch->seq, err);
    if (rc)
        return rc;
    wp_spool_head_of(&head, batch, s->files.known, s->files.last_ns);
    head.held_before = s->files.held;
    struct wp_spool_segment *segment = s->files.segments[s->files.count - 1];
    rc = wp_spool_segment_append(segment, &head, frame, size, err);
    if (rc && !wp_spool_segment_count(segment)) {
        wp_spool_segment_remove(segment);
        s->files.count--;
    }
    if (rc)
        return rc;
    s->events += head.events;
    s->dropped += head.dropped;
    s->files.last_seq = batch->seq;
    s->files.last_ns = head.last_ns > s->files.last_ns ? head.last_ns : s->files.last_ns;
    memcpy(s->files.known, head.after, sizeof(s->files.known));
    s->files.held = wp_spool_head_held(&head);
    return 0;
}

/* --- the dictionary --- */

static int end_range(struct wp_spool_session *s, struct wp_spool_head *head, uint64_t *losing, struct wp_error *err)
{
    wp_buffer_clear(&s->frame);
    int rc = wp_spool_range_finish(s->files.range, &s->frame, err);
    if (!rc)
        rc = wp_spool_segment_append(s->files.dictionary, head, s->frame.data, s->frame.size, err);
    wp_spool_range_begin(s->files.range);
    s->lost += rc ? 0 : *losing;
    *losing = 0;
    *head = (struct wp_spool_head){.is_range = true, .last_ns = head->last_ns, .held_before = wp_spool_head_held(head)};
    return rc;
}

/* `known`: ids before it. */
static int add_to_range(struct wp_spool_session *s, uint64_t seq, uint32_t known[WP_SPOOL_KINDS],
    struct wp_spool_head *head, uint64_t *losing, struct wp_error *err)
{
    struct wp_spool_head one;
    struct wp_batch *batch;
    bool is_whole, is_lost = seq > wp_spool_acks_last(&s->acks);
    int rc = wp_spool_files_decode(&s->files, seq, &batch, &is_whole, err);
    if (rc)
        return rc;
    wp_spool_head_of(&one, batch, known, head->last_ns);
    rc = is_whole ? wp_spool_batches_strip(s->files.batches, is_lost, err) : 0;
    if (!rc)
        rc = wp_spool_range_add(s->files.range, batch, err);
    if (!head->first_seq) {
        head->first_seq = seq;
        head->first_ns = one.first_ns;
        memcpy(head->before, one.before, sizeof(head->before));
    }
    head->last_seq = seq;
    head->last_ns = one.last_ns > head->last_ns ? one.last_ns : head->last_ns;
    head->events += is_lost ? 0 : one.events;
    head->dropped += one.dropped + (is_lost ? one.events : 0);
    head->anchor_mono_ns = one.anchor_mono_ns;
    head->anchor_real_ns = one.anchor_real_ns;
    memcpy(head->after, one.after, sizeof(head->after));
    memcpy(known, one.after, sizeof(one.after));
    *losing += is_lost && is_whole;
    return rc;
}

static int put_in_dictionary(struct wp_spool_session *s, uint64_t first, uint64_t last, struct wp_error *err)
{
    struct wp_spool_head head = {.is_range = true, .held_before = 1}, near;
    uint32_t known[WP_SPOOL_KINDS] = {0};
    uint64_t losing = 0;
    int rc = 0;
    if (wp_spool_files_neighbour(&s->files, first, true, &near)) {
        memcpy(known, near.after, sizeof(known));
        head.last_ns = near.last_ns;
        head.held_before = wp_spool_head_held(&near);
    } else if (wp_spool_files_neighbour(&s->files, first - 1, false, &near)) { /* the past was forgotten */
        memcpy(known, near.before, sizeof(known));
        head.held_before = near.held_before;
    }
    s->files.range_index = 0;
    wp_spool_range_begin(s->files.range);
    for (uint64_t seq = first; !rc && seq <= last; seq++) {
        rc = add_to_range(s, seq, known, &head, &losing, err);
        if (!rc && (seq == last || wp_spool_range_is_full(s->files.range)))
            rc = end_range(s, &head, &losing, err);
    }
    return rc ? rc : wp_spool_segment_sync(s->files.dictionary, err);
}

/* The oldest segment goes, its dictionary entries stay. They are written before it is removed: a crash leaves one of
 * the two. */
static int compact(struct wp_spool_session *s, struct wp_error *err)
{
    struct wp_spool_segment *segment = s->files.segments[0];
    uint64_t first = wp_spool_segment_first(segment), done = wp_spool_segment_last(s->files.dictionary);
    int rc = put_in_dictionary(s, done >= first ? done + 1 : first, wp_spool_segment_last(segment), err);
    if (rc)
        return rc;
    if (s->files.awake == segment)
        s->files.awake = NULL;
    wp_spool_segment_remove(segment);
    s->files.count--;
    memmove(s->files.segments, s->files.segments + 1, s->files.count * sizeof(struct wp_spool_segment *));
    return 0;
}

int wp_spool_session_shrink(struct wp_spool_session *s, bool may_lose, struct wp_error *err)
{
    if (!s->files.count || (!may_lose && wp_spool_segment_last(s->files.segments[0]) > wp_spool_acks_last(&s->acks)))
        return 0;
    int rc = compact(s, err);
    return rc ? rc : 1;
}

int wp_spool_session_forget(struct wp_spool_session *s)
{
    char path[PATH_MAX];
    struct wp_spool_segment *empty;
    struct wp_bye bye;
    if (!wp_spool_segment_count(s->files.dictionary))
        return 0;
    wp_spool_session_bye(s, &bye);
    if (!s->has_bye && !s->files.count) /* the dictionary was all that knew how many batches there are */
        wp_spool_session_set_bye(s, &bye, NULL);
    snprintf(path, sizeof(path), "%s/dictionary", s->path);
    unlink(path);
    if (wp_spool_segment_open(&empty, path, true, NULL))
        return 0;
    if (s->files.awake == s->files.dictionary)
        s->files.awake = NULL;
    wp_spool_segment_close(s->files.dictionary);
    s->files.dictionary = empty;
    s->files.range_index = 0;
    return 1;
}

static bool may_go(struct wp_spool_session *s, uint64_t acked_ns)
{
    const struct wp_spool_segment *oldest = s->files.segments[0];
    return s->files.count > 1 && wp_spool_segment_last(oldest) <= wp_spool_acks_last(&s->acks) &&
        wp_spool_segment_last_ns(oldest) + HISTORY_NS < acked_ns;
}

int wp_spool_session_acknowledge(struct wp_spool_session *s, uint64_t seq, const char *endpoint, struct wp_error *err)
{
    struct wp_spool_head head;
    int rc = wp_spool_acks_add(&s->acks, seq < s->files.last_seq ? seq : s->files.last_seq, endpoint, err);
    if (rc || s->files.count < 2 || !wp_spool_files_neighbour(&s->files, seq + 1, true, &head))
        return rc;
    while (!rc && may_go(s, head.last_ns))
        rc = compact(s, err);
    return rc;
}

int wp_spool_session_sync(struct wp_spool_session *s, struct wp_error *err)
{
    int rc = s->files.count ? wp_spool_segment_sync(s->files.segments[s->files.count - 1], err) : 0;
    wp_spool_acks_save(&s->acks, NULL); /* without it more is sent again after a restart, and known by its number */
    return rc;
}

/* --- what there is --- */

static bool is_of_session(const char *name)
{
    static const char *const small[] = {"hello", "bye", "acked", "dictionary", "refused"};
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        size_t size = strlen(small[i]);
        if (!strncmp(name, small[i], size) && (!name[size] || !strncmp(name + size, ".tmp.", 5)))
            return true;
    }
    size_t digits = strspn(name, "0123456789");
    return digits >= 20 && !strncmp(name + digits, ".batches", 8);
}

/* A file that no session makes stays, and its folder with it. */
void wp_spool_session_remove(struct wp_spool_session *s)
{
    char *path = strdup(s->path);
    wp_spool_session_close(s);
    DIR *names = path ? opendir(path) : NULL;
    for (struct dirent *entry; names && (entry = readdir(names));)
        if (is_of_session(entry->d_name))
            unlinkat(dirfd(names), entry->d_name, 0);
    if (names)
        closedir(names);
    if (path)
        rmdir(path);
    free(path);
}

const struct wp_hello *wp_spool_session_hello(const struct wp_spool_session *s)
{
    return &s->hello;
}

uint64_t wp_spool_session_last(const struct wp_spool_session *s)
{
    return s->files.claimed_seq > s->files.last_seq ? s->files.claimed_seq : s->files.last_seq;
}

uint64_t wp_spool_session_acked(const struct wp_spool_session *s)
{
    return wp_spool_acks_last(&s->acks);
}

uint64_t wp_spool_session_oldest(const struct wp_spool_session *s)
{
    return s->files.count && wp_spool_segment_count(s->files.segments[0]) ? wp_spool_segment_first(s->files.segments[0])
                                                                          : wp_spool_session_last(s) + 1;
}

uint64_t wp_spool_session_bytes(const struct wp_spool_session *s)
{
    uint64_t bytes = s->hello_bytes + s->bye_bytes + wp_spool_segment_bytes(s->files.dictionary);
    for (size_t i = 0; i < s->files.count; i++)
        bytes += wp_spool_segment_bytes(s->files.segments[i]);
    return bytes;
}

uint64_t wp_spool_session_damaged(const struct wp_spool_session *s)
{
    return s->files.damaged;
}

uint64_t wp_spool_session_torn(const struct wp_spool_session *s)
{
    return s->torn;
}

/* A byte each, in a file of its own. */
unsigned wp_spool_session_refused(struct wp_spool_session *s)
{
    char path[PATH_MAX];
    struct stat status;
    snprintf(path, sizeof(path), "%s/refused", s->path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_counted = fd >= 0 && write(fd, "x", 1) == 1 && !fstat(fd, &status);
    if (fd >= 0)
        close(fd);
    return is_counted && status.st_size < 1000 ? (unsigned)status.st_size : UINT_MAX;
}

uint64_t wp_spool_session_lost(const struct wp_spool_session *s)
{
    return s->lost;
}

void wp_spool_session_bye(const struct wp_spool_session *s, struct wp_bye *bye)
{
    *bye = s->has_bye ? s->bye
                      : (struct wp_bye){.last_seq = s->files.last_seq, .events = s->events, .dropped = s->dropped};
}

int wp_spool_session_set_bye(struct wp_spool_session *s, const struct wp_bye *bye, struct wp_error *err)
{
    wp_buffer_clear(&s->raw);
    int rc = wp_bye_encode(bye, &s->raw, err);
    if (!rc)
        rc = put_small_file(s, "bye", WP_FRAME_BYE, err);
    s->bye = *bye;
    s->has_bye = true;
    claim(s);
    return rc;
}
