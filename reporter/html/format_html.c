/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/format_html.h"

#include "reporter/display/escape.h"
#include "reporter/facts/page_context.h"
#include "reporter/html/html_curve.h"
#include "reporter/html/html_graph.h"
#include "reporter/html/html_latency.h"
#include "reporter/html/html_listing.h"
#include "reporter/html/html_over_time.h"
#include "reporter/html/html_parts.h"
#include "reporter/html/html_strip.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* 'self' alone does not cover pages opened from a disk in every browser, hence file:. */
#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; "                \
    "connect-src 'none'; base-uri 'none'; form-action 'none'"

struct writer {
    struct wp_buffer *out;
    const struct wp_display *display;
    enum wp_page_kind page;
    enum wp_item_kind open; /* the list that neighbouring items share; WP_ITEM_END: none */
};

static const char *subject_of(const struct writer *writer)
{
    return writer->display->subject ? writer->display->subject : writer->display->page_id.aggregate;
}

static void put_head(struct writer *writer)
{
    struct wp_buffer *out = writer->out;
    const char *root = wp_page_id_root(writer->page);
    wp_buffer_puts(out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY "\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light "
        "dark\">\n<title>");
    wp_escape_html(out, writer->display->title);
    if (writer->display->page_id.aggregate && writer->page > WP_PAGE_OVERVIEW) {
        wp_buffer_puts(out, " · ");
        wp_escape_html(out, subject_of(writer));
    }
    wp_buffer_puts(out, " · Wakepath</title>\n");
    wp_buffer_printf(out,
        "<link rel=\"icon\" href=\"%sassets/icon.svg\">\n"
        "<link rel=\"stylesheet\" href=\"%sassets/wakepath.css\">\n<script src=\"%sassets/theme.js\"></script>\n"
        "</head>\n",
        root, root, root);
}

static void put_link(struct writer *writer, struct wp_link link, const char *text, const char *attributes)
{
    wp_buffer_puts(writer->out, "<a href=\"");
    wp_html_href(writer->out, writer->page, &link);
    wp_buffer_printf(writer->out, "\"%s><bdi>", attributes);
    wp_escape_html(writer->out, text);
    wp_buffer_puts(writer->out, "</bdi></a>");
}

static void put_crumbs(struct writer *writer)
{
    const struct wp_page_id *page_id = &writer->display->page_id;
    wp_buffer_puts(writer->out, "<nav class=\"crumbs\" aria-label=\"Where you are\">");
    if (page_id->release)
        put_link(writer, wp_link_to(WP_PAGE_RELEASE, page_id->release, NULL, NULL), page_id->release, "");
    if (page_id->aggregate) {
        wp_buffer_puts(writer->out, "<span aria-hidden=\"true\">/</span>");
        put_link(
            writer, wp_link_to(WP_PAGE_OVERVIEW, page_id->release, page_id->aggregate, NULL), subject_of(writer), "");
    }
    wp_buffer_puts(writer->out, "</nav>\n");
}

static void put_tabs(struct writer *writer)
{
    const struct wp_display *display = writer->display;
    if (!display->tab_aggregate)
        return;
    wp_buffer_puts(writer->out, "<nav class=\"tabs\" aria-label=\"Views\">\n");
    for (int page = WP_PAGE_OVERVIEW; page < WP_PAGES; page++) {
        if ((page == WP_PAGE_COMPARE && !display->tab_compare) || (int)wp_page_tab((enum wp_page_kind)page) != page)
            continue;
        put_link(writer, wp_link_to((enum wp_page_kind)page, display->tab_release, display->tab_aggregate, NULL),
            wp_page_title((enum wp_page_kind)page),
            (int)wp_page_tab(writer->page) == page ? " aria-current=\"page\"" : "");
        wp_buffer_putc(writer->out, '\n');
    }
    wp_buffer_puts(writer->out, "</nav>\n");
}

