/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_bench CAPTURE [RUNS]: events a second of one core, of a capture in memory: frames read (checksum, zstd),
 * batches decoded (wp_batch_decode), and decoded and taken into a session's timeline that explains nothing. Prints
 * JSON: medians, lowest and highest of the runs.
 */
#include "aggregator/session/host_session.h"
#include "collector/send/capture_reader.h"
#include "proto/batch.h"
#include "proto/batch_decode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 64u

struct bytes {
    uint8_t *data;
    size_t size;
};

struct bench {
    struct bytes *frames, *batches; /* as they travel, and unpacked; owned */
    uint32_t count, room;
    uint64_t events, frame_bytes, batch_bytes;
    struct wp_hello hello;
    struct wp_frame_reader *reader;
    struct wp_batch batch;
};

static double cpu_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int keep(struct bytes *into, const uint8_t *data, size_t size)
{
    into->data = malloc(size ? size : 1);
    if (!into->data)
        return -ENOMEM;
    memcpy(into->data, data, size);
    into->size = size;
    return 0;
}

static int add_frame(struct bench *bench, const uint8_t *data, size_t size, struct wp_error *err)
{
    struct wp_frame frame;
    if (bench->count == bench->room) {
        uint32_t room = bench->room ? bench->room * 2 : 256;
        struct bytes *frames = realloc(bench->frames, room * sizeof(*frames));
        bench->frames = frames ? frames : bench->frames;
        struct bytes *batches = realloc(bench->batches, room * sizeof(*batches));
        bench->batches = batches ? batches : bench->batches;
        if (!frames || !batches)
            return -ENOMEM;
        bench->room = room;
    }
    int rc = wp_frame_read(bench->reader, data, size, &frame, err);
    if (!rc)
        rc = wp_batch_decode(&bench->batch, frame.payload, frame.size, err);
    if (!rc)
        rc = keep(&bench->frames[bench->count], data, size);
    if (!rc)
        rc = keep(&bench->batches[bench->count], frame.payload, frame.size);
    if (rc)
        return rc;
    bench->count++;
    bench->events += bench->batch.event_count;
    bench->frame_bytes += size;
    bench->batch_bytes += frame.size;
    return 0;
}

static int load(struct bench *bench, struct wp_capture_reader *capture, struct wp_error *err)
{
    const uint8_t *data;
    size_t size;
    uint64_t seq;
    int rc = 0, got = 0;
    while (!rc && (got = wp_capture_reader_next(capture, &data, &size, &seq, err)) > 0)
        rc = add_frame(bench, data, size, err);
    return rc ? rc : got;
}

/* --- what is measured --- */

static int read_frames(struct bench *bench, struct wp_error *err)
{
    struct wp_frame frame;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < bench->count; i++)
        rc = wp_frame_read(bench->reader, bench->frames[i].data, bench->frames[i].size, &frame, err);
    return rc;
}

static int decode(struct bench *bench, struct wp_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < bench->count; i++)
        rc = wp_batch_decode(&bench->batch, bench->batches[i].data, bench->batches[i].size, err);
    return rc;
}

static int build(struct bench *bench, struct wp_error *err)
{
    struct wp_host_session_options options = {
        .epoch_ns = 1000000000, .lateness_ns = 2000000000, .history_ns = 10000000000};
    struct wp_host_session *session;
    int rc = wp_host_session_create(&session, &bench->hello, "bench", &options, NULL, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; !rc && i < bench->count; i++) {
        rc = wp_batch_decode(&bench->batch, bench->batches[i].data, bench->batches[i].size, err);
        if (!rc)
            rc = wp_host_session_take(session, &bench->batch, err);
    }
    wp_host_session_destroy(session);
    return rc;
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int measure(struct bench *bench, const char *name, int (*what)(struct bench *, struct wp_error *), uint32_t runs,
    struct wp_error *err)
{
    double rates[RUNS];
    for (uint32_t i = 0; i < runs; i++) {
        double start = cpu_s();
        int rc = what(bench, err);
        if (rc)
            return rc;
        rates[i] = (double)bench->events / (cpu_s() - start) / 1e6;
    }
    qsort(rates, runs, sizeof(*rates), compare);
    printf(",\n  \"%s\": {\"median\": %.2f, \"min\": %.2f, \"max\": %.2f, \"runs\": %u}", name, rates[runs / 2],
        rates[0], rates[runs - 1], runs);
    return 0;
}

static int run(struct bench *bench, uint32_t runs, struct wp_error *err)
{
    printf("{\"unit\": \"million events/s of one core\", \"events\": %llu, \"bytes_an_event\": %.2f, "
           "\"unpacked_bytes_an_event\": %.2f",
        (unsigned long long)bench->events, (double)bench->frame_bytes / (double)bench->events,
        (double)bench->batch_bytes / (double)bench->events);
    int rc = measure(bench, "frames", read_frames, runs, err);
    if (!rc)
        rc = measure(bench, "decode", decode, runs, err);
    if (!rc)
        rc = measure(bench, "decode_and_timeline", build, runs, err);
    printf("}\n");
    return rc;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    struct bench bench = {.reader = wp_frame_reader_create()};
    struct wp_capture_reader *capture = NULL;
    uint32_t runs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 9;
    if (argc < 2 || !runs || runs > RUNS) {
        fprintf(stderr, "usage: codec_bench CAPTURE [RUNS]\n");
        return 64;
    }
    int rc = bench.reader ? wp_capture_reader_open(&capture, argv[1], &err) : -ENOMEM;
    if (!rc) {
        bench.hello = *wp_capture_reader_hello(capture);
        rc = load(&bench, capture, &err);
    }
    if (!rc && bench.events)
        rc = run(&bench, runs, &err);
    if (rc)
        fprintf(stderr, "codec_bench: %s\n", err.text);
    for (uint32_t i = 0; i < bench.count; i++) {
        free(bench.frames[i].data);
        free(bench.batches[i].data);
    }
    free(bench.frames);
    free(bench.batches);
    wp_batch_fini(&bench.batch);
    wp_capture_reader_close(capture);
    wp_frame_reader_destroy(bench.reader);
    return rc ? 1 : 0;
}
