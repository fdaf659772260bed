/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_release.h"

#include "common/clock.h"
#include "reporter/display/humanize.h"
#include "reporter/page/page_hosts.h"
#include "reporter/recording/hosts.h"
#include "reporter/recording/release_overlap.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TABLE_ROWS 1000u
#define NAME_BYTES 160u

static void add_aggregates(struct wp_display *display, const struct wp_release_summary *release)
{
    static const struct wp_column columns[] = {
        {"Aggregate", NULL, WP_CELL_NAME},
        {"Wall time", NULL, WP_CELL_DURATION},
        {"Total", NULL, WP_CELL_DURATION},
        {"Accounted for", "Of the total", WP_CELL_VALUE},
        {"Coverage", "Of the time was recorded", WP_CELL_VALUE},
        {"Hosts", NULL, WP_CELL_COUNT},
        {"Processes", NULL, WP_CELL_COUNT},
        {"Events", NULL, WP_CELL_COUNT},
        {"Lost", "Events that were not kept", WP_CELL_COUNT},
        {"Damaged", "Values that cannot be read", WP_CELL_COUNT},
        {"Recorded", "Command and workload", WP_CELL_NAME},
    };
    size_t count = release->aggregate_count;
    bool has_recorded = false;
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        has_recorded |= *row->recorded != 0;
    struct wp_table *table = wp_display_table(
        display, "aggregates", columns, has_recorded ? 11 : 10, count < TABLE_ROWS ? count : TABLE_ROWS);
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next) {
        struct wp_field *field = wp_display_row(table);
        if (!field)
            continue;
        field[0].text = row->name;
        field[0].link = wp_link_to(WP_PAGE_OVERVIEW, release->id, row->name, NULL);
        field[1].number = row->wall_ns;
        field[2].number = row->total_ns;
        field[3].text = wp_human_percent(&display->pool, row->accounted_percent);
        field[3].value = row->accounted_percent;
        field[4].text = wp_human_percent(&display->pool, 100 * row->coverage);
        field[4].value = row->coverage;
        field[5].number = row->host_count;
        field[6].number = row->process_count;
        field[7].number = row->events_total;
        field[8].number = row->events_dropped;
        field[9].number = row->damage_count;
        if (has_recorded)
            field[10].text = row->recorded;
    }
}

static void add_buckets(struct wp_display *display, const struct wp_release_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Aggregate", NULL, WP_CELL_NAME},
        {"Recorded with", NULL, WP_CELL_NAME},
        {"Of", NULL, WP_CELL_NAME},
    };
    struct wp_table *table = wp_display_table(display, "buckets", columns, 3, facts->bucket_count);
    for (size_t i = 0; i < facts->bucket_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            break;
        row[0].text = facts->buckets[i].aggregate;
        row[1].text = wp_pool_clip(&display->pool, facts->buckets[i].key, NAME_BYTES);
        row[2].text = wp_pool_clip(&display->pool, facts->buckets[i].value, NAME_BYTES);
    }
}

static void add_shards(struct wp_display *display, const struct wp_release_facts *facts)
{
    static const struct wp_column columns[] = {{"Shard", "One aggregator's share of the data", WP_CELL_NAME}};
    struct wp_table *table = wp_display_table(
        display, "shards", columns, 1, facts->shard_count < TABLE_ROWS ? facts->shard_count : TABLE_ROWS);
    table->empty = "No shard has registered.";
    for (size_t i = 0; i < facts->shard_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (row)
            row[0].text = wp_pool_clip(&display->pool, facts->shards[i], NAME_BYTES);
    }
}

/* Hosts say theirs in their own tables; what is left was given by people and their scripts. */
static bool is_peoples(const char *key)
{
    return strncmp(key, "host.", 5) && strncmp(key, "network.", 8);
}

static void add_metadata(struct wp_display *display, const struct wp_release_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Key", NULL, WP_CELL_NAME},
        {"Value", NULL, WP_CELL_NAME},
        {"Said by", "Shard", WP_CELL_NAME},
        {"When", NULL, WP_CELL_TEXT},
    };
    const struct wp_metadata *metadata = &facts->metadata;
    struct wp_table *table =
        wp_display_table(display, "metadata", columns, 4, metadata->count < TABLE_ROWS ? metadata->count : TABLE_ROWS);
    table->empty = "None was given; wakepath-store metadata adds some.";
    for (size_t i = 0; i < metadata->count; i++) {
        const struct wp_metadata_fact *fact = &metadata->rows[i];
        bool is_winner = !i || strcmp(fact->key, metadata->rows[i - 1].key);
        struct wp_field *row = is_peoples(fact->key) && is_winner ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, fact->key, NAME_BYTES);
        row[1].text = wp_pool_clip(&display->pool, fact->value, NAME_BYTES);
        row[2].text = wp_pool_clip(&display->pool, fact->shard, NAME_BYTES);
        row[3].text =
            wp_human_time(&display->pool, fact->real_s < UINT64_MAX / WP_NS_PER_S ? fact->real_s * WP_NS_PER_S : 0);
    }
}

