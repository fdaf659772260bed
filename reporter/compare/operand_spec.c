/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/operand_spec.h"

#include "common/path.h"
#include "storage/value/bucket.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_SECONDS 100000000u /* of March 1973: a smaller number is a year, or a day without its dashes */

int wp_time_parse(const char *text, uint64_t *seconds)
{
    static const char *const formats[] = {
        "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno) {
        if (number && number < LEAST_SECONDS)
            return -EINVAL;
        *seconds = number;
        return 0;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        struct tm tm = {0};
        const char *rest = strptime(text, formats[i], &tm);
        int day = tm.tm_mday;
        time_t time = rest && (!*rest || !strcmp(rest, "Z")) ? timegm(&tm) : -1;
        if (time >= 0 && tm.tm_mday == day) { /* of a month that has that day */
            *seconds = (uint64_t)time;
            return 0;
        }
    }
    return -EINVAL;
}

int wp_hosts_parse(const char *text, const char **hosts)
{
    if (!text[*text == '!'] || strlen(text) > 250)
        return -EINVAL;
    *hosts = text;
    return 0;
}

static int parse_times(struct wp_operand_spec *spec, const char *text, struct wp_error *err)
{
    char since[64] = "", until[64] = "";
    const char *dots = strstr(text, "..");
    if (!dots && !wp_time_parse(text, &spec->since_s)) { /* a timebox, by its first second */
        spec->until_s = spec->since_s + 1;
        return 0;
    }
    if (!dots || (size_t)(dots - text) >= sizeof(since) || strlen(dots + 2) >= sizeof(until))
        return wp_error_set(err, -EINVAL, "'%.100s' is not a range of times: SINCE..UNTIL", text);
    memcpy(since, text, (size_t)(dots - text));
    memcpy(until, dots + 2, strlen(dots + 2) + 1);
    if ((*since && wp_time_parse(since, &spec->since_s)) || (*until && wp_time_parse(until, &spec->until_s)))
        return wp_error_set(err, -EINVAL, "'%.100s' has no time as in 2026-11-20T22:14", text);
    if (spec->until_s && spec->since_s >= spec->until_s)
        return wp_error_set(err, -EINVAL, "'%.100s' ends before it begins", text);
    return 0;
}

static int parse_id(char id[WP_ID_ROOM], const char *text, const char *what, struct wp_error *err)
{
    if (!wp_aggregate_valid(text))
        return wp_error_set(
            err, -EINVAL, "'%.130s' is not a valid %s: letters, digits and ._+- (1 to 128 of them)", text, what);
    memcpy(id, text, strlen(text) + 1); /* a valid one is 128 bytes at most */
    return 0;
}

int wp_operand_parse(struct wp_operand_spec *spec, const char *text, struct wp_error *err)
{
    char copy[1024];
    *spec = (struct wp_operand_spec){.release = ""};
    if (strlen(text) >= sizeof(copy))
        return wp_error_set(err, -EINVAL, "what to compare is over %zu bytes long", sizeof(copy));
    snprintf(copy, sizeof(copy), "%s", text);
    char *host = strchr(copy, '/');
    if (host)
        *host++ = 0;
    char *times = strchr(copy, '@');
    if (times)
        *times++ = 0;
    char *aggregate = strchr(copy, ':');
    if (aggregate)
        *aggregate++ = 0;
    if (host && (!*host || strlen(host) >= sizeof(spec->host)))
        return wp_error_set(err, -EINVAL, "'%.100s' names no host after the slash", text);
    if (host)
        snprintf(spec->host, sizeof(spec->host), "%s", host);
    char *back = strchr(copy, '~');
    if (back)
        *back++ = 0;
    if (back && *back && !isdigit((unsigned char)*back))
        return wp_error_set(err, -EINVAL, "'%.100s': behind '~' stands a number of releases", text);
    spec->back = !back ? 0 : *back ? strtoull(back, NULL, 10) : 1;
    int rc = parse_id(spec->release, copy, "release", err);
    if (!rc && aggregate)
        rc = parse_id(spec->aggregate, aggregate, "aggregate", err);
    return !rc && times ? parse_times(spec, times, err) : rc;
}
