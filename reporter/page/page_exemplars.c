/* SPDX-License-Identifier: Apache-2.0 */
/* Windows kept event by event: a list of them with why each was chosen, and two pages of each. */
#include "reporter/page/page_exemplars.h"

#include "common/intern.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/stack_text.h"
#include "reporter/page/page_tabs.h"
#include "reporter/page/page_window.h"
#include "storage/report/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NAME_BYTES 120u

static const char *reason(const struct wp_exemplar_fact *fact)
{
    return fact->is_beginning ? "the beginning of a recording"
        : fact->rank == 1     ? (fact->is_typical ? "the slowest, and typical" : "the slowest")
        : fact->rank          ? (fact->is_typical ? "slow, and typical" : "among the slowest")
                              : "typical";
}

struct wp_link wp_page_exemplar_link(const struct wp_facts *facts, unsigned number)
{
    return wp_link_to_part(WP_PAGE_EXEMPLAR, facts->release, facts->aggregate, number, NULL);
}

/* The frame on top in a reader's words, beside its category: "for postgres", "in futex", "vda write"; "" where the
 * category says it. */
static const char *most(struct wp_pool *pool, const char *frame)
{
    if (!strncmp(frame, "path:", 5))
        return wp_pool_printf(pool, "for %s, ", wp_stack_plain_process(pool, frame + 5));
    if (!strncmp(frame, "sched:", 6) || !*frame)
        return "";
    if (!strncmp(frame, "io:", 3))
        return wp_pool_printf(pool, "%s, ", wp_pool_clip(pool, frame + 3, NAME_BYTES));
    return !strncmp(frame, "sleep:", 6) ? wp_pool_printf(pool, "in %s, ", wp_pool_clip(pool, frame + 6, NAME_BYTES))
                                        : wp_pool_printf(pool, "%s, ", wp_pool_clip(pool, frame, NAME_BYTES));
}

static void add_row(struct wp_display *display, struct wp_table *table, const struct wp_facts *facts, unsigned number,
    enum wp_page_kind page)
{
    const struct wp_exemplar_fact *fact = &facts->exemplars.rows[number - 1];
    struct wp_field *row = wp_display_row(table);
    if (!row)
        return;
    row[0].text = fact->title;
    row[0].link = wp_link_to_part(page, facts->release, facts->aggregate, number, NULL);
    row[1].text = reason(fact);
    row[2].number = fact->length_ns;
    row[3].text = wp_human_time(&display->pool, fact->start_ns);
    row[4].text =
        wp_pool_printf(&display->pool, "%s %u", wp_pool_clip(&display->pool, fact->comm, NAME_BYTES), fact->tid);
    row[4].note = wp_pool_clip(&display->pool, fact->host, NAME_BYTES);
    if (fact->most_ns) {
        row[5].text = wp_category_title((enum wp_category)fact->most_category);
        row[5].note = wp_pool_printf(
            &display->pool, "%s%s", most(&display->pool, fact->most), wp_human_duration(&display->pool, fact->most_ns));
        row[5].swatch = (int)fact->most_category + 1;
    } else {
        row[5].text = "";
    }
}

static void add_windows(struct wp_display *display, const struct wp_facts *facts, enum wp_page_kind page)
{
    static const struct wp_column columns[] = {
        {"Window", NULL, WP_CELL_TEXT},
        {"Why this one", NULL, WP_CELL_TEXT},
        {"Length", NULL, WP_CELL_DURATION},
        {"Began", NULL, WP_CELL_TEXT},
        {"Thread", "And on which host", WP_CELL_NAME},
        {"Most of it", "What stood on top for longest", WP_CELL_TEXT},
    };
    struct wp_table *table = wp_display_table(display, "exemplars", columns, 6, facts->exemplars.count);
    table->searchable = facts->exemplars.count > 10;
    for (int is_beginning = 1; is_beginning >= 0; is_beginning--)
        for (unsigned i = 1; i <= facts->exemplars.count; i++)
            if (facts->exemplars.rows[i - 1].is_beginning == is_beginning)
                add_row(display, table, facts, i, page);
}

void wp_page_other_windows(struct wp_display *display, const struct wp_facts *facts)
{
    bool is_stacks = display->page_id.page == WP_PAGE_CHRONO;
    if (!facts->exemplars.count)
        return;
    wp_display_heading(display, "Other windows");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Kept are, of all hosts, the slowest and typical requests and waits, and the beginning of one recording for "
        "each "
        "timebox and shard. Of beginnings the newest are here; --since and --until of wakepath-reporter choose older "
        "ones.");
    add_windows(display, facts, is_stacks ? WP_PAGE_EXEMPLAR : WP_PAGE_EXEMPLAR_ROWS);
}