static void put_top(struct writer *writer)
{
    struct wp_buffer *out = writer->out;
    const struct wp_display *display = writer->display;
    /* Those pages are read, not only looked at. */
    bool is_wide = display->view && strcmp(display->view, "difference") && strcmp(display->view, "behind");
    wp_buffer_printf(out,
        "<body%s%s%s%s%s>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header class=\"top\">\n",
        is_wide ? " class=\"wide\"" : "", display->view ? " data-view=\"" : "", display->view ? display->view : "",
        display->view ? "\"" : "", wp_page_context(display)->has_own_pages ? " data-own=\"1\"" : "");
    wp_buffer_puts(out, "<a class=\"brand\" href=\"");
    struct wp_link home = wp_link_to(WP_PAGE_INDEX, NULL, NULL, NULL);
    wp_html_href(out, writer->page, &home);
    wp_buffer_puts(out,
        "\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M3 18h4V9h5v5h4V5h5\"/></svg>"
        "Wakepath</a>\n");
    put_crumbs(writer);
    wp_buffer_puts(out, "<button id=\"theme\" type=\"button\" hidden>Theme</button>\n</header>\n");
    put_tabs(writer);
    wp_buffer_puts(out, "<main id=\"main\">\n<h1><bdi>");
    wp_escape_html(out, display->title);
    wp_buffer_puts(out, "</bdi></h1>\n");
    if (*display->subtitle) {
        wp_buffer_puts(out, "<p class=\"sub\"><bdi>");
        wp_html_text(out, display->subtitle);
        wp_buffer_puts(out, "</bdi></p>\n");
    }
}

static void put_scripts(struct writer *writer)
{
    static const char *const common[] = {"units.js", "manners.js", "table.js", NULL};
    static const char *const views[] = {
        "column.js", "view.js", "palette.js", "folding.js", "tip.js", "surface.js", NULL};
    static const char *const flame[] = {"flame_model.js", "flame_times.js", "flame_hosts.js", "flame_exemplar.js",
        "stretch.js", "flame_folds.js", "flame_save.js", "flame_drop.js", "flame.js", NULL};
    static const char *const behind[] = {"flame_model.js", "flame_times.js", "flame_hosts.js", "flame_exemplar.js",
        "stretch.js", "flame_folds.js", "flame_sums.js", "figure.js", "rows.js", "behind.js", NULL};
    static const char *const chrono[] = {
        "time_axis.js", "brush.js", "time_view.js", "trace_model.js", "stretch.js", "chronology.js", NULL};
    static const char *const running[] = {"time_axis.js", "brush.js", "time_view.js", "trace_model.js", "states.js",
        "spans.js", "strips.js", "links.js", "ops.js", "timeline_rows.js", "stretch.js", "running.js", NULL};
    const char *view = writer->display->view;
    bool is_flame = view && (!strcmp(view, "flame") || !strcmp(view, "difference"));
    bool is_behind = view && !strcmp(view, "behind");
    const char *const *own = !view ? NULL
        : is_flame                 ? flame
        : is_behind                ? behind
        : !strcmp(view, "running") ? running
                                   : chrono;
    static const char *const own_pages[] = {"own.js", NULL};
    const char *const *const groups[] = {
        common, view ? views : NULL, own, wp_page_context(writer->display)->has_own_pages ? own_pages : NULL};
    const char *root = wp_page_id_root(writer->page);
    for (size_t group = 0; group < 4; group++)
        for (size_t i = 0; groups[group] && groups[group][i]; i++)
            wp_buffer_printf(writer->out, "<script defer src=\"%sassets/%s\"></script>\n", root, groups[group][i]);
    /* The page stands before its data arrive: they come last. */
    if (view && !strcmp(view, "running") && !writer->display->data && wp_page_context(writer->display)->has_system)
        wp_buffer_puts(writer->out, "<script defer src=\"../system-data.js\"></script>\n");
    if (view && writer->display->data)
        wp_buffer_printf(writer->out, "<script defer src=\"%s\"></script>\n", writer->display->data);
    else if (view)
        wp_buffer_printf(writer->out, "<script defer src=\"%s-data.js\"></script>\n",
            is_behind                   ? "flame"
                : !is_flame             ? "trace"
                : strcmp(view, "flame") ? "compare"
                                        : "flame");
    wp_buffer_printf(writer->out, "<script defer src=\"%sassets/page.js\"></script>\n", root);
}

