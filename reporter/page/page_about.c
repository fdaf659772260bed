/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_about.h"

#include "common/clock.h"
#include "reporter/display/glossary.h"
#include "reporter/display/humanize.h"
#include "reporter/recording/release_overlap.h"

#include <string.h>

static void add_events(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Kind of event", NULL, WP_CELL_NAME},
        {"Recorded", NULL, WP_CELL_COUNT},
        {"Lost", NULL, WP_CELL_COUNT},
    };
    struct wp_table *table = wp_display_table(display, "events", columns, 3, facts->event_count);
    for (size_t i = 0; i < facts->event_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            break;
        row[0].text = wp_pool_clip(&display->pool, facts->events[i].kind, 80);
        row[1].number = facts->events[i].total;
        row[2].number = facts->events[i].dropped;
    }
}

/* By the names that an aggregator gives them (docs/engine.md). */
static const char *meaning(const char *limit)
{
    static const char *const meanings[][2] = {
        {"depth", "Somebody waited for somebody who waited, through more processes than --depth follows"},
        {"width", "A sleep had more intervals behind it than --width looks at"},
        {"budget", "A second of a host had more intervals behind what its threads waited for than --budget looks at"},
        {"history", "What was waited for lay further back than --history keeps"},
        {"memory",
            "A session held more memory than --host-memory or --memory lets it, and was ended: waits across that are "
            "cut"},
        {"shards", "Another aggregator did not say what its hosts did"},
        {"join", "A run between two sleeps that timed out was little longer than --join, and parted them"},
        {"late sample", "A sample came later after its run than --late-sample takes, and was not counted for it"},
        {"late turn",
            "A read or write of a unix stream came behind a later one of its thread, and was not looked at: who was "
            "answered may not be known"},
        {"lines",
            "There were more lines of source than a report has room for: the tables of lines and calls are without "
            "them"},
        {"processes",
            "More processes came up in an hour than a report has rows for: the later ones share the row \"other "
            "processes\" of their host"},
        {"overhead: no events", "The collector recorded nothing for a while, to stay within --overhead-limit"},
        {"overhead: fewer stacks", "The collector left stacks out, to stay within --overhead-limit"},
        {"loop",
            "A loop of timeouts went on for an answer that came later than half of --history, or not at all: what it "
            "waited for is not told"},
    };
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (!strcmp(limit, meanings[i][0]))
            return meanings[i][1];
    return "–";
}

static void add_limits(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Limit", NULL, WP_CELL_NAME},
        {"What it means", NULL, WP_CELL_TEXT},
        {"Times", "How often it stopped an explanation", WP_CELL_COUNT},
        {"Time", "That it touched", WP_CELL_DURATION},
    };
    struct wp_table *table = wp_display_table(display, "limits", columns, 4, facts->limit_count);
    table->empty = "No limit of the analysis was reached.";
    for (size_t i = 0; i < facts->limit_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            break;
        row[0].text = wp_pool_clip(&display->pool, facts->limits[i].name, 80);
        row[1].text = meaning(facts->limits[i].name);
        row[2].number = facts->limits[i].count;
        row[3].number = facts->limits[i].ns;
    }
}

static void add_glossary(struct wp_display *display)
{
    static const struct wp_column columns[] = {{"Word", NULL, WP_CELL_TEXT}, {"What it means", NULL, WP_CELL_TEXT}};
    size_t count;
    const struct wp_term *terms = wp_glossary(&count);
    struct wp_table *table = wp_display_table(display, "glossary", columns, 2, count);
    for (size_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        int category = wp_category_find(terms[i].key);
        if (!row)
            return;
        row[0].text = terms[i].title;
        row[0].anchor = wp_pool_printf(&display->pool, "term-%s", terms[i].key);
        row[0].swatch = category + 1;
        row[1].text = terms[i].meaning;
    }
}

void wp_page_about(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_pool *pool = &display->pool;
    wp_display_fact(display, "Events", wp_human_count(pool, facts->events_total), "recorded");
    wp_display_fact(display, "Lost", wp_human_count(pool, facts->events_dropped), "events");
    wp_display_fact(display, "Coverage", wp_human_percent(pool, 100 * facts->coverage), "of the time was recorded");
    wp_display_fact(display, "Uncertain", wp_human_duration(pool, facts->uncertain_ns),
        wp_pool_printf(pool, "%s, touched by losses", wp_human_share(pool, facts->uncertain_ns, facts->total_ns)));
    if (facts->late.total_ns)
        wp_display_fact(display, "Came late", wp_human_share(pool, facts->late.total_ns, facts->total_ns),
            wp_pool_printf(pool, "%s, when its hour had long been over; the last of it %s",
                wp_human_duration(pool, facts->late.total_ns), wp_human_time(pool, facts->late.last_s * WP_NS_PER_S)));
    wp_display_fact(display, "Detached", wp_human_duration(pool, facts->detached_ns), "started, not waited for");
    wp_display_fact(display, "From", wp_human_time(pool, facts->first_ns), NULL);
    wp_display_fact(display, "To", wp_human_time(pool, facts->last_ns), NULL);
    if (facts->stack_ends.stack_ns)
        wp_display_fact(display, "Whole stacks",
            wp_human_share(pool, facts->stack_ends.whole_ns, facts->stack_ends.stack_ns),
            "of the time with functions: down to where the thread began");
    wp_release_overlap_table(display, wp_page_context(display)->overlaps, wp_page_context(display)->overlap_count);
    wp_display_heading(display, "Events behind this report");
    add_events(display, facts);
    wp_display_heading(display, "Limits that were reached");
    add_limits(display, facts);
    wp_display_heading(display, "Words");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "A run is an interval of one thread on a CPU, a sleep one off it. A control path is a series of runs that "
        "hand "
        "over to each other; its pseudo-stack at a moment is a pile of sleeps, each waiting for what stands on it, "
        "with the "
        "run on top. The total is the length of all control paths, so it exceeds the wall time where paths go side by "
        "side.");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Every nanosecond of the total has exactly one category; the categories add up to the total.");
    add_glossary(display);
}
