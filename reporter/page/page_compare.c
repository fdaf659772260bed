/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_compare.h"

#include "reporter/compare/compare_findings.h"
#include "reporter/compare/compare_notices.h"
#include "reporter/display/humanize.h"
#include "reporter/findings/finding_since.h"
#include "reporter/findings/findings.h"
#include "reporter/page/page_tabs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HOP_ROWS 60u
#define OTHER_ROWS 25u
#define DIGEST_ROWS 15u
#define FINDINGS 3u
#define HEAD_BYTES 32u

static bool is_digest(const struct wp_display *display)
{
    return display->page_id.page != WP_PAGE_COMPARE && display->page_id.page != WP_PAGE_CANARY;
}

static struct wp_link link_of(
    const struct wp_compare *compare, struct wp_display *display, const struct wp_change *change)
{
    const struct wp_operand *after = &compare->operand[WP_AFTER];
    if (!change->permalink || is_digest(display))
        return (struct wp_link){0};
    return wp_link_to(display->page_id.page, after->release, after->aggregate,
        wp_pool_printf(&display->pool, "node=%08" PRIx32, change->permalink));
}

static void add_findings(struct wp_display *display, const struct wp_compare *compare)
{
    const struct wp_change *first[FINDINGS];
    size_t count = wp_compare_first(compare, first, FINDINGS);
    for (size_t i = 0; i < count; i++) {
        struct wp_item *item =
            wp_display_add(display, WP_ITEM_FINDING, wp_compare_sentence(&display->pool, compare, first[i]));
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
    const char *notices[WP_COMPARE_NOTICES];
    size_t count = wp_compare_notices(&display->pool, compare, notices);
    for (size_t i = 0; i < count; i++)
        wp_display_add(display, WP_ITEM_NOTICE, notices[i]);
}

static void add_commits(struct wp_display *display, const struct wp_compare *compare)
{
    for (int i = 0; i < 2 && !wp_compare_is_of_hosts(compare); i++)
        if (*compare->operand[i].commit)
            wp_display_add(display, WP_ITEM_PARAGRAPH,
                wp_pool_printf(&display->pool, "%s: %s", compare->operand[i].label, compare->operand[i].commit));
}

static void add_facts(struct wp_display *display, const struct wp_compare *compare)
{
    struct wp_pool *pool = &display->pool;
    const struct wp_operand *before = &compare->operand[WP_BEFORE], *after = &compare->operand[WP_AFTER];
    wp_display_fact(display, "Takes longer", wp_human_count(pool, compare->worse),
        wp_pool_printf(pool,
            compare->options.method == WP_METHOD_T_TEST ? "of %zu rows judged, surely and by %.3g %% or more"
                                                        : "of %zu rows judged",
            compare->worse + compare->better + compare->same + compare->few, compare->options.threshold_percent));
    wp_display_fact(display, "Takes less", wp_human_count(pool, compare->better),
        compare->few
            ? wp_pool_printf(pool, "%zu %s too small to tell", compare->few, compare->few == 1 ? "row is" : "rows are")
            : NULL);
    wp_display_fact(display, "Wall time", wp_human_duration(pool, after->wall_ns),
        wp_pool_printf(pool, "instead of %s", wp_human_duration(pool, before->wall_ns)));
    wp_display_fact(display, "Accounted for", wp_human_percent(pool, after->accounted_percent),
        wp_pool_printf(pool, "instead of %s", wp_human_percent(pool, before->accounted_percent)));
    wp_display_fact(display, "Recordings",
        wp_pool_printf(pool, "%" PRIu32 " and %" PRIu32, before->intervals, after->intervals),
        before->intervals < 2 && after->intervals < 2 ? "what differs from one to the next is not known"
                                                      : "parted by gaps");
    wp_display_fact(display, "Samples",
        wp_pool_printf(pool, "%" PRIu32 " and %" PRIu32, before->buckets, after->buckets),
        before->bucket_ns == after->bucket_ns
            ? wp_pool_printf(pool, "of %s each", wp_human_duration(pool, after->bucket_ns))
            : wp_pool_printf(pool, "of %s and %s", wp_human_duration(pool, before->bucket_ns),
                  wp_human_duration(pool, after->bucket_ns)));
}

static void put_change(
    struct wp_display *display, const struct wp_compare *compare, struct wp_field *row, const struct wp_change *change)
{
    static const enum wp_mark marks[] = {[WP_VERDICT_SAME] = WP_MARK_NONE,
        [WP_VERDICT_FEW] = WP_MARK_FAINT,
        [WP_VERDICT_WORSE] = WP_MARK_WORSE,
        [WP_VERDICT_BETTER] = WP_MARK_BETTER};
    struct wp_pool *pool = &display->pool;
    for (int i = 0; i < 2; i++) {
        row[i].text = wp_change_value(pool, change, change->rate[i].value);
        row[i].value = change->rate[i].value;
    }
    row += 2;
    if (!is_digest(display)) { /* a mail is narrow, and it follows from the two before it */
        row->text = fabs(change->delta) < (change->kind == WP_CHANGE_RATE ? 0.005 : 0.5)
            ? "0"
            : wp_pool_printf(
                  pool, "%s%s", change->delta > 0 ? "+" : "−", wp_change_value(pool, change, fabs(change->delta)));
        row->value = change->delta;
        row++->mark = marks[change->verdict];
    }
    row[0].mark = marks[change->verdict];
    row[0].text = wp_change_percent(pool, change);
    row[0].value = isinf(change->percent) ? 1e9 : change->percent;
    row[1].text = wp_change_confidence(pool, compare, change);
    row[1].value = compare->options.method != WP_METHOD_T_TEST && change->kind == WP_CHANGE_TIME
        ? change->assessment.confidence
        : change->verdict == WP_VERDICT_FEW || change->is_ignored ? 2
                                                                  : change->adjusted;
    row[1].mark = WP_MARK_FAINT;
    row[2].text = change->is_ignored ? "not judged" : wp_severity_key(change->assessment.severity);
}

/* Hosts, aggregates or times of one release: neither is before the other. */
static bool is_of_one_release(const struct wp_compare *compare)
{
    return !strcmp(compare->operand[WP_BEFORE].release, compare->operand[WP_AFTER].release);
}

#define NUMBERS 6u
#define DIFFERENCE 2u

/* `names` columns that say which row it is, then those of the change. */
static struct wp_table *add_table(struct wp_display *display, const struct wp_compare *compare, const char *id,
    const struct wp_column *names, size_t name_count, size_t rows)
{
    static const struct wp_column numbers[NUMBERS] = {
        {"Before", "Time a unit in the older one", WP_CELL_VALUE},
        {"After", "Time a unit in the newer one", WP_CELL_VALUE},
        {"Difference", NULL, WP_CELL_VALUE},
        {"Change", "Coloured when it is sure and large enough", WP_CELL_VALUE},
        {"p", "Chance of as much by itself, adjusted for all rows tested; – too few to test", WP_CELL_VALUE},
        {"Severity", "Of what takes longer; severe: by a quarter or more; maybe: sure by itself and not among all rows",
            WP_CELL_TEXT},
    };
    bool is_beside = is_of_one_release(compare);
    size_t count = name_count;
    struct wp_column *columns = wp_pool_alloc(&display->pool, (count + NUMBERS) * sizeof(*columns));
    if (!columns)
        return wp_display_table(display, id, numbers, NUMBERS, 0);
    memcpy(columns, names, name_count * sizeof(*columns));
    for (size_t i = 0; i < NUMBERS; i++)
        if (i != DIFFERENCE || !is_digest(display))
            columns[count++] = numbers[i];
    for (size_t i = 0; i < 2 && is_beside; i++)
        columns[name_count + i] = (struct wp_column){
            wp_pool_clip(&display->pool, compare->operand[i].label, HEAD_BYTES), "Time a unit there", WP_CELL_VALUE};
    if (compare->options.method != WP_METHOD_T_TEST)
        columns[count - 2] = (struct wp_column){"Confidence", "As the method tells it; – it knows none", WP_CELL_VALUE};
    return wp_display_table(display, id, columns, count, rows);
}

/* What got worse is always there. */
static bool is_shown(const struct wp_changes *changes, size_t i, size_t limit)
{
    return i < limit || (changes->rows[i].verdict == WP_VERDICT_WORSE && !changes->rows[i].is_ignored);
}

static size_t shown_count(const struct wp_changes *changes, size_t limit)
{
    size_t count = 0;
    for (size_t i = 0; i < changes->count; i++)
        count += is_shown(changes, i, limit);
    return count;
}

static void add_hops(struct wp_display *display, const struct wp_compare *compare, size_t limit)
{
    const struct wp_column names[2] = {
        {"Who, through whom", "The process of interest, and who it waited for through whom",
            is_digest(display) ? WP_CELL_STACK : WP_CELL_NAME},
        {"Doing", NULL, WP_CELL_TEXT}};
    const struct wp_changes *changes = &compare->changes[WP_CHANGE_HOPS];
    struct wp_table *table = add_table(display, compare, "changes", names, 2, shown_count(changes, limit));
    table->empty = "Neither side holds any time.";
    table->searchable = changes->count > 15;
    for (size_t i = 0; i < changes->count; i++) {
        struct wp_field *row = is_shown(changes, i, limit) ? wp_display_row(table) : NULL;
        table->left_out += !is_shown(changes, i, limit);
        if (!row)
            continue;
        row[0].text = changes->rows[i].name;
        row[0].link = link_of(compare, display, &changes->rows[i]);
        row[1].text = wp_category_title((enum wp_category)changes->rows[i].category);
        row[1].swatch = changes->rows[i].category + 1;
        put_change(display, compare, row + 2, &changes->rows[i]);
    }
    table->left_out += changes->left_out;
}

static void add_family(struct wp_display *display, const struct wp_compare *compare, enum wp_change_family family,
    const char *title, size_t limit)
{
    static const struct wp_column names[WP_CHANGE_FAMILIES] = {
        [WP_CHANGE_WHOLE] = {"Measure", "Of the whole, judged before all that it is made of", WP_CELL_TEXT},
        [WP_CHANGE_PROCESSES] = {"Process", "Time in which it was on top: running, or waiting for nobody further",
            WP_CELL_NAME},
        [WP_CHANGE_CATEGORIES] = {"Category", NULL, WP_CELL_TEXT},
        [WP_CHANGE_FUNCTIONS] = {
            "Function", "Time in which it was the innermost one, running or waiting", WP_CELL_NAME}};
    const struct wp_changes *changes = &compare->changes[family];
    wp_display_heading(display, title);
    struct wp_table *table =
        add_table(display, compare, wp_change_family_key(family), &names[family], 1, shown_count(changes, limit));
    table->searchable = changes->count > 15;
    for (size_t i = 0; i < changes->count; i++) {
        struct wp_field *row = is_shown(changes, i, limit) ? wp_display_row(table) : NULL;
        table->left_out += !is_shown(changes, i, limit);
        if (!row)
            continue;
        row[0].text = changes->rows[i].name;
        row[0].note = changes->rows[i].note && *changes->rows[i].note ? changes->rows[i].note : NULL;
        row[0].swatch = family == WP_CHANGE_CATEGORIES ? changes->rows[i].category + 1 : 0;
        row[0].link = link_of(compare, display, &changes->rows[i]);
        put_change(display, compare, row + 1, &changes->rows[i]);
    }
    table->left_out += changes->left_out;
}

/* Wall time and requests, where one of them is known. */
static void add_whole(struct wp_display *display, const struct wp_compare *compare)
{
    if (compare->changes[WP_CHANGE_WHOLE].count)
        add_family(display, compare, WP_CHANGE_WHOLE, "The whole", OTHER_ROWS);
}

/* The rest of what the recordings know, for the test alone. */
static void add_between(struct wp_display *display, const struct wp_compare *compare)
{
    const struct wp_operand *before = &compare->operand[WP_BEFORE], *after = &compare->operand[WP_AFTER];
    bool has_several = before->intervals > 1 || after->intervals > 1;
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        has_several
            ? wp_pool_printf(&display->pool,
                  "Recordings that gaps part (%" PRIu32 " and %" PRIu32 ") tell how much one differs from the next: "
                  "each row's spread between them is its error, drawn towards what all rows say (moderated t).",
                  before->intervals, after->intervals)
            : "Of each there is one recording: the test knows how much a row varies inside it, and cannot know what "
              "differs from one "
              "recording to the next. Three or four of each release, in turns, tell that.");
}

