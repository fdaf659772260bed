/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/operand.h"

#include "common/nearest.h"
#include "common/path.h"
#include "common/strings.h"
#include "reporter/compare/operand_parts.h"
#include "reporter/load/facts_read.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_read.h"
#include "storage/value/bucket.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    char chosen[WP_ID_ROOM], struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    uint64_t largest = 0;
    const char *wanted = asked ? asked : "main", *best = NULL;
    int rc = wp_snapshot_aggregates(snapshot, &aggregates, &count, err);
    char bucket[WP_ID_ROOM];
    if (!rc && !wp_snapshot_bucket(snapshot, wanted, bucket, NULL))
        best = name_of_bucket(aggregates, count, bucket);
    const char *meant = !rc && asked && !best && !has_several(aggregates, count, wanted)
        ? wp_nearest(wanted, (const char *const *)aggregates, count)
        : NULL;
    if (meant && strcmp(meant, wanted))
        rc = wp_error_set(
            err, -ENOENT, "release %s has no aggregate %s: did you mean %s?", snapshot->release, wanted, meant);
    else if (!rc && asked && !best)
        rc = wp_error_set(err, -ENOENT, "release %s has no aggregate %s%s (it has %zu%s%s)", snapshot->release, wanted,
            has_several(aggregates, count, wanted) ? " alone: several were recorded with different parameters" : "",
            count, count ? ", the first is " : "", count ? aggregates[0] : "");
    bool is_found = best; /* totals are read only when they decide */
    for (size_t i = 0; i < count && !is_found && !rc; i++) {
        struct wp_snapshot_sum sum;
        if (!wp_snapshot_report(snapshot, aggregates[i], selection, &sum, NULL) &&
            (!best || wp_report_total(sum.report) > largest)) {
            best = aggregates[i];
            largest = wp_report_total(sum.report);
        }
        wp_snapshot_sum_fini(&sum);
    }
    if (!rc && !best && count && (selection->hosts || selection->since_s || selection->until_s))
        rc = wp_error_set(err, -ENOENT, "nothing of release %s is of %s%s%s%s", snapshot->release,
            selection->hosts ? "hosts " : "", selection->hosts ? selection->hosts : "",
            selection->hosts && (selection->since_s || selection->until_s) ? " in " : "",
            selection->since_s || selection->until_s ? "that time" : "");
    else if (!rc && !best)
        rc = wp_error_set(err, -ENOENT, "release %s has no readable report", snapshot->release);
    snprintf(chosen, 129, "%s", rc ? "" : best);
    wp_strings_free(aggregates, count);
    return rc;
}

/* Parts of an operand; the aggregate that is meant goes into `chosen`. */
static int read_parts(struct wp_operand_parts *parts, const struct wp_snapshot *snapshot,
    const struct wp_operand_spec *spec, const char *aggregate, char chosen[WP_ID_ROOM], struct wp_error *err)
{
    struct wp_selection selection = {.since_s = spec->since_s, .until_s = spec->until_s};
    int rc = wp_aggregate_choose(snapshot, *spec->aggregate ? spec->aggregate : aggregate, &selection, chosen, err);
    return rc ? rc : wp_operand_parts_read(parts, snapshot, chosen, spec, err);
}

/* Of two releases that recorded several commands the same one is compared: the older operand is asked for what the
 * newer one chose. *counterpart stays empty where that is not known; reading says what is wrong then. */
static int find_counterpart(const struct wp_stores *stores, const struct wp_operand_spec spec[2], const char *aggregate,
    char counterpart[WP_ID_ROOM])
{
    struct wp_selection selection = {.since_s = spec[1].since_s, .until_s = spec[1].until_s};
    struct wp_snapshot older = {0}, newer = {0};
    char chosen[WP_ID_ROOM];
    *counterpart = 0;
    if (*spec[0].aggregate)
        return 0;
    int rc = wp_snapshot_begin(&newer, stores, spec[1].release, NULL);
    if (!rc)
        rc = wp_snapshot_begin(&older, stores, spec[0].release, NULL);
    if (!rc)
        rc = wp_aggregate_choose(&newer, *spec[1].aggregate ? spec[1].aggregate : aggregate, &selection, chosen, NULL);
    if (!rc && wp_snapshot_counterpart(&older, &newer, chosen, counterpart, NULL))
        *counterpart = 0;
    wp_snapshot_end(&older);
    wp_snapshot_end(&newer);
    return rc == -ENOMEM ? rc : 0;
}

int wp_operands_read(struct wp_facts facts[2], const struct wp_stores *stores, const struct wp_operand_spec spec[2],
    const char *aggregate, struct wp_error *err)
{
    struct wp_operand_parts parts[2] = {{0}};
    char chosen[2][WP_ID_ROOM];
    int rc = 0;
    for (int i = 0; i < 2; i++)
        memset(&facts[i], 0, sizeof(facts[i]));
    if (!spec[0].same_time) {
        rc = find_counterpart(stores, spec, aggregate, chosen[0]);
        rc = rc ? wp_error_set(err, rc, "out of memory for the two operands")
                : wp_operand_read(&facts[0], stores, &spec[0], *chosen[0] ? chosen[0] : aggregate, err);
        return rc ? rc : wp_operand_read(&facts[1], stores, &spec[1], aggregate, err);
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
        wp_operand_parts_meet(&parts[0], &parts[1]);
    for (int i = 0; i < 2 && !rc; i++)
        rc = wp_operand_parts_facts(&facts[i], &parts[i], &snapshot[i], chosen[i], &spec[i], err);
    for (int i = 0; i < begun; i++)
        wp_snapshot_end(&snapshot[i]);
    wp_operand_parts_fini(&parts[0]);
    wp_operand_parts_fini(&parts[1]);
    return rc;
}

int wp_operand_read(struct wp_facts *facts, const struct wp_stores *stores, const struct wp_operand_spec *spec,
    const char *aggregate, struct wp_error *err)
{
    struct wp_selection selection = {.since_s = spec->since_s, .until_s = spec->until_s};
    struct wp_snapshot snapshot;
    char chosen[WP_ID_ROOM];
    memset(facts, 0, sizeof(*facts));
    int rc = wp_snapshot_begin(&snapshot, stores, spec->release, err);
    if (rc)
        return rc;
    if (*spec->host) {
        struct wp_operand_parts parts;
        rc = read_parts(&parts, &snapshot, spec, aggregate, chosen, err);
        if (!rc)
            rc = wp_operand_parts_facts(facts, &parts, &snapshot, chosen, spec, err);
    } else {
        rc = wp_aggregate_choose(&snapshot, *spec->aggregate ? spec->aggregate : aggregate, &selection, chosen, err);
        if (!rc)
            rc = wp_facts_read_windows(facts, &snapshot, chosen, &selection,
                &(struct wp_facts_windows){.fits_pages = spec->fits_pages, .contour = spec->contour}, err);
    }
    wp_snapshot_end(&snapshot);
    return rc;
}
