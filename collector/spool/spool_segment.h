/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_SEGMENT_H
#define WP_COLLECTOR_SPOOL_SPOOL_SEGMENT_H
/*
 * One file of the spool: records one behind the other, appended only. A record is a head (the batches it stands for,
 * what they hold, the ids the session has before and after them) and one frame; head and frame have an XXH3-64 each, so
 * that a head still tells what was lost when its frame is damaged. Numbers are in the host's order: the file stays
 * there.
 *
 * Opening takes what is whole. What stands behind the last whole record is torn and is cut by the next append; a
 * damaged head in the middle is passed over to the next good one, and leaves a hole in the numbers. How much the
 * session held before it is in each head, so that its neighbours tell what a hole held.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of ids in a session's dictionary. */
enum {
    WP_SPOOL_STRINGS,
    WP_SPOOL_THREADS,
    WP_SPOOL_SOCKETS,
    WP_SPOOL_OBJECTS,
    WP_SPOOL_FRAMES,
    WP_SPOOL_STACKS,
    WP_SPOOL_KINDS
};

/* What a record says of the batches it stands for. */
struct wp_spool_head {
    uint64_t first_seq, last_seq; /* one batch, or those of a range (spool_range.h) */
    uint64_t first_ns, last_ns;   /* of their events */
    uint64_t events, dropped;     /* as the batches say */
    uint32_t held_before;         /* 1 + the sum of both over all records before, modulo 2^32; 0: not known */
    uint64_t anchor_mono_ns, anchor_real_ns;
    uint32_t before[WP_SPOOL_KINDS], after[WP_SPOOL_KINDS]; /* the session's last ids */
    bool is_range;
};

/* held_before of the record behind it. */
static inline uint32_t wp_spool_head_held(const struct wp_spool_head *head)
{
    return head->held_before ? head->held_before + (uint32_t)(head->events + head->dropped) : 0;
}

struct wp_spool_segment;

/* Opens, or makes when there is none and `makes`. -ENOENT, -EIO ... */
int wp_spool_segment_open(struct wp_spool_segment **segment, const char *path, bool makes, struct wp_error *err);
/* Closes the file without a sync and frees the segment; the file stays. NULL is allowed. */
void wp_spool_segment_close(struct wp_spool_segment *segment);
/* Closes the file until it is used again. */
void wp_spool_segment_rest(struct wp_spool_segment *segment);
/* Removes the file and frees the segment. */
void wp_spool_segment_remove(struct wp_spool_segment *segment);
/* The numbers must grow. -ENOSPC or another -errno: the file is as it was. */
int wp_spool_segment_append(struct wp_spool_segment *segment, const struct wp_spool_head *head, const uint8_t *frame,
    size_t size, struct wp_error *err);
/* fdatasync, when something was appended since the last one. */
int wp_spool_segment_sync(struct wp_spool_segment *segment, struct wp_error *err);

size_t wp_spool_segment_count(const struct wp_spool_segment *segment); /* records */
/* Size of the file with its torn end, if it has one. */
uint64_t wp_spool_segment_bytes(const struct wp_spool_segment *segment);
/* Bytes behind the last whole record at opening. */
uint64_t wp_spool_segment_torn(const struct wp_spool_segment *segment);
/* 0 without records. */
uint64_t wp_spool_segment_first(const struct wp_spool_segment *segment);
/* The last batch of the last record; 0 without records. */
uint64_t wp_spool_segment_last(const struct wp_spool_segment *segment);
/* Time of the latest event of all records, CLOCK_MONOTONIC; 0 without records. */
uint64_t wp_spool_segment_last_ns(const struct wp_spool_segment *segment);
/* The last record that begins at `seq` or before it; false when there is none. */
bool wp_spool_segment_find(const struct wp_spool_segment *segment, uint64_t seq, size_t *index);
/* -EBADMSG: damaged since it was written. */
int wp_spool_segment_head(
    struct wp_spool_segment *segment, size_t index, struct wp_spool_head *head, struct wp_error *err);
/* Head and frame, which replaces what is in `frame`. -EBADMSG: the frame is damaged, *head is good. */
int wp_spool_segment_read(struct wp_spool_segment *segment, size_t index, struct wp_spool_head *head,
    struct wp_buffer *frame, struct wp_error *err);

#endif
