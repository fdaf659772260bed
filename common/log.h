/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_LOG_H
#define WP_COMMON_LOG_H
/*
 * Logging: one line an event, a sentence plus key=value. error = work lost; warn = degraded; info = lifecycle;
 * debug = per batch; nothing per event. The logger is a context passed down; NULL logs nothing. One write(2) a line,
 * so threads may share a logger.
 */
#include <stdbool.h>
#include <stdint.h>

enum wp_log_level { WP_LOG_ERROR, WP_LOG_WARN, WP_LOG_INFO, WP_LOG_DEBUG };

/* Who logs, from which level on, and where to; owns nothing. */
struct wp_logger {
    const char *program;     /* borrowed, stands before each line */
    enum wp_log_level level; /* lines above it are dropped; wp_log_set_level once other threads log */
    int fd;                  /* usually 2 */
};

/* One line. What is no text in it, as in names that a peer has given, is written as \xNN. */
void wp_log(const struct wp_logger *logger, enum wp_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For a logger that other threads use meanwhile: what a reload changes. */
void wp_log_set_level(struct wp_logger *logger, enum wp_log_level level);

/* Says whether a repeated warning may be printed now: at most once in `interval_ns`. The rest is counted, and before
 * the next one that may be printed a line says how many were left out. */
struct wp_log_limit {
    uint64_t last_ns;
    uint64_t suppressed;
};
/* `limit` starts zeroed, belongs to one kind of warning and one thread; `now_ns` is always of the same clock. */
bool wp_log_allowed(const struct wp_logger *logger, struct wp_log_limit *limit, uint64_t now_ns, uint64_t interval_ns);

/* Of what a program has logged: the message of its last error, else its last line; NULL: nothing. Lines are ended by 0
 * in `text`, which the result points into. */
char *wp_log_last_words(char *text);

/* Parses "error", "warn", "info" or "debug"; -EINVAL otherwise. */
int wp_log_level_parse(const char *text, enum wp_log_level *level);

#endif
