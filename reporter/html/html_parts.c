/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/html_parts.h"

#include "reporter/display/escape.h"
#include "reporter/display/glossary.h"
#include "reporter/display/humanize.h"
#include "storage/value/category.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void wp_html_href(struct wp_buffer *out, enum wp_page_kind from, const struct wp_link *link)
{
    struct wp_buffer path = {0};
    wp_buffer_puts(&path, wp_page_id_root(from));
    wp_page_id_path_part(&path, &link->page_id, link->part);
    if (link->fragment)
        wp_buffer_printf(&path, "#%s", link->fragment);
    wp_escape_html(out, path.data ? (const char *)path.data : "");
    out->failed |= path.failed;
    wp_buffer_fini(&path);
}

#define MOMENT "2026-11-22 20:54:25 UTC"

/* Where a text says a moment; NULL: nowhere. */
static const char *find_moment(const char *text)
{
    for (const char *end = strstr(text, " UTC"); end; end = strstr(end + 1, " UTC")) {
        const char *at = end - (sizeof(MOMENT) - 1 - 4);
        bool is_moment = end - text >= (ptrdiff_t)(sizeof(MOMENT) - 1 - 4);
        for (size_t i = 0; is_moment && i < sizeof(MOMENT) - 1 - 4; i++) {
            bool is_digit = MOMENT[i] >= '0' && MOMENT[i] <= '9';
            is_moment = is_digit ? at[i] >= '0' && at[i] <= '9' : at[i] == MOMENT[i];
        }
        if (is_moment)
            return at;
    }
    return NULL;
}

static void put_plain(struct wp_buffer *out, const char *text, const char *end)
{
    struct wp_pool pool = {0};
    wp_escape_html(out, wp_pool_printf(&pool, "%.*s", (int)(end - text), text));
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

void wp_html_text(struct wp_buffer *out, const char *text)
{
    for (const char *at; (at = find_moment(text)); text = at + sizeof(MOMENT) - 1) {
        put_plain(out, text, at);
        wp_buffer_printf(out, "<time datetime=\"%.10sT%.8sZ\">%.23s</time>", at, at + 11, at);
    }
    wp_escape_html(out, text);
}

/* Only an aggregate's pages have a glossary beside them. */
static void put_question(struct wp_buffer *out, enum wp_page_kind from, const struct wp_term *term)
{
    if (!term || from < WP_PAGE_OVERVIEW)
        return;
    wp_buffer_printf(out, " <a class=\"term\" href=\"about.html#term-%s\" title=\"", term->key);
    wp_escape_html(out, term->meaning);
    wp_buffer_puts(out, "\" aria-label=\"What this means: ");
    wp_escape_html(out, term->title);
    wp_buffer_puts(out, "\">?</a>");
}

void wp_html_term(struct wp_buffer *out, enum wp_page_kind from, const char *title)
{
    const struct wp_term *term = wp_glossary_find(title);
    if (term) {
        wp_buffer_puts(out, "<abbr title=\"");
        wp_escape_html(out, term->meaning);
        wp_buffer_puts(out, "\">");
    }
    wp_html_text(out, title);
    wp_buffer_puts(out, term ? "</abbr>" : "");
    put_question(out, from, term);
}

static const char *kind_name(enum wp_column_kind kind)
{
    static const char *const names[] = {[WP_CELL_TEXT] = "text",
        [WP_CELL_NAME] = "name",
        [WP_CELL_STACK] = "stack",
        [WP_CELL_ID] = "id",
        [WP_CELL_COUNT] = "count",
        [WP_CELL_DURATION] = "duration",
        [WP_CELL_SHARE] = "share",
        [WP_CELL_VALUE] = "value"};
    return names[kind];
}

static void put_head(struct wp_buffer *out, const struct wp_table *table)
{
    wp_buffer_puts(out, "<thead><tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct wp_column *column = &table->columns[i];
        wp_buffer_printf(out, "<th scope=\"col\" class=\"k-%s\"", kind_name(column->kind));
        if (column->hint) {
            wp_buffer_puts(out, " title=\"");
            wp_escape_html(out, column->hint);
            wp_buffer_putc(out, '"');
        }
        wp_buffer_putc(out, '>');
        wp_escape_html(out, column->title);
        wp_buffer_puts(out, "</th>");
    }
    wp_buffer_puts(out, "</tr></thead>\n");
}

static void put_text(struct wp_buffer *out, enum wp_page_kind from, const struct wp_field *field)
{
    if (field->swatch)
        wp_buffer_printf(
            out, "<span class=\"sw c-%s\"></span>", wp_category_key((enum wp_category)(field->swatch - 1)));
    if (field->link.set) {
        wp_buffer_puts(out, "<a href=\"");
        wp_html_href(out, from, &field->link);
        wp_buffer_puts(out, "\">");
    }
    wp_buffer_puts(out, "<bdi>");
    wp_html_text(out, *field->text ? field->text : "–");
    wp_buffer_puts(out, field->link.set ? "</bdi></a>" : "</bdi>");
    if (field->is_term)
        put_question(out, from, wp_glossary_find(field->text));
    if (field->note) {
        wp_buffer_puts(out, " <small><bdi>");
        wp_escape_html(out, field->note);
        wp_buffer_puts(out, "</bdi></small>");
    }
}

static void put_share(struct wp_buffer *out, struct wp_pool *pool, uint64_t part, uint64_t whole)
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    wp_buffer_printf(out,
        "<svg class=\"mini\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        "<rect width=\"%.2f\" height=\"6\"/></svg>",
        percent > 100 ? 100 : percent);
    wp_buffer_puts(out, "<span class=\"pct\">");
    wp_escape_html(out, wp_human_share(pool, part, whole));
    wp_buffer_puts(out, "</span>");
}

