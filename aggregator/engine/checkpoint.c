/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/checkpoint.h"

#include "aggregator/account/detached.h"
#include "aggregator/engine/checkpoint_check.h"
#include "aggregator/session/host_session_durable.h"
#include "aggregator/session/membership.h"
#include "aggregator/session/session_aggregates.h"
#include "aggregator/timeline/taken.h"
#include "aggregator/timeline/taken_slices.h"
#include "aggregator/timeline/timeline_state.h"
#include "common/array.h"
#include "common/path.h"
#include "proto/batch_decode.h"
#include "proto/frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERSION 3u
#define FILE_LIMIT ((size_t)1 << 30)
#define LEFT_S (30 * 86400) /* as wakepath-store prune keeps the state of sessions */

typedef Wakepath__Resume__Checkpoint message_type;

struct wp_checkpoints {
    char *folder;
    const struct wp_logger *logger;
    struct wp_frame_writer *writer;
    struct wp_frame_reader *reader;
    struct wp_buffer raw, frame;
};

/* Whether it names a file of a session's: *end, what is behind its "<session>.checkpoint". */
static bool session_of(const char *name, uint8_t session[16], const char **end)
{
    static const char *const kinds[] = {".checkpoint", ".dictionary"};
    int used = 0;
    for (int i = 0; i < 16; i++, name += 2)
        if (sscanf(name, "%2hhx%n", &session[i], &used) != 1 || used != 2)
            return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strncmp(name, kinds[i], strlen(kinds[i]))) {
            *end = name + strlen(kinds[i]);
            return true;
        }
    return false;
}

/* What one that was killed, or whose disk failed, was about to write. The shard is ours alone, but its folder may hold
 * others' files. */
static void sweep(const char *folder)
{
    DIR *entries = opendir(folder);
    uint8_t session[16];
    const char *end;
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (session_of(entry->d_name, session, &end) && !strncmp(end, ".tmp.", 5))
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}

