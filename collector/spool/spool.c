/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#define SEGMENTS 32u /* about so many in a full spool */
#define SEGMENT_LEAST (64u << 10)
#define SEGMENT_MOST (8u << 20) /* compacting one holds the collector up for less than its ring lasts */
#define RESERVE_LEAST (64u << 10)
#define RESERVE_MOST (4u << 20)
#define RECORD 256u /* of a batch, beside its frame */
#define FULL_NS (10 * WP_NS_PER_S)
#define SESSIONS 4096u

/* Sessions by age; the one that is recorded stands last. */
struct wp_spool {
    char *path;
    const struct wp_logger *logger;
    int lock_fd;
    uint64_t limit, reserve;            /* bytes */
    struct wp_spool_session **sessions; /* owned */
    size_t count;
    struct wp_spool_session *current;    /* of them, NULL: none */
    const struct wp_spool_session *held; /* likewise */
    struct wp_log_limit full;
};

static uint64_t between(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static uint64_t segment_bytes(const struct wp_spool *s)
{
    return between(s->limit / SEGMENTS, SEGMENT_LEAST, SEGMENT_MOST);
}

/* --- opening --- */

/* The folder is the user's choice, and may hold files of these names. */
static int refuse(const struct wp_spool *s, const char *name, struct wp_error *err)
{
    return wp_error_set(err, -EEXIST,
        "'%s/%s' exists and is not part of a spool: give an empty folder with --spool, or --spool none", s->path, name);
}

/* Nothing, or the id of a process. */
static bool is_lock(int fd)
{
    struct stat status;
    char text[32] = "";
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size >= (off_t)sizeof(text))
        return false;
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
    size_t digits = strspn(text, "0123456789");
    return !got || (got == (ssize_t)digits + 1 && text[digits] == '\n');
}

/* Room that was allotted, and never written to. */
static bool is_reserve(int fd)
{
    struct stat status;
    char block[4096];
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size > RESERVE_MOST)
        return false;
    for (off_t at = 0; at < status.st_size; at += (off_t)sizeof(block)) {
        ssize_t got = pread(fd, block, sizeof(block), at);
        if (got <= 0 || block[0] || memcmp(block, block + 1, (size_t)got - 1))
            return false;
    }
    return true;
}

static int check_reserve(const struct wp_spool *s, struct wp_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/reserve", s->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0
            : errno == ELOOP   ? refuse(s, "reserve", err)
                               : wp_error_errno(err, -errno, "cannot read '%s'", path);
    bool is = is_reserve(fd);
    close(fd);
    return is ? 0 : refuse(s, "reserve", err);
}

static int take_lock(struct wp_spool *s, struct wp_error *err)
{
    char path[PATH_MAX], pid[32] = "";
    snprintf(path, sizeof(path), "%s/lock", s->path);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (s->lock_fd < 0)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    if (!is_lock(s->lock_fd))
        return refuse(s, "lock", err);
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK)
            return wp_error_errno(err, -errno, "cannot lock '%s'", path);
        ssize_t got = pread(s->lock_fd, pid, sizeof(pid) - 1, 0);
        pid[got > 0 ? strspn(pid, "0123456789") : 0] = 0;
        return wp_error_set(err, -EBUSY,
            "the spool '%s' is locked: another collector (pid %s) uses it; give this one its own with "
            "--spool, or --spool none",
            s->path, *pid ? pid : "unknown");
    }
    int size = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(s->lock_fd, 0) || pwrite(s->lock_fd, pid, (size_t)size, 0) < 0)
        wp_log(s->logger, WP_LOG_DEBUG,
            "cannot write this process's id into the lock of the spool"); /* the disk is full */
    return 0;
}

/* Room that is given back when the disk is full, so that the oldest batches can be made small. */
static void hold_reserve(struct wp_spool *s, bool holds)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/reserve", s->path);
    if (!holds) {
        unlink(path);
        return;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)s->reserve))
        unlink(path);
    if (fd >= 0)
        close(fd);
}

static int add_session(struct wp_spool *s, struct wp_spool_session *session, struct wp_error *err)
{
    if (WP_ARRAY_NEXT(s->sessions, s->count)) {
        wp_spool_session_close(session);
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    }
    s->sessions[s->count++] = session;
    return 0;
}

/* A session that was left there. One that cannot be read stays as it is: it is somebody's evidence, not ours to remove.
 */
