/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM (2u * WP_PERF_LINE_LIMIT)

int wp_perf_input_open(struct wp_perf_input *input, const char *path, struct wp_error *err)
{
    *input = (struct wp_perf_input){.fd = STDIN_FILENO};
    input->bytes = malloc(ROOM);
    if (!input->bytes)
        return wp_error_set(err, -ENOMEM, "out of memory");
    if (!strcmp(path, "-"))
        return 0;
    input->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0) {
        int rc = wp_error_errno(err, -errno, "cannot open %s", path);
        wp_perf_input_close(input);
        return rc;
    }
    input->owns_fd = true;
    return 0;
}

void wp_perf_input_close(struct wp_perf_input *input)
{
    if (input->owns_fd)
        close(input->fd);
    free(input->bytes);
    *input = (struct wp_perf_input){.fd = -1};
}

/* A line that fills half the room and has no end yet goes; then what is left moves to the front. */
static void make_room(struct wp_perf_input *input)
{
    if (input->end - input->start > WP_PERF_LINE_LIMIT &&
        !memchr(input->bytes + input->start, '\n', input->end - input->start)) {
        input->too_long += !input->is_skipping;
        input->is_skipping = true;
        input->start = input->end;
    }
    if (input->start == 0 || ROOM - input->end > ROOM / 4)
        return;
    memmove(input->bytes, input->bytes + input->start, input->end - input->start);
    input->end -= input->start;
    input->start = 0;
}

int wp_perf_input_read(struct wp_perf_input *input, int timeout_ms, struct wp_error *err)
{
    make_room(input);
    if (input->is_at_end || input->end == ROOM)
        return 0;
    struct pollfd ready = {.fd = input->fd, .events = POLLIN};
    int rc = poll(&ready, 1, timeout_ms);
    if (rc == 0 || (rc < 0 && errno == EINTR))
        return 0;
    ssize_t got = rc < 0 ? -1 : read(input->fd, input->bytes + input->end, ROOM - input->end);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? 0
                                                 : wp_error_errno(err, -errno, "cannot read the text of perf script");
    input->is_at_end = got == 0;
    input->end += (size_t)got;
    return got > 0;
}

static bool cut_line(struct wp_perf_input *input, struct wp_text *line)
{
    const char *from = input->bytes + input->start;
    size_t left = input->end - input->start;
    const char *newline = left ? memchr(from, '\n', left) : NULL;
    if (!newline && (!input->is_at_end || !left))
        return false;
    *line = (struct wp_text){from, newline ? (size_t)(newline - from) : left};
    input->start += line->size + (newline != NULL);
    if (line->size && line->at[line->size - 1] == '\r')
        line->size--;
    return true;
}

bool wp_perf_input_line(struct wp_perf_input *input, struct wp_text *line)
{
    while (cut_line(input, line)) {
        bool is_tail = input->is_skipping;
        input->is_skipping = false;
        if (is_tail)
            continue;
        if (line->size <= WP_PERF_LINE_LIMIT)
            return true;
        input->too_long++;
    }
    return false;
}
