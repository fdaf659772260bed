/* SPDX-License-Identifier: Apache-2.0 */
/* Source text beside its times. */
#include "reporter/html/html_listing.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/display/listing.h"
#include "reporter/html/html_parts.h"

/* A cell each, so that a small screen can do without some. */
#define NO_TIMES "<td class=\"self\"></td><td class=\"run\"></td><td class=\"wait\"></td><td class=\"all\"></td>"

static void put_linked(struct wp_buffer *out, enum wp_page_kind from, const struct wp_link *link, const char *text)
{
    if (link->set) {
        wp_buffer_puts(out, "<a href=\"");
        wp_html_href(out, from, link);
        wp_buffer_puts(out, "\">");
    }
    wp_buffer_puts(out, "<bdi>");
    wp_escape_html(out, text);
    wp_buffer_puts(out, link->set ? "</bdi></a>" : "</bdi>");
}

static void put_time(struct wp_buffer *out, struct wp_pool *pool, uint64_t ns, const char *class)
{
    wp_buffer_printf(out, "<td class=\"%s\">", class);
    if (ns)
        wp_escape_html(out, wp_human_duration(pool, ns));
    wp_buffer_puts(out, "</td>");
}

static void put_line(
    struct wp_buffer *out, struct wp_pool *pool, const struct wp_listing *listing, const struct wp_listing_row *row)
{
    wp_buffer_puts(out, "<tr");
    if (row->anchor)
        wp_buffer_printf(out, " id=\"%s\"", row->anchor);
    if (row->heat || row->continues) {
        wp_buffer_puts(out, " class=\"");
        if (row->heat)
            wp_buffer_printf(out, "heat h%u%s", row->heat, row->continues ? " " : "");
        wp_buffer_puts(out, row->continues ? "on\"" : "\"");
    }
    wp_buffer_puts(out, "><th scope=\"row\">");
    if (row->anchor)
        wp_buffer_printf(out, "<a href=\"#%s\">", row->anchor);
    if (row->number)
        wp_buffer_printf(out, "%u", row->number);
    else
        wp_escape_html(out, row->logical ? row->logical : "");
    wp_buffer_puts(out, row->anchor ? "</a></th>" : "</th>");
    if (listing->has_logical && listing->has_text) {
        wp_buffer_puts(out, "<td class=\"logical\"><bdi>");
        wp_escape_html(out, row->logical ? row->logical : "");
        wp_buffer_puts(out, "</bdi></td>");
    }
    if (row->has_time) {
        put_time(out, pool, row->self_ns, "self");
        put_time(out, pool, row->run_ns, "run");
        put_time(out, pool, row->wait_ns, "wait");
        put_time(out, pool, row->total_ns, "all");
    } else {
        wp_buffer_puts(out, NO_TIMES);
    }
    wp_buffer_puts(out, *row->text ? "<td class=\"code\"><span class=\"text\">" : "<td class=\"code\">");
    wp_escape_html(out, row->text);
    wp_buffer_puts(out, *row->text ? "</span></td></tr>\n" : "</td></tr>\n");
}

/* Between the lines: an arrow, who, how long. */
static void put_note(struct wp_buffer *out, struct wp_pool *pool, enum wp_page_kind from,
    const struct wp_listing *listing, const struct wp_listing_row *row)
{
    static const char *const classes[] = {[WP_LISTING_GAP] = "gap",
        [WP_LISTING_CALLER] = "caller",
        [WP_LISTING_CALLEE] = "callee",
        [WP_LISTING_SUM] = "sum"};
    wp_buffer_printf(out, "<tr class=\"note %s\"><td></td>%s" NO_TIMES "<td class=\"code\">", classes[row->kind],
        listing->has_logical && listing->has_text ? "<td class=\"logical\"></td>" : "");
    if (row->kind == WP_LISTING_GAP) {
        wp_buffer_printf(out, "%u lines without time", row->number);
    } else if (row->kind == WP_LISTING_CALLER) {
        put_linked(out, from, &row->link, row->text);
        wp_buffer_puts(out, " <span aria-hidden=\"true\">←</span> ");
        put_linked(out, from, &row->where_link, row->where);
    } else {
        wp_buffer_puts(out, row->kind == WP_LISTING_CALLEE ? "<span aria-hidden=\"true\">→</span> " : "");
        put_linked(out, from, &row->link, row->text);
        if (row->where) {
            wp_buffer_puts(out, " <small>");
            wp_escape_html(out, row->where);
            wp_buffer_puts(out, "</small>");
        }
    }
    if (row->total_ns) {
        wp_buffer_puts(out, " <span class=\"ns\">");
        wp_escape_html(out, wp_human_duration(pool, row->total_ns));
        wp_buffer_puts(out, "</span>");
    }
    wp_buffer_puts(out, "</td></tr>\n");
}

void wp_html_listing(struct wp_buffer *out, enum wp_page_kind from, const struct wp_listing *listing, const char *label)
{
    struct wp_pool pool = {0};
    wp_buffer_puts(out, "<div class=\"scroll\"><table class=\"source\" aria-label=\"");
    wp_escape_html(out, label);
    wp_buffer_puts(out, "\">\n<thead><tr><th scope=\"col\">Line</th>");
    if (listing->has_logical && listing->has_text)
        wp_buffer_puts(
            out, "<th scope=\"col\" class=\"logical\" title=\"What a #line directive calls it\">Called</th>");
    wp_buffer_puts(out,
        "<th scope=\"col\" class=\"self\" title=\"On a CPU in the line's own code\">Self</th>"
        "<th scope=\"col\" class=\"run\" title=\"On a CPU, in the line or in what it called\">Run</th>"
        "<th scope=\"col\" class=\"wait\" title=\"Waiting, in what the line called\">Wait</th>"
        "<th scope=\"col\" class=\"all\" title=\"Run and wait, a stack counted once\">Total</th>"
        "<th scope=\"col\" class=\"code\">");
    wp_buffer_puts(
        out, listing->has_text ? "Source</th></tr></thead>\n<tbody>\n" : "Function</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < listing->count; i++)
        if (listing->rows[i].kind == WP_LISTING_LINE)
            put_line(out, &pool, listing, &listing->rows[i]);
        else
            put_note(out, &pool, from, listing, &listing->rows[i]);
    wp_buffer_puts(out, "</tbody>\n</table></div>\n");
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}
