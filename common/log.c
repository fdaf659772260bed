/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include "common/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

/* Names of hosts and files are peers' words. Returns the size. */
static size_t make_printable(const char *text, size_t size, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = 0, step; i < size; i += step) {
        uint32_t c;
        step = wp_utf8_decode(text + i, size - i, &c);
        step += !step;
        bool is_control = wp_utf8_is_control(c);
        for (size_t j = i; j < i + step && used + 5 < room; j++)
            if (is_control)
                used += (size_t)snprintf(out + used, room - used, "\\x%02x", (unsigned char)text[j]);
            else
                out[used++] = text[j];
    }
    return used;
}

void wp_log(const struct wp_logger *logger, enum wp_log_level level, const char *format, ...)
{
    if (!logger || level > __atomic_load_n(&logger->level, __ATOMIC_RELAXED))
        return;
    char line[2048];
    int used = snprintf(line, sizeof(line) - 1, "%s: %s%s", logger->program,
        level < WP_LOG_INFO ? level_names[level] : "", level < WP_LOG_INFO ? ": " : "");
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + used, sizeof(line) - 1 - (size_t)used, format, args);
    va_end(args);
    if (more > 0)
        used += more;
    if ((size_t)used > sizeof(line) - 2)
        used = (int)sizeof(line) - 2;
    char shown[sizeof(line) * 2];
    size_t size = make_printable(line, (size_t)used, shown, sizeof(shown) - 1);
    shown[size++] = '\n';
    ssize_t ignored = write(logger->fd, shown, size);
    (void)ignored;
}

void wp_log_set_level(struct wp_logger *logger, enum wp_log_level level)
{
    __atomic_store_n(&logger->level, level, __ATOMIC_RELAXED);
}

bool wp_log_allowed(const struct wp_logger *logger, struct wp_log_limit *limit, uint64_t now_ns, uint64_t interval_ns)
{
    if (limit->last_ns && now_ns - limit->last_ns < interval_ns) {
        limit->suppressed++;
        return false;
    }
    if (limit->suppressed)
        wp_log(logger, WP_LOG_WARN, "lines like the next one were left out since the last of them lines=%llu",
            (unsigned long long)limit->suppressed);
    limit->suppressed = 0;
    limit->last_ns = now_ns ? now_ns : 1;
    return true;
}

char *wp_log_last_words(char *text)
{
    char *last = NULL, *last_error = NULL, *state = NULL;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *message = strstr(line, ": error: ");
        last = line;
        if (message)
            last_error = message + strlen(": error: ");
    }
    return last_error ? last_error : last;
}

int wp_log_level_parse(const char *text, enum wp_log_level *level)
{
    for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
        if (!strcmp(text, level_names[i])) {
            *level = (enum wp_log_level)i;
            return 0;
        }
    return -EINVAL;
}
