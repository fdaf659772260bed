/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_processor.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/over_time.h"
#include "reporter/facts/rivals.h"
#include "reporter/page/page_matrix.h"
#include "reporter/recording/process_units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ROWS 1000u
#define SIDES 200u /* the last one stands for all others */
#define NAME_BYTES 120u

/* What one party had, or lost, with all others together. */
struct side {
    const char *name;
    uint64_t ns, count;
};

static struct wp_link node_link(struct wp_display *display, const struct wp_facts *facts, const struct wp_rival *row)
{
    return row->permalink ? wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
                                wp_pool_printf(&display->pool, "node=%08" PRIx32, row->permalink))
                          : (struct wp_link){0};
}

static void add_pairs(struct wp_display *display, const struct wp_facts *facts, const struct wp_rivals *rivals)
{
    static const struct wp_column columns[] = {
        {"Could have run", NULL, WP_CELL_NAME},
        {"Had the processor", "Or why there was none", WP_CELL_NAME},
        {"Mostly for", "Whose request that was; of a quota, who spent it", WP_CELL_NAME},
        {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"Pieces", NULL, WP_CELL_COUNT},
    };
    size_t room = rivals->count < TABLE_ROWS ? rivals->count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "processor", columns, 6, room);
    table->whole_ns = facts->total_ns;
    table->searchable = rivals->count > 10;
    table->empty = "Nothing on these paths waited for a processor.";
    for (size_t i = 0; i < rivals->count; i++) {
        const struct wp_rival *rival = &rivals->rows[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, rival->waiter, NAME_BYTES);
        row[1].text = wp_pool_clip(&display->pool, rival->name, NAME_BYTES);
        row[1].link = node_link(display, facts, rival);
        row[2].text = wp_pool_clip(&display->pool, rival->party, NAME_BYTES);
        row[3].number = row[4].number = rival->ns;
        row[5].number = rival->count;
    }
}

