/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_calls.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/stack_text.h"
#include "reporter/page/page_behind.h"
#include "reporter/page/page_cycle.h"
#include "reporter/page/page_links.h"
#include "reporter/page/page_tabs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CALL_ROWS 12u
#define CALL_SITE_ROWS 4u
#define SITE_ROWS 8u
#define NAME_BYTES 160u

unsigned wp_page_function_parts(const struct wp_facts *facts)
{
    return (unsigned)((wp_page_function_count(facts) + WP_PAGE_FUNCTIONS_EACH - 1) / WP_PAGE_FUNCTIONS_EACH);
}

/* The other end of a call: a function leads to its own place, anything else to the flame. */
static void put_end(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    struct wp_field *field, uint32_t frame, const struct wp_call *call)
{
    uint32_t style = frame ? wp_facts_frame_style(facts, frame) : 0;
    field->text =
        frame ? wp_pool_clip(&display->pool, wp_facts_frame_name(facts, frame), NAME_BYTES) : "start of the stack";
    if (style == WP_STYLE_PROCESS)
        field->note = "process";
    else if (style == WP_STYLE_KERNEL)
        field->note = "kernel";
    else if (style == WP_STYLE_USER && calls->rank[frame] && facts->functions[calls->rank[frame] - 1].object[0])
        field->note = wp_pool_clip(&display->pool, facts->functions[calls->rank[frame] - 1].object, NAME_BYTES);
    if (frame && calls->rank[frame])
        field->link = wp_page_function_link(display, facts, calls->rank[frame] - 1);
    else if (call->permalink)
        field->link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
            wp_pool_printf(&display->pool, "node=%08" PRIx32, call->permalink));
}

/* Whether `to` was inlined into `from`. Texts are the report's, which has each once. */
static bool is_inlined(const struct wp_facts *facts, const struct wp_call *call)
{
    if (wp_facts_frame_style(facts, call->to) != WP_STYLE_USER)
        return false;
    const char *from = wp_facts_frame_name(facts, call->from), *to = wp_facts_frame_name(facts, call->to);
    for (uint32_t i = 0; i < facts->source.call_count; i++)
        if (facts->source.calls[i].is_inlined && facts->source.calls[i].name == to &&
            facts->source.sites[facts->source.calls[i].site].function == from)
            return true;
    return false;
}

/* One row: who, the time, how much of the function's own inclusive time that is. */
static void put_call(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    struct wp_table *table, const struct wp_call *call, bool is_caller)
{
    uint32_t other = is_caller ? call->from : call->to;
    uint64_t ns = is_caller ? call->caller_ns : call->callee_ns;
    if (!ns && !call->inside_ns)
        return;
    struct wp_field *row = wp_display_row(table);
    if (!row)
        return;
    put_end(display, facts, calls, &row[0], other, call);
    if (!ns)
        row[0].note = call->from == call->to ? "itself, recursion folded" : "same clique, folded";
    else if (is_inlined(facts, call))
        row[0].note = other == call->to ? "inlined here" : "it is inlined there";
    row[1].number = row[2].number = ns ? ns : call->inside_ns;
}

static void add_callers(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    const struct wp_function_fact *function, size_t place)
{
    static const struct wp_column columns[] = {
        {"Called by", NULL, WP_CELL_NAME},
        {"Time", "Of the function when it was called from there", WP_CELL_DURATION},
        {"Share", "Of the function's total time", WP_CELL_SHARE},
    };
    uint32_t first = calls->first_caller[function->frame], end = calls->first_caller[function->frame + 1];
    struct wp_table *table = wp_display_table(display, wp_pool_printf(&display->pool, "callers-%zu", place), columns, 3,
        end - first < CALL_ROWS ? end - first : CALL_ROWS);
    table->whole_ns = function->inclusive_ns;
    for (uint32_t i = first; i < end; i++)
        put_call(display, facts, calls, table, &calls->calls[i], true);
}

static void add_callees(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    const struct wp_function_fact *function, size_t place)
{
    static const struct wp_column columns[] = {
        {"Calls, and waits in", NULL, WP_CELL_NAME},
        {"Time", "Spent there from this function", WP_CELL_DURATION},
        {"Share", "Of the function's total time", WP_CELL_SHARE},
    };
    uint32_t first = calls->first_callee[function->frame], end = calls->first_callee[function->frame + 1];
    struct wp_table *table = wp_display_table(display, wp_pool_printf(&display->pool, "callees-%zu", place), columns, 3,
        end - first < CALL_ROWS ? end - first : CALL_ROWS);
    table->whole_ns = function->inclusive_ns;
    table->empty = "It calls nothing that was seen.";
    for (uint32_t i = first; i < end; i++)
        put_call(display, facts, calls, table, &calls->calls[calls->by_caller[i]], false);
}

