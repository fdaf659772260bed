/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_INPUT_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_INPUT_H
/* Lines of a file or pipe of any length, in bounded memory. A line over WP_PERF_LINE_LIMIT is dropped and counted. */
#include "collector/perf_script/perf_script_text.h"
#include "common/error.h"

#define WP_PERF_LINE_LIMIT (1u << 20)

/* An input with the bytes that were read ahead of the lines. Embedded. */
struct wp_perf_input {
    int fd;
    bool owns_fd;
    bool is_at_end;    /* nothing more will come */
    bool is_skipping;  /* inside a line that is too long */
    char *bytes;       /* owned */
    size_t start, end; /* what is not yet given out */
    uint64_t too_long; /* lines dropped */
};

/* path "-": standard input, which stays open. */
int wp_perf_input_open(struct wp_perf_input *input, const char *path, struct wp_error *err);
/* Closes the descriptor unless it is standard input, and frees the lines it returned. */
void wp_perf_input_close(struct wp_perf_input *input);
/* Waits up to timeout_ms for bytes and reads once. 1: some came, 0: none did (or the end: is_at_end), -errno.
 * Lines given out before are void. */
int wp_perf_input_read(struct wp_perf_input *input, int timeout_ms, struct wp_error *err);
/* The next whole line without its end ("\n" or "\r\n"); at the end of the input also an unfinished one. */
bool wp_perf_input_line(struct wp_perf_input *input, struct wp_text *line);

#endif
