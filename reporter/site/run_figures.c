/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/run_figures.h"

#include "common/clock.h"
#include "common/metrics.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "wakepath_reporter_"
#define LAST_SUCCESS PREFIX "last_success_timestamp_seconds"
#define FORMER_LIMIT 16384u /* several times what is written */
#define DIGITS_LIMIT 12u

/* The file as it is, with a 0 behind it; "" when it is none of ours: no link is followed, no pipe waited for, nothing
 * long read. */
static void read_former(const char *file, char text[FORMER_LIMIT + 1])
{
    struct stat status;
    size_t size = 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size <= (off_t)FORMER_LIMIT)
        for (ssize_t got = 1; got > 0 && size<FORMER_LIMIT; size += got> 0 ? (size_t)got : 0)
            got = read(fd, text + size, FORMER_LIMIT - size);
    if (fd >= 0)
        close(fd);
    text[size] = 0;
}

/* 0: no number, or a time that is still to come, which would hide for ever how old the site is. */
static uint64_t parse_time(const char *text, uint64_t now_s)
{
    uint64_t time = 0;
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > DIGITS_LIMIT || text[digits] != '\n')
        return 0;
    for (size_t i = 0; i < digits; i++)
        time = time * 10 + (uint64_t)(text[i] - '0');
    return time <= now_s ? time : 0;
}

/* When the site was last made by what the file says, 0: it does not say. */
static uint64_t former_success(const char *file, const struct wp_run_figures *figures)
{
    char text[FORMER_LIMIT + 1];
    struct wp_buffer line = {0};
    read_former(file, text);
    wp_buffer_putc(&line, '\n');
    wp_metric_labelled(&line, LAST_SUCCESS, "site", figures->site, 0);
    const char *at = NULL;
    if (!line.failed && line.size > 2) {
        line.data[line.size - strlen("0\n")] = 0;
        at = strstr(text, (const char *)line.data);
    }
    uint64_t time = at ? parse_time(at + line.size - strlen("0\n"), figures->ended_s) : 0;
    wp_buffer_fini(&line);
    return time;
}

static void put(
    struct wp_buffer *out, const struct wp_run_figures *figures, const char *name, const char *help, double value)
{
    wp_metric_begin(out, name, WP_GAUGE, help);
    wp_metric_labelled(out, name, "site", figures->site, value);
}

static void put_files(struct wp_buffer *out, const struct wp_run_figures *figures)
{
    const struct {
        const char *state;
        size_t count;
    } rows[] = {{"written", figures->result.written}, {"unchanged", figures->result.kept}};
    wp_metric_begin(
        out, PREFIX "files", WP_GAUGE, "Pages and other files of the site, by what the last run did with them.");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct wp_metric_label labels[] = {{"site", figures->site}, {"state", rows[i].state}};
        wp_metric_line(out, PREFIX "files", labels, 2, (double)rows[i].count);
    }
}

static void format(struct wp_buffer *out, const struct wp_run_figures *figures, uint64_t success_s)
{
    const struct wp_site_result *result = &figures->result;
    put(out, figures, LAST_SUCCESS, "When a run last made the site, since the epoch; 0: not known.", (double)success_s);
    put(out, figures, PREFIX "last_run_timestamp_seconds", "When the last run ended, since the epoch.",
        (double)figures->ended_s);
    put(out, figures, PREFIX "last_run_duration_seconds", "What the last run took.",
        (double)(figures->took_ns / WP_NS_PER_MS) / 1000);
    put(out, figures, PREFIX "last_run_exit_status", "With what the last run ended; 0: all is well.", figures->status);
    put(out, figures, PREFIX "releases", "Releases on the pages.", (double)result->releases);
    put(out, figures, PREFIX "unread_releases", "Releases of which nothing could be read.", (double)result->unread);
    put(out, figures, PREFIX "damaged_values", "Values that could not be read and are left out, and releases.",
        (double)result->damaged);
    put(out, figures, PREFIX "failed_pages", "Pages that could not be made.", (double)result->failed);
    put_files(out, figures);
}

int wp_run_figures_write(const char *file, const struct wp_run_figures *figures, struct wp_error *err)
{
    struct wp_buffer text = {0};
    format(&text, figures, figures->is_made ? figures->ended_s : former_success(file, figures));
    int rc = text.failed ? wp_error_set(err, -ENOMEM, "out of memory")
                         : wp_file_write_atomic(file, text.data, text.size, err);
    wp_buffer_fini(&text);
    return rc ? wp_error_wrap(err, rc, "figures of the run") : 0;
}