static void add_method(struct wp_display *display, const struct wp_compare *compare)
{
    struct wp_pool *pool = &display->pool;
    wp_display_add(display, WP_ITEM_DETAILS, "How this is told");
    if (compare->options.method != WP_METHOD_T_TEST) {
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(pool, "By %s: %s. Colours of the flame are those of the t test.",
                wp_method_key(compare->options.method), wp_method_words(compare->options.method)));
        wp_display_add(display, WP_ITEM_END, NULL);
        return;
    }
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool,
            "Both sides are cut into intervals of time and each row is measured in every one, as time in %s. "
            "A row has changed when Welch's t test says so with p < %.3g after Holm's correction for the %zu rows "
            "tested "
            "together, and when it is %.3g %% or more. Functions and frames are corrected after Benjamini and "
            "Hochberg.",
            wp_per_unit(compare->options.per), compare->options.alpha, compare->judged,
            compare->options.threshold_percent));
    add_between(display, compare);
    wp_display_add(display, WP_ITEM_END, NULL);
}

static void title_page(struct wp_display *display, const struct wp_compare *compare)
{
    const struct wp_operand *before = &compare->operand[WP_BEFORE], *after = &compare->operand[WP_AFTER];
    struct wp_pool *pool = &display->pool;
    display->title = wp_pool_printf(pool, "%s against %s", after->label, before->label);
    display->subtitle = strcmp(before->aggregate, after->aggregate) ? wp_pool_printf(pool, "Release %s", after->release)
        : strcmp(before->release, after->release)
        ? wp_pool_printf(pool, "Aggregate %s", after->aggregate)
        : wp_pool_printf(pool, "%s of release %s", after->aggregate, after->release);
}

