/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare_findings.h"
#include "reporter/humanize.h"
#include "reporter/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HOP_ROWS 60u
#define OTHER_ROWS 25u
#define DIGEST_ROWS 15u
#define FINDINGS 3u

static struct wp_link link_of(const struct wp_compare *compare, struct wp_display *display,
    const struct wp_change *change)
{
    const struct wp_side *after = &compare->side[WP_AFTER];
    if (!change->permalink || display->query.page != WP_PAGE_COMPARE)
        return (struct wp_link){0};
    return wp_link_to(WP_PAGE_COMPARE, after->release, after->aggregate,
        wp_pool_printf(&display->pool, "node=%08" PRIx32, change->permalink));
}

static void add_findings(struct wp_display *display, const struct wp_compare *compare)
{
    const struct wp_change *first[FINDINGS];
    size_t count = wp_compare_first(compare, first, FINDINGS);
    for (size_t i = 0; i < count; i++) {
        struct wp_item *item = wp_display_add(display, WP_ITEM_FINDING,
            wp_compare_sentence(&display->pool, compare, first[i]));
        if (!item)
            return;
        item->number = i + 1;
        item->link = link_of(compare, display, first[i]);
    }
    if (!count)
        wp_display_add(display, WP_ITEM_PARAGRAPH, wp_compare_summary(&display->pool, compare));
}

static void add_notices(struct wp_display *display, const struct wp_compare *compare)
{
    struct wp_pool *pool = &display->pool;
    for (int i = 0; i < 2; i++) {
        const struct wp_side *side = &compare->side[i];
        if (!side->buckets)
            wp_display_add(display, WP_ITEM_NOTICE,
                wp_pool_printf(pool, "%s holds no samples of when its time was (an older version recorded it): changes are "
                    "shown and not tested.", side->label));
        else if (side->sampled_ns < side->total_ns - side->total_ns / 50)
            wp_display_add(display, WP_ITEM_NOTICE,
                wp_pool_printf(pool, "Only %s of the time of %s says when it was; the rest is not compared.",
                    wp_human_share(pool, side->sampled_ns, side->total_ns), side->label));
        else if (side->buckets < 4)
            wp_display_add(display, WP_ITEM_NOTICE,
                wp_pool_printf(pool, "%s is too short to tell what varies by itself: changes are shown and not tested.",
                    side->label));
    }
}

static void add_facts(struct wp_display *display, const struct wp_compare *compare)
{
    struct wp_pool *pool = &display->pool;
    const struct wp_side *before = &compare->side[WP_BEFORE], *after = &compare->side[WP_AFTER];
    wp_display_fact(display, "Takes longer", wp_human_count(pool, compare->worse),
        wp_pool_printf(pool, "of %zu rows, surely and by %.3g %% or more",
            compare->worse + compare->better + compare->same + compare->few, compare->options.threshold_percent));
    wp_display_fact(display, "Takes less", wp_human_count(pool, compare->better),
        compare->few ? wp_pool_printf(pool, "%zu %s too small to tell", compare->few,
            compare->few == 1 ? "row is" : "rows are") : NULL);
    wp_display_fact(display, "Wall time", wp_human_duration(pool, after->wall_ns),
        wp_pool_printf(pool, "instead of %s", wp_human_duration(pool, before->wall_ns)));
    wp_display_fact(display, "Accounted for", wp_human_percent(pool, after->accounted_percent),
        wp_pool_printf(pool, "instead of %s", wp_human_percent(pool, before->accounted_percent)));
    wp_display_fact(display, "Samples", wp_pool_printf(pool, "%" PRIu32 " and %" PRIu32, before->buckets, after->buckets),
        before->bucket_ns == after->bucket_ns ? wp_pool_printf(pool, "of %s each", wp_human_duration(pool, after->bucket_ns))
            : wp_pool_printf(pool, "of %s and %s", wp_human_duration(pool, before->bucket_ns),
                  wp_human_duration(pool, after->bucket_ns)));
}

