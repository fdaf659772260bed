/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_index.h"

#include "reporter/display/humanize.h"
#include "reporter/page/page_release.h"
#include "reporter/page/page_tables.h"

#include <errno.h>
#include <string.h>

static size_t worse(const struct wp_aggregate_summary *row)
{
    return row->worse > row->stored_worse ? row->worse : row->stored_worse;
}

static size_t better(const struct wp_aggregate_summary *row)
{
    return row->better > row->stored_better ? row->better : row->stored_better;
}

/* What the comparison on these pages found, or a check that was kept in the store and found more. */
static void mark(struct wp_item *item, const struct wp_aggregate_summary *row)
{
    item->worse += worse(row);
    item->better += better(row);
}

static const char *note_of(const struct wp_aggregate_summary *row)
{
    return row->change ? row->change : row->finding_count ? row->findings[0].sentence : "Nothing was recorded.";
}

/* Commands of one release have one name and different digests: the command says which. */
static const char *label_of(struct wp_pool *pool, const struct wp_aggregate_summary *row)
{
    return *row->recorded && strchr(row->name, '~') ? wp_pool_printf(pool, "%s (%s)", row->recorded, row->name)
                                                    : row->name;
}

static struct wp_item *add_card(struct wp_display *display, const char *release, const struct wp_aggregate_summary *row,
    const char *label, struct wp_link link)
{
    struct wp_pool *pool = &display->pool;
    struct wp_item *item = wp_display_add(display, WP_ITEM_CARD, label);
    if (!item)
        return NULL;
    item->link = link;
    item->parts = row->categories;
    item->label = wp_pool_printf(pool, "%s wall, %s total, %s accounted for", wp_human_duration(pool, row->wall_ns),
        wp_human_duration(pool, row->total_ns), wp_human_percent(pool, row->accounted_percent));
    mark(item, row);
    item->note = note_of(row);
    if (row->unsampled && *row->unsampled)
        wp_display_add(
            display, WP_ITEM_NOTICE, wp_pool_printf(pool, "%s in release %s: %s", row->name, release, row->unsampled));
    if (row->damage_count)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool, "Left out of %s in release %s: %s.", row->name, release,
                wp_human_many(pool, row->damage_count, "damaged value")));
    return item;
}

#define TREND_RELEASES 40u
#define CARDS TREND_RELEASES /* of the newest; the others stand in a table */

/* What a trend is of: TREND_WALL, TREND_ACCOUNTED, or a category's share. */
enum { TREND_ACCOUNTED = -2, TREND_WALL = -1 };

static struct wp_point trend_point(
    struct wp_pool *pool, const struct wp_release_summary *release, const struct wp_aggregate_summary *row, int figure)
{
    double share = figure >= 0 ? 100 * (double)row->categories[figure] / (double)row->total_ns : row->accounted_percent;
    const char *text = figure == TREND_WALL ? wp_human_duration(pool, row->wall_ns)
        : figure == TREND_ACCOUNTED         ? wp_human_percent(pool, share)
                                            : wp_human_share(pool, row->categories[figure], row->total_ns);
    return (struct wp_point){figure == TREND_WALL ? (double)row->wall_ns : share,
        wp_pool_printf(pool, "%s: %s", release->id, text), release->is_dirty};
}

/* The card speaks of one aggregate; its marks are of all. Where only another one got worse, or else better, that
 * has the word. */
static void mark_others(struct wp_pool *pool, struct wp_item *card, const struct wp_release_summary *release,
    const struct wp_aggregate_summary *row)
{
    const struct wp_aggregate_summary *worst = row, *best = row;
    for (const struct wp_aggregate_summary *other = release->first; other; other = other->next) {
        if (other == row)
            continue;
        mark(card, other);
        if (worse(other) > worse(worst) && !worse(row) && other->change)
            worst = other;
        if (better(other) > better(best) && !worse(row) && !better(row) && other->change)
            best = other;
    }
    if (worst == row)
        worst = best;
    if (worst != row)
        card->note = wp_pool_printf(pool, "%s: %s", worst->name, worst->change);
}

/* One line over the newest releases for a figure of the aggregate that speaks for each. */
static void add_trend(struct wp_display *display, const struct wp_site_summary *site, const char *label, int figure)
{
    struct wp_pool *pool = &display->pool;
    struct wp_point *points = wp_pool_alloc(pool, TREND_RELEASES * sizeof(*points));
    size_t count = 0;
    for (const struct wp_release_summary *release = site->first; points && release && count < TREND_RELEASES;
         release = release->next) {
        const struct wp_aggregate_summary *row = wp_summary_main(release);
        if (row && row->total_ns) /* the newest come first here and stand last on the line */
            points[TREND_RELEASES - ++count] = trend_point(pool, release, row, figure);
    }
    if (count < 2)
        return;
    const struct wp_point *newest = &points[TREND_RELEASES - 1];
    struct wp_item *item = wp_display_add(display, WP_ITEM_TREND, newest->text);
    if (!item)
        return;
    item->label = label;
    item->note = wp_pool_printf(pool, "over %zu releases, from %s", count, points[TREND_RELEASES - count].text);
    item->points = &points[TREND_RELEASES - count];
    item->number = count;
}

