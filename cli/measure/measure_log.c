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
#define FIRST "wakepath-measure 1 %016" PRIx64 "\n"

static const char *const words[] = {"sound", "failed", "broken"};

static int keep_row(struct wp_measure_log *log, const struct wp_measure_row *row, struct wp_error *err)
{
    if (WP_ARRAY_NEXT(log->rows, log->count))
        return wp_error_set(err, -ENOMEM, "out of memory for the log");
    log->rows[log->count++] = *row;
    return 0;
}

/* "WORD COMMIT CELL REPEAT NS"; a cell "-" is none. */
static bool parse_row(const char *line, struct wp_measure_row *row)
{
    char word[8], cell[WP_ID_ROOM];
    int end = 0;
    *row = (struct wp_measure_row){0};
    if (sscanf(line, "%7s %64s %128s %" SCNu32 " %" SCNu64 "%n", word, row->commit, cell, &row->repeat, &row->ns,
            &end) != 5 ||
        line[end])
        return false;
    snprintf(row->cell, sizeof(row->cell), "%s", strcmp(cell, "-") ? cell : "");
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(word, words[i])) {
            row->what = (enum wp_measured)i;
            return true;
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

static int read_log(struct wp_measure_log *log, const char *path, uint64_t digest, struct wp_error *err)
{
    struct wp_buffer text = {0};
    char first[64];
    int size = snprintf(first, sizeof(first), FIRST, digest), rc = wp_file_read(path, LOG_LIMIT, &text, err);
    char *last = rc || !text.size ? NULL : memrchr(text.data, '\n', text.size);
    size_t whole = last ? (size_t)(last - (char *)text.data) + 1 : 0;
    if (!rc && whole != text.size && ftruncate(log->fd, (off_t)whole))
        rc = wp_error_errno(err, -errno, "cannot write '%s'", path);
    if (!rc && !whole)
        rc = begin(log, path, digest, err);
    else if (!rc && (whole < (size_t)size || memcmp(text.data, first, 19)))
        rc = wp_error_set(err, -EBADMSG, "'%s' is not the log of a measurement", path);
    else if (!rc && memcmp(text.data, first, (size_t)size))
        rc = wp_error_set(err, -EEXIST, "'%s' is of other commands, workloads or builds: give another --out", path);
    else if (!rc && wp_buffer_putc(&text, 0))
        rc = wp_error_set(err, -ENOMEM, "out of memory for '%s'", path);
    else if (!rc) {
        text.data[whole] = 0;
        rc = read_rows(log, path, (char *)text.data + size, err);
    }
    wp_buffer_fini(&text);
    return rc;
}

int wp_measure_log_open(struct wp_measure_log *log, const char *path, uint64_t digest, struct wp_error *err)
{
    *log = (struct wp_measure_log){0};
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    log->fd = fd;
    int rc = flock(fd, LOCK_EX | LOCK_NB)
        ? wp_error_set(err, -EBUSY, "another process measures in the folder of '%s'", path)
        : read_log(log, path, digest, err);
    if (rc)
        wp_measure_log_close(log);
    return rc;
}

int wp_measure_log_add(struct wp_measure_log *log, const struct wp_measure_row *row, struct wp_error *err)
{
    char line[WP_COMMIT_ROOM + WP_ID_ROOM + 80];
    int size = snprintf(line, sizeof(line), "%s %s %s %" PRIu32 " %" PRIu64 "\n", words[row->what], row->commit,
        *row->cell ? row->cell : "-", row->repeat, row->ns);
    int rc = write_all(log->fd, line, (size_t)size, "the measurement's log", err);
    return rc ? rc : keep_row(log, row, err);
}

const struct wp_measure_row *wp_measure_log_find(
    const struct wp_measure_log *log, const char *commit, const char *cell, uint32_t repeat)
{
    for (uint32_t i = 0; i < log->count; i++)
        if (log->rows[i].repeat == repeat && !strcmp(log->rows[i].commit, commit) && !strcmp(log->rows[i].cell, cell))
            return &log->rows[i];
    return NULL;
}

void wp_measure_log_close(struct wp_measure_log *log)
{
    if (log->fd > 0)
        close(log->fd);
    free(log->rows);
    *log = (struct wp_measure_log){0};
}
