/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_hosts.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/page_context.h"
#include "reporter/page/page_behind.h"
#include "reporter/page/page_links.h"
#include "reporter/recording/hosts.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define MATRIX_HOSTS 10u /* a wider table nobody reads; the pairs are listed below it */
#define TABLE_ROWS 2000u
#define NAME_BYTES 80u

static const char *host_name(struct wp_display *display, const struct wp_hosts *hosts, uint32_t host)
{
    return wp_pool_clip(&display->pool, hosts->rows[host].name, NAME_BYTES);
}

static const char *or_unknown(struct wp_display *display, const char *text)
{
    return text ? wp_pool_clip(&display->pool, text, NAME_BYTES) : "";
}

static void put_value(struct wp_field *field, const char *text, uint64_t value)
{
    field->text = value ? text : "–";
    field->value = (double)value;
    field->mark = value ? WP_MARK_NONE : WP_MARK_FAINT;
}

static const char *bound_text(struct wp_display *display, const struct wp_edge_fact *edge)
{
    return edge->bound_ns == UINT64_MAX
        ? "± unknown"
        : wp_pool_printf(&display->pool, "± %s", wp_human_duration(&display->pool, edge->bound_ns));
}

static void put_bound(struct wp_display *display, struct wp_field *field, const struct wp_edge_fact *edge)
{
    put_value(field, edge ? bound_text(display, edge) : "", edge ? edge->bound_ns : 0);
}

/* The hosts that take part in the longest waits, at most MATRIX_HOSTS of them; returns how many. */
static uint32_t choose(const struct wp_hosts *hosts, uint32_t chosen[MATRIX_HOSTS])
{
    uint32_t count = 0;
    for (size_t i = 0; i < hosts->pair_count; i++) {
        const uint32_t ends[2] = {hosts->pairs[i].to, hosts->pairs[i].from};
        for (int end = 0; end < 2 && count < MATRIX_HOSTS; end++) {
            bool found = false;
            for (uint32_t j = 0; j < count; j++)
                found = found || chosen[j] == ends[end];
            if (!found)
                chosen[count++] = ends[end];
        }
    }
    return count;
}

static void put_cell(struct wp_display *display, struct wp_field *field, const struct wp_host_pair *pair)
{
    struct wp_pool *pool = &display->pool;
    const struct wp_edge_fact *edge = pair->edge;
    put_value(field, edge ? wp_human_duration(pool, edge->waited_ns) : "0", edge ? edge->waited_ns : 0);
    if (edge)
        field->note = wp_pool_printf(pool, "%s, transit %s %s", wp_human_many(pool, edge->messages, "message"),
            wp_human_duration(pool, edge->transit_ns), bound_text(display, edge));
    else if (pair->received)
        field->note = wp_pool_printf(pool, "%s, no wait", wp_human_many(pool, pair->received, "message"));
    if (pair->resent)
        field->note = wp_pool_printf(pool, "%s%s%s sent again", field->note ? field->note : "", field->note ? ", " : "",
            wp_human_count(pool, pair->resent));
}

static void add_matrix(struct wp_display *display, const struct wp_hosts *hosts)
{
    struct wp_pool *pool = &display->pool;
    uint32_t chosen[MATRIX_HOSTS], count = choose(hosts, chosen);
    struct wp_column *columns = wp_pool_alloc(pool, (count + 1u) * sizeof(*columns));
    if (!count || !columns)
        return;
    columns[0] = (struct wp_column){
        "Waits on, for:", "A row is the host that waited, a column the one that it waited for", WP_CELL_NAME};
    for (uint32_t i = 0; i < count; i++)
        columns[i + 1] = (struct wp_column){host_name(display, hosts, chosen[i]), NULL, WP_CELL_VALUE};
    struct wp_table *table = wp_display_table(display, "matrix", columns, count + 1u, count);
    for (uint32_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = host_name(display, hosts, chosen[i]);
        for (uint32_t j = 0; j < count; j++) {
            put_value(&row[j + 1], "", 0);
            for (size_t pair = 0; pair < hosts->pair_count; pair++)
                if (hosts->pairs[pair].to == chosen[i] && hosts->pairs[pair].from == chosen[j])
                    put_cell(display, &row[j + 1], &hosts->pairs[pair]);
        }
    }
    if (count == MATRIX_HOSTS)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(pool,
                "The %u hosts with the longest waits; all pairs stand "
                "below.",
                MATRIX_HOSTS));
}