static void put_field(struct wp_buffer *out, struct wp_pool *pool, enum wp_page_kind from, const struct wp_table *table,
    size_t row, size_t i)
{
    const struct wp_field *field = &table->fields[row * table->column_count + i];
    enum wp_column_kind kind = table->columns[i].kind;
    static const char *const marks[] = {"", " worse", " better", " faint"};
    bool is_nothing = (kind == WP_CELL_COUNT || kind == WP_CELL_DURATION) && !field->number;
    wp_buffer_puts(out, "<td");
    if (field->anchor)
        wp_buffer_printf(out, " id=\"%s\"", field->anchor);
    wp_buffer_printf(out, " class=\"k-%s%s\"", kind_name(kind),
        kind == WP_CELL_VALUE || is_nothing ? marks[is_nothing ? WP_MARK_FAINT : field->mark] : "");
    if (kind == WP_CELL_VALUE)
        wp_buffer_printf(out, " data-v=\"%.9g\"", field->value);
    else if (kind >= WP_CELL_ID)
        wp_buffer_printf(out, " data-v=\"%" PRIu64 "\"", field->number);
    wp_buffer_putc(out, '>');
    bool is_linked = kind >= WP_CELL_ID && kind <= WP_CELL_SHARE && field->link.set && field->number;
    if (is_linked) { /* what stands behind the figure */
        wp_buffer_puts(out, "<a href=\"");
        wp_html_href(out, from, &field->link);
        wp_buffer_puts(out, "\">");
    }
    if (field->is_none)
        wp_buffer_puts(out, "–");
    else if (kind == WP_CELL_ID)
        wp_buffer_printf(out, "%" PRIu64, field->number);
    else if (kind == WP_CELL_COUNT)
        wp_escape_html(out, wp_human_count(pool, field->number));
    else if (kind == WP_CELL_DURATION)
        wp_escape_html(out, wp_human_duration(pool, field->number));
    else if (kind == WP_CELL_SHARE)
        put_share(out, pool, field->number, table->whole_ns);
    else
        put_text(out, from, field);
    wp_buffer_puts(out, is_linked ? "</a></td>" : "</td>");
}

