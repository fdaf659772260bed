/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/side.h"

#include "common/path.h"
#include "common/strings.h"
#include "reporter/compare/side_parts.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_read.h"
#include "storage/upkeep/reference.h"
#include "storage/value/bucket.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int wp_time_parse(const char *text, uint64_t *seconds)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno) {
        *seconds = number;
        return 0;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        struct tm tm = {0};
        const char *rest = strptime(text, formats[i], &tm);
        time_t time = rest && !*rest ? timegm(&tm) : -1;
        if (time >= 0) {
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

static int parse_times(struct wp_side_spec *spec, const char *text, struct wp_error *err)
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
    return 0;
}

static int parse_id(char id[129], const char *text, const char *what, struct wp_error *err)
{
    if (!wp_aggregate_valid(text))
        return wp_error_set(err, -EINVAL, "'%.130s' is not a valid %s: letters, digits and ._+- (1 to 128 of them)", text,
            what);
    memcpy(id, text, strlen(text) + 1); /* a valid one is 128 bytes at most */
    return 0;
}

int wp_side_parse(struct wp_side_spec *spec, const char *text, struct wp_error *err)
{
    char copy[1024];
    *spec = (struct wp_side_spec){.release = ""};
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

int wp_side_find(struct wp_side_spec *spec, const struct wp_stores *stores, struct wp_error *err)
{
    struct wp_reference reference = {.back = spec->back};
    snprintf(reference.release, sizeof(reference.release), "%s", spec->release);
    int rc = wp_reference_resolve(&reference, stores->stores, stores->count, err);
    if (!rc)
        snprintf(spec->release, sizeof(spec->release), "%s", reference.release);
    spec->back = 0;
    return rc;
}

/* As it is shown: with its digest, or without one. */
static const char *name_of_bucket(char *const *aggregates, size_t count, const char *bucket)
{
    const char *shortened = NULL;
    size_t size = wp_bucket_base(bucket);
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(aggregates[i], bucket))
            return aggregates[i];
        if (strlen(aggregates[i]) == size && !strncmp(aggregates[i], bucket, size))
            shortened = aggregates[i];
    }
    return shortened;
}

static bool has_several(char *const *aggregates, size_t count, const char *name)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += wp_bucket_base(aggregates[i]) == strlen(name) && !strncmp(aggregates[i], name, strlen(name));
    return found > 1;
}

int wp_aggregate_choose(const struct wp_snapshot *snapshot, const char *asked, const struct wp_selection *selection,
    char chosen[129], struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    uint64_t largest = 0;
    const char *wanted = asked ? asked : "main", *best = NULL;
    int rc = wp_snapshot_aggregates(snapshot, &aggregates, &count, err);
    char bucket[129];
    if (!rc && !wp_snapshot_bucket(snapshot, wanted, bucket, NULL))
        best = name_of_bucket(aggregates, count, bucket);
    if (!rc && asked && !best)
        rc = wp_error_set(err, -ENOENT, "release %s has no aggregate %s%s (it has %zu%s%s)", snapshot->release, wanted,
            has_several(aggregates, count, wanted) ? " alone: several were recorded with different parameters" : "", count,
            count ? ", the first is " : "", count ? aggregates[0] : "");
    bool is_found = best; /* totals are read only when they decide */
    for (size_t i = 0; i < count && !is_found && !rc; i++) {
        struct wp_report *report = NULL;
        struct wp_damage *damage = NULL;
        size_t damaged = 0;
        if (!wp_snapshot_report(snapshot, aggregates[i], selection, &report, &damage, &damaged, NULL) &&
                (!best || wp_report_total(report) > largest)) {
            best = aggregates[i];
            largest = wp_report_total(report);
        }
        wp_report_destroy(report);
        wp_damage_free(damage, damaged);
    }
    if (!rc && !best)
        rc = wp_error_set(err, -ENOENT, "release %s has no readable report", snapshot->release);
    snprintf(chosen, 129, "%s", rc ? "" : best);
    wp_strings_free(aggregates, count);
    return rc;
}

/* Parts of a side; the aggregate that is meant goes into `chosen`. */
static int read_parts(struct wp_side_parts *parts, const struct wp_snapshot *snapshot, const struct wp_side_spec *spec,
    const char *aggregate, char chosen[129], struct wp_error *err)
{
    struct wp_selection selection = {.since_s = spec->since_s, .until_s = spec->until_s};
    int rc = wp_aggregate_choose(snapshot, *spec->aggregate ? spec->aggregate : aggregate, &selection, chosen, err);
    return rc ? rc : wp_side_parts_read(parts, snapshot, chosen, spec, err);
}

int wp_sides_read(struct wp_facts facts[2], const struct wp_stores *stores, const struct wp_side_spec spec[2], const char *aggregate,
    struct wp_error *err)
{
    struct wp_side_parts parts[2] = {{0}};
    char chosen[2][129];
    int rc = 0;
    for (int i = 0; i < 2; i++)
        memset(&facts[i], 0, sizeof(facts[i]));
    if (!spec[0].same_time) {
        rc = wp_side_read(&facts[0], stores, &spec[0], aggregate, err);
        return rc ? rc : wp_side_read(&facts[1], stores, &spec[1], aggregate, err);
    }
    struct wp_snapshot snapshot[2];
    int begun = 0;
    for (int i = 0; i < 2 && !rc; i++) {
        rc = wp_snapshot_begin(&snapshot[i], stores, spec[i].release, err);
        begun += !rc;
        if (!rc)
            rc = read_parts(&parts[i], &snapshot[i], &spec[i], aggregate, chosen[i], err);
    }
    if (!rc)
        wp_side_parts_meet(&parts[0], &parts[1]);
    for (int i = 0; i < 2 && !rc; i++)
        rc = wp_side_parts_facts(&facts[i], &parts[i], &snapshot[i], chosen[i], &spec[i], err);
    for (int i = 0; i < begun; i++)
        wp_snapshot_end(&snapshot[i]);
    wp_side_parts_fini(&parts[0]);
    wp_side_parts_fini(&parts[1]);
    return rc;
}

int wp_side_read(struct wp_facts *facts, const struct wp_stores *stores, const struct wp_side_spec *spec,
    const char *aggregate, struct wp_error *err)
{
    struct wp_selection selection = {.since_s = spec->since_s, .until_s = spec->until_s};
    struct wp_snapshot snapshot;
    char chosen[129];
    memset(facts, 0, sizeof(*facts));
    int rc = wp_snapshot_begin(&snapshot, stores, spec->release, err);
    if (rc)
        return rc;
    if (*spec->host) {
        struct wp_side_parts parts;
        rc = read_parts(&parts, &snapshot, spec, aggregate, chosen, err);
        if (!rc)
            rc = wp_side_parts_facts(facts, &parts, &snapshot, chosen, spec, err);
    } else {
        rc = wp_aggregate_choose(&snapshot, *spec->aggregate ? spec->aggregate : aggregate, &selection, chosen, err);
        if (!rc)
            rc = wp_facts_read(facts, &snapshot, chosen, &selection, err);
    }
    wp_snapshot_end(&snapshot);
    return rc;
}
