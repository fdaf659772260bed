/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/humanize.h"

#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static int digits_after(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

const char *wp_human_duration(struct wp_pool *pool, uint64_t ns)
{
    double value = (double)ns;
    if (ns < 1000)
        return wp_pool_printf(pool, "%" PRIu64 " ns", ns);
    if (value < 999.5e3)
        return wp_pool_printf(pool, "%.*f µs", digits_after(value / 1e3), value / 1e3);
    if (value < 999.5e6)
        return wp_pool_printf(pool, "%.*f ms", digits_after(value / 1e6), value / 1e6);
    if (value < 119.5e9)
        return wp_pool_printf(pool, "%.*f s", digits_after(value / 1e9), value / 1e9);
    uint64_t seconds = (ns + 500000000u) / WP_NS_PER_S;
    if (seconds < 7200)
        return wp_pool_printf(pool, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
    return wp_pool_printf(pool, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
}

const char *wp_human_percent(struct wp_pool *pool, double percent)
{
    if (percent <= 0)
        return wp_pool_text(pool, "0 %");
    if (percent < 0.05)
        return wp_pool_text(pool, "< 0.1 %");
    /* 99.96 must not read as everything when something is left over. */
    if (percent > 99.9 && percent < 100)
        return wp_pool_text(pool, "> 99.9 %");
    if (percent < 9.95 || (percent > 90 && percent < 100))
        return wp_pool_printf(pool, "%.1f %%", percent);
    return wp_pool_printf(pool, "%.0f %%", percent);
}

const char *wp_human_share(struct wp_pool *pool, uint64_t part, uint64_t whole)
{
    return wp_human_percent(pool, whole ? 100.0 * (double)part / (double)whole : 0);
}

const char *wp_human_count(struct wp_pool *pool, uint64_t count)
{
    char plain[24], spaced[40];
    int size = snprintf(plain, sizeof(plain), "%" PRIu64, count), at = 0;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            spaced[at++] = ' ';
        spaced[at++] = plain[i];
    }
    spaced[at] = 0;
    return wp_pool_text(pool, spaced);
}

const char *wp_human_many(struct wp_pool *pool, uint64_t count, const char *noun)
{
    return wp_pool_printf(pool, "%s %s%s", wp_human_count(pool, count), noun, count == 1 ? "" : "s");
}

const char *wp_human_bytes(struct wp_pool *pool, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes / 1e3;
    unsigned unit = 0;
    if (bytes < 1000)
        return wp_pool_printf(pool, "%" PRIu64 " B", bytes);
    for (; value >= 999.5 && unit < 5; unit++)
        value /= 1e3;
    return wp_pool_printf(pool, "%.*f %s", digits_after(value), value, units[unit]);
}

static const char *format_time(struct wp_pool *pool, uint64_t real_ns, const char *format)
{
    time_t seconds = (time_t)(real_ns / WP_NS_PER_S);
    struct tm tm;
    char text[64];
    if (!real_ns || !gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), format, &tm))
        return wp_pool_text(pool, "unknown");
    return wp_pool_text(pool, text);
}

const char *wp_human_time(struct wp_pool *pool, uint64_t real_ns)
{
    return format_time(pool, real_ns, "%Y-%m-%d %H:%M:%S UTC");
}