static int take_session(struct wp_spool *s, const char *name, struct wp_error *err)
{
    struct wp_spool_session *session;
    struct wp_error why = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", s->path, name);
    int rc = wp_spool_session_open(&session, path, NULL, segment_bytes(s), &why);
    if (rc == -ENOMEM)
        return wp_error_set(err, rc, "%s", why.text);
    if (rc) {
        wp_log(s->logger, WP_LOG_ERROR, "cannot read a session in the spool: %s session=%s", why.text, name);
        return 0;
    }
    if (wp_spool_session_torn(session))
        wp_log(s->logger, WP_LOG_WARN, "cut off an incomplete batch at the end of the spool session=%s bytes=%llu",
            name, (unsigned long long)wp_spool_session_torn(session));
    if (!wp_spool_session_last(session)) {
        wp_spool_session_remove(session);
        return 0;
    }
    return add_session(s, session, err);
}

static int by_age(const void *a, const void *b)
{
    uint64_t x = wp_spool_session_hello(*(struct wp_spool_session *const *)a)->start_real_ns;
    uint64_t y = wp_spool_session_hello(*(struct wp_spool_session *const *)b)->start_real_ns;
    return x < y ? -1 : x > y;
}

static int take_sessions(struct wp_spool *s, struct wp_error *err)
{
    DIR *folder = opendir(s->path);
    uuid_t id;
    int rc = folder ? 0 : wp_error_errno(err, -errno, "cannot read the spool '%s'", s->path);
    for (struct dirent *entry; !rc && s->count < SESSIONS && (entry = readdir(folder));)
        if (!uuid_parse(entry->d_name, id))
            rc = take_session(s, entry->d_name, err);
    if (folder)
        closedir(folder);
    if (s->count)
        qsort(s->sessions, s->count, sizeof(struct wp_spool_session *), by_age);
    return rc;
}

int wp_spool_open(struct wp_spool **spool, const char *path, uint64_t limit_bytes, const struct wp_logger *logger,
    struct wp_error *err)
{
    struct wp_spool *s = calloc(1, sizeof(*s));
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    }
    s->logger = logger;
    s->lock_fd = -1;
    s->limit = limit_bytes;
    s->reserve = between(limit_bytes / 64, RESERVE_LEAST, RESERVE_MOST);
    int rc = strlen(path) > PATH_MAX - 128 ? wp_error_set(err, -ENAMETOOLONG, "the name of the spool is too long") : 0;
    mode_t before = umask(0077); /* what a host does is for its owner alone */
    if (!rc)
        rc = wp_path_make(path, err);
    if (!rc)
        wp_name_sync(path, NULL); /* the folder above need not be this user's to read */
    if (rc == -EACCES)
        wp_error_wrap(
            err, rc, "cannot use this spool (make its folder for this user, or --spool names another, or none)");
    umask(before);
    if (!rc)
        rc = take_lock(s, err);
    if (!rc)
        rc = check_reserve(s, err);
    if (!rc)
        rc = take_sessions(s, err);
    if (rc) {
        wp_spool_close(s);
        return rc;
    }
    hold_reserve(s, true);
    *spool = s;
    return 0;
}

void wp_spool_close(struct wp_spool *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        wp_spool_session_close(s->sessions[i]);
    free(s->sessions);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->path);
    free(s);
}

int wp_spool_begin(
    struct wp_spool *s, const struct wp_hello *hello, struct wp_spool_session **session, struct wp_error *err)
{
    char path[PATH_MAX], name[37];
    for (size_t i = 0; i < s->count; i++) {
        if (memcmp(wp_spool_session_hello(s->sessions[i])->session, hello->session, 16))
            continue;
        struct wp_spool_session *found = s->sessions[i];
        memmove(s->sessions + i, s->sessions + i + 1, (s->count - i - 1) * sizeof(struct wp_spool_session *));
        s->sessions[s->count - 1] = s->current = *session = found;
        return 0;
    }
    uuid_unparse_lower(hello->session, name);
    snprintf(path, sizeof(path), "%s/%s", s->path, name);
    int rc = wp_spool_session_open(session, path, hello, segment_bytes(s), err);
    if (!rc)
        rc = add_session(s, *session, err);
    if (!rc)
        s->current = *session;
    return rc;
}

struct wp_spool_session *wp_spool_backlog(struct wp_spool *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->sessions[i] != s->current && s->sessions[i] != s->held)
            return s->sessions[i];
    return NULL;
}