static void put_change(struct wp_display *display, struct wp_field *row, const struct wp_change *change)
{
    static const enum wp_mark marks[] = {[WP_VERDICT_SAME] = WP_MARK_NONE, [WP_VERDICT_FEW] = WP_MARK_FAINT,
        [WP_VERDICT_WORSE] = WP_MARK_WORSE, [WP_VERDICT_BETTER] = WP_MARK_BETTER};
    struct wp_pool *pool = &display->pool;
    for (int i = 0; i < 2; i++) {
        row[i].text = wp_rate_text(pool, change->rate[i].value);
        row[i].value = change->rate[i].value;
    }
    row[2].text = fabs(change->delta) < 0.5 ? "0"
        : wp_pool_printf(pool, "%s%s", change->delta > 0 ? "+" : "−", wp_rate_text(pool, fabs(change->delta)));
    row[2].value = change->delta;
    row[2].mark = row[3].mark = marks[change->verdict];
    row[3].text = wp_change_percent(pool, change);
    row[3].value = isinf(change->percent) ? 1e9 : change->percent;
    row[4].text = wp_change_p(pool, change);
    row[4].value = change->verdict == WP_VERDICT_FEW || change->is_ignored ? 2 : change->adjusted;
    row[4].mark = WP_MARK_FAINT;
}

#define NUMBER_COLUMNS                                                                              \
    {"Before", "Time a unit in the older one", WP_COLUMN_VALUE},                                    \
    {"After", "Time a unit in the newer one", WP_COLUMN_VALUE},                                     \
    {"Difference", NULL, WP_COLUMN_VALUE},                                                          \
    {"Change", "Coloured when it is sure and large enough", WP_COLUMN_VALUE},                       \
    {"p", "Chance of as much by itself, adjusted for all rows tested; – too few to test", WP_COLUMN_VALUE}

static void add_hops(struct wp_display *display, const struct wp_compare *compare, size_t limit)
{
    static const struct wp_column columns[] = {
        {"Who, through whom", "The process of interest, and who it waited for through whom", WP_COLUMN_NAME},
        {"Doing", NULL, WP_COLUMN_TEXT}, NUMBER_COLUMNS};
    const struct wp_changes *changes = &compare->changes[WP_CHANGE_HOPS];
    struct wp_table *table = wp_display_table(display, "changes", columns, 7, changes->count < limit ? changes->count : limit);
    table->empty = "Neither side holds any time.";
    table->searchable = changes->count > 15;
    for (size_t i = 0; i < changes->count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = changes->rows[i].name;
        row[0].link = link_of(compare, display, &changes->rows[i]);
        row[1].text = wp_category_title((enum wp_category)changes->rows[i].category);
        row[1].swatch = changes->rows[i].category + 1;
        put_change(display, row + 2, &changes->rows[i]);
    }
    table->left_out += changes->left_out;
}

static void add_family(struct wp_display *display, const struct wp_compare *compare, enum wp_change_family family,
    const char *title, size_t limit)
{
    static const struct wp_column columns[WP_CHANGE_FAMILIES][6] = {
        [WP_CHANGE_PROCESSES] = {
            {"Process", "Time in which it was on top: running, or waiting for nobody further", WP_COLUMN_NAME},
            NUMBER_COLUMNS},
        [WP_CHANGE_CATEGORIES] = {{"Category", NULL, WP_COLUMN_TEXT}, NUMBER_COLUMNS},
        [WP_CHANGE_FUNCTIONS] = {{"Function", "Time in which it was the innermost one, running or waiting", WP_COLUMN_NAME},
            NUMBER_COLUMNS}};
    const struct wp_changes *changes = &compare->changes[family];
    wp_display_heading(display, title);
    struct wp_table *table = wp_display_table(display, wp_change_family_key(family), columns[family], 6,
        changes->count < limit ? changes->count : limit);
    for (size_t i = 0; i < changes->count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = changes->rows[i].name;
        row[0].note = changes->rows[i].note && *changes->rows[i].note ? changes->rows[i].note : NULL;
        row[0].swatch = family == WP_CHANGE_CATEGORIES ? changes->rows[i].category + 1 : 0;
        row[0].link = link_of(compare, display, &changes->rows[i]);
        put_change(display, row + 1, &changes->rows[i]);
    }
    table->left_out += changes->left_out;
}