static void add_pairs(struct wp_display *display, const struct wp_hosts *hosts)
{
    static const struct wp_column columns[] = {
        {"On host", "That waited", WP_CELL_NAME},
        {"For host", "Whose messages ended the waits", WP_CELL_NAME},
        {"Waited", "Until they came", WP_CELL_DURATION},
        {"Waits", "That a message from there ended", WP_CELL_COUNT},
        {"Transit", "Of the message that ended the wait, on average", WP_CELL_DURATION},
        {"Longest", "Transit", WP_CELL_DURATION},
        {"Clock bound", "The two clocks are known to plus or minus so much, at worst", WP_CELL_VALUE},
        {"Received", "Messages from there, waited for or not, of the whole release", WP_CELL_COUNT},
        {"Bytes", "In them", WP_CELL_VALUE},
        {"Sent again", "TCP segments that the other host retransmitted on these connections", WP_CELL_COUNT},
    };
    size_t room = hosts->pair_count < TABLE_ROWS ? hosts->pair_count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "edges", columns, hosts->has_traffic ? 10 : 7, room);
    table->empty = "Nothing waited for a recorded process on another host.";
    table->searchable = room > 10;
    for (size_t i = 0; i < hosts->pair_count; i++) {
        const struct wp_host_pair *pair = &hosts->pairs[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = host_name(display, hosts, pair->to);
        row[1].text = host_name(display, hosts, pair->from);
        if (pair->edge) {
            row[2].number = pair->edge->waited_ns;
            row[3].number = pair->edge->messages;
            row[4].number = pair->edge->transit_ns;
            row[5].number = pair->edge->transit_max_ns;
        }
        put_bound(display, &row[6], pair->edge);
        if (hosts->has_traffic) {
            row[7].number = pair->received;
            put_value(&row[8], wp_human_bytes(&display->pool, pair->bytes), pair->bytes);
            row[9].number = pair->resent;
        }
    }
}

/* The flame of what stands on a host's processes, where frames name it: those that another host's wait was followed to.
 */
static struct wp_link flame_of_host(struct wp_display *display, const struct wp_facts *facts, const char *host)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = wp_report_text(facts->report, frames[i].name);
        size_t size = strlen(name), end = strlen(host) + 2;
        if (frames[i].style == WP_STYLE_PROCESS && size > end && !memcmp(name + size - end, "]@", 2) &&
            !strcmp(name + size - end + 2, host))
            return wp_page_flame_link(display, facts, "host", host);
    }
    return (struct wp_link){0};
}

/* Time of the host's own processes of interest, with the flame of it; nothing where hosts are not separated. */
static void put_own(struct wp_display *display, const struct wp_facts *facts, struct wp_field *field, const char *host)
{
    const struct wp_origins *origins = &wp_page_context(display)->origins;
    for (size_t i = 0; i < origins->count; i++)
        if (origins->rows[i].host_count == 1 && !strcmp(origins->rows[i].name, host)) {
            field->number = origins->rows[i].total_ns;
            field->link = wp_page_flame_link(display, facts, "hosts", host);
        }
}

/* Whether it is known of each host what its own processes did. */
static bool are_apart(const struct wp_origins *origins)
{
    return origins->count > 1 || (origins->count == 1 && origins->rows[0].host_count == 1);
}

