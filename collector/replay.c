/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/replay.h"

#include "collector/capture_reader.h"
#include "collector/outlet.h"
#include "common/clock.h"
#include "proto/batch.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

struct replay {
    const struct wp_collector_options *options;
    struct wp_capture_reader *reader;
    struct wp_outlet *outlet;
    struct wp_hello hello;              /* texts are the reader's, or the options' */
    uint64_t first_mono_ns, started_ns; /* of the recording and of this run */
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
        rc = wp_outlet_pump(r->outlet, due - now < 20000000 ? 1 : 20, err);
        usleep(due - now < 1000000 ? (useconds_t)((due - now) / 1000) : 1000);
    }
    return rc;
}

static int send_all(struct replay *r, struct wp_error *err)
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
            rc = wp_outlet_frame(r->outlet, batch, frame, size, err);
    }
    return rc ? rc : got < 0 ? got : *r->options->stop ? wp_error_set(err, -ECANCELED, "stopped before its end") : 0;
}

static int run(struct replay *r, const struct wp_logger *logger, struct wp_error *err)
{
    const struct wp_collector_options *o = r->options;
    int rc = wp_capture_reader_open(&r->reader, o->source_path, err);
    if (!rc)
        r->hello = *wp_capture_reader_hello(r->reader);
    if (!rc && o->release) /* it is filed there, whatever was said when it was recorded */
        r->hello.release = (char *)(uintptr_t)o->release;
    if (!rc)
        rc = wp_outlet_open(&r->outlet, &o->outlet, &r->hello, logger, err);
    while (!rc && !o->outlet.spool && !wp_outlet_is_ready(r->outlet) && !*o->stop) /* into a spool it need not wait */
        rc = wp_outlet_pump(r->outlet, 20, err);
    if (rc)
        return rc;
    if (o->ready_fd >= 0) {
        ssize_t done = write(o->ready_fd, "ready\n", 6);
        (void)done;
        close(o->ready_fd);
    }
    rc = send_all(r, err);
    const struct wp_bye *bye = wp_capture_reader_bye(r->reader);
    if (rc)
        return rc;
    uint64_t events = bye ? bye->events : 0, dropped = bye ? bye->dropped : 0;
    rc = wp_outlet_finish(r->outlet, events, dropped, err);
    if (!rc && o->says_stats)
        printf("{\"events\":%llu,\"dropped\":%llu,\"batches\":%llu,\"bytes\":%llu}\n", (unsigned long long)events,
            (unsigned long long)dropped, (unsigned long long)(bye ? bye->last_seq : 0),
            (unsigned long long)wp_outlet_bytes(r->outlet));
    return rc;
}

int wp_replay_run(const struct wp_collector_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct replay r = {.options = options};
    int rc = run(&r, logger, err);
    wp_capture_reader_close(r.reader);
    wp_outlet_close(r.outlet);
    return rc;
}
