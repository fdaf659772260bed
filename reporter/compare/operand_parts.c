/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/operand_parts.h"

#include "common/array.h"
#include "reporter/facts/contour.h"
#include "reporter/load/facts_read.h"
#include "reporter/recording/recorded_command.h"
#include "storage/report/report_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_LIMIT 200000u

static int add_part(struct wp_operand_parts *parts, uint64_t timebox_s, struct wp_report *report)
{
    if (parts->count >= PARTS_LIMIT * 2 || WP_ARRAY_FIT(parts->rows, parts->room, parts->count + 1))
        return -ENOMEM;
    parts->rows[parts->count++] = (struct wp_operand_part){timebox_s, report};
    return 0;
}

static int compare_parts(const void *left, const void *right)
{
    const struct wp_operand_part *a = left, *b = right;
    return a->timebox_s != b->timebox_s ? (a->timebox_s < b->timebox_s ? -1 : 1) : 0;
}

static int take_share(void *context, const struct wp_share *share, struct wp_error *err)
{
    if (!add_part(context, share->timebox_s, share->report))
        return 0;
    wp_report_destroy(share->report);
    return wp_error_set(err, -ENOMEM, "out of memory for a side");
}

int wp_operand_parts_read(struct wp_operand_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_operand_spec *spec, struct wp_error *err)
{
    struct wp_selection selection = {
        .since_s = spec->since_s, .until_s = spec->until_s, .hosts = *spec->host ? spec->host : NULL};
    memset(parts, 0, sizeof(*parts));
    int rc = wp_snapshot_shares(snapshot, aggregate, &selection, take_share, parts, err);
    if (parts->count)
        qsort(parts->rows, parts->count, sizeof(*parts->rows), compare_parts);
    if (rc)
        wp_operand_parts_fini(parts);
    return rc;
}

static void keep_common(struct wp_operand_parts *parts, const bool *is_common)
{
    size_t kept = 0;
    for (size_t i = 0; i < parts->count; i++) {
        if (is_common[i])
            parts->rows[kept++] = parts->rows[i];
        else
            wp_report_destroy(parts->rows[i].report);
    }
    parts->count = kept;
}

static bool has_box(const struct wp_operand_parts *parts, uint64_t timebox_s)
{
    size_t low = WP_LOWER_BOUND(middle, 0, parts->count, parts->rows[middle].timebox_s < timebox_s);
    return low < parts->count && parts->rows[low].timebox_s == timebox_s;
}

void wp_operand_parts_meet(struct wp_operand_parts *a, struct wp_operand_parts *b)
{
    bool *in_b = calloc(a->count + b->count + 1, sizeof(*in_b)), *in_a = in_b + a->count;
    for (size_t i = 0; i < a->count && in_b; i++)
        in_b[i] = has_box(b, a->rows[i].timebox_s);
    for (size_t i = 0; i < b->count && in_b; i++)
        in_a[i] = has_box(a, b->rows[i].timebox_s);
    if (!in_b) { /* without memory nothing is in common: the reader says that there is nothing */
        wp_operand_parts_fini(a);
        wp_operand_parts_fini(b);
        return;
    }
    keep_common(a, in_b);
    keep_common(b, in_a);
    free(in_b);
}

int wp_operand_parts_facts(struct wp_facts *facts, struct wp_operand_parts *parts, const struct wp_snapshot *snapshot,
    const char *aggregate, const struct wp_operand_spec *spec, struct wp_error *err)
{
    struct wp_report *sum = NULL;
    struct wp_recordings recordings = {0};
    int rc = parts->count ? 0
        : spec->same_time ? wp_error_set(err, -ENOENT, "no timebox of aggregate %s of release %s has both operands%s%s",
                                aggregate, snapshot->release, *spec->host ? ", here hosts " : "", spec->host)
                          : wp_error_set(err, -ENOENT, "release %s has nothing of host %s in aggregate %s",
                                snapshot->release, spec->host, aggregate);
    for (size_t i = 0; i < parts->count && !rc; i++) {
        if (sum)
            rc = wp_report_merge(sum, parts->rows[i].report, err);
        else
            sum = parts->rows[i].report;
        if (sum == parts->rows[i].report)
            parts->rows[i].report = NULL;
    }
    if (!rc)
        rc = wp_snapshot_recordings(snapshot, *spec->host ? spec->host : NULL, &recordings, err);
    wp_operand_parts_fini(parts);
    if (!rc)
        rc = wp_contour_apply(&sum, spec->contour, err);
    if (rc) {
        wp_report_destroy(sum);
        return rc;
    }
    rc = wp_facts_build(facts, spec->release, aggregate, sum, NULL, err);
    struct wp_recorded_command command = {0};
    if (!rc)
        rc = wp_recorded_command(snapshot, aggregate, &command, err);
    facts->is_command = command.is_command;
    facts->recordings = wp_recorded_times(&command, recordings.at_least);
    wp_facts_set_contour(facts, spec->contour);
    facts->group = *spec->host ? wp_pool_text(&facts->pool, spec->host) : NULL;
    return rc;
}

void wp_operand_parts_fini(struct wp_operand_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        wp_report_destroy(parts->rows[i].report);
    free(parts->rows);
    memset(parts, 0, sizeof(*parts));
}
