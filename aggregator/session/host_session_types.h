/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_HOST_SESSION_TYPES_H
#define WP_AGGREGATOR_SESSION_HOST_SESSION_TYPES_H
/* What a session of a collector (host_session.h) is asked for, whose it is and how far it has come. */
#include "common/path.h"
#include "common/selector.h"
#include "proto/session.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_fleet;
struct wp_host_session;
struct wp_system_window;

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
    const char *command,
        *workload; /* of all that is recorded, told by who records (storage/value/bucket.h); borrowed */
    struct wp_system_window *system; /* of the first session; borrowed, NULL: none is kept */
    uint32_t process_rows;           /* of reports, for what comes up in an hour of the host; 0: WP_PROCESS_ROWS */
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

/* Whose session it is; constant but for what a checkpoint says of the clock. */
struct wp_session_source {
    uint8_t id[16], host[16];
    struct wp_hello hello; /* a copy; owned */
    const char *hostname;  /* of it, "unknown" when it says none */
    char release[WP_ID_ROOM];
    int64_t real_offset_ns; /* realtime - host time */
    struct wp_fleet *fleet; /* borrowed, or the session's own */
    bool has_joined;
    uint32_t home; /* its number in the fleet */
};

struct wp_session_progress {
    uint64_t next_seq;    /* the batch that must come next */
    uint64_t last_seq;    /* the last batch taken */
    uint64_t acked_seq;   /* the last one whose effect is durable */
    uint64_t skip_seq;    /* the store has counted all batches up to it; 0: begun here */
    uint64_t counted_seq, /* the store has counted the events of all batches, ... */
        closed_ns;        /* ... the time of all epochs up to there */
    uint64_t watermark_ns, resolved_ns, committed_ns;
    uint64_t delta_ns; /* the deltas hold what was resolved since; 0: since its begin, or the last commit */
    uint64_t genealogy_done, sourcemap_done; /* dictionary ids already written */
    uint64_t programs_ns;                    /* CPU time of the collector's programs in the kernel, as it says */
    uint64_t metadata_s;                     /* when what is said of the host was last written, 0 never */
    bool has_deltas;                         /* closed ones, that the commit that goes on writes */
    bool is_blocked; /* waits for what other hosts did: asked again by wp_host_session_resolve */
    bool is_closing; /* all it had has come */
    bool is_final;   /* ... and all of it is resolved; other shards may still ask for paths of it */
    bool is_ended;
};

#endif