int wp_checkpoints_open(struct wp_checkpoints **out, const char *folder, const char *shard,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_checkpoints *c = calloc(1, sizeof(*c));
    if (!c || asprintf(&c->folder, "%s/%s", folder, shard) < 0) {
        free(c);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    c->logger = logger;
    c->writer = wp_frame_writer_create(1);
    c->reader = wp_frame_reader_create();
    char above[4096];
    snprintf(above, sizeof(above), "%s/..", folder);
    int rc = c->writer && c->reader ? wp_path_make(c->folder, err) : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc)
        sweep(c->folder);
    if (!rc)
        rc = wp_folder_sync(folder, err);
    if (!rc)
        rc = wp_folder_sync(above, err);
    if (rc) {
        wp_checkpoints_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void wp_checkpoints_close(struct wp_checkpoints *c)
{
    if (!c)
        return;
    wp_frame_writer_destroy(c->writer);
    wp_frame_reader_destroy(c->reader);
    wp_buffer_fini(&c->raw);
    wp_buffer_fini(&c->frame);
    free(c->folder);
    free(c);
}

static void path_of(const struct wp_checkpoints *c, const uint8_t id[16], const char *kind, char *path, size_t room)
{
    char hex[33];
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    snprintf(path, room, "%s/%s.%s", c->folder, hex, kind);
}

void wp_checkpoints_remove(struct wp_checkpoints *c, const uint8_t session[16])
{
    char path[4096];
    path_of(c, session, "checkpoint", path, sizeof(path));
    unlink(path);
    path_of(c, session, "dictionary", path, sizeof(path));
    unlink(path);
}

/* --- writing --- */

/* Appends what the batches up to `seq` defined to the file behind what is valid of it, and waits for the disk. */
static int append_dictionary(
    struct wp_checkpoints *c, struct wp_host_session *session, uint64_t seq, struct wp_error *err)
{
    char path[4096];
    size_t size = 0;
    for (uint32_t i = 0; i < session->pending_count && session->pending[i].seq <= seq; i++)
        size = session->pending[i].end;
    path_of(c, session->id, "dictionary", path, sizeof(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open '%s'", path);
    int rc = ftruncate(fd, (off_t)session->dictionary_bytes) ? -errno : 0;
    for (size_t done = 0; !rc && done < size;) {
        ssize_t n =
            pwrite(fd, session->pending_bytes.data + done, size - done, (off_t)(session->dictionary_bytes + done));
        if (n < 0)
            rc = -errno;
        else
            done += (size_t)n;
    }
    if (!rc && fdatasync(fd))
        rc = -errno;
    close(fd);
    return rc ? wp_error_errno(err, rc, "cannot write '%s'", path) : 0;
}

/* A row for each name that the thread has had: by one of them it comes up again. */
static bool put_late(const struct wp_host_session *session, Wakepath__Resume__Aggregate *to, uint32_t thread,
    uint64_t start_ns, uint64_t end_ns)
{
    const struct wp_timeline *timeline = &session->timeline;
    for (uint32_t i = 1; i < timeline->identity_count; i++) {
        if (timeline->identities[i].thread != thread)
            continue;
        Wakepath__Resume__Late *row = WP_ARRAY_NEXT(to->late, to->n_late) ? NULL : calloc(1, sizeof(*row));
        if (!row)
            return false;
        wakepath__resume__late__init(row);
        row->entry = timeline->identities[i].entry;
        row->start_ns = start_ns;
        row->end_ns = end_ns;
        to->late[to->n_late++] = row;
    }
    return true;
}

static bool put_base(const struct wp_host_session *session, const struct wp_aggregate *from, const uint32_t *rows,
    uint64_t horizon_ns, Wakepath__Resume__Aggregate *to)
{
    to->paused_ns = from->paused_ns;
    to->base_thread = calloc(from->base_count + 1, sizeof(*to->base_thread));
    to->base_until_ns = calloc(from->base_count + 1, sizeof(*to->base_until_ns));
    if (!to->base_thread || !to->base_until_ns)
        return false;
    for (uint32_t i = 0; i < from->base_count; i++) {
        uint32_t thread = from->base[i].thread;
        if (rows[thread]) {
            to->base_thread[to->n_base_thread++] = rows[thread] - 1;
            to->base_until_ns[to->n_base_until_ns++] = from->base[i].until_ns;
        } else if (from->base[i].until_ns >= horizon_ns && !put_late(session, to, thread, 0, from->base[i].until_ns)) {
            return false;
        }
    }
    return true;
}

static bool put_followed(const struct wp_host_session *session, const struct wp_aggregate *from, const uint32_t *rows,
    Wakepath__Resume__Aggregate *to)
{
    to->followed = calloc(from->followed->count + 1, sizeof(*to->followed));
    if (!to->followed)
        return false;
    for (uint32_t i = 0; i < from->followed->count; i++) {
        const struct wp_interval *interval = &from->followed->rows[i];
        if (interval->host != session->home)
            continue;
        if (!rows[interval->thread]) {
            if (!put_late(session, to, interval->thread, interval->start_ns, interval->end_ns))
                return false;
            continue;
        }
        Wakepath__Resume__Followed *row = calloc(1, sizeof(*row));
        if (!row)
            return false;
        wakepath__resume__followed__init(row);
        row->thread = rows[interval->thread] - 1;
        row->start_ns = interval->start_ns;
        row->end_ns = interval->end_ns;
        to->followed[to->n_followed++] = row;
    }
    return true;
}

static bool put_counts(const struct wp_aggregate *from, Wakepath__Resume__Aggregate *to)
{
    to->counted_events = calloc(WP_EVENT_KINDS, sizeof(*to->counted_events));
    to->counted_drops = calloc(WP_EVENT_KINDS, sizeof(*to->counted_drops));
    if (!to->counted_events || !to->counted_drops)
        return false;
    memcpy(to->counted_events, from->counted_events, sizeof(from->counted_events));
    memcpy(to->counted_drops, from->counted_drops, sizeof(from->counted_drops));
    to->n_counted_events = to->n_counted_drops = WP_EVENT_KINDS;
    return true;
}

static bool put_aggregates(const struct wp_host_session *session, const uint32_t *rows, message_type *m)
{
    m->aggregates = calloc(session->aggregate_count + 1, sizeof(*m->aggregates));
    for (uint32_t i = 0; m->aggregates && i < session->aggregate_count; i++) {
        const struct wp_aggregate *from = session->aggregates[i];
        Wakepath__Resume__Aggregate *to = calloc(1, sizeof(*to));
        if (!to)
            return false;
        wakepath__resume__aggregate__init(to);
        m->aggregates[m->n_aggregates++] = to;
        to->name = strdup(from->name);
        to->release = strdup(from->release);
        if (!to->name || !to->release || !put_base(session, from, rows, m->horizon_ns, to) ||
            !put_followed(session, from, rows, to) || !put_counts(from, to))
            return false;
    }
    m->counted_seq = session->counted_seq;
    return m->aggregates;
}

/* What is behind the horizon comes again. */
static bool put_spans(
    const struct wp_drop_spans *spans, uint64_t horizon_ns, Wakepath__Resume__Span ***rows, size_t *count)
{
    *rows = calloc(spans->count + 1, sizeof(**rows));
    for (uint32_t i = 0; *rows && i < spans->count && spans->rows[i].from_ns < horizon_ns; i++) {
        const struct wp_drop_span *from = &spans->rows[i];
        Wakepath__Resume__Span *span = calloc(1, sizeof(*span));
        if (!span)
            return false;
        wakepath__resume__span__init(span);
        span->from_ns = from->from_ns;
        span->to_ns = (from->to_ns < horizon_ns ? from->to_ns : horizon_ns) - 1;
        (*rows)[(*count)++] = span;
    }
    return *rows;
}

static bool put_session(const struct wp_host_session *session, message_type *m)
{
    uint64_t later_events[WP_EVENT_KINDS] = {0}, later_drops[WP_EVENT_KINDS] = {0}; /* they come again */
    for (uint32_t i = 0; i < session->mark_count; i++)
        for (unsigned kind = 0; session->marks[i].seq > m->seq && kind < WP_EVENT_KINDS; kind++) {
            later_events[kind] += session->marks[i].events[kind];
            later_drops[kind] += session->marks[i].drops[kind];
        }
    m->session.data = malloc(16);
    m->services = calloc(session->service_count + 1, sizeof(*m->services));
    m->events = calloc(WP_EVENT_KINDS, sizeof(*m->events));
    m->drops = calloc(WP_EVENT_KINDS, sizeof(*m->drops));
    if (!m->session.data || !m->services || !m->events || !m->drops)
        return false;
    memcpy(m->session.data, session->id, 16);
    m->session.len = 16;
    m->is_auto_chosen = session->is_auto_chosen;
    m->real_offset_ns = session->real_offset_ns;
    for (uint32_t i = 0; i < session->service_count; i++)
        m->n_services += (m->services[m->n_services] = strdup(session->services[i])) != NULL;
    for (unsigned i = 0; i < WP_EVENT_KINDS; i++) {
        m->events[i] = session->timeline.counts.events[i] - later_events[i];
        m->drops[i] = session->drops[i] - later_drops[i];
    }
    m->n_events = m->n_drops = WP_EVENT_KINDS;
    return put_spans(&session->drop_spans, m->horizon_ns, &m->drop_spans, &m->n_drop_spans) &&
        put_spans(&session->paused_spans, m->horizon_ns, &m->paused_spans, &m->n_paused_spans) &&
        put_spans(&session->shed_spans, m->horizon_ns, &m->shed_spans, &m->n_shed_spans);
}

static int write_message(
    struct wp_checkpoints *c, const struct wp_host_session *session, const message_type *m, struct wp_error *err)
{
    char path[4096];
    size_t size = wakepath__resume__checkpoint__get_packed_size(m);
    wp_buffer_clear(&c->raw);
    wp_buffer_clear(&c->frame);
    if (wp_buffer_reserve(&c->raw, size))
        return wp_error_set(err, -ENOMEM, "out of memory for a checkpoint");
    c->raw.size = wakepath__resume__checkpoint__pack(m, c->raw.data);
    int rc = wp_frame_write(c->writer, WP_FRAME_CHECKPOINT, c->raw.data, c->raw.size, &c->frame, err);
    path_of(c, session->id, "checkpoint", path, sizeof(path));
    if (!rc)
        rc = wp_file_write_atomic(path, c->frame.data, c->frame.size, err);
    return rc ? rc : wp_folder_sync(c->folder, err); /* what it holds will be acknowledged */
}

int wp_checkpoints_write(struct wp_checkpoints *c, struct wp_host_session *session, struct wp_error *err)
{
    uint64_t history_ns = session->options->history_ns;
    bool is_due = session->resolved_ns > history_ns &&
        session->resolved_ns >= session->checkpoint_ns + session->options->checkpoint_ns &&
        (session->is_auto_chosen || !session->options->auto_aggregates) && !session->is_catching_up;
    const struct wp_batch_mark *mark =
        is_due ? wp_host_session_boundary(session, session->resolved_ns - history_ns) : NULL;
    if (!mark || mark->seq <= session->acked_seq)
        return 0;
    message_type *m = malloc(sizeof(*m));
    uint32_t *rows = NULL;
    if (!m)
        return wp_error_set(err, -ENOMEM, "out of memory for a checkpoint");
    wakepath__resume__checkpoint__init(m);
    uint64_t seq = mark->seq;
    m->version = VERSION;
    m->seq = seq;
    m->horizon_ns = mark->bound_ns + 1;
    m->resolved_ns = session->resolved_ns;
    int rc = wp_timeline_save(&session->timeline, m->horizon_ns, m, &rows);
    if (!rc)
        rc = wp_taken_slices_save(&session->timeline, wp_detached_until(m->resolved_ns, history_ns), m);
    if (!rc && (!put_session(session, m) || !put_aggregates(session, rows, m)))
        rc = -ENOMEM;
    free(rows);
    if (rc)
        rc = wp_error_set(err, rc, "out of memory for a checkpoint");
    if (!rc)
        rc = append_dictionary(c, session, seq, err);
    if (!rc) {
        wp_host_session_forget_pending(session, seq);
        m->dictionary_bytes = session->dictionary_bytes;
        rc = write_message(c, session, m, err);
    }
    wakepath__resume__checkpoint__free_unpacked(m, NULL);
    if (rc)
        return rc;
    session->checkpoint_ns = session->resolved_ns;
    wp_host_session_acknowledge(session, seq);
    return 0;
}

/* --- reading --- */

static int read_dictionary(
    struct wp_checkpoints *c, struct wp_host_session *session, const message_type *m, struct wp_error *err)
{
    uint64_t size = m->dictionary_bytes;
    char path[4096];
    struct wp_buffer bytes = {0};
    struct wp_batch batch = {0};
    path_of(c, session->id, "dictionary", path, sizeof(path));
    int rc = size ? wp_file_read(path, FILE_LIMIT, &bytes, err) : 0;
    if (!rc && bytes.size < size)
        rc = wp_error_set(err, -EBADMSG, "'%s' is shorter than its checkpoint says", path);
    for (size_t at = 0; !rc && at < size;) {
        struct wp_frame frame;
        rc = wp_frame_read(c->reader, bytes.data + at, size - at, &frame, err);
        if (!rc)
            rc = wp_batch_decode(&batch, frame.payload, frame.size, err);
        if (!rc && batch.seq > m->seq)
            rc = wp_error_set(err, -EBADMSG, "'%s' has batches behind its checkpoint's", path);
        if (!rc)
            rc = wp_dictionary_apply(session->dictionary, &batch, err);
        at += rc ? 0 : frame.consumed;
    }
    wp_batch_fini(&batch);
    wp_buffer_fini(&bytes);
    session->dictionary_bytes = size;
    return rc == -ENOMEM ? rc : rc ? -EBADMSG : 0;
}

/* They wait for the slices. */
static void take_taken(struct wp_host_session *session, message_type *m)
{
    session->taken = m->taken;
    session->taken_count = m->n_taken;
    m->taken = NULL;
    m->n_taken = 0;
}

/* Where the store has counted up to a batch behind the checkpoint's, that batch says it when it comes. */
static void take_counts(struct wp_aggregate *aggregate, const message_type *m, const Wakepath__Resume__Aggregate *row)
{
    if (aggregate->skip_seq != m->counted_seq || m->counted_seq > m->seq)
        return;
    for (unsigned i = 0; i < WP_EVENT_KINDS; i++) {
        aggregate->counted_events[i] = i < row->n_counted_events ? row->counted_events[i] : 0;
        aggregate->counted_drops[i] = i < row->n_counted_drops ? row->counted_drops[i] : 0;
    }
}

static int take_aggregates(struct wp_host_session *session, const message_type *m, const uint32_t *threads)
{
    for (size_t i = 0; i < m->n_aggregates; i++) {
        const Wakepath__Resume__Aggregate *row = m->aggregates[i];
        struct wp_aggregate *aggregate = wp_host_session_aggregate(session, row->name, row->release);
        if (!aggregate)
            return -EBADMSG;
        aggregate->paused_ns = row->paused_ns;
        take_counts(aggregate, m, row);
        session->taken_marks[i % 16] |= wp_taken_mark(aggregate->bit);
        session->taken_marks[(i + 8) % 16] |= wp_taken_sleep_mark(aggregate->bit);
        for (size_t j = 0; j < row->n_base_thread; j++)
            if (threads[row->base_thread[j]])
                wp_aggregate_set_base(aggregate, threads[row->base_thread[j]], row->base_until_ns[j]);
        for (size_t j = 0; j < row->n_followed; j++) {
            const Wakepath__Resume__Followed *followed = row->followed[j];
            if (threads[followed->thread])
                wp_intervals_add(aggregate->followed,
                    &(struct wp_interval){
                        session->home, threads[followed->thread], followed->start_ns, followed->end_ns});
        }
        for (size_t j = 0; j < row->n_late; j++)
            if (wp_host_session_add_late(session,
                    &(struct wp_late_thread){
                        aggregate, row->late[j]->entry, row->late[j]->start_ns, row->late[j]->end_ns}))
                return -ENOMEM;
    }
    return 0;
}

static void take_spans(struct wp_drop_spans *spans, Wakepath__Resume__Span *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wp_drop_spans_add(spans, rows[i]->from_ns, rows[i]->to_ns);
}

/* What wp_checkpoint_check found to be one. */
static int take_message(struct wp_host_session *session, message_type *m)
{
    uint32_t *threads;
    session->is_auto_chosen = m->is_auto_chosen;
    session->real_offset_ns = m->real_offset_ns;
    for (size_t i = 0; i < m->n_services; i++)
        wp_host_session_serve(session, m->services[i]);
    int rc = wp_timeline_restore(&session->timeline, m, &threads);
    if (rc)
        return rc;
    rc = take_aggregates(session, m, threads);
    free(threads);
    for (unsigned i = 0; i < WP_EVENT_KINDS; i++) {
        session->timeline.counts.events[i] = i < m->n_events ? m->events[i] : 0;
        session->drops[i] = i < m->n_drops ? m->drops[i] : 0;
    }
    session->timeline.counts.recorder_ns = m->recorder_ns;
    take_taken(session, m);
    take_spans(&session->drop_spans, m->drop_spans, m->n_drop_spans);
    take_spans(&session->paused_spans, m->paused_spans, m->n_paused_spans);
    take_spans(&session->shed_spans, m->shed_spans, m->n_shed_spans);
    session->next_seq = m->seq + 1;
    session->last_seq = session->acked_seq = m->seq;
    session->resolved_ns = session->checkpoint_ns = m->resolved_ns;
    session->is_catching_up = m->resolved_ns < session->committed_ns;
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        uint64_t closed_ns = session->aggregates[i]->skip_until_ns; /* epochs without news are not in the store yet */
        session->aggregates[i]->paused_until_ns = m->resolved_ns;
        session->aggregates[i]->window_until_ns = closed_ns < m->resolved_ns ? closed_ns : m->resolved_ns;
        session->is_catching_up |= m->resolved_ns < session->aggregates[i]->skip_until_ns;
        wp_aggregate_set_resumed(session->aggregates[i], m->resolved_ns);
    }
    return rc;
}

/* The file's message, or NULL. -ENOENT, -EBADMSG. */
static int read_message(struct wp_checkpoints *c, const uint8_t session[16], message_type **out, struct wp_error *err)
{
    char path[4096];
    struct wp_buffer bytes = {0};
    struct wp_frame frame;
    path_of(c, session, "checkpoint", path, sizeof(path));
    int rc = wp_file_read(path, FILE_LIMIT, &bytes, NULL);
    if (rc) {
        wp_buffer_fini(&bytes);
        return rc == -ENOENT ? rc : wp_error_errno(err, rc, "cannot read '%s'", path);
    }
    rc = wp_frame_read(c->reader, bytes.data, bytes.size, &frame, err);
    message_type *m = !rc && frame.type == WP_FRAME_CHECKPOINT
        ? wakepath__resume__checkpoint__unpack(NULL, frame.size, frame.payload)
        : NULL;
    wp_buffer_fini(&bytes);
    if (m && m->version == VERSION && m->session.len == 16 && !memcmp(m->session.data, session, 16)) {
        *out = m;
        return 0;
    }
    if (m)
        wakepath__resume__checkpoint__free_unpacked(m, NULL);
    return wp_error_set(err, -EBADMSG, "'%s' is not a checkpoint of this version", path);
}

int wp_checkpoints_read(struct wp_checkpoints *c, struct wp_host_session *session, struct wp_error *err)
{
    message_type *m = NULL;
    int rc = read_message(c, session->id, &m, err);
    if (!rc)
        rc = read_dictionary(c, session, m, err);
    if (!rc && (rc = wp_checkpoint_check(session, m, err)))
        wp_error_wrap(err, rc, "the checkpoint of host %s", session->hostname);
    if (!rc && (rc = take_message(session, m)))
        wp_error_set(err, rc, "the checkpoint of host %s does not fit its dictionary", session->hostname);
    if (m)
        wakepath__resume__checkpoint__free_unpacked(m, NULL);
    return rc;
}

/* --- what sessions left --- */

static bool is_over(struct wp_checkpoints *c, const uint8_t session[16],
    bool (*has_ended)(void *context, const uint8_t session[16], const char *release), void *context)
{
    message_type *m = NULL;
    int rc = read_message(c, session, &m, NULL);
    bool is = rc == -ENOENT; /* a dictionary alone is of no use */
    if (!rc) {
        for (size_t i = 0; !is && i < m->n_aggregates; i++)
            is = has_ended(context, session, m->aggregates[i]->release);
        wakepath__resume__checkpoint__free_unpacked(m, NULL);
    }
    return is;
}

void wp_checkpoints_sweep(struct wp_checkpoints *c,
    bool (*has_ended)(void *context, const uint8_t session[16], const char *release), void *context)
{
    DIR *entries = opendir(c->folder);
    uint8_t session[16];
    const char *end;
    struct stat status;
    time_t now = time(NULL);
    unsigned over = 0, left = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (!session_of(entry->d_name, session, &end) || *end ||
            fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
            continue;
        bool is_left = status.st_mtime < now - LEFT_S;
        if (!is_left && !is_over(c, session, has_ended, context))
            continue;
        wp_checkpoints_remove(c, session);
        *(is_left ? &left : &over) += 1;
    }
    if (entries)
        closedir(entries);
    if (c->logger && over + left)
        wp_log(c->logger, WP_LOG_INFO,
            "removed checkpoints of sessions that do not continue ended=%u silent_for_a_month=%u", over, left);
}