void wp_html_table(struct wp_buffer *out, enum wp_page_kind from, const struct wp_table *table)
{
    struct wp_pool pool = {0};
    if (!table->row_count) {
        wp_buffer_puts(out, "<p class=\"empty\">");
        wp_escape_html(out, table->empty);
        wp_buffer_puts(out, "</p>\n");
        return;
    }
    wp_buffer_printf(out, "<div class=\"scroll\"><table id=\"%s\" class=\"sortable\"%s", table->id,
        table->searchable ? " data-search" : "");
    if (table->searchable && table->whole_ns) /* what a percent is of */
        wp_buffer_printf(out, " data-whole=\"%" PRIu64 "\"", table->whole_ns);
    wp_buffer_puts(out, ">\n");
    put_head(out, table);
    wp_buffer_puts(out, "<tbody>\n");
    for (size_t row = 0; row < table->row_count; row++) {
        wp_buffer_puts(out, "<tr>");
        for (size_t i = 0; i < table->column_count; i++)
            put_field(out, &pool, from, table, row, i);
        wp_buffer_puts(out, "</tr>\n");
    }
    wp_buffer_puts(out, "</tbody></table></div>\n");
    if (table->left_out)
        wp_buffer_printf(out, "<p class=\"left-out\">%s more %s not listed.</p>\n",
            wp_human_count(&pool, table->left_out), table->left_out == 1 ? "row is" : "rows are");
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

/* A category's piece of a bar, in hundredths of its width. */
struct bar_part {
    enum wp_category category;
    double x, width;
    const char *text;
    bool is_labelled;
};

static void put_bar_part(
    struct wp_buffer *out, enum wp_page_kind from, const struct wp_link *link, const struct bar_part *bar)
{
    const char *title = wp_category_title(bar->category);
    if (link->set) {
        struct wp_link part = *link;
        char fragment[64];
        snprintf(fragment, sizeof(fragment), "category=%s", wp_category_key(bar->category));
        part.fragment = fragment;
        wp_buffer_puts(out, "<a href=\"");
        wp_html_href(out, from, &part);
        wp_buffer_puts(out, "\">");
    }
    wp_buffer_printf(out,
        "<svg x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s: %s</title>"
        "<rect class=\"c-%s\" width=\"100%%\" height=\"100%%\"/>",
        bar->x, bar->width, title, bar->text, wp_category_key(bar->category));
    if (bar->is_labelled && bar->width * 10.6 > 8.4 * (double)strlen(title) + 20) /* of a bar of 1060 pixels */
        wp_buffer_printf(out, "<text class=\"on-%s\" x=\"12\" y=\"50%%\" dy=\"0.35em\">%s</text>",
            wp_category_key(bar->category), title);
    wp_buffer_puts(out, link->set ? "</svg></a>\n" : "</svg>\n");
}

void wp_html_bar(
    struct wp_buffer *out, enum wp_page_kind from, const uint64_t *parts, const struct wp_link *link, bool small)
{
    struct wp_pool pool = {0};
    uint64_t total = 0;
    double x = 0;
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        total += parts[i];
    wp_buffer_printf(out, "<svg class=\"%s\" role=\"%s\" aria-label=\"Time by category\">", small ? "bar small" : "bar",
        link->set ? "group" : "img");
    for (unsigned i = 0; i < WP_CATEGORIES && total; i++) {
        double width = 100.0 * (double)parts[i] / (double)total;
        if (parts[i])
            put_bar_part(out, from, link,
                &(struct bar_part){.category = (enum wp_category)i,
                    .x = x,
                    .width = width,
                    .text = wp_pool_printf(
                        &pool, "%s, %s", wp_human_duration(&pool, parts[i]), wp_human_share(&pool, parts[i], total)),
                    .is_labelled = !small});
        x += width;
    }
    wp_buffer_puts(out, "</svg>\n");
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}

/* Geometry of a trend, in its own units. */
#define TREND_WIDTH 260.0
#define TREND_HEIGHT 46.0
#define TREND_EDGE 5.0

void wp_html_trend(struct wp_buffer *out, const struct wp_point *points, size_t count, const char *label)
{
    struct wp_buffer line = {0};
    double low = count ? points[0].value : 0, high = low;
    for (size_t i = 0; i < count; i++) {
        low = points[i].value < low ? points[i].value : low;
        high = points[i].value > high ? points[i].value : high;
    }
    double step = count > 1 ? (TREND_WIDTH - 2 * TREND_EDGE) / (double)(count - 1) : 0;
    wp_buffer_printf(
        out, "<svg class=\"trend\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", TREND_WIDTH, TREND_HEIGHT);
    wp_escape_html(out, label);
    wp_buffer_puts(out, " over releases, the newest last\">");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            double x = TREND_EDGE + step * (double)i;
            double y = TREND_HEIGHT - TREND_EDGE -
                (high > low ? (points[i].value - low) / (high - low) : 0.5) * (TREND_HEIGHT - 2 * TREND_EDGE);
            if (!pass) {
                wp_buffer_printf(&line, "%s%.1f %.1f", i ? " L" : "M", x, y);
                continue;
            }
            wp_buffer_printf(out, "<g><title>");
            wp_escape_html(out, points[i].text);
            wp_buffer_printf(out,
                "</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"3\"/></g>",
                points[i].is_faint   ? "dot faint"
                    : i + 1 == count ? "dot last"
                                     : "dot",
                x - (i + 1 == count ? 3 : 2), y - (i + 1 == count ? 3 : 2), i + 1 == count ? 6 : 4,
                i + 1 == count ? 6 : 4);
        }
        if (!pass)
            wp_buffer_printf(out, "<path class=\"line\" d=\"%s\"/>", line.data ? (const char *)line.data : "");
    }
    wp_buffer_puts(out, "</svg>");
    out->failed |= line.failed;
    wp_buffer_fini(&line);
}
