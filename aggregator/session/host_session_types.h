/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_HOST_SESSION_TYPES_H
#define WP_AGGREGATOR_SESSION_HOST_SESSION_TYPES_H
/* A session of a collector (host_session.h), what it is asked for and what it holds. */
#include "aggregator/account/aggregate.h"
#include "aggregator/timeline/drop_spans.h"
#include "aggregator/timeline/mappings.h"
#include "common/error.h"
#include "common/log.h"
#include "common/path.h"
#include "common/selector.h"
#include "proto/frame.h"
#include "proto/resume.pb-c.h"
#include "proto/session.h"

struct wp_aggregate_rule {
    char name[WP_ID_ROOM];
    struct wp_selector selector;
};

/* Processes that the selector picks run that release, when they do not say themselves what they run. */
struct wp_release_rule {
    char release[WP_ID_ROOM];
    struct wp_selector selector;
};

struct wp_host_session_options {
    struct wp_fleet *fleet; /* of the other sessions, borrowed; NULL: this one is alone */
    bool is_resumable;      /* what checkpoints need is kept */
    uint64_t checkpoint_ns; /* of the host's time, between two of them */
    /* What the store has of that session in that release: all batches up to *seq, epochs up to *until_ns. May be NULL.
     */
    bool (*stored)(void *context, const uint8_t session[16], const char *release, uint64_t *seq, uint64_t *until_ns);
    void *stored_context;
    const struct wp_aggregate_rule *rules; /* borrowed */
    uint32_t rule_count;
    const struct wp_release_rule *release_rules; /* borrowed */
    uint32_t release_rule_count;
    uint32_t auto_aggregates; /* 0: none; else one a service, at most so many, the busiest */
    uint64_t epoch_ns, lateness_ns, history_ns;
    uint64_t lookback_ns; /* more than the history is kept: so much, as long as it takes at most so many bytes; 0: the
                             history. */
    uint64_t lookback_bytes;  /* A checkpoint does not reach back that far, so it is for sessions without */
    uint64_t timebox_s;       /* what happened in one is not filed under another; 0: all is one */
    uint64_t fit_ns, join_ns; /* of the explanation, as depth and width; 0: WP_EXPLAIN_DEFAULTS */
    uint64_t late_sample_ns;  /* 0: WP_LATE_SAMPLE_NS */
    uint32_t depth, width;
    uint64_t budget;
    uint32_t process_rows; /* of reports, for what comes up in an hour of the host; 0: WP_PROCESS_ROWS */
};

/* Copies what says which processes are of interest; the pointers are shared then. */
static inline void wp_host_session_options_take_rules(
    struct wp_host_session_options *to, const struct wp_host_session_options *from)
{
    to->rules = from->rules;
    to->rule_count = from->rule_count;
    to->release_rules = from->release_rules;
    to->release_rule_count = from->release_rule_count;
    to->auto_aggregates = from->auto_aggregates;
}

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
    uint8_t id[16], host[16];
    struct wp_hello hello; /* a copy; owned */
    const char *hostname;  /* of it, "unknown" when it says none */
    char release[WP_ID_ROOM];
    const struct wp_host_session_options *options; /* borrowed */
    const struct wp_logger *logger;                /* borrowed */
    struct wp_frame_writer *writer;                /* owned; NULL: not resumable */
    struct wp_buffer scratch;
    struct wp_dictionary *dictionary;
    struct wp_timeline timeline;
    struct wp_mappings mappings;
    struct wp_fleet *fleet; /* borrowed, or own */
    bool has_own_fleet, has_joined;
    uint32_t home;                                  /* its number in the fleet */
    struct wp_aggregate *aggregates[WP_AGGREGATES]; /* owned */
    uint32_t aggregate_count;
    uint64_t refused_aggregates; /* times that one more was wanted than there can be */
    bool is_auto_chosen;         /* the services have been picked */
    char **services;             /* which; owned */
    uint32_t service_count;
    int64_t real_offset_ns;
    uint64_t latest_ns; /* no time of the host is believed to be after this */
    uint64_t next_seq;  /* the batch that must come next */
    uint64_t last_seq;  /* the last batch taken */
    uint64_t watermark_ns, resolved_ns, committed_ns;
    uint64_t horizon_ns; /* what is older has been forgotten */
    uint64_t delta_ns;   /* the deltas hold what was resolved since; 0: since its begin, or the last commit */
    uint64_t drops[WP_EVENT_KINDS];
    uint64_t anchor_ns;       /* the host's clock when it was last held against the time of day; 0: not yet */
    int64_t anchor_offset_ns; /* the time of day - the clock, then */
    uint64_t watched_events, watched_drops; /* what vital_hosts.h has added up of them */
    struct wp_drop_spans drop_spans;        /* with the next ones */
    struct wp_drop_spans paused_spans;      /* nothing was recorded, on purpose */
    struct wp_drop_spans shed_spans;        /* stacks were left out, on purpose */
    struct wp_batch_mark *marks;            /* ring by arrival, owned */
    uint32_t mark_count, mark_room;
    uint64_t acked_seq;
    uint64_t bound_ns;           /* no event so far is later */
    struct wp_late_thread *late; /* owned */
    uint32_t late_count, late_room;
    uint64_t counted_seq,
        closed_ns;             /* the store has counted the events of all batches, the time of all epochs up to there */
    uint64_t skip_seq;         /* the store has counted all batches up to it; 0: begun here */
    bool is_resumable;         /* acknowledged is what a checkpoint holds; else what is resolved */
    bool is_catching_up;       /* what is resolved now is in the store already */
    uint64_t checkpoint_ns;    /* resolved up to here at the last one */
    uint64_t dictionary_bytes; /* of the file beside the checkpoint */
    struct wp_pending_entries *pending; /* owned */
    uint32_t pending_count, pending_room;
    struct wp_buffer pending_bytes;          /* frames */
    uint64_t genealogy_done, sourcemap_done; /* dictionary ids already written */
    bool has_news, is_ended, is_refused;
    uint64_t metadata_s; /* when what is said of the host was last written, 0 never */
    bool has_deltas;     /* closed ones, that the commit that goes on writes */
    bool is_closing;     /* all it had has come */
    bool is_final;       /* ... and all of it is resolved; other shards may still ask for paths of it */
    uint64_t walk_ns;    /* the epoch up to there is being explained in parts, its aggregates are up to ...; 0: none */
    uint32_t walk_at, walk_end;      /* ... this one, and so many there were */
    Wakepath__Resume__Taken **taken; /* of a checkpoint, until what is behind it has come again; owned */
    size_t taken_count;
    uint16_t taken_marks[16]; /* what that checkpoint's marks are called now */
    uint64_t rehearsed_ns;    /* the epoch up to there has been gone through for what other shards must say; 0: none */
    bool is_blocked;          /* waits for what other hosts did: asked again by wp_host_session_resolve */
};

#endif
