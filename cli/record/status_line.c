/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/status_line.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEAST_ROWS 5u
#define DEFAULT_COLUMNS 80u

/* Columns and rows, as they are now: people resize. */
static void measure(struct wp_status_line *line)
{
    struct winsize size = {0};
    if (ioctl(fileno(line->out), TIOCGWINSZ, &size))
        size = (struct winsize){0};
    line->columns = size.ws_col ? size.ws_col : DEFAULT_COLUMNS;
    line->rows = size.ws_row;
}

void wp_status_line_init(struct wp_status_line *line, FILE *out, bool is_shared)
{
    const char *term = getenv("TERM");
    *line = (struct wp_status_line){.out = out, .columns = DEFAULT_COLUMNS};
    if (isatty(fileno(out)) != 1)
        return;
    measure(line);
    bool is_dumb = !term || !*term || !strcmp(term, "dumb"), is_small = line->rows < LEAST_ROWS;
    line->mode = is_dumb ? WP_STATUS_OFF : !is_shared ? WP_STATUS_PLAIN : is_small ? WP_STATUS_OFF : WP_STATUS_LAST_ROW;
}

/* The cursor may stand in the last row: a line feed and one row up leave it where it was, with a row below. */
static void reserve_row(const struct wp_status_line *line)
{
    fprintf(line->out, "\n\0337\033[1;%ur\0338\033[1A", line->rows - 1);
}

void wp_status_line_show(struct wp_status_line *line, const char *text)
{
    unsigned rows = line->rows;
    if (line->mode == WP_STATUS_OFF)
        return;
    measure(line);
    if (line->mode == WP_STATUS_PLAIN) {
        fprintf(line->out, "\r%s\033[K", text);
    } else if (line->rows >= LEAST_ROWS) {
        if (!line->is_shown || line->rows != rows)
            reserve_row(line);
        fprintf(line->out, "\0337\033[%u;1H%s\033[K\0338", line->rows, text);
    }
    line->is_shown = true;
    fflush(line->out);
}

void wp_status_line_clear(struct wp_status_line *line)
{
    if (line->is_shown && line->mode == WP_STATUS_PLAIN)
        fputs("\r\033[K", line->out);
    else if (line->is_shown)
        fprintf(line->out, "\0337\033[r\033[%u;1H\033[K\0338", line->rows);
    if (line->is_shown)
        fflush(line->out);
    line->is_shown = false;
}