static void add_hosts(struct wp_display *display, const struct wp_facts *facts, const struct wp_hosts *hosts)
{
    static const struct wp_column columns[] = {
        {"Host", NULL, WP_CELL_NAME},
        {"Processes", "On control paths", WP_CELL_COUNT},
        {"On others' paths", "Pseudo-stacks of other hosts that stand on one of its processes, each counted once",
            WP_CELL_DURATION},
        {"Processes' time", "Of its processes, together; one that waits and the one that it waits for both count",
            WP_CELL_DURATION},
        {"Running", "Of that, on a CPU", WP_CELL_DURATION},
        {"Waited for others", "For messages from other hosts", WP_CELL_DURATION},
        {"Others waited", "For its messages", WP_CELL_DURATION},
        {"Its own paths", "Whose time: of the processes of interest on it, wherever it passed", WP_CELL_DURATION},
    };
    size_t room = hosts->count < TABLE_ROWS ? hosts->count : TABLE_ROWS;
    struct wp_table *table =
        wp_display_table(display, "hosts", columns, are_apart(&wp_page_context(display)->origins) ? 8 : 7, room);
    table->empty = "No host was named.";
    table->searchable = room > 10;
    table->whole_ns = facts->total_ns;
    for (size_t i = 0; i < hosts->count; i++) {
        const struct wp_host_fact *host = &hosts->rows[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = host_name(display, hosts, (uint32_t)i);
        row[0].note = host->is_recorded ? NULL : "not on these paths";
        row[0].link = flame_of_host(display, facts, host->name);
        row[1].number = host->processes;
        row[2].number = host->others_ns;
        if (host->others_ns)
            row[2].link = wp_page_behind_link(display, facts, "host", host->name);
        row[3].number = host->total_ns; /* no link: layers overlap in it, and a flame counts a stack once */
        row[4].number = host->running_ns;
        row[5].number = host->waited_ns;
        row[6].number = host->waited_for_ns;
        if (are_apart(&wp_page_context(display)->origins))
            put_own(display, facts, &row[7], host->name);
    }
}

void wp_page_host_identities(struct wp_display *display, const struct wp_hosts *hosts)
{
    static const struct wp_column columns[] = {
        {"Host", NULL, WP_CELL_NAME},
        {"Kernel", NULL, WP_CELL_NAME},
        {"Machine", NULL, WP_CELL_TEXT},
        {"CPUs", NULL, WP_CELL_ID},
        {"Source", "Of its events, and the collector's version", WP_CELL_NAME},
        {"Labels", NULL, WP_CELL_NAME},
        {"Repaired", "Lost switches that were reconstructed from the next fact", WP_CELL_COUNT},
        {"Events", "Received from it", WP_CELL_COUNT},
        {"Lost", "Events that it could not keep", WP_CELL_COUNT},
    };
    struct wp_pool *pool = &display->pool;
    struct wp_table *table = wp_display_table(display, "identities", columns, hosts->has_counts ? 9 : 7,
        hosts->count < TABLE_ROWS ? hosts->count : TABLE_ROWS);
    for (size_t i = 0; i < hosts->count; i++) {
        const struct wp_host_fact *host = &hosts->rows[i];
        struct wp_field *row = host->uuid ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        row[0].text = host_name(display, hosts, (uint32_t)i);
        row[0].note = or_unknown(display, host->uuid);
        row[1].text = or_unknown(display, host->kernel);
        row[2].text = or_unknown(display, host->machine);
        row[3].number = host->cpus ? strtoull(host->cpus, NULL, 10) : 0;
        row[4].text = or_unknown(display, host->source);
        row[4].note = host->version ? wp_pool_clip(pool, host->version, NAME_BYTES) : NULL;
        row[5].text = or_unknown(display, host->labels);
        row[6].number = host->repaired;
        if (hosts->has_counts) {
            row[7].number = host->events;
            row[8].number = host->dropped;
        }
    }
}

void wp_page_host_clocks(struct wp_display *display, const struct wp_hosts *hosts)
{
    static const struct wp_column columns[] = {
        {"Host", NULL, WP_CELL_NAME},
        {"Clock", "Whether it can be compared with the other hosts' clocks", WP_CELL_TEXT},
        {"Compared by", "Messages from and to it whose both ends were seen", WP_CELL_COUNT},
        {"Contradictions", "Messages that would have come before they were sent", WP_CELL_COUNT},
        {"Unpaired", "Messages received from sockets that nobody records", WP_CELL_COUNT},
        {"Bytes", "In them", WP_CELL_VALUE},
        {"Ambiguous", "Messages whose sender fits several sockets", WP_CELL_COUNT},
        {"Sent again", "TCP segments that it retransmitted to hosts that nobody records", WP_CELL_COUNT},
    };
    struct wp_table *table =
        wp_display_table(display, "clocks", columns, 8, hosts->count < TABLE_ROWS ? hosts->count : TABLE_ROWS);
    for (size_t i = 0; i < hosts->count; i++) {
        const struct wp_host_fact *host = &hosts->rows[i];
        struct wp_field *row = host->uuid ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        row[0].text = host_name(display, hosts, (uint32_t)i);
        row[1].text = host->clock ? or_unknown(display, host->clock) : "not compared: no message to another host";
        row[2].number = host->clock_messages;
        row[3].number = host->contradictions;
        row[4].number = host->unpaired;
        put_value(&row[5], wp_human_bytes(&display->pool, host->unpaired_bytes), host->unpaired_bytes);
        row[6].number = host->ambiguous;
        row[7].number = host->resent;
    }
}

/* One sentence that says what the tables show. */
static void add_summary(struct wp_display *display, const struct wp_hosts *hosts)
{
    struct wp_pool *pool = &display->pool;
    const struct wp_host_pair *first = hosts->pair_count ? &hosts->pairs[0] : NULL;
    size_t recorded = 0, distrusted = 0;
    uint64_t waited = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        recorded += hosts->rows[i].is_recorded;
        waited += hosts->rows[i].waited_ns;
        distrusted += hosts->rows[i].clock && hosts->rows[i].clock[0] != 'u';
    }
    display->subtitle = recorded == 1 ? "One host" : wp_pool_printf(pool, "%zu hosts", recorded);
    if (first && first->edge)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(pool,
                "Hosts waited %s for messages of other hosts, a wait "
                "inside another one counted in both. The longest: %s waited %s for %s.",
                wp_human_duration(pool, waited), host_name(display, hosts, first->to),
                wp_human_duration(pool, first->edge->waited_ns), host_name(display, hosts, first->from)));
    if (distrusted)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool,
                "%zu %s a clock that contradicts the others: times between "
                "it and them are not to be trusted.",
                distrusted, distrusted == 1 ? "host has" : "hosts have"));
}

