/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_FILES_H
#define WP_COLLECTOR_SPOOL_SPOOL_FILES_H
/*
 * The files of one session of the spool, and how a batch is found in them: whole in a segment, without its events in
 * the dictionary, or as a gap between its neighbours. Embedded in a session (spool_session.h), which fills and owns it.
 */
#include "collector/spool/spool_acks.h"
#include "collector/spool/spool_batch.h"
#include "collector/spool/spool_range.h"
#include "proto/frame.h"

struct wp_spool_files {
    uint8_t session[16];
    struct wp_spool_segment *dictionary; /* of the batches before the segments */
    struct wp_spool_segment **segments;  /* by number; the last is written */
    size_t count, room;
    struct wp_spool_segment *awake; /* read last: its file is open */
    struct wp_spool_acks *acks;
    uint64_t last_seq, last_ns;     /* of what is in the files */
    uint64_t claimed_seq;           /* the last batch, as Bye says; 0: unknown */
    uint32_t known[WP_SPOOL_KINDS]; /* ids after the last batch */
    uint32_t held;                  /* behind the last batch, as its head has it (wp_spool_head_held); without one 1 */
    uint32_t claimed_held;          /* behind the last that Bye claims; 0: unknown */
    struct wp_frame_reader *reader;
    struct wp_spool_batches *batches;
    struct wp_spool_range *range;
    uint64_t damaged;   /* times that a batch was asked for of which something is lost */
    size_t range_index; /* + 1 in the dictionary: what `range` holds */
    struct wp_buffer record;
};

/* The nearest good head before batch `seq` (is_before), or behind it. */
bool wp_spool_files_neighbour(struct wp_spool_files *files, uint64_t seq, bool is_before, struct wp_spool_head *head);
/* 1: the whole batch, its frame in files->record. 0: there is none, or it is damaged; *head is good, or first_seq is 0.
 */
int wp_spool_files_fetch(struct wp_spool_files *files, uint64_t seq, struct wp_spool_head *head, struct wp_error *err);
/* The batch as far as it is there, valid until the next call; is_whole: with its events. */
int wp_spool_files_decode(
    struct wp_spool_files *files, uint64_t seq, struct wp_batch **batch, bool *is_whole, struct wp_error *err);

#endif
