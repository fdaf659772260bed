/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_overview.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/beside.h"
#include "reporter/facts/page_context.h"
#include "reporter/findings/finding_since.h"
#include "reporter/findings/findings.h"
#include "reporter/page/page_recorded.h"
#include "reporter/page/page_source.h"
#include "reporter/page/page_tables.h"
#include "reporter/page/page_time.h"
#include "reporter/page/page_transactions.h"
#include "reporter/recording/recorded_title.h"
#include "reporter/recording/recording_cost.h"
#include "reporter/recording/unsampled.h"
#include "reporter/requests/critical_path.h"
#include "reporter/requests/slow_requests.h"
#include "reporter/waits/detached_work.h"

#include <errno.h>
#include <string.h>

#define TOP_ROWS 8u

static void add_findings(struct wp_display *display, const struct wp_facts *facts)
{
    size_t first[3], count = wp_findings_first(facts, first);
    const struct wp_page_context *context = wp_page_context(display);
    for (size_t i = 0; i < count; i++) {
        const struct wp_finding *finding = &(context->findings ? context->findings : facts->findings)[first[i]];
        struct wp_item *item =
            wp_display_add(display, WP_ITEM_FINDING, wp_finding_text(&display->pool, facts->release, finding));
        if (!item)
            return;
        item->number = i + 1;
        item->link = wp_link_to(finding->page, facts->release, facts->aggregate, finding->fragment);
    }
    struct wp_item *change = context->change ? wp_display_add(display, WP_ITEM_FINDING, context->change) : NULL;
    if (change) {
        change->number = count + 1;
        change->link = wp_link_to(WP_PAGE_COMPARE, facts->release, facts->aggregate, NULL);
    }
    if (!count)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            "Nothing of the process of interest was recorded: its control paths are empty.");
}

static void add_facts(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_pool *pool = &display->pool;
    wp_display_fact(display, "Wall time", wp_human_duration(pool, facts->wall_ns), "first to last activity");
    wp_display_fact(display, "Total time", wp_human_duration(pool, facts->total_ns), wp_beside_base(facts));
    wp_display_fact(display, "Accounted for", wp_human_percent(pool, facts->accounted_percent), "of the total");
    wp_display_fact(display, "Processes", wp_human_count(pool, facts->process_count),
        facts->host_count == 1 ? "on one host" : wp_pool_printf(pool, "on %zu hosts", facts->host_count));
    if (facts->coverage < 0.9995)
        wp_display_fact(display, "Coverage", wp_human_percent(pool, 100 * facts->coverage), "of the time was recorded");
    if (facts->coverage > 0 && facts->coverage < 0.9995)
        wp_display_fact(display, "Whole time", wp_human_duration(pool, facts->estimated_ns),
            "estimated: the total, scaled by the coverage");
}

/* First of all: without samples the findings know of no function. */
static void add_samples(struct wp_display *display, const struct wp_facts *facts)
{
    const char *sentence = wp_unsampled_sentence(&display->pool, facts);
    if (sentence)
        wp_display_add(display, WP_ITEM_NOTICE, sentence);
}

static void add_chart(struct wp_display *display, enum wp_item_kind kind, const struct wp_facts *facts)
{
    struct wp_item *item = wp_display_add(display, kind, NULL);
    if (item) {
        item->parts = facts->categories;
        item->link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate, NULL);
    }
}

/* ", 398 ms of it by gcc, which cc1 woke": whose work nobody waited for, and why it is this report's. */
static const char *most_detached(struct wp_pool *pool, const struct wp_facts *facts)
{
    static const char *const words[][2] = {
        {"waking", "woke"}, {"new thread", "started"}, {"message", "sent a message"}, {"fork", "started"}};
    struct wp_detached_work work = wp_detached_work_build(pool, facts);
    if (!work.row_count)
        return "";
    const struct wp_detached_row *most = &work.rows[0];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(most->how, words[i][0]))
            return wp_pool_printf(pool, ", %s of it by %s, %s %s %s", wp_human_duration(pool, most->ns), most->worker,
                i == 2 ? "to which" : "which", most->direct, words[i][1]);
    return wp_pool_printf(pool, ", %s of it by %s", wp_human_duration(pool, most->ns), most->worker);
}

