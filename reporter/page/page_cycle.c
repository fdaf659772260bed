/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_cycle.h"

#include "reporter/code/cycle.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/stack_text.h"
#include "reporter/page/page_links.h"
#include "reporter/page/page_tabs.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 160u
#define MEMBER_ROWS 200u
#define CONTEXT_LINKS 5u /* of each context but the first ones are in the table of all */

struct page {
    struct wp_display *display;
    const struct wp_facts *facts;
    const struct wp_calls *calls; /* NULL: of processes */
    const bool *is_member;        /* by frame */
};

static unsigned at_most(uint32_t count, unsigned limit)
{
    return count < limit ? count : limit;
}

unsigned wp_page_cycles(const struct wp_calls *calls)
{
    return at_most(calls->clique_count, WP_PAGE_CYCLES_MOST);
}

unsigned wp_page_wait_cycles(const struct wp_wait_graph *waits)
{
    return at_most(waits->knot_count, WP_PAGE_CYCLES_MOST);
}

static const char *name_of(const struct page *page, uint32_t frame)
{
    return wp_pool_clip(&page->display->pool, wp_facts_frame_name(page->facts, frame), NAME_BYTES);
}

/* To the function's place, or to the process in the flame. */
static void put_frame(const struct page *page, struct wp_field *field, uint32_t frame)
{
    uint32_t rank = page->calls ? page->calls->rank[frame] : 0;
    field->text = name_of(page, frame);
    if (!page->calls)
        field->link =
            wp_page_flame_link(page->display, page->facts, "process", wp_facts_frame_name(page->facts, frame));
    else if (rank)
        field->link = wp_page_function_link(page->display, page->facts, rank - 1);
}

static void add_members(const struct page *page)
{
    static const struct wp_column columns[] = {
        {"Member", NULL, WP_CELL_NAME},
        {"Total", "On any stack, with all that stands on it", WP_CELL_DURATION},
        {"Share", "Of the time of all control paths", WP_CELL_SHARE},
        {"Running", "Innermost function of a run", WP_CELL_DURATION},
        {"Waiting", "Innermost function of a wait", WP_CELL_DURATION},
    };
    const struct wp_facts *facts = page->facts;
    wp_display_heading(page->display, "Members");
    struct wp_table *table = wp_display_table(page->display, "members", columns, 5, MEMBER_ROWS);
    table->whole_ns = facts->total_ns;
    for (size_t i = 0; i < facts->function_count; i++) {
        const struct wp_function_fact *fact = &facts->functions[i];
        struct wp_field *row = page->is_member[fact->frame] ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        put_frame(page, &row[0], fact->frame);
        row[1].number = row[2].number = fact->inclusive_ns;
        row[3].number = fact->running_ns;
        row[4].number = fact->waiting_ns;
    }
}

static void add_links(
    const struct page *page, const char *id, const struct wp_cycle_link *links, size_t count, uint64_t whole_ns)
{
    static const struct wp_column columns[2][4] = {
        {{"From", NULL, WP_CELL_NAME}, {"Calls", NULL, WP_CELL_NAME},
            {"Time", "On stacks with this call, counted once each", WP_CELL_DURATION},
            {"Share", "Of the time in the cycle", WP_CELL_SHARE}},
        {{"From", NULL, WP_CELL_NAME}, {"Waits for", NULL, WP_CELL_NAME},
            {"Time", "On stacks with this wait, counted once each", WP_CELL_DURATION},
            {"Share", "Of the time in the cycle", WP_CELL_SHARE}}};
    struct wp_table *table = wp_display_table(page->display, id, columns[!page->calls], 4, count);
    table->whole_ns = whole_ns;
    table->empty = "It was entered and left, and went nowhere inside.";
    for (size_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        put_frame(page, &row[0], links[i].from);
        put_frame(page, &row[1], links[i].to);
        row[2].number = row[3].number = links[i].ns;
    }
}

