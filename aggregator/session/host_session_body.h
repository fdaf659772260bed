/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_HOST_SESSION_BODY_H
#define WP_AGGREGATOR_SESSION_HOST_SESSION_BODY_H
/* The inside of a session of a collector (host_session.h). */
#include "aggregator/account/aggregate.h"
#include "aggregator/fleet/fleet.h"
#include "aggregator/session/host_session_types.h"
#include "aggregator/timeline/drop_spans.h"
#include "aggregator/timeline/mappings.h"
#include "common/buffer.h"
#include "common/log.h"
#include "proto/frame.h"
#include "proto/resume.pb-c.h"

struct wp_batch_mark {                                      /* a batch that is in memory and not yet durable */
    uint64_t seq, first_ns;                                 /* of its events, 0 none */
    uint64_t bound_ns;                                      /* no event up to here is later */
    uint32_t events[WP_EVENT_KINDS], drops[WP_EVENT_KINDS]; /* it brought, by kind */
};

struct wp_pending_entries { /* what a batch defined, not yet in a checkpoint */
    uint64_t seq;
    size_t end; /* behind it in pending_bytes */
};

/* What a checkpoint says of a thread that comes up again in later batches. */
struct wp_late_thread {
    struct wp_aggregate *aggregate;
    uint32_t entry;            /* dictionary id */
    uint64_t start_ns, end_ns; /* followed in [start, end); start 0: a base thread, accounted for up to end */
};

struct wp_host_session {
    struct wp_session_source source;
    struct wp_session_progress progress;
    const struct wp_host_session_options *options; /* borrowed */
    const struct wp_logger *logger;                /* borrowed */
    struct wp_frame_writer *writer;                /* owned; NULL: not resumable */
    struct wp_buffer scratch;
    struct wp_dictionary *dictionary;
    struct wp_timeline timeline;
    struct wp_mappings mappings;
    bool has_own_fleet;
    struct wp_aggregate *aggregates[WP_AGGREGATES]; /* owned */
    uint32_t aggregate_count;
    uint64_t refused_aggregates; /* times that one more was wanted than there can be */
    bool is_auto_chosen;         /* the services have been picked */
    char **services;             /* which; owned */
    uint32_t service_count;
    uint64_t latest_ns;  /* no time of the host is believed to be after this */
    uint64_t horizon_ns; /* what is older has been forgotten */
    uint64_t drops[WP_EVENT_KINDS];
    uint64_t anchor_ns;       /* the host's clock when it was last held against the time of day; 0: not yet */
    int64_t anchor_offset_ns; /* the time of day - the clock, then */
    uint64_t watched_events, watched_drops; /* when wp_host_session_arrivals() was last asked */
    struct wp_drop_spans drop_spans;        /* with the next ones */
    struct wp_drop_spans paused_spans;      /* nothing was recorded, on purpose */
    struct wp_drop_spans shed_spans;        /* stacks were left out, on purpose */
    struct wp_batch_mark *marks;            /* ring by arrival, owned */
    uint32_t mark_count, mark_room;
    uint64_t bound_ns;           /* no event so far is later */
    struct wp_late_thread *late; /* owned */
    uint32_t late_count, late_room;
    bool is_resumable;                  /* acknowledged is what a checkpoint holds; else what is resolved */
    bool is_catching_up;                /* what is resolved now is in the store already */
    uint64_t checkpoint_ns;             /* resolved up to here at the last one */
    uint64_t dictionary_bytes;          /* of the file beside the checkpoint */
    struct wp_pending_entries *pending; /* owned */
    uint32_t pending_count, pending_room;
    struct wp_buffer pending_bytes; /* frames */
    uint64_t walk_ns; /* the epoch up to there is being explained in parts, its aggregates are up to ...; 0: none */
    uint32_t walk_at, walk_end;      /* ... this one, and so many there were */
    Wakepath__Resume__Taken **taken; /* of a checkpoint, until what is behind it has come again; owned */
    size_t taken_count;
    uint16_t taken_marks[16]; /* what that checkpoint's marks are called now */
    uint64_t rehearsed_ns;    /* the epoch up to there has been gone through for what other shards must say; 0: none */
};

#endif
