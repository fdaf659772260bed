/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_waits.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/page_context.h"
#include "reporter/page/page_behind.h"
#include "reporter/page/page_links.h"
#include "reporter/waits/wait_graph.h"

#include <inttypes.h>
#include <string.h>

#define DRAWN_PARTIES 14u
#define DRAWN_WAITS 40u
#define LEAST_DRAWN 80u /* a wait below this part of the longest is not drawn */
#define NONE UINT32_MAX
#define TABLE_ROWS 1000u
#define NAME_BYTES 80u

static const char *party_name(struct wp_display *display, const struct wp_party *party)
{
    const char *name = wp_pool_clip(&display->pool, party->name, NAME_BYTES);
    bool is_named = party->kind == WP_PARTY_LOCK && strncmp(name, "a lock", 6) != 0;
    return party->kind == WP_PARTY_DISK ? wp_pool_printf(&display->pool, "disk %s", name)
        : is_named                      ? wp_pool_printf(&display->pool, "lock %s", name)
        : *name                         ? name
                                        : "?";
}

/* The only process of that name; NULL: there are none or several. */
static const struct wp_process_fact *only_process(const struct wp_facts *facts, const char *frame)
{
    const struct wp_process_fact *found = NULL;
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        size_t size = strlen(fact->comm);
        if (*frame != '[' || strncmp(frame + 1, fact->comm, size) || strcmp(frame + 1 + size, "]"))
            continue;
        if (found && found->pid != fact->pid)
            return NULL;
        found = fact;
    }
    return found && found->pid ? found : NULL;
}

/* To the pages of its own, where there are such; else to where it stands in the flame. */
static struct wp_link process_link(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_party *party)
{
    if (!party->frame) /* "?", of a stack without a process */
        return (struct wp_link){0};
    const struct wp_process_fact *only =
        wp_page_context(display)->has_own_pages ? only_process(facts, party->frame) : NULL;
    if (!only)
        return wp_page_flame_link(display, facts, "process", party->frame);
    struct wp_buffer fragment = {0};
    wp_buffer_printf(&fragment, "own=pid-%u&name=", (unsigned)only->pid);
    wp_escape_url(&fragment, only->comm);
    const char *text = wp_pool_text(&display->pool, fragment.data ? (const char *)fragment.data : "");
    wp_buffer_fini(&fragment);
    return wp_link_to(WP_PAGE_WAITS, facts->release, facts->aggregate, text);
}

static struct wp_link party_link(struct wp_display *display, const struct wp_facts *facts, const struct wp_party *party)
{
    if (party->kind == WP_PARTY_PROCESS)
        return process_link(display, facts, party);
    if (party->kind == WP_PARTY_HOST)
        return wp_link_to(WP_PAGE_HOSTS, facts->release, facts->aggregate, NULL);
    if (party->search)
        return wp_page_flame_link(display, facts, "search", wp_pool_clip(&display->pool, party->search, NAME_BYTES));
    if (party->kind == WP_PARTY_UNKNOWN)
        return wp_link_to(WP_PAGE_UNEXPLAINED, facts->release, facts->aggregate, NULL);
    return wp_page_flame_link(display, facts, "search", wp_pool_clip(&display->pool, party->name, NAME_BYTES));
}

/* "web@db-3" of "[web]@db-3", as assets/figure.js reads it; of what is no process its name. */
static const char *in_address(struct wp_display *display, const struct wp_party *party)
{
    char *text = party->frame ? wp_pool_alloc(&display->pool, strlen(party->frame) + 1) : NULL, *end = text;
    if (!text)
        return party->name;
    for (const char *at = party->frame; *at; at++)
        if (!(at == party->frame && *at == '[') && !(*at == ']' && (at[1] == '@' || !at[1])))
            *end++ = *at;
    *end = 0;
    return text;
}

/* Whose, when and where a wait is: of those for processes, disks and peers. */
static struct wp_link behind_wait(struct wp_display *display, const struct wp_facts *facts, const struct wp_party *from,
    const struct wp_party *to, const struct wp_graph_wait *wait)
{
    if (to->kind == WP_PARTY_UNKNOWN || from->kind != WP_PARTY_PROCESS)
        return wp_page_behind_node(display, facts, wait->permalink);
    struct wp_link link = wp_page_behind_link(display, facts, "waiter", in_address(display, from));
    struct wp_link other = wp_page_behind_link(display, facts, "for", in_address(display, to));
    link.fragment = wp_pool_printf(&display->pool, "%s&%s", link.fragment, other.fragment);
    return link;
}

static struct wp_link wait_link(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_graph_wait *wait)
{
    return wait->permalink ? wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
                                 wp_pool_printf(&display->pool, "node=%08" PRIx32, wait->permalink))
                           : (struct wp_link){0};
}

/* Where `part` stands last in the text; NULL nowhere. */
static const char *last_of(const char *text, const char *part)
{
    const char *last = NULL;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        last = at;
    return last;
}