/* Categories that are worth a hundredth of some release's time. */
static void add_category_trends(struct wp_display *display, const struct wp_site_summary *site)
{
    bool is_open = false;
    for (int category = 0; category < WP_CATEGORIES; category++) {
        bool is_large = false;
        size_t seen = 0;
        for (const struct wp_release_summary *release = site->first; release && seen < TREND_RELEASES;
             release = release->next) {
            const struct wp_aggregate_summary *row = wp_summary_main(release);
            seen += row && row->total_ns;
            is_large |= row && row->categories[category] > row->total_ns / 100;
        }
        if (!is_large || seen < 2)
            continue;
        if (!is_open)
            wp_display_add(display, WP_ITEM_DETAILS, "What the time was, release by release");
        is_open = true;
        add_trend(display, site, wp_category_title((enum wp_category)category), category);
    }
    if (is_open)
        wp_display_add(display, WP_ITEM_END, NULL);
}

static const char *release_label(struct wp_pool *pool, const struct wp_release_summary *release)
{
    return release->is_dirty ? wp_pool_printf(pool, "%s (with changes that were not committed)", release->id)
                             : release->id;
}

static void add_damaged(struct wp_display *display, const struct wp_release_summary *release)
{
    wp_display_add(display, WP_ITEM_NOTICE,
        wp_pool_printf(&display->pool, "Release %s cannot be read: its data.mdb is damaged.", release->id));
}

int wp_page_release(struct wp_display *display, const struct wp_release_summary *release,
    const struct wp_release_facts *facts, struct wp_error *err)
{
    struct wp_pool *pool = &display->pool;
    display->title = wp_pool_printf(pool, "Release %s", release_label(pool, release));
    display->subtitle = release->aggregate_count == 1
        ? "One aggregate"
        : wp_pool_printf(pool, "%zu aggregates", release->aggregate_count);
    if (*release->commit)
        wp_display_add(display, WP_ITEM_PARAGRAPH, release->commit);
    for (const struct wp_aggregate_summary *row = release->first; row; row = row->next)
        add_card(
            display, release->id, row, label_of(pool, row), wp_link_to(WP_PAGE_OVERVIEW, release->id, row->name, NULL));
    if (release->is_damaged)
        add_damaged(display, release);
    else if (!release->first)
        wp_display_add(display, WP_ITEM_PARAGRAPH, "This release has no reports yet.");
    if (facts)
        wp_page_release_facts(display, release, facts);
    return display->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the page of release %s", release->id)
                                : 0;
}

/* One release with one aggregate: the first page says what its overview says, in short. */
static void add_single(struct wp_display *display, const struct wp_release_summary *release)
{
    const struct wp_aggregate_summary *row = release->first;
    struct wp_pool *pool = &display->pool;
    struct wp_page_id flame = {WP_PAGE_FLAME, release->id, row->name};
    display->title = row->title;
    display->tab_release = release->id;
    display->tab_aggregate = row->name;
    display->tab_compare = row->change != NULL;
    display->subtitle = row->subtitle;
    if (*release->commit)
        wp_display_add(display, WP_ITEM_PARAGRAPH, release->commit);
    if (row->unsampled && *row->unsampled)
        wp_display_add(display, WP_ITEM_NOTICE, row->unsampled);
    for (size_t i = 0; i < row->finding_count; i++) {
        struct wp_item *item = wp_display_add(display, WP_ITEM_FINDING, row->findings[i].sentence);
        if (!item)
            return;
        item->number = i + 1;
        item->link = wp_link_to(row->findings[i].page, release->id, row->name, row->findings[i].fragment);
    }
    wp_display_fact(display, "Wall time", wp_human_duration(pool, row->wall_ns), "first to last activity");
    wp_display_fact(display, "Total time", wp_human_duration(pool, row->total_ns), row->base);
    wp_display_fact(display, "Accounted for", wp_human_percent(pool, row->accounted_percent), "of the total");
    wp_display_fact(display, "Processes", wp_human_count(pool, row->process_count),
        row->host_count == 1 ? "on one host" : wp_pool_printf(pool, "on %zu hosts", row->host_count));
    wp_display_fact(display, "Recorded", wp_human_time(pool, row->first_ns), NULL);
    if (row->damage_count)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool, "Left out: %s.", wp_human_many(pool, row->damage_count, "damaged value")));
    wp_display_heading(display, "Where the time went");
    struct wp_item *bar = wp_display_add(display, WP_ITEM_BAR, NULL);
    if (bar)
        bar->parts = row->categories;
    wp_page_categories(display, row->categories, &flame);
}