static int by_name(const void *left, const void *right)
{
    const struct side *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_time(const void *left, const void *right)
{
    const struct side *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void add_side(struct side *side, const struct side *from)
{
    side->ns += from->ns;
    side->count += from->count;
}

/* Sums by waiter, or by who had it: the longest first, and at the end the others, if they are many. `sides` has room
 * for each row. */
static size_t sum_sides(struct side *sides, const struct wp_rivals *rivals, bool is_waiter)
{
    size_t count = 0;
    for (size_t i = 0; i < rivals->count; i++) {
        const struct wp_rival *rival = &rivals->rows[i];
        sides[i] = (struct side){is_waiter ? rival->waiter : rival->name, rival->ns, rival->count};
    }
    if (rivals->count)
        qsort(sides, rivals->count, sizeof(*sides), by_name);
    for (size_t i = 0; i < rivals->count; i++)
        if (count && !strcmp(sides[count - 1].name, sides[i].name))
            add_side(&sides[count - 1], &sides[i]);
        else
            sides[count++] = sides[i];
    if (count)
        qsort(sides, count, sizeof(*sides), by_time);
    if (count <= SIDES)
        return count;
    for (size_t i = SIDES; i < count; i++)
        add_side(&sides[SIDES - 1], &sides[i]);
    sides[SIDES - 1].name = "others";
    return SIDES;
}

static void add_sides(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_rivals *rivals, bool is_waiter)
{
    static const struct wp_column waiters[] = {{"Could have run", NULL, WP_CELL_NAME}, {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE}, {"Pieces", NULL, WP_CELL_COUNT}};
    static const struct wp_column owners[] = {{"Had the processor", NULL, WP_CELL_NAME},
        {"Time", "That others waited meanwhile", WP_CELL_DURATION}, {"Share", "Of the total", WP_CELL_SHARE},
        {"Pieces", NULL, WP_CELL_COUNT}};
    struct side *sides = wp_pool_alloc(&display->pool, (rivals->count + 1) * sizeof(*sides));
    size_t count = sides ? sum_sides(sides, rivals, is_waiter) : 0;
    struct wp_table *table = wp_display_table(
        display, is_waiter ? "processor-waiters" : "processor-owners", is_waiter ? waiters : owners, 4, count);
    table->whole_ns = facts->total_ns;
    table->searchable = count > 10;
    for (size_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, sides[i].name, NAME_BYTES);
        row[1].number = row[2].number = sides[i].ns;
        row[3].number = sides[i].count;
    }
}

/* --- as a matrix --- */

enum matrix_kind { BY_PROCESS, BY_UNIT, BY_HOST };

/* The container, unit or control group of "api on web-2", whose host is said to be web-2. */
static const char *unit_of(struct wp_pool *pool, const struct wp_facts *facts, const char *process, const char *host)
{
    const char *home = facts->host_count == 1 ? facts->hosts[0] : NULL;
    size_t tail = host ? strlen(" on ") + strlen(host) : 0, size = strlen(process);
    const char *comm = wp_pool_printf(pool, "%.*s", (int)(size > tail ? size - tail : 0), process);
    const char *unit = wp_process_unit(facts, host ? host : home, comm);
    return unit ? wp_pool_printf(pool, "%s%s%s", unit, host ? " on " : "", host ? host : "") : "not known";
}

static struct wp_pair pair_of(
    struct wp_pool *pool, const struct wp_facts *facts, const struct wp_rival *rival, enum matrix_kind kind)
{
    const char *home = facts->host_count == 1 ? facts->hosts[0] : "whose time this is";
    struct wp_pair pair = {rival->waiter, rival->name, rival->ns};
    if (kind == BY_HOST) {
        pair.loser = rival->host ? rival->host : home;
    } else if (kind == BY_UNIT) {
        pair.loser = unit_of(pool, facts, rival->waiter, rival->host);
        if (rival->kind == WP_RIVAL_PROCESS || rival->kind == WP_RIVAL_PROFILER)
            pair.winner = unit_of(pool, facts, rival->name, rival->name_host);
    }
    return pair;
}

static void add_matrix(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_rivals *rivals, enum matrix_kind kind)
{
    static const char *const ids[] = {
        [BY_PROCESS] = "processor-matrix", [BY_UNIT] = "processor-units", [BY_HOST] = "processor-hosts"};
    struct wp_pair *pairs = wp_pool_alloc(&display->pool, (rivals->count + 1) * sizeof(*pairs));
    for (size_t i = 0; pairs && i < rivals->count; i++)
        pairs[i] = pair_of(&display->pool, facts, &rivals->rows[i], kind);
    if (pairs && !display->pool.failed)
        wp_page_matrix(display,
            &(struct wp_matrix){.id = ids[kind],
                .losers = kind == BY_HOST ? "On" : "Could have run",
                .pairs = pairs,
                .count = rivals->count,
                .whole_ns = facts->total_ns});
}

static void add_folded_matrix(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_rivals *rivals, enum matrix_kind kind)
{
    wp_display_add(display, WP_ITEM_DETAILS,
        kind == BY_HOST ? "The same by host" : "The same by container, unit or control group");
    add_matrix(display, facts, rivals, kind);
    wp_display_add(display, WP_ITEM_END, NULL);
}

/* By process; folded away by control group where some are known, and by host where paths lead over several. */
static void add_matrices(struct wp_display *display, const struct wp_facts *facts, const struct wp_rivals *rivals)
{
    bool has_hosts = false;
    for (size_t i = 0; i < rivals->count; i++)
        has_hosts |= rivals->rows[i].host != NULL;
    wp_display_heading(display, "Who took how much from whom");
    add_matrix(display, facts, rivals, BY_PROCESS);
    if (facts->units && facts->units->count)
        add_folded_matrix(display, facts, rivals, BY_UNIT);
    if (has_hosts)
        add_folded_matrix(display, facts, rivals, BY_HOST);
}

/* --- over time --- */

static void add_times(struct wp_display *display, const struct wp_rival_buckets *buckets, uint64_t whole_ns)
{
    static const struct wp_column columns[] = {
        {"From", NULL, WP_CELL_TEXT},
        {"Could have run", "Of all control paths in that interval", WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"Had the processor longest", NULL, WP_CELL_NAME},
        {"Of it", "Time that this one had it", WP_CELL_DURATION},
    };
    struct wp_table *table = wp_display_table(display, "processor-times", columns, 5, buckets->count);
    table->whole_ns = whole_ns;
    for (uint32_t i = 0; i < buckets->count; i++) {
        const struct wp_rival_bucket *bucket = &buckets->rows[i];
        struct wp_field *row = bucket->ns ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        row[0].text = wp_human_time(&display->pool, bucket->start_ns);
        row[1].number = row[2].number = bucket->ns;
        row[3].text = wp_pool_clip(&display->pool, bucket->most, NAME_BYTES);
        row[4].number = bucket->most_ns;
    }
}

static void add_over_time(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_over_time *timeline = wp_pool_alloc(&display->pool, sizeof(*timeline));
    struct wp_item *item;
    if (!timeline)
        return;
    wp_over_time_build(timeline, &display->pool, facts);
    wp_over_time_keep(timeline, 1u << WP_SCHEDULER | 1u << WP_INVOLUNTARY);
    if (timeline->count < 2 || !timeline->most_ns)
        return;
    struct wp_rival_buckets buckets = wp_rivals_over_time(&display->pool, facts);
    wp_display_heading(display, "Over time");
    if ((item = wp_display_add(display, WP_ITEM_OVER_TIME, NULL))) {
        item->timeline = timeline;
        item->link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate, NULL);
    }
    wp_display_add(display, WP_ITEM_DETAILS,
        wp_pool_printf(
            &display->pool, "Who had it when, in steps of %s", wp_human_duration(&display->pool, timeline->width_ns)));
    add_times(display, &buckets, facts->total_ns);
    wp_display_add(display, WP_ITEM_END, NULL);
}

