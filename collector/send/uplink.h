/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_UPLINK_H
#define WP_COLLECTOR_SEND_UPLINK_H
/* Where batches go: an aggregator, a capture file, or both, in frames that are made once. */
#include "collector/send/sender.h"
#include "common/error.h"
#include "common/log.h"
#include "proto/batch.h"
#include "proto/session.h"
#include "proto/transport_client.h"

struct wp_uplink;

/* Borrowed for the uplink's life. */
struct wp_uplink_options {
    struct wp_endpoints endpoints; /* count 0: no aggregator */
    const char *output;            /* NULL: no capture */
    uint64_t output_limit;         /* bytes: a larger capture, or one that cannot be written, is removed, and delivery
                                      goes on; 0: no limit, and without the capture nothing goes on */
    const char *spool;             /* folder for what is not yet acknowledged; NULL: memory */
    uint64_t spool_limit;          /* bytes */
    bool needs_spool;              /* else it is done without when it cannot be had */
    bool is_replay;       /* sessions that go on in others do so again, so that what is there of them is no backlog */
    size_t session_bytes; /* bound of a session's dictionary: it then goes on in another one */
};

/* `hello` is copied. */
int wp_uplink_open(struct wp_uplink **uplink, const struct wp_uplink_options *options, const struct wp_hello *hello,
    const struct wp_logger *logger, struct wp_error *err);
/* Closes without waiting. Before wp_uplink_finish that means: batches in memory are lost, the capture is removed, and
 * what the spool has stays for the next collector. NULL is allowed. */
void wp_uplink_close(struct wp_uplink *uplink);
/* See wp_client_answer_probes. */
void wp_uplink_answer_probes(struct wp_uplink *uplink, uint64_t (*clock_ns)(const void *context), const void *context);
/* True when an aggregator has accepted the session, or when none is configured. */
bool wp_uplink_is_ready(const struct wp_uplink *uplink);
struct wp_fleet_names;
/* Asks for names, and answers with them, at each pump while the aggregator knows names. `names` must outlive the last
 * pump and wp_uplink_finish; NULL: asks no more. */
void wp_uplink_ask_names(struct wp_uplink *uplink, struct wp_fleet_names *names);
/* Can be read when there is something to pump. It changes with the aggregator; -1: none. */
int wp_uplink_fd(const struct wp_uplink *uplink);
/* When to record, as an aggregator said last; always, while the first one is waited for or when it is too old to say.
 * 0 and 0: the host decides. */
struct wp_window wp_uplink_window(const struct wp_uplink *uplink);
/* Takes in answers and sends what may be sent, waiting up to timeout_ms for an answer. -ECONNREFUSED: every aggregator
 * refused the session for another reason than its size (see wp_uplink_wants_renewal). */
int wp_uplink_pump(struct wp_uplink *uplink, int timeout_ms, struct wp_error *err);
/* Encodes the batch and hands it to the capture and the queue; batches come in order of seq. May wait while memory is
 * full. -EINVAL, -ENOMEM, or an error of wp_uplink_pump or the capture. */
int wp_uplink_batch(struct wp_uplink *uplink, const struct wp_batch *batch, struct wp_error *err);
/* A batch that is a frame already. */
int wp_uplink_frame(
    struct wp_uplink *uplink, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err);
/* Whether the session may go on in another one, which is sent while the rest of this one is delivered. False while that
 * rest of the one before is in memory alone. */
bool wp_uplink_may_renew(const struct wp_uplink *uplink);
/* Copies `hello`, the new session's; events and dropped go into the Bye of the one that ends. The rest of the one
 * before that stays in the spool, or is lost without one. After an error only wp_uplink_close may follow. */
int wp_uplink_renew(
    struct wp_uplink *uplink, const struct wp_hello *hello, uint64_t events, uint64_t dropped, struct wp_error *err);
/* The aggregator takes nothing more of this session, but of another one. */
bool wp_uplink_wants_renewal(const struct wp_uplink *uplink);
/* What was lost since the last call because nobody takes it: Drops for the session that goes on. */
bool wp_uplink_next_drop(struct wp_uplink *uplink, struct wp_drop *drop);
/* The session is over: everything has arrived and is on disk when it returns 0; or, with a log line, waits in the
 * spool. */
int wp_uplink_finish(struct wp_uplink *uplink, uint64_t events, uint64_t dropped, struct wp_error *err);
/* Of the frames so far. */
uint64_t wp_uplink_bytes(const struct wp_uplink *uplink);

/* How delivery stands, for metrics. */
struct wp_uplink_counts {
    bool has_aggregator, is_welcome, has_spool;
    uint64_t last_seq, acked_seq, waiting;         /* batches */
    uint64_t absent_ms;                            /* since an aggregator was there */
    const char *trouble;                           /* why none is; "" unknown; valid until the next call */
    uint64_t spool_bytes, spool_limit, spool_lost; /* lost: batches of this session, unacknowledged */
    uint64_t renewals;                             /* sessions that went on in another one */
    uint64_t refused_sessions, refused_events;     /* that nobody takes, and what they held */
};
/* Fills *counts. Without an aggregator the fields about it are 0, and `trouble` is "". */
void wp_uplink_count(const struct wp_uplink *uplink, struct wp_uplink_counts *counts);

#endif