static void put_bottom(struct writer *writer)
{
    wp_buffer_puts(writer->out,
        "</main>\n<footer>Made by Wakepath: where did the time go, and who was being waited for?"
        "</footer>\n");
    put_scripts(writer);
    wp_buffer_puts(writer->out, "</body>\n</html>\n");
}

static void open_list(struct writer *writer, enum wp_item_kind kind)
{
    static const char *const opens[WP_ITEM_END + 1] = {[WP_ITEM_FINDING] = "<ol class=\"findings\">\n",
        [WP_ITEM_FACT] = "<dl class=\"facts\">\n",
        [WP_ITEM_TREND] = "<dl class=\"facts trends\">\n",
        [WP_ITEM_CARD] = "<ul class=\"cards\">\n"};
    static const char *const closes[WP_ITEM_END + 1] = {[WP_ITEM_FINDING] = "</ol>\n",
        [WP_ITEM_FACT] = "</dl>\n",
        [WP_ITEM_TREND] = "</dl>\n",
        [WP_ITEM_CARD] = "</ul>\n"};
    if (writer->open == kind)
        return;
    if (closes[writer->open])
        wp_buffer_puts(writer->out, closes[writer->open]);
    if (opens[kind])
        wp_buffer_puts(writer->out, opens[kind]);
    writer->open = opens[kind] ? kind : WP_ITEM_END;
}

/* What stands between two backquotes is code. */
static void put_sentence(struct wp_buffer *out, const char *text)
{
    struct wp_buffer safe = {0};
    bool is_code = false;
    wp_escape_html(&safe, text);
    wp_buffer_putc(&safe, '\0');
    const char *at = safe.failed ? "" : (const char *)safe.data;
    for (const char *end; (end = strchr(at, '`')) && (is_code || strchr(end + 1, '`')); at = end + 1) {
        wp_buffer_append(out, at, (size_t)(end - at));
        is_code = !is_code;
        wp_buffer_puts(out, is_code ? "<code>" : "</code>");
    }
    wp_buffer_puts(out, at);
    out->failed |= safe.failed;
    wp_buffer_fini(&safe);
}

static void put_finding(struct writer *writer, const struct wp_item *item)
{
    struct wp_buffer *out = writer->out;
    wp_buffer_puts(out, "<li>");
    if (item->link.set) {
        wp_buffer_puts(out, "<a href=\"");
        wp_html_href(out, writer->page, &item->link);
        wp_buffer_puts(out, "\">");
    }
    wp_buffer_puts(out, "<bdi><span>");
    put_sentence(out, item->text);
    wp_buffer_puts(out, item->link.set ? "</span></bdi></a></li>\n" : "</span></bdi></li>\n");
}

static void put_wrapped(struct writer *writer, const char *before, const struct wp_item *item, const char *after)
{
    wp_buffer_puts(writer->out, before);
    if (item->link.set) {
        put_link(writer, item->link, item->text, "");
    } else {
        wp_buffer_puts(writer->out, "<bdi>");
        wp_html_text(writer->out, item->text);
        wp_buffer_puts(writer->out, "</bdi>");
    }
    wp_buffer_puts(writer->out, after);
}

/* A trend is a fact with a line over it. */
static void put_fact(struct writer *writer, const struct wp_item *item)
{
    struct wp_buffer *out = writer->out;
    wp_buffer_puts(out, "<div><dt>");
    wp_html_term(out, writer->page, item->label);
    wp_buffer_puts(out, "</dt><dd>");
    if (item->kind == WP_ITEM_TREND)
        wp_html_trend(out, item->points, item->number, item->label);
    put_wrapped(writer, "", item, "");
    if (*item->note) {
        wp_buffer_puts(out, "<small>");
        wp_html_text(out, item->note);
        wp_buffer_puts(out, "</small>");
    }
    wp_buffer_puts(out, "</dd></div>\n");
}

static void put_mark(struct wp_buffer *out, const char *sign, const char *word, uint64_t count)
{
    if (count)
        wp_buffer_printf(out, " <span class=\"mark %s\">%s %" PRIu64 " %s</span>", word, sign, count, word);
}