static void add_quality(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_pool *pool = &display->pool;
    struct wp_recording_cost cost = wp_recording_cost(&facts->release_metadata);
    if (cost.cpu_ns)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(pool, "Cost of recording, beside the total: %s of CPU time, %s of the machine%s%s.",
                wp_human_duration(pool, cost.cpu_ns), wp_human_percent(pool, wp_recording_cost_percent(&cost)),
                facts->host_count == 1 ? "" : "s",
                cost.programs_ns
                    ? wp_pool_printf(pool, "; in the time of what was recorded, %s of its programs in the kernel",
                          wp_human_duration(pool, cost.programs_ns))
                    : ""));
    if (facts->events_dropped)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool, "%s %s lost while recording; %s of the time is marked uncertain.",
                wp_human_many(pool, facts->events_dropped, "event"), facts->events_dropped == 1 ? "was" : "were",
                wp_human_share(pool, facts->uncertain_ns, facts->total_ns)));
    if (!facts->detached_ns)
        return;
    struct wp_item *detached = wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool, "Beside the total, %s of work was started%s and not waited for%s.",
            wp_human_duration(pool, facts->detached_ns), facts->is_progress ? " in other processes" : "",
            most_detached(pool, facts)));
    if (detached && facts->detached)
        detached->link = wp_link_to(WP_PAGE_DETACHED, facts->release, facts->aggregate, NULL);
}

/* The threads that the total leaves out. */
static void add_beside(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Threads", NULL, WP_CELL_NAME},
        {"Not waited for", "Work that nobody in the total waited for", WP_CELL_DURATION},
        {"Idle", "Had nothing to do, or nobody waited for it", WP_CELL_DURATION},
    };
    if (!facts->beside_count)
        return;
    wp_display_heading(display, "Threads beside the total");
    struct wp_table *table = wp_display_table(
        display, "beside", columns, 3, facts->beside_count < TOP_ROWS ? facts->beside_count : TOP_ROWS);
    table->left_out = facts->beside_count > TOP_ROWS ? facts->beside_count - TOP_ROWS : 0;
    for (size_t i = 0; i < facts->beside_count && i < TOP_ROWS; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = wp_pool_clip(&display->pool, facts->beside[i].who, 80);
        row[1].number = facts->beside[i].unwaited_ns;
        row[2].number = facts->beside[i].idle_ns;
    }
}

/* Who was on top of the main control path, from the window's beginning to its end. */
static void add_critical_path(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_critical_path *path = wp_pool_alloc(&display->pool, sizeof(*path));
    if (path)
        wp_critical_path_build(path, &display->pool, facts);
    if (!path || !path->count)
        return;
    bool is_whole = path->length_ns + path->length_ns / 20 >= facts->wall_ns;
    wp_display_heading(display, "The critical path");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(&display->pool,
            "What %s did or waited for%s%s, from left to right: above the process on top, below what that did.",
            *path->thread ? path->thread : "the process of interest",
            is_whole ? "" : ", in the newest recording’s first ",
            is_whole ? "" : wp_human_duration(&display->pool, path->length_ns)));
    struct wp_item *item = wp_display_add(display, WP_ITEM_STRIP, NULL);
    if (!item)
        return;
    item->path = path;
    item->link = wp_link_to(WP_PAGE_CHRONO, facts->release, facts->aggregate, NULL);
}

static void add_other_view(struct wp_display *display, const struct wp_facts *facts)
{
    const char *sentence = wp_beside_sentence(&display->pool, facts);
    if (sentence)
        wp_display_add(display, WP_ITEM_PARAGRAPH, sentence);
    const char *other_view = wp_page_context(display)->other_view;
    struct wp_item *item = other_view ? wp_display_add(display, WP_ITEM_PARAGRAPH,
                                            facts->is_progress ? "The same by threads, each a path of its own"
                                                               : "The same as progress of the main thread")
                                      : NULL;
    if (item)
        item->link = wp_link_to(WP_PAGE_OVERVIEW, facts->release, other_view, NULL);
}