static void add_context(const struct page *page, const struct wp_cycle_context *context, size_t number)
{
    struct wp_display *display = page->display;
    const struct wp_flame_node *node = &page->facts->flame.nodes[context->node];
    struct wp_item *heading = wp_display_add(display, WP_ITEM_HEADING,
        wp_pool_printf(&display->pool, "%zu. %s in %s", number, wp_human_duration(&display->pool, context->ns),
            name_of(page, node->frame)));
    if (!heading)
        return;
    heading->number = 3;
    heading->link = wp_link_to(WP_PAGE_FLAME, page->facts->release, page->facts->aggregate,
        wp_pool_printf(&display->pool, "node=%08" PRIx32, node->permalink));
    wp_display_add(display, WP_ITEM_PARAGRAPH, wp_stack_text(&display->pool, page->facts, node->source));
    add_links(page, wp_pool_printf(&display->pool, "context-%zu", number), context->links,
        at_most(context->link_count, CONTEXT_LINKS), context->ns);
}

static void build(const struct page *page, const char *name)
{
    struct wp_display *display = page->display;
    struct wp_pool *pool = &display->pool;
    struct wp_cycle cycle;
    wp_cycle_build(&cycle, pool, page->facts, &(struct wp_cycle_members){page->is_member, !page->calls});
    display->subtitle = wp_pool_text(pool, name);
    wp_display_fact(display, "Time", wp_human_duration(pool, cycle.ns),
        wp_pool_printf(pool, "%s of the total", wp_human_share(pool, cycle.ns, page->facts->total_ns)));
    wp_display_fact(display, "Contexts", wp_human_count(pool, cycle.context_count + (uint64_t)cycle.contexts_left_out),
        "ways into it");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        !page->calls ? "Processes that wait for each other. A stack's time counts once, however often it goes round."
                     : "Functions that call each other. A stack's time counts once, however often it goes round.");
    if (page->calls)
        add_members(page);
    wp_display_heading(display, "Links, of all stacks");
    add_links(page, "links", cycle.links, cycle.link_count, cycle.ns);
    wp_display_heading(display, "Links, by context");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        cycle.contexts_left_out
            ? wp_pool_printf(pool, "A context is a stack up to where it enters the cycle; the %u with most time.",
                  cycle.context_count)
            : "A context is a stack up to where it enters the cycle.");
    for (uint32_t i = 0; i < cycle.context_count; i++)
        add_context(page, &cycle.contexts[i], i + (size_t)1);
}

static int finish(const struct page *page, bool *is_member, const char *name, unsigned part, struct wp_error *err)
{
    struct wp_display *display = page->display;
    display->part = part;
    display->title = wp_page_title(display->page_id.page);
    wp_page_tabs(display, page->facts);
    build(page, name);
    free(is_member);
    return display->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for a cycle of %s", page->facts->aggregate)
                                : 0;
}

static int has_page(const bool *is_member, unsigned part, unsigned parts, struct wp_error *err)
{
    if (!is_member)
        return wp_error_set(err, -ENOMEM, "out of memory for a cycle");
    return part && part <= parts ? 0 : wp_error_set(err, -EINVAL, "there are %u pages of cycles, not %u", parts, part);
}

int wp_page_cycle(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls, unsigned part,
    struct wp_error *err)
{
    bool *is_member = calloc(calls->frame_count + (size_t)1, sizeof(*is_member));
    int rc = has_page(is_member, part, wp_page_cycles(calls), err);
    if (rc) {
        free(is_member);
        return rc;
    }
    for (uint32_t i = 1; i < calls->frame_count; i++)
        is_member[i] = calls->clique[i] == part;
    return finish(
        &(struct page){display, facts, calls, is_member}, is_member, calls->cliques[part - 1].name, part, err);
}

int wp_page_wait_cycle(struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits,
    unsigned part, struct wp_error *err)
{
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    bool *is_member = calloc(frames + (size_t)1, sizeof(*is_member));
    int rc = has_page(is_member, part, wp_page_wait_cycles(waits), err);
    if (rc) {
        free(is_member);
        return rc;
    }
    for (uint32_t i = 1; i < frames; i++)
        for (uint32_t at = 0; wp_facts_frame_style(facts, i) == WP_STYLE_PROCESS && at < waits->party_count; at++)
            if (waits->parties[at].knot == part && waits->parties[at].frame &&
                !strcmp(waits->parties[at].frame, wp_facts_frame_name(facts, i)))
                is_member[i] = true;
    return finish(&(struct page){display, facts, NULL, is_member}, is_member, waits->knots[part - 1].name, part, err);
}