static void put_card(struct writer *writer, const struct wp_item *item)
{
    struct wp_link none = {0};
    put_wrapped(writer, "<li><h2>", item, "</h2>\n");
    wp_html_bar(writer->out, writer->page, item->parts, &none, true);
    wp_buffer_puts(writer->out, "<p class=\"card-facts\">");
    wp_escape_html(writer->out, item->label);
    put_mark(writer->out, "▲", "worse", item->worse);
    put_mark(writer->out, "▼", "better", item->better);
    wp_buffer_puts(writer->out, "</p><p><bdi>");
    wp_escape_html(writer->out, item->note);
    wp_buffer_puts(writer->out, "</bdi></p></li>\n");
}

static void put_view(struct wp_buffer *out, const char *view)
{
    wp_buffer_printf(out,
        "<section class=\"view\" id=\"view\" data-view=\"%s\" aria-label=\"%s\">\n"
        "<p class=\"waiting\">%s</p>\n</section>\n",
        view, view,
        strcmp(view, "behind")
            ? "Drawing needs scripts and a moment. The table below tells the same."
            : "Summing up one figure needs scripts and a moment. Below are the hosts and times of all of it.");
}

static void put_item(struct writer *writer, const struct wp_item *item)
{
    open_list(writer, item->kind);
    switch (item->kind) {
    case WP_ITEM_HEADING:
        wp_buffer_puts(writer->out, item->anchor ? "<h2 id=\"" : "<h2>");
        wp_buffer_puts(writer->out, item->anchor ? item->anchor : "");
        put_wrapped(writer, item->anchor ? "\">" : "", item, "</h2>\n");
        break;
    case WP_ITEM_PARAGRAPH:
        put_wrapped(writer, "<p>", item, "</p>\n");
        break;
    case WP_ITEM_NOTICE:
        put_wrapped(writer, "<p class=\"notice\" role=\"note\">", item, "</p>\n");
        break;
    case WP_ITEM_FINDING:
        put_finding(writer, item);
        break;
    case WP_ITEM_FACT:
    case WP_ITEM_TREND:
        put_fact(writer, item);
        break;
    case WP_ITEM_TABLE:
        wp_html_table(writer->out, writer->page, item->table);
        break;
    case WP_ITEM_BAR:
        wp_html_bar(writer->out, writer->page, item->parts, &item->link, false);
        break;
    case WP_ITEM_CURVE:
        wp_html_curve(writer->out, item->parts);
        break;
    case WP_ITEM_STRIP:
        wp_html_strip(writer->out, writer->page, item->path, &item->link);
        break;
    case WP_ITEM_OVER_TIME:
        wp_html_over_time(writer->out, writer->page, item->timeline, &item->link);
        break;
    case WP_ITEM_LATENCY:
        wp_html_latency(writer->out, item->latencies, item->number, item->text);
        break;
    case WP_ITEM_GRAPH:
        wp_html_graph(writer->out, writer->page, item->graph, item->text);
        break;
    case WP_ITEM_LISTING:
        wp_html_listing(writer->out, writer->page, item->listing, item->text);
        break;
    case WP_ITEM_CARD:
        put_card(writer, item);
        break;
    case WP_ITEM_VIEW:
        put_view(writer->out, item->text);
        break;
    case WP_ITEM_DETAILS:
        put_wrapped(writer, "<details><summary>", item, "</summary>\n");
        break;
    case WP_ITEM_END:
        wp_buffer_puts(writer->out, "</details>\n");
        break;
    }
}

int wp_format_html(struct wp_buffer *out, const struct wp_display *display, struct wp_error *err)
{
    struct writer writer = {.out = out, .display = display, .page = display->page_id.page, .open = WP_ITEM_END};
    put_head(&writer);
    put_top(&writer);
    for (const struct wp_item *item = display->first; item; item = item->next)
        put_item(&writer, item);
    open_list(&writer, WP_ITEM_END);
    put_bottom(&writer);
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for page %s", display->title) : 0;
}