static void add_call_sites(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    const struct wp_function_fact *function, size_t place)
{
    static const struct wp_column columns[] = {
        {"Where it stands", "The pseudo-stack up to it", WP_CELL_STACK},
        {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the function's total time", WP_CELL_SHARE},
    };
    uint32_t first = calls->first_site[function->frame], end = calls->first_site[function->frame + 1];
    struct wp_table *table = wp_display_table(display, wp_pool_printf(&display->pool, "places-%zu", place), columns, 3,
        end - first < CALL_SITE_ROWS ? end - first : CALL_SITE_ROWS);
    table->whole_ns = function->inclusive_ns;
    for (uint32_t i = first; i < end; i++) {
        const struct wp_flame_node *node = &facts->flame.nodes[calls->sites[i].node];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_stack_text(&display->pool, facts, node->source);
        row[0].link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
            wp_pool_printf(&display->pool, "node=%08" PRIx32, node->permalink));
        row[1].number = row[2].number = calls->sites[i].ns;
    }
}

/* To its first line with time. */
static void add_source(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_function_fact *function)
{
    uint32_t site = function->style == WP_STYLE_USER ? wp_source_function(&facts->source, function->name) : UINT32_MAX;
    if (site == UINT32_MAX)
        return;
    const struct wp_source_site *at = &facts->source.sites[site];
    struct wp_item *item = wp_display_add(display, WP_ITEM_FACT,
        wp_pool_printf(&display->pool, "%s:%" PRIu32,
            wp_pool_clip(&display->pool, wp_source_base(facts->source.files[at->file].path), NAME_BYTES), at->line));
    if (!item)
        return;
    item->label = "Source";
    item->note = wp_pool_clip(&display->pool, facts->source.files[at->file].path, NAME_BYTES);
    item->link = wp_page_source_link(display, facts, site);
}

/* Lines that call the function, where lines are known; the callers above say the same by function. */
static void add_sites(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_function_fact *function, size_t place)
{
    static const struct wp_column columns[] = {
        {"Call site", "The line that calls it", WP_CELL_NAME},
        {"Time", "Of the function when it was called from there", WP_CELL_DURATION},
        {"Share", "Of the function's total time", WP_CELL_SHARE},
    };
    const struct wp_source_lines *source = &facts->source;
    uint32_t callee = function->style == WP_STYLE_USER ? wp_source_function(source, function->name) : UINT32_MAX,
             count = 0;
    const uint32_t *callers = callee == UINT32_MAX ? NULL : wp_source_callers(source, callee, &count);
    bool is_known = false;
    for (uint32_t i = 0; i < count; i++)
        is_known |= source->sites[source->calls[callers[i]].site].file != UINT32_MAX;
    if (!is_known)
        return;
    struct wp_table *table = wp_display_table(
        display, wp_pool_printf(&display->pool, "sites-%zu", place), columns, 3, count < SITE_ROWS ? count : SITE_ROWS);
    table->whole_ns = function->inclusive_ns;
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_source_call *call = &source->calls[callers[i]];
        const struct wp_source_site *site = &source->sites[call->site];
        struct wp_field *row = site->file == UINT32_MAX ? NULL : wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_printf(&display->pool, "%s:%" PRIu32,
            wp_pool_clip(&display->pool, wp_source_base(source->files[site->file].path), NAME_BYTES), site->line);
        row[0].note = wp_pool_printf(&display->pool, "%s%s", wp_pool_clip(&display->pool, site->function, NAME_BYTES),
            call->is_inlined ? ", inlined there" : "");
        row[0].link = wp_page_source_link(display, facts, call->site);
        row[1].number = row[2].number = call->total_ns;
    }
}

/* As mdprof parts them: a function that calls itself does so at one place, or, to divide and conquer, at several. */
static void add_recursion(struct wp_display *display, const struct wp_facts *facts,
    const struct wp_function_fact *function, const struct wp_clique *clique)
{
    const struct wp_source_lines *source = &facts->source;
    uint32_t sites = 0;
    for (uint32_t i = 0; i < source->call_count && clique && clique->members == 1; i++)
        sites +=
            source->calls[i].name == function->name && source->sites[source->calls[i].site].function == function->name;
    if (!clique)
        wp_display_fact(display, "Recursion", "none", "");
    else if (clique->members > 1)
        wp_display_fact(display, "Recursion", "mutual", wp_pool_printf(&display->pool, "cycle of %s", clique->name));
    else if (sites > 1)
        wp_display_fact(display, "Recursion", "divide and conquer",
            wp_pool_printf(&display->pool, "it calls itself at %" PRIu32 " lines", sites));
    else
        wp_display_fact(display, "Recursion", "single",
            sites ? "it calls itself at one line" : "it calls itself; at how many lines is not known");
}