void wp_page_exemplars(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Single requests and waits as they happened: the slowest of all, and typical ones. They were "
        "chosen while recording, by a rule that no order of events or machines can change.");
    if (!facts->exemplars.count) {
        wp_display_add(display, WP_ITEM_NOTICE,
            "No window was kept: no request was answered, and no thread of interest slept for a "
            "tenth of a millisecond or more; or they were old and have been pruned.");
        return;
    }
    add_windows(display, facts, WP_PAGE_EXEMPLAR);
}

static void add_turn(
    struct wp_display *display, const struct wp_facts *facts, enum wp_page_kind page, unsigned number, const char *text)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH, text);
    if (item)
        item->link = page == WP_PAGE_EXEMPLARS ? wp_link_to(page, facts->release, facts->aggregate, NULL)
                                               : wp_link_to_part(page, facts->release, facts->aggregate, number, NULL);
}

/* Whether the thread stands on a path of interest of the kept beginning, which has all of the window. */
static bool is_in_beginning(const struct wp_trace *trace, const struct wp_exemplar_fact *fact)
{
    if (!trace || !trace->start_ns || fact->start_ns < trace->start_ns ||
        fact->start_ns - trace->start_ns > trace->length_ns ||
        fact->length_ns > trace->length_ns - (fact->start_ns - trace->start_ns))
        return false;
    for (uint32_t i = 0; i < trace->path_count; i++) {
        const struct wp_trace_thread *thread =
            trace->paths[i].thread < trace->thread_count ? &trace->threads[trace->paths[i].thread] : NULL;
        if (thread && trace->paths[i].is_base && thread->tid == fact->tid &&
            !strcmp(wp_intern_text(trace->strings, thread->host), fact->host))
            return true;
    }
    return false;
}

/* Both say the same of it; the beginning has what went on beside it, too. */
static void add_same_time(struct wp_display *display, const struct wp_facts *facts, const struct wp_exemplar_fact *fact)
{
    bool is_stacks = display->page_id.page == WP_PAGE_EXEMPLAR;
    if (fact->is_beginning || !is_in_beginning(facts->trace, fact))
        return;
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH,
        is_stacks ? "The same interval in the Chronology, with what went on beside it"
                  : "The same interval in the Timeline, with what went on beside it");
    uint64_t from = fact->start_ns - facts->trace->start_ns;
    if (item)
        item->link = wp_link_to(is_stacks ? WP_PAGE_CHRONO : WP_PAGE_RUNNING, facts->release, facts->aggregate,
            wp_pool_printf(&display->pool, "from=%" PRIu64 "&to=%" PRIu64, from, from + fact->length_ns));
}

int wp_page_exemplar(struct wp_display *display, const struct wp_facts *facts, unsigned number, struct wp_error *err)
{
    if (!number || number > facts->exemplars.count)
        return wp_error_set(err, -EINVAL, "there are %zu exemplars, not %u", facts->exemplars.count, number);
    const struct wp_exemplar_fact *fact = &facts->exemplars.rows[number - 1];
    struct wp_pool *pool = &display->pool;
    bool is_stacks = display->page_id.page == WP_PAGE_EXEMPLAR;
    display->part = number;
    wp_page_tabs(display, facts);
    display->title = fact->title;
    display->subtitle = wp_pool_printf(pool, "%s from %s, by thread %u of %s on %s",
        wp_human_duration(pool, fact->length_ns), wp_human_time(pool, fact->start_ns), fact->tid,
        wp_pool_clip(pool, fact->comm, NAME_BYTES), wp_pool_clip(pool, fact->host, NAME_BYTES));
    display->data = wp_pool_printf(pool, "exemplar-%u-data.js", number);
    wp_display_add(display, WP_ITEM_PARAGRAPH, fact->why);
    wp_page_window(display, facts, fact->trace, is_stacks);
    add_turn(display, facts, is_stacks ? WP_PAGE_EXEMPLAR_ROWS : WP_PAGE_EXEMPLAR, number,
        is_stacks ? "The same window by thread: who ran when" : "The same window as stacks over time");
    add_same_time(display, facts, fact);
    if (number < facts->exemplars.count)
        add_turn(display, facts, display->page_id.page, number + 1, "The next window");
    add_turn(display, facts, WP_PAGE_EXEMPLARS, 0, "All windows that were kept");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool,
            "For Perfetto: wakepath-reporter --store ROOT --release %s --aggregate %s --format "
            "perfetto --exemplar %u",
            facts->release, facts->aggregate, number));
    return pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for an exemplar of %s", facts->aggregate) : 0;
}
