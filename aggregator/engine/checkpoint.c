/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/engine/checkpoint.h"

#include "aggregator/session/host_session_durable.h"
#include "aggregator/session/session_state.h"
#include "common/log.h"
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

/* Appends what the batches up to the checkpoint's defined to the file behind what is valid of it, and waits for the
 * disk. */
static int append_dictionary(struct wp_checkpoints *c, const struct wp_session_source *source,
    const struct wp_pending_dictionary *pending, struct wp_error *err)
{
    char path[4096];
    path_of(c, source->id, "dictionary", path, sizeof(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open '%s'", path);
    int rc = ftruncate(fd, (off_t)pending->at) ? -errno : 0;
    for (size_t done = 0; !rc && done < pending->size;) {
        ssize_t n = pwrite(fd, pending->bytes + done, pending->size - done, (off_t)(pending->at + done));
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

static int write_message(
    struct wp_checkpoints *c, const struct wp_session_source *source, const message_type *m, struct wp_error *err)
{
    char path[4096];
    size_t size = wakepath__resume__checkpoint__get_packed_size(m);
    wp_buffer_clear(&c->raw);
    wp_buffer_clear(&c->frame);
    if (wp_buffer_reserve(&c->raw, size))
        return wp_error_set(err, -ENOMEM, "out of memory for a checkpoint");
    c->raw.size = wakepath__resume__checkpoint__pack(m, c->raw.data);
    int rc = wp_frame_write(c->writer, WP_FRAME_CHECKPOINT, c->raw.data, c->raw.size, &c->frame, err);
    path_of(c, source->id, "checkpoint", path, sizeof(path));
    if (!rc)
        rc = wp_file_write_atomic(path, c->frame.data, c->frame.size, err);
    return rc ? rc : wp_folder_sync(c->folder, err); /* what it holds will be acknowledged */
}

int wp_checkpoints_write(struct wp_checkpoints *c, struct wp_host_session *session, struct wp_error *err)
{
    const struct wp_session_source *source = wp_host_session_source(session);
    message_type *m;
    int rc = wp_session_state_save(session, &m, err);
    if (rc || !m)
        return rc;
    uint64_t seq = m->seq;
    struct wp_pending_dictionary pending = wp_host_session_pending(session, seq);
    rc = append_dictionary(c, source, &pending, err);
    if (!rc) {
        wp_host_session_forget_pending(session, seq);
        m->dictionary_bytes = pending.at + pending.size;
        rc = write_message(c, source, m, err);
    }
    wakepath__resume__checkpoint__free_unpacked(m, NULL);
    if (!rc)
        wp_session_state_saved(session, seq);
    return rc;
}

/* --- reading --- */

static int read_dictionary(
    struct wp_checkpoints *c, struct wp_host_session *session, const message_type *m, struct wp_error *err)
{
    uint64_t size = m->dictionary_bytes;
    char path[4096];
    struct wp_buffer bytes = {0};
    struct wp_batch batch = {0};
    path_of(c, wp_host_session_source(session)->id, "dictionary", path, sizeof(path));
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
            rc = wp_session_state_define(session, &batch, err);
        at += rc ? 0 : frame.consumed;
    }
    wp_batch_fini(&batch);
    wp_buffer_fini(&bytes);
    return rc == -ENOMEM ? rc : rc ? -EBADMSG : 0;
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
    if (m && wp_session_state_is_of(m, session)) {
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
    int rc = read_message(c, wp_host_session_source(session)->id, &m, err);
    if (!rc)
        rc = read_dictionary(c, session, m, err);
    if (!rc)
        rc = wp_session_state_restore(session, m, err);
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
