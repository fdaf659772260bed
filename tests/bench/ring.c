/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring record FILE SECONDS: writes what the BPF programs put into the ring, as it comes (as root).
 * ring replay FILE [TIMES]: takes such a file through all that the thread of events does with it (facts, ids, order,
 * batches, frames), in pieces of 40 ms as the live source does, and prints events, bytes and nanoseconds of processor
 * time an event. Under callgrind it tells instructions an event, whatever else the machine does.
 */
#include "collector/batch/batcher.h"
#include "collector/live/bpf_programs.h"
#include "collector/live/file_paths.h"
#include "collector/live/records.h"
#include "collector/live/ring_facts.h"
#include "common/path.h"
#include "proto/batch_encode.h"
#include "proto/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE_NS 40000000u
#define FILE_BYTES ((size_t)1 << 30)

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* In the file: size as u64, bytes, padded to 8. */
static int add(struct wp_buffer *records, const void *bytes, size_t size, struct wp_error *err)
{
    static const uint8_t zeros[8];
    uint64_t head = size;
    wp_buffer_append(records, &head, sizeof(head));
    wp_buffer_append(records, bytes, size);
    wp_buffer_append(records, zeros, -size & 7);
    return records->failed ? wp_error_set(err, -ENOMEM, "out of memory") : 0;
}

/* The record at *at, which is moved behind it; NULL: that was the last one. */
static struct wp_record *next(const struct wp_buffer *records, size_t *at, size_t *size)
{
    uint64_t bytes;
    if (records->size - *at < sizeof(bytes))
        return NULL;
    uint8_t *here = records->data + *at;
    memcpy(&bytes, here, sizeof(bytes));
    if (bytes > records->size - *at - sizeof(bytes) || bytes < WP_RECORD_SHORT)
        return NULL;
    *at += (sizeof(bytes) + bytes + 7) & ~(size_t)7;
    *size = bytes;
    return (void *)(here + sizeof(bytes));
}

static int record(const char *path, unsigned seconds, struct wp_error *err)
{
    struct wp_source_bpf_options options = {.frequency_hz = 99, .ring_bytes = 64u << 20};
    struct wp_logger logger = {"ring", WP_LOG_WARN, 2};
    struct wp_programs *programs;
    struct wp_buffer records = {0};
    int rc = wp_programs_load(&programs, &options, &logger, err);
    if (rc)
        return rc;
    struct wp_records_options from;
    struct wp_records *source = NULL;
    wp_programs_records(programs, &from);
    rc = wp_records_create(&source, &from);
    rc = rc ? wp_error_errno(err, rc, "cannot map the buffers")
            : wp_programs_attach(programs, options.frequency_hz, err);
    if (!rc)
        rc = wp_programs_snapshot(programs, err);
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull; !rc && clock_ns(CLOCK_MONOTONIC) < end;) {
        size_t size;
        wp_records_wait(source, 20);
        wp_records_begin(source, SIZE_MAX);
        for (const void *bytes; !rc && (bytes = wp_records_next(source, &size));)
            rc = add(&records, bytes, size, err);
        wp_records_end(source);
    }
    if (!rc)
        rc = wp_file_write_atomic(path, records.data, records.size, err);
    wp_records_destroy(source);
    wp_programs_destroy(programs);
    wp_buffer_fini(&records);
    return rc;
}

struct uplink {
    struct wp_frame_writer *frames;
    struct wp_buffer raw, frame;
    uint64_t bytes;
};

static int on_batch(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    struct uplink *o = context;
    wp_buffer_clear(&o->raw);
    wp_buffer_clear(&o->frame);
    int rc = wp_batch_encode(batch, &o->raw, err);
    if (!rc)
        rc = wp_frame_write(o->frames, WP_FRAME_BATCH, o->raw.data, o->raw.size, &o->frame, err);
    o->bytes += o->frame.size;
    return rc;
}