void wp_page_hosts(struct wp_display *display, const struct wp_facts *facts)
{
    struct wp_hosts hosts;
    wp_hosts_build(&hosts, &display->pool, facts);
    if (display->pool.failed)
        return;
    add_summary(display, &hosts);
    const struct wp_page_context *context = wp_page_context(display);
    struct wp_item *canary = context->canary
        ? wp_display_add(display, context->has_canary ? WP_ITEM_FINDING : WP_ITEM_NOTICE, context->canary)
        : NULL;
    if (canary && context->has_canary) {
        canary->number = 1;
        canary->link = wp_link_to(WP_PAGE_CANARY, facts->release, facts->aggregate, NULL);
    }
    if (hosts.pair_count) {
        wp_display_heading(display, "Who waited for whom");
        add_matrix(display, &hosts);
    }
    bool all_apart = are_apart(&context->origins);
    for (size_t i = 0; i < context->origins.count; i++)
        all_apart &= context->origins.rows[i].host_count == 1;
    wp_display_heading(display, "Hosts");
    add_hosts(display, facts, &hosts);
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(&display->pool,
            "%sOn others' paths counts a pseudo-stack once, as the page does that it "
            "leads to. Processes' time counts each process for as long as it stood in a pseudo-stack, several at once "
            "where they wait for each other: it may "
            "be more than the total, and no other page has that figure.",
            all_apart ? "Its own paths of all hosts add up to the total. " : ""));
    wp_display_heading(display, "Between hosts");
    add_pairs(display, &hosts);
    if (!hosts.has_identity)
        return;
    wp_display_heading(display, "What was recorded where");
    wp_page_host_identities(display, &hosts);
    wp_display_heading(display, "Clocks, and messages from elsewhere");
    wp_page_host_clocks(display, &hosts);
}