/* Why it is not known who had it, reason by reason. */
static void add_unknown(struct wp_display *display, const struct wp_facts *facts, const struct wp_rivals *rivals)
{
    static const struct wp_column columns[] = {{"Not known, because", NULL, WP_CELL_NAME},
        {"Time", NULL, WP_CELL_DURATION}, {"Share", "Of the total", WP_CELL_SHARE}, {"Pieces", NULL, WP_CELL_COUNT}};
    static const char head[] = "not known (";
    struct side *sides = wp_pool_alloc(&display->pool, (rivals->count + 1) * sizeof(*sides));
    size_t count = sides ? sum_sides(sides, rivals, false) : 0, reasons = 0;
    for (size_t i = 0; i < count; i++)
        if (!strncmp(sides[i].name, head, strlen(head)))
            sides[reasons++] = sides[i];
    if (!reasons)
        return;
    wp_display_heading(display, "Not known");
    struct wp_table *table = wp_display_table(display, "processor-unknown", columns, 4, reasons);
    table->whole_ns = facts->total_ns;
    for (size_t i = 0; i < reasons; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        size_t size = strlen(sides[i].name) - strlen(head);
        row[0].text = wp_pool_printf(&display->pool, "%.*s", (int)(size ? size - 1 : 0), sides[i].name + strlen(head));
        row[1].number = row[2].number = sides[i].ns;
        row[3].number = sides[i].count;
    }
}

/* Of a store of an older version, a part or all. */
static void add_untold(struct wp_display *display, const struct wp_facts *facts, uint64_t ns)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(&display->pool,
            "For %s (%s of the total) it was not recorded who had the processor: older versions did not tell.",
            wp_human_duration(&display->pool, ns), wp_human_share(&display->pool, ns, facts->total_ns)));
}

void wp_page_processor(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_rivals rivals = wp_rivals_build(&display->pool, facts);
    uint64_t runnable_ns = facts->categories[WP_SCHEDULER] + facts->categories[WP_INVOLUNTARY];
    uint64_t untold_ns = runnable_ns > rivals.ns ? runnable_ns - rivals.ns : 0, all_ns = rivals.ns + untold_ns;
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(&display->pool,
            "Threads on these paths could have run for %s (%s of the total) and had no processor.",
            wp_human_duration(&display->pool, all_ns), wp_human_share(&display->pool, all_ns, facts->total_ns)));
    if (untold_ns)
        add_untold(display, facts, untold_ns);
    if (rivals.count)
        add_matrices(display, facts, &rivals);
    add_over_time(display, facts);
    if (rivals.count)
        wp_display_heading(display, "Pair by pair");
    if (rivals.count || !untold_ns)
        add_pairs(display, facts, &rivals);
    if (!rivals.count)
        return;
    wp_display_heading(display, "Who had it");
    add_sides(display, facts, &rivals, false);
    wp_display_heading(display, "Who waited for it");
    add_sides(display, facts, &rivals, true);
    add_unknown(display, facts, &rivals);
}
