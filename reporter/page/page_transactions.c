/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_transactions.h"

#include "reporter/display/humanize.h"
#include "reporter/page/page_exemplars.h"
#include "reporter/page/page_links.h"
#include "reporter/requests/exemplar_facts.h"
#include "reporter/requests/slow_requests.h"

#define SERVICES 50u
#define TABLE_ROWS 200u
#define NAME_BYTES 120u
#define FEW 40u /* of fewer requests the slow twentieth is one or two: no more than an anecdote */

static const char *more(struct wp_pool *pool, const struct wp_slow_row *row)
{
    return row->slow_ns >= row->usual_ns
        ? wp_pool_printf(pool, "+%s", wp_human_duration(pool, row->slow_ns - row->usual_ns))
        : wp_pool_printf(pool, "−%s", wp_human_duration(pool, row->usual_ns - row->slow_ns));
}

/* The flame with the requests' own category or process marked. */
static struct wp_link row_link(struct wp_display *display, const struct wp_facts *facts, const struct wp_slow_row *row)
{
    return row->part < WP_CATEGORIES
        ? wp_page_flame_link(display, facts, "category", wp_category_key((enum wp_category)row->part))
        : (struct wp_link){0};
}

static void add_parts(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_service_fact *service, size_t number)
{
    static const struct wp_column columns[] = {
        {"Who, through whom", NULL, WP_CELL_NAME},
        {"Doing", "And in which function", WP_CELL_TEXT},
        {"Up to p50", "Of one request, on average over those up to the median", WP_CELL_DURATION},
        {"From p95", "Of one request, on average over the slow ones", WP_CELL_DURATION},
        {"Difference", NULL, WP_CELL_VALUE},
        {"Part of it", "Of the time that slow requests take longer", WP_CELL_VALUE},
    };
    struct wp_pool *pool = &display->pool;
    uint64_t longer =
        service->slow_mean_ns > service->usual_mean_ns ? service->slow_mean_ns - service->usual_mean_ns : 0;
    struct wp_table *table = wp_display_table(display, wp_pool_printf(pool, "parts-%zu", number), columns, 6,
        service->row_count < TABLE_ROWS ? service->row_count : TABLE_ROWS);
    table->searchable = service->row_count > 10;
    for (size_t i = 0; i < service->row_count; i++) {
        const struct wp_slow_row *part = &service->rows[i];
        struct wp_field *row = wp_display_row(table);
        double difference = (double)part->slow_ns - (double)part->usual_ns;
        if (!row)
            continue;
        row[0].text = *part->who ? wp_pool_clip(pool, part->who, NAME_BYTES) : "the request";
        row[0].link = row_link(display, facts, part);
        row[1].text = wp_slow_requests_does(part);
        const char *path = wp_slow_requests_path(pool, part, NAME_BYTES);
        row[1].note = path ? path : *part->what ? wp_pool_clip(pool, part->what, NAME_BYTES) : NULL;
        row[1].swatch = part->part < WP_CATEGORIES ? (int)part->part + 1 : 0;
        row[2].number = part->usual_ns;
        row[3].number = part->slow_ns;
        row[4].text = more(pool, part);
        row[4].value = row[5].value = difference;
        row[4].mark = longer && difference * 20 >= (double)longer ? WP_MARK_WORSE : WP_MARK_NONE;
        row[5].text = longer && difference > 0 ? wp_human_percent(pool, 100 * difference / (double)longer) : "–";
        row[5].mark = difference > 0 ? WP_MARK_NONE : WP_MARK_FAINT;
    }
}

static void add_numbers(struct wp_display *display, const struct wp_service_fact *service)
{
    struct wp_pool *pool = &display->pool;
    wp_display_fact(display, "Requests", wp_human_count(pool, service->count), "answered while recorded");
    wp_display_fact(display, "p50", wp_human_duration(pool, service->median_ns), "half of them take up to this");
    wp_display_fact(display, "p90", wp_human_duration(pool, service->p90_ns), "take up to this");
    wp_display_fact(display, "p99", wp_human_duration(pool, service->p99_ns), "take up to this");
    wp_display_fact(display, "The slowest", wp_human_duration(pool, service->slowest_ns),
        wp_human_time(pool, service->slowest_start_ns));
}

