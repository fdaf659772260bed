/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/measure_log.h"

#include "common/array.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOG_LIMIT (64u << 20)
#define DIGEST_DIGITS 16u
#define FIRST "wakepath-measure 1 %016" PRIx64 "\n"

static const char *const words[] = {"sound", "failed", "broken", "adding"};

static int keep_row(struct wp_measure_log *log, const struct wp_measure_row *row, struct wp_error *err)
{
    if (WP_ARRAY_NEXT(log->rows, log->count))
        return wp_error_set(err, -ENOMEM, "out of memory for the log");
    log->rows[log->count++] = *row;
    return 0;
}

/* "WORD COMMIT CELL REPEAT NS RELEASE STEADY_NS WAITS"; a cell "-" is none. Without STEADY_NS it is the NS. */
static bool parse_row(const char *line, struct wp_measure_row *row)
{
    char word[8], cell[WP_ID_ROOM];
    int end = 0;
    *row = (struct wp_measure_row){0};
    int found = sscanf(line, "%7s %64s %128s %" SCNu32 " %" SCNu64 " %128s%n %" SCNu64 "%n %" SCNu64 "%n", word,
        row->commit, cell, &row->repeat, &row->ns, row->release, &end, &row->steady_ns, &end, &row->waits, &end);
    if (found < 6 || line[end])
        return false;
    if (found == 6)
        row->steady_ns = row->ns;
    snprintf(row->cell, sizeof(row->cell), "%s", strcmp(cell, "-") ? cell : "");
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(word, words[i])) {
            row->what = (enum wp_measured)i;
            return (row->what == WP_MEASURED_BROKEN) == !*row->cell;
        }
    return false;
}

static int write_all(int fd, const char *text, size_t size, const char *path, struct wp_error *err)
{
    ssize_t put = write(fd, text, size);
    if (put == (ssize_t)size && !fdatasync(fd))
        return 0;
    return wp_error_errno(err, put >= 0 && put != (ssize_t)size ? -ENOSPC : -errno, "cannot write '%s'", path);
}

static int begin(struct wp_measure_log *log, const char *path, uint64_t digest, struct wp_error *err)
{
    char first[64];
    int size = snprintf(first, sizeof(first), FIRST, digest);
    if (ftruncate(log->fd, 0))
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    return write_all(log->fd, first, (size_t)size, path, err);
}

