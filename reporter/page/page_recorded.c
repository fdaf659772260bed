/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_recorded.h"

#include "reporter/display/humanize.h"
#include "reporter/recording/recorded_title.h"
#include "storage/value/recorded_keys.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 16u
#define TEXT_BYTES 1100u

struct listing {
    struct wp_pool *pool;
    const struct wp_facts *facts;
    const char *rows[ROWS][2];
    size_t count;
};

static void add(struct listing *listing, const char *label, const char *text)
{
    if (!text || !*text || listing->count == ROWS)
        return;
    listing->rows[listing->count][0] = label;
    listing->rows[listing->count++][1] = wp_pool_clip(listing->pool, text, TEXT_BYTES);
}

static bool number(const struct listing *listing, const char *key, uint64_t *value)
{
    const char *text = wp_recorded_text(listing->facts, key);
    char *end = NULL;
    *value = text ? strtoull(text, &end, 10) : 0;
    return text && end != text && !*end;
}

static void add_duration(struct listing *listing, const char *label, const char *key)
{
    uint64_t ns;
    if (number(listing, key, &ns))
        add(listing, label, wp_human_duration(listing->pool, ns));
}

static void add_pair(struct listing *listing, const char *label, const char *const keys[2], const char *format)
{
    uint64_t values[2];
    if (number(listing, keys[0], &values[0]) && number(listing, keys[1], &values[1]))
        add(listing, label,
            wp_pool_printf(listing->pool, "%s %s, %s %s", wp_human_count(listing->pool, values[0]), format,
                wp_human_count(listing->pool, values[1]), format + strlen(format) + 1));
}

static void add_exit(struct listing *listing)
{
    uint64_t code;
    if (!number(listing, WP_RECORDED_EXIT, &code))
        return;
    add(listing, "Exit status",
        code > 128 && code < 128 + 65
            ? wp_pool_printf(listing->pool, "%u (signal %u)", (unsigned)code, (unsigned)code - 128)
            : wp_human_count(listing->pool, code));
}

static const char *host_text(const struct listing *listing, const char *key)
{
    return wp_metadata_text(
        &listing->facts->release_metadata, wp_pool_printf(listing->pool, "host.%s.%s", listing->facts->hosts[0], key));
}

static void add_machine(struct listing *listing)
{
    if (listing->facts->host_count != 1)
        return;
    const char *cpus = host_text(listing, "cpus"), *machine = host_text(listing, "machine");
    add(listing, "Machine",
        wp_pool_printf(listing->pool, "%s%s%s%s%s", listing->facts->hosts[0], machine ? ", " : "",
            machine ? machine : "", cpus ? ", CPUs: " : "", cpus ? cpus : ""));
    add(listing, "Kernel", host_text(listing, "kernel"));
    add(listing, "Load", wp_recorded_text(listing->facts, WP_RECORDED_LOAD));
}

static void add_usage(struct listing *listing)
{
    uint64_t bytes;
    add_exit(listing);
    add_duration(listing, "Wall time", WP_RECORDED_WALL);
    add_duration(listing, "CPU time, user", WP_RECORDED_USER);
    add_duration(listing, "CPU time, system", WP_RECORDED_SYSTEM);
    if (number(listing, WP_RECORDED_RSS, &bytes))
        add(listing, "Memory of the largest process", wp_human_bytes(listing->pool, bytes));
    add_pair(listing, "Page faults", (const char *const[]){WP_RECORDED_MINOR_FAULTS, WP_RECORDED_MAJOR_FAULTS},
        "minor\0major");
    add_pair(listing, "Switches", (const char *const[]){WP_RECORDED_VOLUNTARY, WP_RECORDED_INVOLUNTARY},
        "voluntary\0involuntary");
}

void wp_page_recorded(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {{"What was run", NULL, WP_CELL_TEXT}, {"", NULL, WP_CELL_STACK}};
    struct listing listing = {.pool = &display->pool, .facts = facts};
    if (facts->is_command)
        add(&listing, "Command", wp_recorded_line(facts));
    add(&listing, "Workload", wp_recorded_workload(facts));
    if (facts->is_command) {
        add(&listing, "Directory", wp_recorded_text(facts, WP_RECORDED_DIRECTORY));
        add_usage(&listing);
    }
    if (!listing.count)
        return;
    add_machine(&listing);
    wp_display_heading(display, facts->recordings > 1 ? "What was run, the last time" : "What was run");
    struct wp_table *table = wp_display_table(display, "recorded", columns, 2, listing.count);
    for (size_t i = 0; i < listing.count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = listing.rows[i][0];
        row[1].text = listing.rows[i][1];
    }
}