static void add_sentence(struct wp_display *display, const struct wp_service_fact *service)
{
    struct wp_pool *pool = &display->pool;
    if (!service->slow_count) {
        wp_display_add(
            display, WP_ITEM_PARAGRAPH, "There are no slow ones among them: all take about as long as the median.");
        return;
    }
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool,
            "The slowest %s (%s, red) take %s on average, the %s up to the "
            "median %s. The table says what they consist of, what the slow ones have more of first.%s",
            wp_human_count(pool, service->slow_count), wp_human_share(pool, service->slow_count, service->count),
            wp_human_duration(pool, service->slow_mean_ns), wp_human_count(pool, service->usual_count),
            wp_human_duration(pool, service->usual_mean_ns),
            service->count < FEW ? " So few requests prove little." : ""));
}

static void add_window_link(struct wp_display *display, const struct wp_facts *facts, unsigned number, const char *text)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH, text);
    if (item)
        item->link = wp_page_exemplar_link(facts, number);
}

/* Where the window that was kept whole shows the slowest one, it is one click away. */
static void add_exemplar(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_service_fact *service)
{
    const struct wp_trace *trace = facts->trace;
    unsigned slowest = wp_exemplar_facts_find(facts, service->name, false),
             typical = wp_exemplar_facts_find(facts, service->name, true);
    if (slowest)
        add_window_link(display, facts, slowest, "Show the slowest one, event by event");
    if (typical)
        add_window_link(display, facts, typical, "Show a typical one, event by event");
    if (slowest)
        return;
    uint64_t start = service->slowest_start_ns, end = start + service->slowest_ns;
    if (!trace || start < trace->start_ns || end > trace->start_ns + trace->length_ns || !service->slowest_ns)
        return;
    uint64_t from = start - trace->start_ns, margin = service->slowest_ns / 10;
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH, "Show the slowest one, event by event");
    if (item)
        item->link = wp_link_to(WP_PAGE_RUNNING, facts->release, facts->aggregate,
            wp_pool_printf(&display->pool, "from=%llu&to=%llu", (unsigned long long)(from > margin ? from - margin : 0),
                (unsigned long long)(end - trace->start_ns + margin)));
}

void wp_page_latency(struct wp_display *display, const struct wp_service_fact *service)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_LATENCY,
        wp_pool_printf(&display->pool, "How many requests on %s took how long", service->name));
    if (item) {
        item->latencies = service->columns;
        item->number = service->column_count;
    }
}

void wp_page_transactions(struct wp_display *display, const struct wp_facts *facts)
{
    size_t count;
    const struct wp_service_fact *services = wp_slow_requests_build(&display->pool, facts, &count);
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "From a request's arrival on a connection to when its reply begins to leave, by "
        "where requests come in. Latencies are exact to an eighth of themselves.");
    if (!count)
        wp_display_add(display, WP_ITEM_NOTICE,
            "The process of interest answered no request: nobody opened a TCP connection to it "
            "and got a reply on it within ten seconds while it was recorded. Whom it asked itself stands on the page "
            "of waits.");
    for (size_t i = 0; i < count && i < SERVICES; i++) {
        wp_display_heading(
            display, *services[i].name ? wp_pool_clip(&display->pool, services[i].name, NAME_BYTES) : "(no name)");
        add_numbers(display, &services[i]);
        wp_page_latency(display, &services[i]);
        add_sentence(display, &services[i]);
        add_exemplar(display, facts, &services[i]);
        add_parts(display, facts, &services[i], i + 1);
    }
    if (count > SERVICES)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(&display->pool,
                "%zu more places where requests come in are not "
                "shown.",
                count - SERVICES));
}