static void add_more_link(
    struct wp_display *display, const struct wp_facts *facts, enum wp_page_kind page, size_t count)
{
    if (count <= TOP_ROWS)
        return;
    if (display->last->table)
        display->last->table->left_out = 0; /* the link says it */
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(&display->pool, "All %s %s", wp_human_count(&display->pool, count),
            page == WP_PAGE_PROCESSES ? "processes" : "functions"));
    if (item)
        item->link = wp_link_to(page, facts->release, facts->aggregate, NULL);
}

/* The latencies of the service with most time in its requests. */
static void add_requests(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_pool *pool = &display->pool;
    size_t count;
    const struct wp_service_fact *services = wp_slow_requests_build(pool, facts, &count);
    if (!count)
        return;
    wp_display_heading(display, "How long requests took");
    wp_page_latency(display, services);
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool,
            "%s requests on %s%s: half take up to %s, 99 "
            "of 100 up to %s. What the slow ones waited for",
            wp_human_count(pool, services->count), wp_pool_clip(pool, services->name, 60),
            count > 1 ? " (there are more)" : "", wp_human_duration(pool, services->median_ns),
            wp_human_duration(pool, services->p99_ns)));
    if (item)
        item->link = wp_link_to(WP_PAGE_TRANSACTIONS, facts->release, facts->aggregate, NULL);
}

/* Why the curve ends elsewhere than "Accounted for": it is of another whole. */
static void add_explained(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_pool *pool = &display->pool;
    uint64_t other = facts->categories[WP_OTHER_PATH];
    const char *steps = "Each step adds one category, the best understood first.";
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        !other ? steps
               : wp_pool_printf(pool,
                     "%s The whole is %s here: the total without the %s "
                     "that were spent waiting on another control path, since that path is counted itself.",
                     steps, wp_human_duration(pool, facts->total_ns - other), wp_human_duration(pool, other)));
    add_chart(display, WP_ITEM_CURVE, facts);
}

void wp_page_overview(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_page_id flame = {WP_PAGE_FLAME, facts->release, facts->aggregate};
    display->subtitle = wp_recorded_subtitle(&display->pool, facts);
    add_samples(display, facts);
    add_findings(display, facts);
    add_critical_path(display, facts);
    add_facts(display, facts);
    add_other_view(display, facts);
    add_quality(display, facts);
    wp_display_heading(display, "Where the time went");
    add_chart(display, WP_ITEM_BAR, facts);
    wp_page_categories(display, facts->categories, &flame);
    wp_page_over_time(display, facts);
    add_requests(display, facts);
    wp_display_heading(display, "How much of it is explained");
    add_explained(display, facts);
    wp_display_heading(display, "Processes");
    wp_page_process_table(display, facts, TOP_ROWS);
    add_more_link(display, facts, WP_PAGE_PROCESSES, facts->process_count);
    add_beside(display, facts);
    wp_display_heading(display, "Functions");
    wp_page_busiest_table(display, facts, TOP_ROWS);
    add_more_link(display, facts, WP_PAGE_FUNCTIONS, facts->function_count);
    wp_page_recorded(display, facts);
}

int wp_page_digest(struct wp_display *display, const struct wp_facts *facts, struct wp_error *err)
{
    display->title = wp_pool_printf(&display->pool, "%s in release %s%s%s", facts->aggregate, facts->release,
        facts->group ? ", only hosts " : "", facts->group ? facts->group : "");
    display->subtitle = wp_recorded_subtitle(&display->pool, facts);
    wp_page_damage(display, facts);
    if (facts->contour)
        wp_display_add(
            display, WP_ITEM_NOTICE, wp_pool_printf(&display->pool, "Left out of the stacks: %s.", facts->contour));
    add_samples(display, facts);
    add_findings(display, facts);
    add_facts(display, facts);
    add_quality(display, facts);
    wp_display_heading(display, "Where the time went");
    wp_page_categories(display, facts->categories, NULL);
    wp_display_heading(display, "Processes");
    wp_page_process_table(display, facts, 12);
    wp_display_heading(display, "Functions");
    wp_page_busiest_table(display, facts, 12);
    if (facts->source.file_count) {
        wp_display_heading(display, "Source files");
        wp_page_source_table(display, facts, 8);
    }
    wp_display_heading(display, "Unexplained waits");
    wp_page_unexplained_table(display, facts, 5);
    wp_page_recorded(display, facts);
    return display->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the digest of %s", facts->aggregate)
                                : 0;
}
