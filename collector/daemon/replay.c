/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/daemon/replay.h"

#include "collector/batch/reissue.h"
#include "collector/send/capture_reader.h"
#include "collector/send/uplink.h"
#include "common/clock.h"
#include "proto/batch.h"
#include "proto/dictionary.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct replay {
    const struct wp_collector_options *options;
    struct wp_capture_reader *reader;
    struct wp_uplink *uplink;
    struct wp_hello hello;                         /* texts are the reader's, or the options' */
    uint64_t first_mono_ns, started_ns;            /* of the recording and of this run */
    size_t bytes;                                  /* of the dictionary of the session that is sent */
    uint64_t sent, dropped;                        /* events, likewise */
    struct wp_reissue *reissue;                    /* the rest of the session is reissued; NULL: it goes as it is */
    bool is_file;                                  /* it can be read again; what cannot goes as it is */
    uint64_t all_events, all_dropped, all_batches; /* of all sessions, as the capture has them */
};

/* At the recorded pace a batch leaves when its anchor is as far from the first one's as it was then. */
static int keep_pace(struct replay *r, const struct wp_batch *batch, struct wp_error *err)
{
    int rc = 0;
    if (!r->first_mono_ns) {
        r->first_mono_ns = batch->anchor_mono_ns;
        r->started_ns = wp_clock_ns();
    }
    uint64_t due = r->started_ns + (batch->anchor_mono_ns - r->first_mono_ns);
    for (uint64_t now = wp_clock_ns(); !rc && now < due && !*r->options->stop; now = wp_clock_ns()) {
        rc = wp_uplink_pump(r->uplink, due - now < 20000000 ? 1 : 20, err);
        usleep(due - now < WP_NS_PER_MS ? (useconds_t)((due - now) / 1000) : 1000);
    }
    return rc;
}

/* Both may be large: the one before must have arrived. */
static int next_session(void *context, const struct wp_hello *hello, struct wp_error *err)
{
    struct replay *r = context;
    int rc = 0;
    while (!rc && !wp_uplink_may_renew(r->uplink) && !*r->options->stop)
        rc = wp_uplink_pump(r->uplink, 20, err);
    if (!rc && !wp_uplink_may_renew(r->uplink))
        rc = wp_error_set(err, -ECANCELED, "stopped before its end");
    if (!rc)
        rc = wp_uplink_renew(r->uplink, hello, r->sent, r->dropped, err);
    r->bytes = 0;
    r->sent = r->dropped = 0;
    return rc;
}

static void count(struct replay *r, const struct wp_batch *batch)
{
    r->bytes += wp_dictionary_bytes_of(batch);
    for (uint32_t i = 0; i < batch->event_count; i++)
        r->sent += !wp_event_is_retold(&batch->events[i]);
    for (uint32_t i = 0; i < batch->drop_count; i++)
        r->dropped += batch->drops[i].count;
}

static int part_batch(void *context, const struct wp_batch *batch, struct wp_error *err)
{
    struct replay *r = context;
    count(r, batch);
    return wp_uplink_batch(r->uplink, batch, err);
}

static int part_end(void *context, const struct wp_bye *bye, struct wp_error *err)
{
    (void)context, (void)bye, (void)err;
    return 0;
}

/* What the session has named so far is read once more: most recordings need it never. */
static int begin_reissue(struct replay *r, uint64_t until_seq, struct wp_error *err)
{
    const struct wp_reissue_to to = {next_session, part_batch, part_end, r, r->options->uplink.session_bytes, 0};
    struct wp_capture_reader *again;
    const uint8_t *frame;
    size_t size;
    uint64_t seq;
    int rc = wp_capture_reader_open(&again, r->options->source_path, err);
    if (rc)
        return rc;
    while (memcmp(wp_capture_reader_hello(again)->session, r->hello.session, 16) &&
        rc >= 0) /* of several behind each other */
        if (!(rc = wp_capture_reader_next(again, &frame, &size, &seq, err)) && !wp_capture_reader_turn(again))
            rc = wp_error_set(err, -EBADMSG, "the capture differs from the one replayed before");
    if (rc >= 0)
        rc = wp_reissue_create(&r->reissue, &r->hello, &to, err);
    while (!rc && (rc = wp_capture_reader_next(again, &frame, &size, &seq, err)) > 0) {
        if (seq >= until_seq) {
            rc = 0;
            break;
        }
        rc = wp_reissue_pass(r->reissue, wp_capture_reader_batch(again), err);
    }
    wp_capture_reader_close(again);
    return rc;
}

