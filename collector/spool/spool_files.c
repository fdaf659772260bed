/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool_files.h"

#include "common/array.h"
#include "proto/frame.h"

#include <errno.h>
#include <string.h>

static void wake(struct wp_spool_files *s, struct wp_spool_segment *segment)
{
    bool is_written = s->count && s->awake == s->segments[s->count - 1];
    if (s->awake && s->awake != segment && !is_written && s->awake != s->dictionary)
        wp_spool_segment_rest(s->awake);
    s->awake = segment;
}

/* The segment that begins at `seq` or before it; count: none. */
static size_t segment_of(const struct wp_spool_files *s, uint64_t seq)
{
    size_t low = WP_LOWER_BOUND(middle, 0, s->count, wp_spool_segment_first(s->segments[middle]) <= seq);
    return low ? low - 1 : s->count;
}

/* The nearest good head before `seq` (is_before) or behind it. */
static bool neighbour_in(struct wp_spool_segment *segment, uint64_t seq, bool is_before, struct wp_spool_head *head)
{
    size_t index, count = wp_spool_segment_count(segment);
    bool has = wp_spool_segment_find(segment, seq, &index);
    if (is_before) {
        for (size_t i = has ? index + 1 : 0; i; i--)
            if (!wp_spool_segment_head(segment, i - 1, head, NULL) && head->last_seq < seq)
                return true;
        return false;
    }
    for (size_t i = has ? index + 1 : 0; i < count; i++)
        if (!wp_spool_segment_head(segment, i, head, NULL) && head->first_seq > seq)
            return true;
    return false;
}

static bool look_in(struct wp_spool_files *s, struct wp_spool_segment *segment, uint64_t seq, bool is_before,
    struct wp_spool_head *head)
{
    bool has = neighbour_in(segment, seq, is_before, head);
    if (segment != s->awake && segment != s->dictionary && segment != s->segments[s->count - 1])
        wp_spool_segment_rest(segment);
    return has;
}

bool wp_spool_files_neighbour(struct wp_spool_files *s, uint64_t seq, bool is_before, struct wp_spool_head *head)
{
    size_t at = segment_of(s, seq);
    bool has = false;
    if (is_before) {
        for (size_t i = at < s->count ? at + 1 : 0; !has && i; i--)
            has = look_in(s, s->segments[i - 1], seq, true, head);
        return has || look_in(s, s->dictionary, seq, true, head);
    }
    has = at == s->count && look_in(s, s->dictionary, seq, false, head);
    for (size_t i = at < s->count ? at : 0; !has && i < s->count; i++)
        has = look_in(s, s->segments[i], seq, false, head);
    return has;
}

/* Of what the session held up to a gap and behind it; at least one event of each batch. Without both, or where a part
 * of it was delivered before, no more is known. */
static uint64_t held_in(const struct wp_spool_files *s, const struct wp_spool_gap *gap, uint32_t from, uint32_t to)
{
    uint64_t batches = gap->last_seq - gap->first_seq + 1;
    bool is_known = from && to && gap->first_seq > wp_spool_acks_last(s->acks);
    uint32_t held = is_known ? to - from : 0;
    return held > batches && held <= UINT32_MAX / 2 ? held : batches;
}

/* Nothing of the batch is left but what its neighbours say. */
static void gap_between(struct wp_spool_files *s, uint64_t seq, struct wp_spool_gap *gap)
{
    struct wp_spool_head head;
    uint32_t from = 1, to = s->held;
    *gap = (struct wp_spool_gap){.first_seq = 1, .last_seq = s->last_seq, .to_ns = s->last_ns};
    if (s->claimed_seq > s->last_seq) {
        gap->last_seq = s->claimed_seq;
        to = s->claimed_held;
    }
    if (wp_spool_files_neighbour(s, seq, true, &head)) {
        gap->first_seq = head.last_seq + 1;
        from = wp_spool_head_held(&head);
        gap->from_ns = head.last_ns;
        gap->anchor_mono_ns = head.anchor_mono_ns;
        gap->anchor_real_ns = head.anchor_real_ns;
        memcpy(gap->before, head.after, sizeof(gap->before));
    }
    if (wp_spool_files_neighbour(s, seq, false, &head)) {
        gap->last_seq = head.first_seq - 1;
        to = head.held_before;
        gap->to_ns = head.first_ns;
        memcpy(gap->after, head.before, sizeof(gap->after));
        if (!gap->anchor_mono_ns) {
            gap->anchor_mono_ns = head.anchor_mono_ns;
            gap->anchor_real_ns = head.anchor_real_ns;
            gap->from_ns = head.first_ns;
        }
    } else {
        memcpy(gap->after, s->known, sizeof(gap->after));
    }
    gap->count = held_in(s, gap, from, to);
}