void wp_spool_let_go(struct wp_spool *s, const struct wp_spool_session *session)
{
    if (s->current == session)
        s->current = NULL;
}

bool wp_spool_has_successors(const struct wp_spool *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->sessions[i] != s->current && wp_session_is_named(wp_spool_session_hello(s->sessions[i])->continues))
            return true;
    return false;
}

void wp_spool_hold(struct wp_spool *s, const struct wp_spool_session *session)
{
    s->held = session;
}

static void take_out(struct wp_spool *s, const struct wp_spool_session *session)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->sessions[i] == session) {
            memmove(s->sessions + i, s->sessions + i + 1, (s->count - i - 1) * sizeof(struct wp_spool_session *));
            s->count--;
            break;
        }
    if (s->current == session)
        s->current = NULL;
    if (s->held == session)
        s->held = NULL;
}

void wp_spool_remove(struct wp_spool *s, struct wp_spool_session *session)
{
    take_out(s, session);
    wp_spool_session_remove(session);
}

void wp_spool_set_aside(struct wp_spool *s, struct wp_spool_session *session)
{
    take_out(s, session);
    wp_spool_session_close(session);
}

uint64_t wp_spool_bytes(const struct wp_spool *s)
{
    uint64_t bytes = s->reserve;
    for (size_t i = 0; i < s->count; i++)
        bytes += wp_spool_session_bytes(s->sessions[i]);
    return bytes;
}

/* --- room --- */

/* One step: 1 when something went. First events, oldest first, and the dictionaries when there is nothing else. */
static int drop_oldest(struct wp_spool *s, bool may_lose, struct wp_error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        int rc = wp_spool_session_shrink(s->sessions[i], may_lose, err);
        if (rc)
            return rc;
    }
    for (size_t i = 0; may_lose && i < s->count; i++)
        if (wp_spool_session_forget(s->sessions[i])) {
            wp_log(s->logger, WP_LOG_ERROR,
                "the dictionaries fill the spool: removed one session's, its batches cannot be delivered to another "
                "aggregator");
            return 1;
        }
    return 0;
}

static uint64_t lost_batches(const struct wp_spool *s)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < s->count; i++)
        lost += wp_spool_session_lost(s->sessions[i]);
    return lost;
}

static void say_full(struct wp_spool *s, const char *why)
{
    if (wp_log_allowed(s->logger, &s->full, wp_clock_ns(), FULL_NS))
        wp_log(s->logger, WP_LOG_WARN,
            "the spool is full (%s): removed the oldest batches, counted as lost spool=%s bytes=%llu "
            "lost_batches=%llu",
            why, s->path, (unsigned long long)wp_spool_bytes(s), (unsigned long long)lost_batches(s));
}

/* The disk may be full while the oldest is made small: then the reserve is given back for it. */
static int drop_with_reserve(struct wp_spool *s, bool may_lose, struct wp_error *err)
{
    int rc = drop_oldest(s, may_lose, err);
    if (rc != -ENOSPC && rc != -EDQUOT)
        return rc;
    hold_reserve(s, false);
    rc = drop_oldest(s, may_lose, err);
    hold_reserve(s, true);
    return rc;
}

int wp_spool_append(struct wp_spool *s, struct wp_spool_session *session, const struct wp_batch *batch,
    const struct wp_spool_frame *frame, struct wp_error *err)
{
    int rc = 1;
    size_t size = frame->size;
    uint64_t lost = lost_batches(s);
    if (s->reserve + size + RECORD > s->limit)
        return wp_error_set(
            err, -E2BIG, "a batch of %zu bytes does not fit into a spool of %llu", size, (unsigned long long)s->limit);
    while (rc > 0 && wp_spool_bytes(s) + size + RECORD > s->limit)
        rc = drop_with_reserve(s, true, err);
    if (lost_batches(s) > lost)
        say_full(s, "its limit");
    if (rc <= 0)
        return rc ? rc : wp_error_set(err, -ENOSPC, "the spool is full of data that cannot be removed");
    rc = wp_spool_session_append(session, batch, frame->bytes, size, err);
    while (rc == -ENOSPC || rc == -EDQUOT) {
        int dropped = drop_with_reserve(s, frame->may_go, NULL);
        if (dropped <= 0)
            break;
        if (lost_batches(s) > lost)
            say_full(s, "the disk");
        rc = wp_spool_session_append(session, batch, frame->bytes, size, err);
    }
    return rc;
}
