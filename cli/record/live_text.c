/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/live_text.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/utf8.h"
#include "reporter/display/humanize.h"

#include <limits.h>
#include <string.h>

#define LEAST_COLUMNS 40u
#define NAME_COLUMNS 16u
#define DOING_COLUMNS 32u
#define SHARE_COLUMNS 8u /* "> 99.9 %" */
#define TIME_COLUMNS 9u

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

static size_t step_of(const char *text)
{
    uint32_t c;
    size_t step = wp_utf8_decode(text, WP_UTF8_MOST, &c);
    return step ? step : 1;
}

static unsigned count_of(const char *text)
{
    unsigned count = 0;
    for (; *text; text += step_of(text))
        count++;
    return count;
}

/* A place: its function is at the beginning, its line at the end, and both stay. */
static void put_place(struct wp_buffer *out, const char *text, unsigned columns)
{
    unsigned count = count_of(text), tail = columns / 3 * 2;
    put_clipped(out, text, count > columns ? columns - tail : columns);
    if (count <= columns)
        return;
    for (; count > tail; count--)
        text += step_of(text);
    put_clipped(out, text, tail);
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

static unsigned most(unsigned a, unsigned b)
{
    return a > b ? a : b;
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
    put_clipped(out, look->title, look->columns ? look->columns / 2 : UINT_MAX);
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

/* Columns of a table's cells. */
struct widths {
    unsigned who, whom, doing, where;
};

static const char *whom_of(const struct wp_live_wait *row)
{
    return strcmp(row->who, row->whom) ? row->whom : "-";
}

static bool is_shown(const struct wp_live_reading *reading, const struct wp_live_look *look, size_t i)
{
    return i < reading->count && i < look->rows && reading->rows[i].since_ns;
}

/* As wide as what is in them; on a terminal up to a bound, and the place has the rest. */
static struct widths widths_of(const struct wp_live_reading *reading, const struct wp_live_look *look)
{
    struct widths w = {sizeof("who") - 1, sizeof("waits for") - 1, sizeof("which") - 1, UINT_MAX};
    for (size_t i = 0; is_shown(reading, look, i); i++) {
        const struct wp_live_wait *row = &reading->rows[i];
        w.who = most(w.who, count_of(row->who));
        w.whom = most(w.whom, count_of(whom_of(row)));
        w.doing = most(w.doing, count_of(row->doing));
    }
    if (!look->columns)
        return w;
    unsigned left = most(look->columns, LEAST_COLUMNS) - SHARE_COLUMNS - TIME_COLUMNS - 2;
    w.who = least(w.who, least(NAME_COLUMNS, left / 4));
    w.whom = least(w.whom, least(NAME_COLUMNS, left / 4));
    w.doing = least(w.doing, least(DOING_COLUMNS, left / 3));
    w.where = left - w.who - w.whom - w.doing - 3;
    return w;
}

void wp_live_text_table(struct wp_buffer *out, const struct wp_live_reading *reading, const struct wp_live_look *look)
{
    struct wp_pool pool = {0};
    struct widths w = widths_of(reading, look);
    put_head(out, reading, look);
    if (reading->count) {
        wp_buffer_printf(out, "%s%*s %*s ", look->has_colour ? "\033[1m" : "", (int)SHARE_COLUMNS, "share",
            (int)TIME_COLUMNS, "time");
        put_cell(out, "who", w.who);
        put_cell(out, "waits for", w.whom);
        put_cell(out, "which", w.doing);
        wp_buffer_printf(out, "in%s\n", look->has_colour ? "\033[0m" : "");
    }
    for (size_t i = 0; is_shown(reading, look, i); i++) {
        const struct wp_live_wait *row = &reading->rows[i];
        const char *share = wp_human_share(&pool, row->since_ns, reading->since_ns);
        const char *time = wp_human_duration(&pool, row->since_ns);
        wp_buffer_printf(
            out, "%*s%s ", (int)(SHARE_COLUMNS - least(SHARE_COLUMNS, (unsigned)strlen(share))), "", share);
        wp_buffer_printf(
            out, "%*s%s ", (int)(TIME_COLUMNS - least(TIME_COLUMNS, count_of(time))), "", time); /* "µ" is one column */
        put_cell(out, row->who, w.who);
        put_cell(out, whom_of(row), w.whom);
        put_cell(out, row->doing, w.doing);
        put_place(out, row->where, w.where);
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