/* What of a name stands on a line of its own: its host, a thread's function, a lock's file. */
static const char *place_in(const struct wp_party *party, const char *name)
{
    if (party->kind == WP_PARTY_THREAD)
        return strstr(name, " in ");
    if (party->kind == WP_PARTY_LOCK)
        return last_of(name, " (");
    if (party->kind == WP_PARTY_PROCESSOR)
        return last_of(name, " processor");
    return party->frame && strstr(party->frame, "]@") ? last_of(name, " on ") : NULL;
}

static void put_box(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_party *party, struct wp_box *box)
{
    static const enum wp_box_kind kinds[] = {[WP_PARTY_PROCESS] = WP_BOX_PROCESS,
        [WP_PARTY_DISK] = WP_BOX_DISK,
        [WP_PARTY_PEER] = WP_BOX_PEER,
        [WP_PARTY_UNKNOWN] = WP_BOX_UNKNOWN,
        [WP_PARTY_HOST] = WP_BOX_HOST,
        [WP_PARTY_LOCK] = WP_BOX_UNKNOWN,
        [WP_PARTY_THREAD] = WP_BOX_PROCESS,
        [WP_PARTY_PROCESSOR] = WP_BOX_PROCESS};
    const char *note = party->waited_for_ns
        ? wp_pool_printf(&display->pool, "waited for %s", wp_human_duration(&display->pool, party->waited_for_ns))
        : party->is_base && party->kind == WP_PARTY_PROCESS ? "process of interest"
                                                            : "";
    const char *name = party_name(display, party);
    *box = (struct wp_box){kinds[party->kind], name, place_in(party, name), note,
        party->is_base && party->waited_ns >= party->waited_for_ns, party->knot > 0, party_link(display, facts, party)};
}

/* The box of a party, made if there is room; NONE when not. `boxes` is by party, the number + 1. */
static uint32_t box_of(struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits,
    struct wp_graph *graph, uint32_t *boxes, uint32_t party)
{
    if (!boxes[party] && graph->box_count == DRAWN_PARTIES)
        return NONE;
    if (!boxes[party]) {
        put_box(display, facts, &waits->parties[party], &graph->boxes[graph->box_count]);
        boxes[party] = ++graph->box_count;
    }
    return boxes[party] - 1;
}

static void put_arrows(struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits,
    struct wp_graph *graph, uint32_t *boxes)
{
    for (uint32_t i = 0; i < waits->wait_count && graph->arrow_count < DRAWN_WAITS; i++) {
        const struct wp_graph_wait *wait = &waits->waits[i];
        if (wait->from == wait->to || wait->ns < waits->waits[0].ns / LEAST_DRAWN)
            continue;
        uint32_t from = box_of(display, facts, waits, graph, boxes, wait->from);
        uint32_t to = from == NONE ? NONE : box_of(display, facts, waits, graph, boxes, wait->to);
        if (to == NONE)
            continue;
        const char *time = wp_human_duration(&display->pool, wait->ns);
        graph->arrows[graph->arrow_count++] = (struct wp_arrow){from, to, wait->ns, time,
            wp_pool_printf(&display->pool, "%s waits %s for %s", party_name(display, &waits->parties[wait->from]), time,
                party_name(display, &waits->parties[wait->to])),
            wait->knot > 0, wait_link(display, facts, wait)};
    }
}

static void add_graph(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits, const char *label)
{
    struct wp_pool *pool = &display->pool;
    struct wp_graph *graph = wp_pool_alloc(pool, sizeof(*graph));
    uint32_t *boxes = wp_pool_alloc(pool, (waits->party_count + 1u) * sizeof(*boxes));
    if (!graph || !boxes)
        return;
    graph->boxes = wp_pool_alloc(pool, DRAWN_PARTIES * sizeof(*graph->boxes));
    graph->arrows = wp_pool_alloc(pool, DRAWN_WAITS * sizeof(*graph->arrows));
    if (!graph->boxes || !graph->arrows)
        return;
    put_arrows(display, facts, waits, graph, boxes);
    struct wp_item *item = graph->box_count ? wp_display_add(display, WP_ITEM_GRAPH, label) : NULL;
    if (item)
        item->graph = graph;
    if (graph->arrow_count && waits->wait_count > graph->arrow_count)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(pool, "The %u longest waits; the table has all %u.", graph->arrow_count, waits->wait_count));
}

