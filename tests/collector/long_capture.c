/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the capture of a host where threads and connections come and go, while one thread and one connection stay:
 * long_capture FILE ROUNDS */
#include "collector/batch/batcher.h"
#include "collector/send/capture_writer.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS 1000000ull
#define START (1000 * 1000 * MS)

struct file {
    struct wp_capture_writer *writer;
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t seq;
};

static int put(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    struct file *f = context;
    wp_buffer_clear(&f->raw);
    wp_buffer_clear(&f->frame);
    f->seq = batch->seq;
    int rc = wp_batch_encode(batch, &f->raw, err);
    if (!rc)
        rc = wp_frame_write(f->frames, WP_FRAME_BATCH, f->raw.data, f->raw.size, &f->frame, err);
    return rc ? rc : wp_capture_writer_batch(f->writer, f->frame.data, f->frame.size, err);
}

static int tell(const struct wp_fact_sink *sink, uint32_t round)
{
    uint64_t at = START + round * 2 * MS;
    uint32_t tid = 100 + round % 50;
    char name[16];
    snprintf(name, sizeof(name), "w%u", round);
    struct wp_socket_entry stays = {.family = 2, .protocol = 6, .local_port = 443},
                           other = {.family = 2, .protocol = 6, .local_port = 80, .remote_port = (uint16_t)round};
    const struct wp_fact facts[] = {{.socket = {5, round ? (struct wp_socket_entry){0} : stays}},
        {.event = {.time_ns = at, .kind = WP_EVENT_FORK},
            .tid = 7,
            .pid = 7,
            .comm = "web",
            .other_tid = tid,
            .other_pid = tid,
            .other_comm = name},
        {.event = {.time_ns = at + 1000, .kind = WP_EVENT_SWITCH, .c = WP_STATE_INTERRUPTIBLE, .d = 1},
            .tid = 7,
            .other_tid = tid},
        {.socket = {1000 + round, other}},
        {.event = {.time_ns = at + 2000, .kind = WP_EVENT_SOCK_STATE, .c = 7},
            .tid = tid,
            .socket = {.key = 1000 + round}},
        {.event = {.time_ns = at + 3000, .kind = WP_EVENT_SOCK_SEND, .c = 3}, .tid = tid, .socket = {.key = 5}},
        {.event = {.time_ns = at + 4000, .kind = WP_EVENT_WAKING, .c = WP_CAUSE_TASK}, .tid = tid, .other_tid = 7},
        {.event = {.time_ns = at + 5000, .kind = WP_EVENT_SWITCH, .c = WP_STATE_DEAD}, .tid = tid, .other_tid = 7}};
    int rc = 0;
    for (size_t i = round ? 1 : 0; !rc && i < sizeof(facts) / sizeof(*facts); i++)
        rc = sink->fact(sink->context, &facts[i], NULL);
    return rc ? rc : sink->watermark(sink->context, at - 50 * MS, NULL);
}

int main(int argc, char **argv)
{
    struct file f = {.frames = wp_frame_writer_create(1)};
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR,
        .wire_minor = WP_WIRE_MINOR,
        .host = {1},
        .session = {2},
        .hostname = (char[]){"long"},
        .start_mono_ns = START - 100 * MS,
        .start_real_ns = (uint64_t)time(NULL) * 1000000000 - 86400000 * MS};
    struct wp_batcher_options options = {.batch = put, .context = &f};
    struct wp_batcher *batcher;
    struct wp_error err = {0};
    memcpy(options.session, hello.session, 16);
    if (argc < 3 || wp_capture_writer_open(&f.writer, argv[1], &hello, &err) ||
        wp_batcher_create(&batcher, &options, &err))
        return 64;
    struct wp_fact_sink sink = wp_batcher_sink(batcher);
    int rc = 0;
    for (uint32_t i = 0; !rc && i < (uint32_t)atoi(argv[2]); i++)
        rc = tell(&sink, i);
    if (!rc)
        rc = wp_batcher_finish(batcher, &err);
    struct wp_bye bye = {.last_seq = f.seq, .events = wp_batcher_stats(batcher)->events};
    if (!rc)
        rc = wp_capture_writer_finish(f.writer, &bye, &err);
    wp_batcher_destroy(batcher);
    wp_frame_writer_destroy(f.frames);
    wp_buffer_fini(&f.raw);
    wp_buffer_fini(&f.frame);
    return rc ? 1 : 0;
}