static int read_rows(struct wp_measure_log *log, const char *path, char *text, struct wp_error *err)
{
    unsigned number = 1;
    for (char *line; (line = strsep(&text, "\n")) && text;) {
        struct wp_measure_row row;
        number++;
        if (!parse_row(line, &row))
            return wp_error_set(err, -EBADMSG, "%s:%u: no line of a measurement", path, number);
        int rc = keep_row(log, &row, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Whether the text begins with the whole first line. */
static int check_first(const struct wp_buffer *text, const char *first, const char *path, struct wp_error *err)
{
    size_t size = strlen(first), sign = strcspn(first, "\n") - DIGEST_DIGITS;
    if (text->size < size || memcmp(text->data, first, sign) || text->data[size - 1] != '\n')
        return wp_error_set(err, -EBADMSG, "'%s' is not the log of a measurement: give another --out", path);
    return memcmp(text->data, first, size)
        ? wp_error_set(err, -EEXIST,
              "'%s' is of other commands, workloads or builds, or of an older version: give another --out", path)
        : 0;
}

/* Drops a last line that is not whole, from the file too, and ends the text with a 0. It has one whole line. */
static int cut_rows(const struct wp_measure_log *log, const char *path, struct wp_buffer *text, struct wp_error *err)
{
    const char *last = memrchr(text->data, '\n', text->size);
    size_t whole = (size_t)(last - (char *)text->data) + 1;
    if (whole != text->size && ftruncate(log->fd, (off_t)whole))
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    if (wp_buffer_putc(text, 0))
        return wp_error_set(err, -ENOMEM, "out of memory for '%s'", path);
    text->data[whole] = 0;
    return 0;
}

static int read_log(struct wp_measure_log *log, const char *path, uint64_t digest, bool may_begin, struct wp_error *err)
{
    struct wp_buffer text = {0};
    char first[64];
    size_t size = (size_t)snprintf(first, sizeof(first), FIRST, digest);
    int rc = wp_file_read(path, LOG_LIMIT, &text, err);
    if (!rc && may_begin && text.size < size && (!text.size || !memcmp(text.data, first, text.size)))
        rc = begin(log, path, digest, err);
    else if (!rc)
        rc = check_first(&text, first, path, err);
    if (!rc && text.size >= size)
        rc = cut_rows(log, path, &text, err);
    if (!rc && text.size >= size)
        rc = read_rows(log, path, (char *)text.data + size, err);
    log->earlier = log->count;
    wp_buffer_fini(&text);
    return rc;
}

int wp_measure_log_open(
    struct wp_measure_log *log, const char *path, uint64_t digest, bool may_begin, struct wp_error *err)
{
    *log = (struct wp_measure_log){0};
    int fd = open(path, O_RDWR | (may_begin ? O_CREAT : 0) | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    log->fd = fd;
    int rc = flock(fd, LOCK_EX | LOCK_NB)
        ? wp_error_set(err, -EBUSY, "another process measures in the folder of '%s'", path)
        : read_log(log, path, digest, may_begin, err);
    if (rc)
        wp_measure_log_close(log);
    return rc;
}

int wp_measure_log_add(struct wp_measure_log *log, const struct wp_measure_row *row, struct wp_error *err)
{
    char line[WP_COMMIT_ROOM + 2 * WP_ID_ROOM + 100];
    int size =
        snprintf(line, sizeof(line), "%s %s %s %" PRIu32 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", words[row->what],
            row->commit, *row->cell ? row->cell : "-", row->repeat, row->ns, row->release, row->steady_ns, row->waits);
    int rc = write_all(log->fd, line, (size_t)size, "the measurement's log", err);
    return rc ? rc : keep_row(log, row, err);
}

const struct wp_measure_row *wp_measure_log_find(
    const struct wp_measure_log *log, const char *commit, const char *cell, uint32_t repeat)
{
    for (uint32_t i = 0; i < log->count; i++) {
        const struct wp_measure_row *row = &log->rows[i];
        bool is_done = row->what == WP_MEASURED_SOUND || (row->what != WP_MEASURED_ADDING && i >= log->earlier);
        if (is_done && row->repeat == repeat && !strcmp(row->commit, commit) && !strcmp(row->cell, cell))
            return row;
    }
    return NULL;
}

const struct wp_measure_row *wp_measure_log_pending(const struct wp_measure_log *log)
{
    const struct wp_measure_row *last = log->count ? &log->rows[log->count - 1] : NULL;
    return last && last->what == WP_MEASURED_ADDING ? last : NULL;
}

int wp_measure_log_name(const struct wp_measure_log *log, struct wp_revisions *revisions, struct wp_error *err)
{
    for (uint32_t i = 0; i < revisions->count; i++) {
        struct wp_revision *own = &revisions->items[i];
        for (uint32_t k = 0; k < log->count; k++)
            if (log->rows[k].what == WP_MEASURED_SOUND && !strcmp(log->rows[k].commit, own->commit))
                memcpy(own->release, log->rows[k].release, sizeof(own->release));
        for (uint32_t k = 0; k < log->count; k++)
            if (log->rows[k].what == WP_MEASURED_SOUND && !strcmp(log->rows[k].release, own->release) &&
                strcmp(log->rows[k].commit, own->commit))
                return wp_error_set(err, -EEXIST,
                    "%s is %.16s, and %.16s in what is measured already: give another --out", own->release, own->commit,
                    log->rows[k].commit);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(revisions->items[k].release, own->release))
                return wp_error_set(err, -EEXIST, "%.16s and %.16s are both named %s", revisions->items[k].commit,
                    own->commit, own->release);
    }
    return 0;
}

void wp_measure_log_close(struct wp_measure_log *log)
{
    if (log->fd > 0)
        close(log->fd);
    free(log->rows);
    *log = (struct wp_measure_log){0};
}
