/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_BATCHER_H
#define WP_COLLECTOR_BATCH_BATCHER_H
/*
 * Facts in, batches out: ids for raw names, events in order of time, cut when 64 Ki events or a tenth of a second are
 * certain (the source's watermark), or when the dictionary has grown by a batchful. The batch handed out is valid
 * during the call.
 */
#include "collector/batch/stack_table.h"
#include "collector/batch/thread_table.h"
#include "collector/host/source.h"
#include "collector/symbols/symbolizer.h"

struct wp_batcher;

/* Of times of the live kernel. A program takes about as long to read the clock; what is below is noise, five bits an
 * event that no compression removes. */
#define WP_RESOLUTION_NS 32u

/* Settings of a batcher. They are copied; every pointer in them but `patterns` stays borrowed until the batcher is
 * destroyed. */
struct wp_batcher_options {
    uint8_t session[16];
    uint32_t command_pid, self_pid, recorder_pid;
    bool has_addresses;          /* stacks come as addresses of this host's processes */
    bool reads_proc;             /* unknown threads are looked up in /proc */
    const char *const *patterns; /* borrowed until create returns */
    size_t pattern_count;
    uint64_t resolution_ns;         /* a power of two: times are rounded down to a multiple of it; 0: they stay */
    struct wp_names_from names;     /* what it has is borrowed */
    const struct wp_logger *logger; /* borrowed, NULL for none */
    /* 0 or -errno, which ends the source's poll. */
    int (*batch)(void *context, const struct wp_batch *batch, struct wp_error *err);
    /* The session's dictionary has grown to session_bytes, as who receives it counts: what follows belongs to another
     * session, whose id is put into `session`. NULL: it grows on. may_renew: not now (false). */
    bool (*may_renew)(void *context);
    int (*renew)(void *context, uint8_t session[16], struct wp_error *err);
    size_t session_bytes;
    void *context;
};

/* Counts since the batcher was created, over all its sessions. */
struct wp_batcher_stats {
    uint64_t events, dropped, batches;
    uint64_t late;                          /* facts older than the watermark said: moved up to it */
    uint64_t taken_kinds[WP_EVENT_KINDS];   /* of the source, by kind; some of them wait to be sent */
    uint64_t dropped_kinds[WP_EVENT_KINDS]; /* [0]: of what is no event itself, such as the name of a socket */
};

/* `batch` and `renew` are called only from the sink's functions and wp_batcher_finish. -EINVAL: a pattern is not a
 * valid regular expression; -ENOMEM. */
int wp_batcher_create(struct wp_batcher **batcher, const struct wp_batcher_options *options, struct wp_error *err);
/* Other patterns of command lines, for what is executed from now on; borrowed until it returns. -EINVAL, -ENOMEM: those
 * before stay. */
int wp_batcher_match(struct wp_batcher *batcher, const char *const *patterns, size_t count, struct wp_error *err);
/* Frees the batcher and its tables. Events that no batch has carried are discarded: call wp_batcher_finish first. NULL
 * is allowed. */
void wp_batcher_destroy(struct wp_batcher *batcher);
/* What names the stacks, borrowed; NULL: the source gives names. */
struct wp_symbolizer *wp_batcher_symbolizer(const struct wp_batcher *batcher);
/* The sink through which a source delivers its facts; valid until the batcher is destroyed. Its functions return
 * -ENOMEM, or the error of `batch` or `renew`. */
struct wp_fact_sink wp_batcher_sink(struct wp_batcher *batcher);
/* Everything that is left, and the last batch of the session. */
int wp_batcher_finish(struct wp_batcher *batcher, struct wp_error *err);
/* The counts so far. The batcher owns them and updates them in place. */
const struct wp_batcher_stats *wp_batcher_stats(const struct wp_batcher *batcher);
/* Counts of stack look-ups, owned and updated as those of wp_batcher_stats. */
const struct wp_stack_counts *wp_batcher_stacks(const struct wp_batcher *batcher);
/* Counts of the symbolizer, copied; all 0 without has_addresses. */
struct wp_symbolizer_stats wp_batcher_names(const struct wp_batcher *batcher);
/* Of code objects of interpreters, copied; all 0 without has_addresses. */
struct wp_interp_codes_counts wp_batcher_codes(const struct wp_batcher *batcher);
/* CPU time of reading names, so far. */
uint64_t wp_batcher_reading_ns(const struct wp_batcher *batcher);
/* True when the source must tell stacks anew; and: it does. */
bool wp_batcher_wants_stacks(const struct wp_batcher *batcher);
/* Called once the source has begun to report stacks anew. Forgets the stacks that it named before the previous call. */
void wp_batcher_turn_stacks(struct wp_batcher *batcher);
/* The session ends with the next batch, however small it is. */
void wp_batcher_renew_soon(struct wp_batcher *batcher);
/* What had been put into batches was lost. */
void wp_batcher_lost(struct wp_batcher *batcher, const struct wp_drop *drop);
/* Something was left out on purpose (drop->reason). */
void wp_batcher_left_out(struct wp_batcher *batcher, const struct wp_drop *drop);

#endif