static void add_method(struct wp_display *display, const struct wp_compare *compare)
{
    struct wp_pool *pool = &display->pool;
    wp_display_add(display, WP_ITEM_DETAILS, "How this is told");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool, "Both sides are cut into stretches of time and each row is measured in every one, as time in %s. "
            "A row has changed when Welch's t test says so with p < %.3g after Holm's correction for the %zu rows tested "
            "together, and when it is %.3g %% or more. Functions and frames are corrected after Benjamini and Hochberg.",
            wp_per_unit(compare->options.per), compare->options.alpha, compare->judged, compare->options.threshold_percent));
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "The test knows how much a row varies inside each recording. It cannot know what differs from one recording to the "
        "next, such as another machine or another load: several recordings of each release tell that.");
    wp_display_add(display, WP_ITEM_END, NULL);
}

static void title_page(struct wp_display *display, const struct wp_compare *compare)
{
    const struct wp_side *before = &compare->side[WP_BEFORE], *after = &compare->side[WP_AFTER];
    struct wp_pool *pool = &display->pool;
    display->title = wp_pool_printf(pool, "%s against %s", after->label, before->label);
    display->subtitle = strcmp(before->aggregate, after->aggregate) ? wp_pool_printf(pool, "Release %s", after->release)
        : strcmp(before->release, after->release) ? wp_pool_printf(pool, "Aggregate %s", after->aggregate)
        : wp_pool_printf(pool, "%s of release %s", after->aggregate, after->release);
}

int wp_page_compare(struct wp_display *display, const struct wp_compare *compare, struct wp_error *err)
{
    const struct wp_side *before = &compare->side[WP_BEFORE], *after = &compare->side[WP_AFTER];
    struct wp_pool *pool = &display->pool;
    title_page(display, compare);
    display->tab_release = after->release;
    display->tab_aggregate = after->aggregate;
    display->tab_compare = true;
    add_findings(display, compare);
    add_notices(display, compare);
    add_facts(display, compare);
    wp_display_heading(display, "What changed");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool, "Time in %s. Red takes longer than in %s, blue takes less; what is not coloured has not surely "
            "changed.", wp_per_unit(compare->options.per), before->label));
    add_hops(display, compare, HOP_ROWS);
    wp_display_heading(display, "Where in the stacks");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool, "Width is the time in %s. A frame is red where all that stands on it takes longer than in %s, "
            "and blue where it takes less.", after->label, before->label));
    display->view = "difference";
    wp_display_add(display, WP_ITEM_VIEW, "difference");
    add_family(display, compare, WP_CHANGE_PROCESSES, "Processes", OTHER_ROWS);
    add_family(display, compare, WP_CHANGE_FUNCTIONS, "Functions", OTHER_ROWS);
    add_family(display, compare, WP_CHANGE_CATEGORIES, "Categories", WP_CATEGORIES);
    add_method(display, compare);
    return pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for comparing %s", after->label) : 0;
}

int wp_page_compare_digest(struct wp_display *display, const struct wp_compare *compare, struct wp_error *err)
{
    struct wp_pool *pool = &display->pool;
    title_page(display, compare);
    add_findings(display, compare);
    add_notices(display, compare);
    add_facts(display, compare);
    wp_display_heading(display, wp_pool_printf(pool, "What changed, in %s", wp_per_unit(compare->options.per)));
    add_hops(display, compare, DIGEST_ROWS);
    add_family(display, compare, WP_CHANGE_PROCESSES, "Processes", DIGEST_ROWS);
    add_family(display, compare, WP_CHANGE_CATEGORIES, "Categories", WP_CATEGORIES);
    return pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for the digest of a comparison") : 0;
}