static void add_checks(struct wp_display *display, const struct wp_release_summary *release)
{
    static const struct wp_column columns[] = {
        {"Aggregate", NULL, WP_CELL_NAME},
        {"Against", NULL, WP_CELL_NAME},
        {"Method", NULL, WP_CELL_TEXT},
        {"Worse", "Rows that take longer", WP_CELL_COUNT},
        {"Better", "Rows that take less", WP_CELL_COUNT},
        {"Severity", "Of the first finding", WP_CELL_TEXT},
        {"Confidence", "As the method tells it", WP_CELL_VALUE},
        {"First finding", NULL, WP_CELL_STACK},
        {"When", NULL, WP_CELL_TEXT},
    };
    size_t count = 0;
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        count += row->check_count;
    if (!count)
        return;
    wp_display_heading(display, "Checks");
    wp_display_add(display, WP_ITEM_PARAGRAPH, "What `wakepath-reporter check --keep` found, as it was then.");
    struct wp_table *table = wp_display_table(display, "checks", columns, 9, count < TABLE_ROWS ? count : TABLE_ROWS);
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        for (size_t i = 0; i < row->check_count; i++) {
            const struct wp_stored_check *check = &row->checks[i];
            struct wp_field *field = wp_display_row(table);
            if (!field)
                continue;
            field[0].text = row->name;
            field[0].link = wp_link_to(WP_PAGE_OVERVIEW, release->id, row->name, NULL);
            field[1].text = wp_pool_clip(&display->pool, check->against, NAME_BYTES);
            field[2].text = check->method;
            field[3].number = check->worse;
            field[4].number = check->better;
            field[5].text = check->severity;
            field[6].text = isnan(check->confidence) ? "–" : wp_pool_printf(&display->pool, "%.3g", check->confidence);
            field[6].value = check->confidence;
            field[7].text = check->sentence;
            field[8].text = wp_human_time(
                &display->pool, check->real_s < UINT64_MAX / WP_NS_PER_S ? check->real_s * WP_NS_PER_S : 0);
        }
}

/* From the metadata alone: the aggregates' own pages say what their hosts did. */
static void add_hosts(struct wp_display *display, const struct wp_release_facts *release)
{
    const struct wp_facts facts = {.release_metadata = release->metadata};
    struct wp_hosts hosts;
    wp_hosts_build(&hosts, &display->pool, &facts);
    if (display->pool.failed || !hosts.has_identity)
        return;
    wp_display_heading(display, "Hosts");
    wp_page_host_identities(display, &hosts);
    wp_display_heading(display, "Clocks, and messages from elsewhere");
    wp_page_host_clocks(display, &hosts);
}

static void add_figures(
    struct wp_display *display, const struct wp_release_summary *release, const struct wp_release_facts *facts)
{
    struct wp_pool *pool = &display->pool;
    uint64_t first = 0, dropped = 0, damaged = 0;
    double coverage = 1;
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next) {
        first = row->first_ns && (!first || row->first_ns < first) ? row->first_ns : first;
        coverage = row->coverage < coverage ? row->coverage : coverage;
        dropped = row->events_dropped > dropped ? row->events_dropped : dropped; /* of the same events: no sum */
        damaged += row->damage_count;
    }
    wp_display_fact(display, "Recorded from", wp_human_time(pool, first), NULL);
    wp_display_fact(display, "To", wp_human_time(pool, release->last_ns), NULL);
    wp_display_fact(display, "Recordings", wp_human_count(pool, facts->sessions), "sessions of collectors");
    wp_display_fact(display, "Coverage", wp_human_percent(pool, 100 * coverage), "of the time, at least");
    wp_display_fact(display, "Lost", wp_human_count(pool, dropped), "events");
    if (damaged || facts->damage)
        wp_display_add(display, WP_ITEM_NOTICE,
            facts->damage ? wp_pool_printf(pool, "Damaged and left out: metadata (%s).", facts->damage)
                          : wp_pool_printf(pool, "Left out: %s; the aggregates' pages name what.",
                                wp_human_many(pool, damaged, "damaged value")));
}

void wp_page_release_facts(
    struct wp_display *display, const struct wp_release_summary *release, const struct wp_release_facts *facts)
{
    if (release->first)
        add_figures(display, release, facts);
    if (release->first) {
        wp_display_heading(display, "Aggregates");
        add_aggregates(display, release);
    }
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        if (row->overlap_count)
            wp_display_add(display, WP_ITEM_NOTICE,
                wp_pool_printf(&display->pool, "%s: %s", row->name,
                    wp_release_overlap_sentence(&display->pool, row->overlaps, row->overlap_count)));
    add_checks(display, release);
    if (facts->bucket_count) {
        wp_display_heading(display, "What tells aggregates of one name apart");
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            "They were sampled at another rate, explained with other tolerances or picked "
            "by another selector, so they are never summed.");
        add_buckets(display, facts);
    }
    add_hosts(display, facts);
    wp_display_heading(display, "Metadata");
    add_metadata(display, facts);
    wp_display_heading(display, "Shards");
    add_shards(display, facts);
}
