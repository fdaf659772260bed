/* SPDX-License-Identifier: Apache-2.0 */
#include "common/window.h"

#include "common/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number and its unit; moves *text behind them. 0: none. */
static uint64_t duration(const char **text)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ms", WP_NS_PER_MS}, {"s", WP_NS_PER_S}, {"m", 60 * WP_NS_PER_S}, {"h", 3600 * WP_NS_PER_S}};
    char *end;
    while (isspace((unsigned char)**text))
        (*text)++;
    if (!isdigit((unsigned char)**text))
        return 0;
    unsigned long long value = strtoull(*text, &end, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t size = strlen(units[i].name);
        if (strncmp(end, units[i].name, size) || isalnum((unsigned char)end[size]))
            continue;
        *text = end + size;
        return value > WP_WINDOW_MOST_NS / units[i].ns ? 0 : value * units[i].ns;
    }
    return 0;
}

int wp_window_check(const struct wp_window *window)
{
    bool is_unsaid = !window->length_ns && !window->every_ns;
    bool is_sane = window->length_ns >= WP_WINDOW_LEAST_NS && window->length_ns <= window->every_ns &&
        window->every_ns <= WP_WINDOW_MOST_NS;
    return is_unsaid || is_sane ? 0 : -EINVAL;
}

int wp_window_parse(struct wp_window *window, const char *text, struct wp_error *err)
{
    const char *at = text;
    if (!strcmp(text, "always")) {
        *window = (struct wp_window){WP_WINDOW_MOST_NS, WP_WINDOW_MOST_NS};
        return 0;
    }
    struct wp_window said = {.length_ns = duration(&at)};
    while (isspace((unsigned char)*at))
        at++;
    bool is_two = !strncmp(at, "every", 5) && isspace((unsigned char)at[5]);
    at += is_two ? 5 : 0;
    said.every_ns = is_two ? duration(&at) : 0;
    if (!said.every_ns || *at || wp_window_check(&said))
        return wp_error_set(err, -EINVAL,
            "a window is 'always' or such as '1s every 60s' (ms, s, m, h; 10ms to 24h), not '%.100s'", text);
    *window = said;
    return 0;
}

bool wp_window_is_open(const struct wp_window *window, uint64_t real_ns)
{
    return !window->every_ns || real_ns % window->every_ns < window->length_ns;
}

uint64_t wp_window_left(const struct wp_window *window, uint64_t real_ns)
{
    if (window->length_ns >= window->every_ns)
        return UINT64_MAX;
    uint64_t at = real_ns % window->every_ns;
    return (at < window->length_ns ? window->length_ns : window->every_ns) - at;
}

const char *wp_window_text(const struct wp_window *window, char text[64])
{
    if (window->length_ns >= window->every_ns)
        return "always";
    snprintf(text, 64, "%llums every %llums", (unsigned long long)(window->length_ns / WP_NS_PER_MS),
        (unsigned long long)(window->every_ns / WP_NS_PER_MS));
    return text;
}