/* All records once; their clock is moved on by `shift_ns`. */
static int play(const struct wp_buffer *records, uint64_t shift_ns, struct wp_ring_facts *facts, uint64_t *newest_ns,
    struct wp_error *err)
{
    size_t at = 0, size;
    uint64_t piece_ns = 0;
    int rc = 0;
    for (struct wp_record *r; !rc && (r = next(records, &at, &size));) {
        if (r->kind == WP_RECORD_FILE)
            continue;
        r->time_ns += shift_ns;
        rc = wp_ring_fact(facts, r, size, err);
        *newest_ns = r->time_ns > *newest_ns ? r->time_ns : *newest_ns;
        if (!rc && *newest_ns - piece_ns > PIECE_NS) {
            piece_ns = *newest_ns;
            rc = facts->sink.watermark(facts->sink.context, piece_ns - 50000000, err);
        }
    }
    return rc;
}

static uint64_t span_of(const struct wp_buffer *records)
{
    uint64_t first = UINT64_MAX, last = 0;
    size_t at = 0, size;
    for (const struct wp_record *r; (r = next(records, &at, &size));) {
        first = r->time_ns < first ? r->time_ns : first;
        last = r->time_ns > last ? r->time_ns : last;
    }
    return last > first ? last - first : 0;
}

static int replay(const char *path, unsigned times, struct wp_error *err)
{
    struct wp_buffer records = {0};
    struct uplink uplink = {.frames = wp_frame_writer_create(1)};
    struct wp_batcher_options options = {
        .has_addresses = true, .resolution_ns = WP_RESOLUTION_NS, .batch = on_batch, .context = &uplink};
    struct wp_batcher *batcher;
    int rc = wp_file_read(path, FILE_BYTES, &records, err);
    if (!rc)
        rc = wp_batcher_create(&batcher, &options, err);
    if (rc)
        return rc;
    struct wp_file_paths *paths = wp_file_paths_create("/proc/self/mountinfo");
    struct wp_fact_sink sink = wp_batcher_sink(batcher);
    struct wp_ring_facts facts;
    wp_ring_facts_init(&facts, paths, &sink);
    uint64_t span_ns = span_of(&records) + 1, newest_ns = 0, began_ns = 0, began_events = 0;
    for (unsigned i = 0; !rc && i <= times; i++) { /* the first time is for what is new to it */
        if (i == 1) {
            began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            began_events = wp_batcher_stats(batcher)->events;
        }
        rc = play(&records, i ? span_ns : 0, &facts, &newest_ns, err);
    }
    uint64_t ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns,
             events = wp_batcher_stats(batcher)->events - began_events;
    if (!rc)
        rc = wp_batcher_finish(batcher, err);
    const struct wp_batcher_stats *stats = wp_batcher_stats(batcher);
    if (!rc)
        printf("{\"events\":%llu,\"batches\":%llu,\"late\":%llu,\"bytes_an_event\":%.2f,\"ns_an_event\":%.1f}\n",
            (unsigned long long)stats->events, (unsigned long long)stats->batches, (unsigned long long)stats->late,
            (double)uplink.bytes / (double)(stats->events ? stats->events : 1),
            (double)ns / (double)(events ? events : 1));
    wp_batcher_destroy(batcher);
    wp_file_paths_destroy(paths);
    wp_frame_writer_destroy(uplink.frames);
    wp_buffer_fini(&uplink.raw);
    wp_buffer_fini(&uplink.frame);
    wp_buffer_fini(&records);
    return rc;
}

int main(int argc, char **argv)
{
    struct wp_error err = {0};
    int rc = -EINVAL;
    if (argc == 4 && !strcmp(argv[1], "record"))
        rc = record(argv[2], (unsigned)atoi(argv[3]), &err);
    else if (argc >= 3 && !strcmp(argv[1], "replay"))
        rc = replay(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 1, &err);
    else
        fprintf(stderr, "usage: ring record FILE SECONDS | ring replay FILE [TIMES]\n");
    if (rc && *err.text)
        fprintf(stderr, "ring: %s\n", err.text);
    return rc ? 1 : 0;
}