/* The frame is damaged, its head is not. */
static void gap_of(const struct wp_spool_head *head, struct wp_spool_gap *gap)
{
    *gap = (struct wp_spool_gap){.first_seq = head->first_seq,
        .last_seq = head->last_seq,
        .from_ns = head->first_ns,
        .to_ns = head->last_ns,
        .count = head->is_range ? head->dropped : head->events + head->dropped,
        .anchor_mono_ns = head->anchor_mono_ns,
        .anchor_real_ns = head->anchor_real_ns};
    memcpy(gap->before, head->before, sizeof(gap->before));
    memcpy(gap->after, head->after, sizeof(gap->after));
}

static int decode_gap(struct wp_spool_files *s, const struct wp_spool_head *head, uint64_t seq, struct wp_batch **batch,
    struct wp_error *err)
{
    struct wp_spool_gap gap;
    if (head)
        gap_of(head, &gap);
    else
        gap_between(s, seq, &gap);
    if (gap.last_seq <= wp_spool_acks_last(s->acks))
        gap.count = 0;
    s->damaged += gap.count > 0;
    memcpy(gap.session, s->session, 16);
    return wp_spool_batches_gap(s->batches, &gap, seq, batch, err);
}

static int decode_range(
    struct wp_spool_files *s, size_t index, uint64_t seq, struct wp_batch **batch, struct wp_error *err)
{
    struct wp_spool_head head;
    const uint8_t *raw;
    size_t size;
    int rc = 0;
    if (s->range_index != index + 1) {
        s->range_index = 0;
        rc = wp_spool_segment_read(s->dictionary, index, &head, &s->record, err);
        if (!rc)
            rc = wp_spool_range_load(s->range, s->record.data, s->record.size, err);
        if (!rc)
            s->range_index = index + 1;
    } else {
        rc = wp_spool_segment_head(s->dictionary, index, &head, err);
    }
    if (!rc)
        rc = wp_spool_range_find(s->range, seq, &raw, &size);
    if (rc == -EBADMSG || rc == -ENOENT)
        return decode_gap(s, head.first_seq ? &head : NULL, seq, batch, err);
    if (rc)
        return rc;
    if (size)
        return wp_spool_batches_decode(s->batches, raw, size, batch, err);
    struct wp_spool_gap none = {.first_seq = seq,
        .last_seq = seq,
        .anchor_mono_ns = head.anchor_mono_ns,
        .anchor_real_ns = head.anchor_real_ns};
    memcpy(none.session, s->session, 16);
    return wp_spool_batches_gap(s->batches, &none, seq, batch, err);
}

int wp_spool_files_fetch(struct wp_spool_files *s, uint64_t seq, struct wp_spool_head *head, struct wp_error *err)
{
    size_t at = segment_of(s, seq), index;
    *head = (struct wp_spool_head){0};
    if (at == s->count || !wp_spool_segment_find(s->segments[at], seq, &index))
        return 0;
    wake(s, s->segments[at]);
    int rc = wp_spool_segment_read(s->segments[at], index, head, &s->record, err);
    if (rc && rc != -EBADMSG)
        return rc;
    if (head->last_seq < seq)
        *head = (struct wp_spool_head){0};
    return !rc && head->first_seq;
}

/* Only what is not in a segment is in the dictionary: a crash may leave it in both, and the segment has its events. */
static int decode_rest(struct wp_spool_files *s, const struct wp_spool_head *head, uint64_t seq,
    struct wp_batch **batch, struct wp_error *err)
{
    struct wp_spool_head range;
    size_t index;
    if (!head->first_seq && wp_spool_segment_find(s->dictionary, seq, &index)) {
        int rc = wp_spool_segment_head(s->dictionary, index, &range, NULL);
        if (!rc && seq <= range.last_seq)
            return decode_range(s, index, seq, batch, err);
    }
    return decode_gap(s, head->first_seq ? head : NULL, seq, batch, err);
}

int wp_spool_files_decode(
    struct wp_spool_files *s, uint64_t seq, struct wp_batch **batch, bool *is_whole, struct wp_error *err)
{
    struct wp_spool_head head;
    struct wp_frame frame;
    int got = wp_spool_files_fetch(s, seq, &head, err);
    *is_whole = false;
    if (got < 0)
        return got;
    if (got) {
        int rc = wp_frame_read(s->reader, s->record.data, s->record.size, &frame, err);
        if (!rc)
            rc = wp_spool_batches_decode(s->batches, frame.payload, frame.size, batch, err);
        *is_whole = !rc && (*batch)->seq == seq;
        if (*is_whole || rc == -ENOMEM)
            return rc;
    }
    return decode_rest(s, &head, seq, batch, err);
}
