/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/live_text.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/utf8.h"
#include "reporter/display/humanize.h"

#include <string.h>

#define LEAST_COLUMNS 40u
#define NAME_COLUMNS 16u
#define DOING_COLUMNS 32u

/* At most `columns` characters of `text`; returns how many. */
static unsigned put_clipped(struct wp_buffer *out, const char *text, unsigned columns)
{
    unsigned used = 0;
    size_t step;
    for (; *text && used < columns; text += step, used++) {
        uint32_t c;
        step = wp_utf8_decode(text, WP_UTF8_MOST, &c);
        bool is_last = used + 1 == columns && text[step ? step : 1];
        if (is_last)
            wp_utf8_put(out, 0x2026); /* … */
        else if (!step || wp_utf8_is_control(c))
            wp_buffer_putc(out, '?');
        else
            wp_buffer_append(out, text, step);
        step += !step;
    }
    return used;
}

static void put_cell(struct wp_buffer *out, const char *text, unsigned columns)
{
    unsigned used = put_clipped(out, text, columns);
    wp_buffer_printf(out, "%*s", (int)(columns - used + 1), "");
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* "12 s", "3 min 20 s", "2 h 05 min": a clock without fractions, which would not be read. */
static const char *elapsed_text(struct wp_pool *pool, uint64_t ns)
{
    uint64_t seconds = ns / WP_NS_PER_S;
    return seconds < 60 ? wp_pool_printf(pool, "%u s", (unsigned)seconds)
                        : wp_human_duration(pool, seconds * WP_NS_PER_S);
}

void wp_live_text_line(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look)
{
    struct wp_pool pool = {0};
    const struct wp_live_wait *top = reading->count && reading->rows[0].since_ns ? reading->rows : NULL;
    const char *text = wp_pool_printf(&pool, "%s %s", look->title, elapsed_text(&pool, look->elapsed_ns));
    if (top && strcmp(top->who, top->whom))
        text = wp_pool_printf(&pool, "%s, %s waits for %s, which %s", text, top->who, top->whom, top->doing);
    else if (top)
        text = wp_pool_printf(&pool, "%s, %s %s", text, top->who, top->doing);
    if (top && *top->where)
        text = wp_pool_printf(&pool, "%s in %s", text, top->where);
    unsigned columns = look->columns > LEAST_COLUMNS ? look->columns : LEAST_COLUMNS;
    put_clipped(out, text, columns - 5); /* the last column stays free: some terminals break the line there */
    wp_buffer_puts(out, " ...");
    wp_pool_fini(&pool);
}

static void put_head(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look)
{
    struct wp_pool pool = {0};
    wp_buffer_puts(out, "wakepath top: ");
    put_clipped(out, look->title, look->columns / 2);
    wp_buffer_printf(out, ", %s", elapsed_text(&pool, look->elapsed_ns));
    if (!reading->count) {
        wp_buffer_puts(out, "; nothing of it was seen yet\n");
    } else {
        wp_buffer_printf(out, "; below: %s since the last look, %s %% accounted for\n",
            wp_human_duration(&pool, reading->since_ns), wp_pool_printf(&pool, "%.1f", reading->accounted_percent));
        if (reading->lost_events)
            wp_buffer_printf(out, "lost %s of the events\n",
                wp_human_share(&pool, reading->lost_events, reading->events + reading->lost_events));
    }
    wp_pool_fini(&pool);
}

void wp_live_text_table(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look)
{
    struct wp_pool pool = {0};
    unsigned columns = look->columns > LEAST_COLUMNS ? look->columns : LEAST_COLUMNS;
    unsigned left = columns - 17; /* share and time, and what parts them */
    unsigned name = least(NAME_COLUMNS, left / 4), doing = least(DOING_COLUMNS, left / 3);
    unsigned where = left - 2 * name - doing - 3;
    put_head(out, reading, look);
    if (reading->count) {
        wp_buffer_printf(out, "%s%6s %9s ", look->has_colour ? "\033[1m" : "", "share", "time");
        put_cell(out, "who", name);
        put_cell(out, "waits for", name);
        put_cell(out, "which", doing);
        wp_buffer_printf(out, "in%s\n", look->has_colour ? "\033[0m" : "");
    }
    for (size_t i = 0; i < reading->count && i < look->rows && reading->rows[i].since_ns; i++) {
        const struct wp_live_wait *row = &reading->rows[i];
        bool is_itself = !strcmp(row->who, row->whom);
        const char *share = wp_human_share(&pool, row->since_ns, reading->since_ns);
        const char *time = wp_human_duration(&pool, row->since_ns);
        wp_buffer_printf(out, "%*s%s ", (int)(6 - least(6, (unsigned)strlen(share))), "", share);
        unsigned shown = 0; /* "µ" is two bytes and one column */
        for (const char *at = time; *at; at++)
            shown += (*at & 0xc0) != 0x80;
        wp_buffer_printf(out, "%*s%s ", (int)(9 - least(9, shown)), "", time);
        put_cell(out, row->who, name);
        put_cell(out, is_itself ? "-" : row->whom, name);
        put_cell(out, row->doing, doing);
        put_clipped(out, row->where, where);
        wp_buffer_putc(out, '\n');
    }
    wp_pool_fini(&pool);
}

int wp_live_text_json(
    struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look, struct wp_error *err)
{
    struct wp_json json = {.out = out, .style = WP_JSON_PLAIN};
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_text(&json, "of", look->title);
    wp_json_number(&json, "elapsed_ns", look->elapsed_ns);
    wp_json_number(&json, "total_ns", reading->total_ns);
    wp_json_number(&json, "since_ns", reading->since_ns);
    wp_json_fixed(&json, "accounted_percent", reading->accounted_percent);
    wp_json_number(&json, "events", reading->events);
    wp_json_number(&json, "lost_events", reading->lost_events);
    wp_json_array(&json, "waits");
    for (size_t i = 0; i < reading->count && i < look->rows; i++) {
        const struct wp_live_wait *row = &reading->rows[i];
        wp_json_object(&json, NULL);
        wp_json_text(&json, "who", row->who);
        wp_json_text(&json, "waits_for", row->whom);
        wp_json_text(&json, "doing", row->doing);
        wp_json_text(&json, "where", row->where);
        wp_json_number(&json, "since_ns", row->since_ns);
        wp_json_number(&json, "ns", row->ns);
        wp_json_end(&json);
    }
    wp_json_end(&json);
    wp_json_end(&json);
    return wp_json_finish(&json, "what is waited for", err);
}