static struct wp_link release_link(const struct wp_release_summary *release, const struct wp_aggregate_summary *row)
{
    return release->aggregate_count == 1 ? wp_link_to(WP_PAGE_OVERVIEW, release->id, row->name, NULL)
                                         : wp_link_to(WP_PAGE_RELEASE, release->id, NULL, NULL);
}

static void add_release(struct wp_display *display, const struct wp_release_summary *release)
{
    struct wp_pool *pool = &display->pool;
    const struct wp_aggregate_summary *row = wp_summary_main(release);
    if (release->is_damaged)
        add_damaged(display, release);
    struct wp_item *card = !row
        ? NULL
        : add_card(display, release->id, row,
              release->aggregate_count == 1
                  ? release_label(pool, release)
                  : wp_pool_printf(pool, "%s (%zu aggregates, here %s)", release_label(pool, release),
                        release->aggregate_count, label_of(pool, row)),
              release_link(release, row));
    if (card && *release->commit)
        card->label = wp_pool_printf(pool, "%s. %s", release->commit, card->label);
    if (card)
        mark_others(pool, card, release, row);
}

/* A row says what a card does; a long history is looked through by name, time or what changed. */
static void put_older(struct wp_pool *pool, struct wp_field *row, const struct wp_release_summary *release)
{
    const struct wp_aggregate_summary *speaks = wp_summary_main(release);
    row[0].text = release_label(pool, release);
    row[1].text = speaks ? speaks->name : "";
    row[7].text = release->commit;
    if (!speaks) {
        row[6].text =
            release->is_damaged ? "Cannot be read: its data.mdb is damaged." : "This release has no reports yet.";
        row[2].is_none = row[4].is_none = row[5].is_none = true;
        row[3].text = "";
        row[3].value = -1;
        return;
    }
    struct wp_item card = {.note = note_of(speaks)};
    mark(&card, speaks);
    mark_others(pool, &card, release, speaks);
    row[0].link = release_link(release, speaks);
    row[2].number = speaks->wall_ns;
    row[3].text = wp_human_percent(pool, speaks->accounted_percent);
    row[3].value = speaks->accounted_percent;
    row[4].number = card.worse;
    row[5].number = card.better;
    row[6].text = speaks->damage_count ? wp_pool_printf(pool, "%s Left out: %s.", card.note,
                                             wp_human_many(pool, speaks->damage_count, "damaged value"))
                                       : card.note;
}

static void add_older(struct wp_display *display, const struct wp_release_summary *release, size_t count)
{
    static const struct wp_column columns[] = {
        {"Release", NULL, WP_CELL_NAME},
        {"Aggregate", "That speaks for it", WP_CELL_NAME},
        {"Wall time", NULL, WP_CELL_DURATION},
        {"Accounted for", "Of the total", WP_CELL_VALUE},
        {"Worse", "Rows that take longer than in the release before", WP_CELL_COUNT},
        {"Better", "Rows that take less", WP_CELL_COUNT},
        {"What changed, or was found", NULL, WP_CELL_TEXT},
        {"Commit", NULL, WP_CELL_TEXT},
    };
    wp_display_heading(display, "Older releases");
    struct wp_table *table = wp_display_table(display, "releases", columns, 8, count);
    table->searchable = true;
    for (; release; release = release->next) {
        struct wp_field *row = wp_display_row(table);
        if (row)
            put_older(&display->pool, row, release);
    }
}

int wp_page_index(struct wp_display *display, const struct wp_site_summary *site, struct wp_error *err)
{
    struct wp_pool *pool = &display->pool;
    display->title = "Where did the time go?";
    display->subtitle = site->release_count < 2
        ? (site->release_count ? "One release" : "No release")
        : wp_pool_printf(pool, "%s, newest first%s", wp_human_many(pool, site->release_count, "release"),
              site->is_history ? ", in the order of their history" : "");
    if (site->release_count == 1 && site->first->aggregate_count == 1) {
        add_single(display, site->first);
    } else {
        add_trend(display, site, "Wall time", TREND_WALL);
        add_trend(display, site, "Accounted for", TREND_ACCOUNTED);
        add_category_trends(display, site);
        const struct wp_release_summary *release = site->first;
        for (size_t i = 0; release && i < CARDS; release = release->next, i++)
            add_release(display, release);
        if (release)
            add_older(display, release, site->release_count - CARDS);
        if (!site->aggregate_count)
            wp_display_add(display, WP_ITEM_PARAGRAPH, "The store has no reports yet.");
    }
    return display->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the index") : 0;
}