/* Where the newer side's time went: a change is often one of these. */
static void add_causes(struct wp_display *display, const struct wp_compare *compare)
{
    const struct wp_facts *after = compare->facts[WP_AFTER];
    size_t first[3], count = wp_findings_first(after, first);
    if (!count)
        return;
    wp_display_heading(
        display, wp_pool_printf(&display->pool, "Where the time of %s went", compare->operand[WP_AFTER].label));
    for (size_t i = 0; i < count; i++) {
        struct wp_finding finding = wp_finding_since(after, first[i], compare->facts[WP_BEFORE]);
        struct wp_item *item =
            wp_display_add(display, WP_ITEM_FINDING, wp_finding_text(&display->pool, after->release, &finding));
        if (!item)
            return;
        item->number = i + 1;
        item->link = wp_link_to(finding.page, after->release, after->aggregate, finding.fragment);
    }
}

int wp_page_compare(
    struct wp_display *display, const struct wp_compare *compare, bool has_compare_tab, struct wp_error *err)
{
    const struct wp_operand *before = &compare->operand[WP_BEFORE], *after = &compare->operand[WP_AFTER];
    struct wp_pool *pool = &display->pool;
    title_page(display, compare);
    wp_page_tabs(display, compare->facts[WP_AFTER]);
    display->tab_compare = has_compare_tab;
    add_findings(display, compare);
    add_notices(display, compare);
    add_commits(display, compare);
    add_facts(display, compare);
    add_whole(display, compare);
    wp_display_heading(display, is_of_one_release(compare) ? "What differs" : "What changed");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool,
            "Time in %s. Red takes longer than in %s, blue takes less; what is not coloured has not surely "
            "changed.",
            wp_per_unit(compare->options.per), before->label));
    add_hops(display, compare, HOP_ROWS);
    add_causes(display, compare);
    wp_display_heading(display, "Where in the stacks");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool,
            "Width is the time in %s. A frame is red where all that stands on it takes longer than in %s, "
            "and blue where it takes less. Below it stands the flame of %s, with what only that has; the search is for "
            "both.",
            after->label, before->label, before->label));
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
    add_commits(display, compare);
    add_facts(display, compare);
    add_whole(display, compare);
    wp_display_heading(display,
        wp_pool_printf(pool, "What %s, in %s", is_of_one_release(compare) ? "differs" : "changed",
            wp_per_unit(compare->options.per)));
    size_t rows = compare->shown_rows ? compare->shown_rows : DIGEST_ROWS;
    add_hops(display, compare, rows);
    add_causes(display, compare);
    add_family(display, compare, WP_CHANGE_PROCESSES, "Processes", rows);
    add_family(display, compare, WP_CHANGE_CATEGORIES, "Categories", WP_CATEGORIES);
    if (compare->options.method == WP_METHOD_OUTLIERS)
        add_family(display, compare, WP_CHANGE_FUNCTIONS, "Functions", OTHER_ROWS);
    return pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for the digest of a comparison") : 0;
}