/* `hosts` waits have messages where those of processes have pieces. */
static void add_waits(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits, bool is_hosts)
{
    static const struct wp_column columns[] =
        {
            {"Who waits", NULL, WP_CELL_NAME},
            {"For whom", NULL, WP_CELL_NAME},
            {"Time", NULL, WP_CELL_DURATION},
            {"Share", "Of the total; waits stand in each other, so shares do not add up to 100 %", WP_CELL_SHARE},
            {"Pieces", "Intervals in which the awaited one itself was on top", WP_CELL_COUNT},
            {"Cycle", "Both wait for each other in the end", WP_CELL_TEXT},
        },
                                  host_columns[] = {
                                      {"Host that waits", NULL, WP_CELL_NAME},
                                      {"For host", NULL, WP_CELL_NAME},
                                      {"Time", NULL, WP_CELL_DURATION},
                                      {"Share",
                                          "Of the total; waits stand in each other, so shares do not add up to 100 %",
                                          WP_CELL_SHARE},
                                      {"Messages", "That ended waits", WP_CELL_COUNT},
                                      {"Cycle", "Both wait for each other in the end", WP_CELL_TEXT},
                                  };
    size_t room = waits->wait_count < TABLE_ROWS ? waits->wait_count : TABLE_ROWS;
    struct wp_table *table =
        wp_display_table(display, is_hosts ? "host-waits" : "waits", is_hosts ? host_columns : columns, 6, room);
    table->whole_ns = facts->total_ns;
    table->searchable = room > 10;
    table->empty = "Nothing on these paths waited for anything else.";
    for (uint32_t i = 0; i < waits->wait_count; i++) {
        const struct wp_graph_wait *wait = &waits->waits[i];
        const struct wp_party *from = &waits->parties[wait->from], *to = &waits->parties[wait->to];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = party_name(display, from);
        row[0].note = from->is_base && !is_hosts ? "process of interest" : NULL;
        row[0].link = party_link(display, facts, from);
        row[1].text = party_name(display, to);
        row[1].note = wait->from == wait->to ? "another of its name"
            : to->kind == WP_PARTY_PEER      ? "not recorded"
                                             : NULL;
        row[1].link = wait->permalink ? wait_link(display, facts, wait) : party_link(display, facts, to);
        row[2].number = row[3].number = wait->ns;
        if (!is_hosts)
            row[2].link = behind_wait(display, facts, from, to, wait);
        row[4].number = wait->count;
        row[5].text = wait->knot ? waits->knots[wait->knot - 1].name : "";
    }
}

static void add_knots(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits, bool is_hosts)
{
    struct wp_pool *pool = &display->pool;
    for (uint32_t i = 0; i < waits->knot_count && i < 20; i++) {
        const struct wp_knot *knot = &waits->knots[i];
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool,
                "%s: %s, which wait for each other in a circle; the paths "
                "were inside of it for %s (%s of the total).",
                i                           ? "A cycle"
                    : waits->knot_count > 1 ? "The largest cycle"
                                            : "A cycle",
                knot->name, wp_human_duration(pool, knot->ns), wp_human_share(pool, knot->ns, facts->total_ns)));
        struct wp_item *links =
            is_hosts ? NULL : wp_display_add(display, WP_ITEM_PARAGRAPH, "Its links, of all stacks and by context");
        if (links)
            links->link = wp_link_to_part(WP_PAGE_WAIT_CYCLE, facts->release, facts->aggregate, i + 1, NULL);
    }
}

void wp_page_waits(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_wait_graph waits, hosts;
    wp_wait_graph_processes(&waits, &display->pool, facts);
    wp_wait_graph_hosts(&hosts, &display->pool, facts);
    if (display->pool.failed)
        return;
    display->title = "Who waits for whom";
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "An arrow leads from a process to what it waited for, as wide as the time; a wait that contains another one "
        "contains its time. Of a lock, arrows come from the functions that wait for it and lead to those that hold it. "
        "A "
        "click opens the place in the flame.");
    if (facts->categories[WP_OTHER_PATH]) {
        struct wp_item *others = wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(&display->pool,
                "In no arrow: %s (%s of the total) that was "
                "spent waiting for another control path, which has its own time. What waited for which",
                wp_human_duration(&display->pool, facts->categories[WP_OTHER_PATH]),
                wp_human_share(&display->pool, facts->categories[WP_OTHER_PATH], facts->total_ns)));
        if (others)
            others->link = wp_page_behind_link(display, facts, "category", wp_category_key(WP_OTHER_PATH));
    }
    add_graph(display, facts, &waits, "Processes and what they wait for");
    add_knots(display, facts, &waits, false);
    struct wp_item *processor =
        wp_display_add(display, WP_ITEM_PARAGRAPH, "Who had the processor while others could have run");
    if (processor)
        processor->link = wp_link_to(WP_PAGE_PROCESSOR, facts->release, facts->aggregate, NULL);
    wp_display_heading(display, "All waits");
    add_waits(display, facts, &waits, false);
    if (!hosts.wait_count)
        return;
    wp_display_heading(display, "Between hosts");
    add_graph(display, facts, &hosts, "Hosts and what they wait for");
    add_knots(display, facts, &hosts, true);
    add_waits(display, facts, &hosts, true);
}
