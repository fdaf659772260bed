/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/site_summary.h"

#include "reporter/facts/beside.h"
#include "reporter/findings/findings.h"
#include "reporter/recording/recorded_title.h"
#include "reporter/recording/release_overlap.h"
#include "reporter/recording/unsampled.h"

#include <string.h>

struct wp_release_summary *wp_summary_release(struct wp_site_summary *site, const char *id)
{
    struct wp_release_summary *release = wp_pool_alloc(&site->pool, sizeof(*release));
    if (!release)
        return NULL;
    release->id = wp_pool_text(&site->pool, id);
    release->commit = "";
    if (site->last)
        site->last->next = release;
    else
        site->first = release;
    site->last = release;
    site->release_count++;
    return release;
}

static void copy_findings(struct wp_site_summary *site, struct wp_aggregate_summary *row, const struct wp_facts *facts)
{
    size_t first[3];
    row->finding_count = wp_findings_first(facts, first);
    for (size_t i = 0; i < row->finding_count; i++) {
        const struct wp_finding *finding = &facts->findings[first[i]];
        row->findings[i].sentence = wp_pool_text(&site->pool, finding->sentence);
        row->findings[i].fragment = finding->fragment ? wp_pool_text(&site->pool, finding->fragment) : NULL;
        row->findings[i].page = finding->page;
    }
}

static void take_checks(struct wp_site_summary *site, struct wp_aggregate_summary *row, const struct wp_facts *facts)
{
    struct wp_stored_check *checks;
    row->check_count = wp_stored_checks_read(&checks, &site->pool, &facts->metadata);
    row->checks = checks;
    for (size_t i = 0; i < row->check_count; i++) {
        checks[i].against = wp_pool_text(&site->pool, checks[i].against); /* the key is the facts' */
        row->stored_worse = checks[i].worse > row->stored_worse ? checks[i].worse : row->stored_worse;
        row->stored_better = checks[i].better > row->stored_better ? checks[i].better : row->stored_better;
    }
}

static void copy_overlaps(
    struct wp_site_summary *site, struct wp_aggregate_summary *row, const struct wp_page_context *context)
{
    struct wp_release_overlap *overlaps = wp_pool_alloc(&site->pool, (context->overlap_count + 1) * sizeof(*overlaps));
    for (size_t i = 0; overlaps && i < context->overlap_count; i++) {
        overlaps[i] = context->overlaps[i];
        overlaps[i].release = wp_pool_text(&site->pool, overlaps[i].release);
        overlaps[i].here = wp_pool_text(&site->pool, overlaps[i].here);
        overlaps[i].there = wp_pool_text(&site->pool, overlaps[i].there);
        row->overlap_count++;
    }
    row->overlaps = overlaps;
}

struct wp_aggregate_summary *wp_summary_row(struct wp_site_summary *site, struct wp_release_summary *release)
{
    struct wp_aggregate_summary *row = wp_pool_alloc(&site->pool, sizeof(*row));
    if (!row)
        return NULL;
    row->recorded = row->title = row->subtitle = row->base = "";
    if (release->last)
        release->last->next = row;
    else
        release->first = row;
    release->last = row;
    release->aggregate_count++;
    site->aggregate_count++;
    return row;
}

struct wp_aggregate_summary *wp_summary_add(
    struct wp_site_summary *site, struct wp_release_summary *release, const struct wp_page_context *context)
{
    const struct wp_facts *facts = context->facts;
    struct wp_aggregate_summary *row = wp_summary_row(site, release);
    if (!row)
        return NULL;
    row->name = wp_pool_text(&site->pool, facts->aggregate);
    row->recorded = wp_recorded_what(&site->pool, facts);
    row->title = wp_recorded_title(&site->pool, facts);
    row->subtitle = wp_recorded_subtitle(&site->pool, facts);
    row->base = wp_beside_base(facts);
    row->wall_ns = facts->wall_ns;
    row->total_ns = facts->total_ns;
    memcpy(row->categories, facts->categories, sizeof(row->categories));
    row->first_ns = facts->first_ns;
    row->last_ns = facts->last_ns;
    row->accounted_percent = facts->accounted_percent;
    row->coverage = facts->coverage;
    row->events_total = facts->events_total;
    row->events_dropped = facts->events_dropped;
    row->host_count = facts->host_count;
    row->process_count = facts->process_count;
    row->damage_count = facts->damage_count;
    row->worse = context->changed_worse;
    row->better = context->changed_better;
    take_checks(site, row, facts);
    copy_overlaps(site, row, context);
    row->change = context->change ? wp_pool_text(&site->pool, context->change) : NULL;
    const char *unsampled = wp_unsampled_sentence(&site->pool, facts);
    row->unsampled = unsampled ? unsampled : "";
    copy_findings(site, row, facts);
    if (row->last_ns > release->last_ns)
        release->last_ns = row->last_ns;
    return row;
}

const struct wp_aggregate_summary *wp_summary_main(const struct wp_release_summary *release)
{
    const struct wp_aggregate_summary *best = release->first;
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next) {
        if (!strcmp(row->name, "main"))
            return row;
        if (row->total_ns > best->total_ns)
            best = row;
    }
    return best;
}

void wp_summary_fini(struct wp_site_summary *site)
{
    wp_pool_fini(&site->pool);
    memset(site, 0, sizeof(*site));
}
