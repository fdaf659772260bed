/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 30u

void wp_progress_init(struct wp_progress *progress, int fd, bool is_quiet)
{
    *progress = (struct wp_progress){.fd = fd, .is_shown = !is_quiet && isatty(fd) == 1};
}

static void print_text(const struct wp_progress *progress, const char *text)
{
    if (write(progress->fd, text, strlen(text)) < 0)
        return; /* a terminal that is gone has no reader */
}

void wp_progress_tell(void *context, size_t done, size_t total)
{
    struct wp_progress *progress = context;
    char bar[WIDTH + 1], line[160];
    size_t percent = total ? done * 100 / total : 100, filled = total ? done * WIDTH / total : WIDTH;
    if (!progress->is_shown || total < 2 || progress->last_percent == percent + 1)
        return;
    progress->last_percent = percent + 1;
    memset(bar, '.', WIDTH);
    memset(bar, '#', filled < WIDTH ? filled : WIDTH);
    bar[WIDTH] = 0;
    snprintf(line, sizeof(line), "\r[%s] %3zu %%  %zu of %zu releases", bar, percent, done, total);
    print_text(progress, line);
}

void wp_progress_clear(struct wp_progress *progress)
{
    if (progress->last_percent)
        print_text(progress, "\r\033[K");
    progress->last_percent = 0;
}
