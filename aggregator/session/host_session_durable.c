/* SPDX-License-Identifier: Apache-2.0 */
/* What of a session is taken in and not yet durable: its batches' marks, and what they defined that no checkpoint
 * holds. */
#include "aggregator/session/host_session_durable.h"

#include "aggregator/session/host_session_body.h"
#include "common/array.h"
#include "proto/batch_encode.h"

#include <errno.h>
#include <string.h>

void wp_host_session_mark(
    struct wp_host_session *session, const struct wp_batch *batch, const uint64_t events_before[WP_EVENT_KINDS])
{
    if (WP_ARRAY_FIT(session->marks, session->mark_room, session->mark_count + 1))
        return; /* acknowledged with a later one */
    struct wp_batch_mark *mark = &session->marks[session->mark_count++];
    *mark = (struct wp_batch_mark){.seq = batch->seq, .first_ns = batch->event_count ? batch->events[0].time_ns : 0};
    uint64_t last_ns = batch->event_count ? batch->events[batch->event_count - 1].time_ns : 0;
    session->bound_ns = mark->bound_ns = last_ns > session->bound_ns ? last_ns : session->bound_ns;
    for (unsigned kind = 0; kind < WP_EVENT_KINDS; kind++)
        mark->events[kind] = (uint32_t)(session->timeline.counts.events[kind] - events_before[kind]);
    for (uint32_t i = 0; i < batch->drop_count; i++)
        if (batch->drops[i].reason != WP_DROP_STACKS)
            mark->drops[batch->drops[i].kind < WP_EVENT_KINDS ? batch->drops[i].kind : 0] +=
                (uint32_t)batch->drops[i].count;
}

const struct wp_batch_mark *wp_host_session_boundary(const struct wp_host_session *session, uint64_t before_ns)
{
    uint64_t next_ns = UINT64_MAX; /* the first event behind this batch */
    for (uint32_t i = session->mark_count; i-- > 0;) {
        const struct wp_batch_mark *mark = &session->marks[i];
        if (next_ns != UINT64_MAX && mark->bound_ns < next_ns && mark->bound_ns < before_ns)
            return mark;
        next_ns = mark->first_ns ? mark->first_ns : next_ns;
    }
    return NULL;
}

/* What the batch has besides its events can be kept as it came: it is no more than its entries take at most, so that
 * what nobody knows is not kept. */
static bool is_plain(const struct wp_batch *batch)
{
    size_t most = 256 + (size_t)batch->string_count * 8 + (size_t)batch->thread_count * 128 +
        ((size_t)batch->socket_count + batch->object_count + batch->drop_count) * 64 +
        (size_t)batch->device_count * 24 + (size_t)batch->frame_count * 40 + (size_t)batch->stack_count * 12;
    for (uint32_t i = 0; i < batch->string_count; i++)
        most += batch->strings[i].size;
    return batch->besides && batch->besides_size <= most;
}

int wp_host_session_keep_entries(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err)
{
    struct wp_batch entries = *batch;
    if (!session->writer ||
        !(batch->string_count || batch->thread_count || batch->socket_count || batch->object_count ||
            batch->frame_count || batch->stack_count || batch->device_count))
        return 0;
    entries.event_count = entries.drop_count = 0;
    if (WP_ARRAY_FIT(session->pending, session->pending_room, session->pending_count + 1))
        return wp_error_set(err, -ENOMEM, "out of memory for a dictionary");
    wp_buffer_clear(&session->scratch);
    bool is_as_it_came = is_plain(batch);
    int rc = is_as_it_came ? 0 : wp_batch_encode(&entries, &session->scratch, err);
    if (!rc)
        rc = wp_frame_write(session->writer, WP_FRAME_BATCH, is_as_it_came ? batch->besides : session->scratch.data,
            is_as_it_came ? batch->besides_size : session->scratch.size, &session->pending_bytes, err);
    if (!rc)
        session->pending[session->pending_count++] =
            (struct wp_pending_entries){batch->seq, session->pending_bytes.size};
    return rc;
}

/* How many of the entries are of batches up to `seq`. */
static uint32_t pending_until(const struct wp_host_session *session, uint64_t seq)
{
    uint32_t count = 0;
    while (count < session->pending_count && session->pending[count].seq <= seq)
        count++;
    return count;
}

struct wp_pending_dictionary wp_host_session_pending(const struct wp_host_session *session, uint64_t seq)
{
    uint32_t count = pending_until(session, seq);
    return (struct wp_pending_dictionary){
        session->pending_bytes.data, count ? session->pending[count - 1].end : 0, session->dictionary_bytes};
}

void wp_host_session_forget_pending(struct wp_host_session *session, uint64_t seq)
{
    uint32_t done = pending_until(session, seq);
    if (!done)
        return;
    size_t size = session->pending[done - 1].end;
    memmove(session->pending_bytes.data, session->pending_bytes.data + size, session->pending_bytes.size - size);
    session->pending_bytes.size -= size;
    session->pending_count -= done;
    memmove(session->pending, session->pending + done, session->pending_count * sizeof(*session->pending));
    for (uint32_t i = 0; i < session->pending_count; i++)
        session->pending[i].end -= size;
    session->dictionary_bytes += size;
}

static void forget_marks(struct wp_host_session *session, uint32_t done)
{
    if (done)
        memmove(session->marks, session->marks + done, (session->mark_count - done) * sizeof(*session->marks));
    session->mark_count -= done;
}

void wp_host_session_acknowledge(struct wp_host_session *session, uint64_t seq)
{
    uint32_t done = 0;
    while (done < session->mark_count && session->marks[done].seq <= seq)
        done++;
    forget_marks(session, done);
    session->progress.acked_seq = seq > session->progress.acked_seq ? seq : session->progress.acked_seq;
}

uint64_t wp_host_session_durable_seq(struct wp_host_session *session)
{
    uint32_t done = 0;
    if (session->is_resumable && !session->progress.is_ended)
        return session->progress.acked_seq;
    while (done < session->mark_count &&
        (session->progress.is_ended || session->marks[done].bound_ns <= session->progress.resolved_ns))
        session->progress.acked_seq = session->marks[done++].seq;
    forget_marks(session, done);
    return session->progress.acked_seq;
}