static void add_function(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls, size_t place)
{
    const struct wp_function_fact *function = &facts->functions[place];
    const struct wp_clique *clique =
        calls->clique[function->frame] ? &calls->cliques[calls->clique[function->frame] - 1] : NULL;
    struct wp_pool *pool = &display->pool;
    struct wp_item *heading = wp_display_add(display, WP_ITEM_HEADING, wp_pool_clip(pool, function->name, NAME_BYTES));
    if (!heading)
        return;
    heading->number = 2;
    heading->anchor = wp_page_function_anchor(display, function);
    heading->link = wp_page_flame_link(display, facts, "search", heading->text);
    wp_display_fact(display, "Total", wp_human_duration(pool, function->inclusive_ns),
        wp_pool_printf(pool, "%s of the total", wp_human_share(pool, function->inclusive_ns, facts->total_ns)));
    if (display->last)
        display->last->link = wp_page_behind_function(display, facts, function);
    wp_display_fact(display, "Running", wp_human_duration(pool, function->running_ns), "in itself");
    wp_display_fact(display, "Waiting", wp_human_duration(pool, function->waiting_ns), "in itself");
    add_recursion(display, facts, function, clique);
    if (*function->object) {
        wp_display_fact(display, "File", wp_pool_clip(pool, wp_source_base(function->object), NAME_BYTES),
            wp_pool_clip(pool, function->object, NAME_BYTES));
        if (display->last)
            display->last->link = wp_page_behind_link(display, facts, "module", function->object);
    }
    add_source(display, facts, function);
    add_callers(display, facts, calls, function, place);
    add_sites(display, facts, function, place);
    add_callees(display, facts, calls, function, place);
    add_call_sites(display, facts, calls, function, place);
}

static void add_cliques(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls)
{
    static const struct wp_column columns[] = {
        {"Functions that call each other", NULL, WP_CELL_NAME},
        {"Members", "1: it calls itself", WP_CELL_COUNT},
        {"Entered most from", NULL, WP_CELL_NAME},
        {"Time", "On any stack, counted once each", WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
    };
    if (!calls->clique_count)
        return;
    wp_display_heading(display, "Recursion");
    struct wp_table *table = wp_display_table(display, "cliques", columns, 5,
        calls->clique_count < WP_PAGE_FUNCTIONS_EACH ? calls->clique_count : WP_PAGE_FUNCTIONS_EACH);
    table->whole_ns = facts->total_ns;
    for (uint32_t i = 0; i < calls->clique_count; i++) {
        const struct wp_clique *clique = &calls->cliques[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_text(&display->pool, clique->name);
        if (i < wp_page_cycles(calls))
            row[0].link = wp_link_to_part(WP_PAGE_CYCLE, facts->release, facts->aggregate, i + 1, NULL);
        row[1].number = clique->members;
        row[2].text =
            clique->entry ? wp_pool_clip(&display->pool, wp_facts_frame_name(facts, clique->entry), NAME_BYTES) : "";
        row[3].number = row[4].number = clique->ns;
    }
}

static void add_turn(struct wp_display *display, const struct wp_facts *facts, unsigned part, const char *text)
{
    struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH, text);
    if (item)
        item->link = wp_link_to_part(WP_PAGE_FUNCTION, facts->release, facts->aggregate, part, NULL);
}

int wp_page_function(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    unsigned part, struct wp_error *err)
{
    size_t count = wp_page_function_count(facts), first = (size_t)(part - 1) * WP_PAGE_FUNCTIONS_EACH,
           end = first + WP_PAGE_FUNCTIONS_EACH < count ? first + WP_PAGE_FUNCTIONS_EACH : count;
    unsigned parts = wp_page_function_parts(facts);
    if (!part || part > parts)
        return wp_error_set(err, -EINVAL, "there are %u pages of functions, not %u", parts, part);
    display->part = part;
    display->title = wp_page_title(WP_PAGE_FUNCTION);
    display->subtitle = wp_pool_printf(
        &display->pool, "Functions %zu to %zu of %zu, by total time", first + 1, end, facts->function_count);
    wp_page_tabs(display, facts);
    if (part == 1)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            "The callers' times add up to a function's total time; so do its running time "
            "and the times of what it calls and waits in. A stack counts once however often the function stands on it: "
            "calls "
            "inside a clique of functions that call each other are folded, and not part of these sums.");
    if (part == 1)
        add_cliques(display, facts, calls);
    for (size_t i = first; i < end; i++)
        add_function(display, facts, calls, i);
    if (part > 1)
        add_turn(display, facts, part - 1, "The functions before these");
    if (part < parts)
        add_turn(display, facts, part + 1, "The next functions");
    return display->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for functions of %s", facts->aggregate) : 0;
}