static int send_batch(
    struct replay *r, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err)
{
    size_t more = wp_dictionary_bytes_of(batch);
    int rc = 0;
    if (!r->reissue && r->bytes && r->is_file && r->bytes + more > r->options->uplink.session_bytes)
        rc = begin_reissue(r, batch->seq, err);
    if (rc)
        return rc;
    if (r->reissue)
        return wp_reissue_batch(r->reissue, batch, err);
    count(r, batch);
    return wp_uplink_frame(r->uplink, batch, frame, size, err);
}

static int send_session(struct replay *r, struct wp_error *err)
{
    const uint8_t *frame;
    size_t size;
    uint64_t seq;
    int rc = 0, got = 0;
    while (!rc && !*r->options->stop && (got = wp_capture_reader_next(r->reader, &frame, &size, &seq, err)) > 0) {
        const struct wp_batch *batch = wp_capture_reader_batch(r->reader);
        if (!r->options->is_fast)
            rc = keep_pace(r, batch, err);
        if (!rc)
            rc = send_batch(r, batch, frame, size, err);
    }
    wp_reissue_destroy(r->reissue);
    r->reissue = NULL;
    const struct wp_bye *bye = wp_capture_reader_bye(r->reader);
    r->all_events += bye ? bye->events : 0;
    r->all_dropped += bye ? bye->dropped : 0;
    r->all_batches += bye ? bye->last_seq : 0;
    return rc ? rc : got < 0 ? got : *r->options->stop ? wp_error_set(err, -ECANCELED, "stopped before its end") : 0;
}

static void take_hello(struct replay *r)
{
    r->hello = *wp_capture_reader_hello(r->reader);
    if (r->options->release) /* it is filed there, whatever was said when it was recorded */
        r->hello.release = (char *)(uintptr_t)r->options->release;
}

static int send_all(struct replay *r, struct wp_error *err)
{
    int rc = send_session(r, err);
    while (!rc && wp_capture_reader_turn(r->reader)) {
        take_hello(r);
        rc = next_session(r, &r->hello, err);
        if (!rc)
            rc = send_session(r, err);
    }
    return rc;
}

static int run(struct replay *r, const struct wp_logger *logger, struct wp_error *err)
{
    const struct wp_collector_options *o = r->options;
    int rc = wp_capture_reader_open(&r->reader, o->source_path, err);
    if (!rc)
        take_hello(r);
    if (!rc)
        rc = wp_uplink_open(&r->uplink, &o->uplink, &r->hello, logger, err);
    while (!rc && !o->uplink.spool && !wp_uplink_is_ready(r->uplink) && !*o->stop) /* into a spool it need not wait */
        rc = wp_uplink_pump(r->uplink, 20, err);
    if (rc)
        return rc;
    if (o->ready_fd >= 0) {
        ssize_t done = write(o->ready_fd, "ready\n", 6);
        (void)done;
        if (o->ready_fd > STDERR_FILENO)
            close(o->ready_fd);
    }
    rc = send_all(r, err);
    if (rc)
        return rc;
    rc = wp_uplink_finish(r->uplink, r->sent, r->dropped, err);
    if (!rc && o->says_stats)
        printf("{\"events\":%llu,\"dropped\":%llu,\"batches\":%llu,\"bytes\":%llu}\n",
            (unsigned long long)r->all_events, (unsigned long long)r->all_dropped, (unsigned long long)r->all_batches,
            (unsigned long long)wp_uplink_bytes(r->uplink));
    return rc;
}

int wp_replay_run(const struct wp_collector_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct stat status;
    struct replay r = {.options = options, .is_file = !stat(options->source_path, &status) && S_ISREG(status.st_mode)};
    int rc = run(&r, logger, err);
    wp_capture_reader_close(r.reader);
    wp_uplink_close(r.uplink);
    return rc;
}
