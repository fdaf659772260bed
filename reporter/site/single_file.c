/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/single_file.h"

#include "reporter/data/exemplar_data.h"
#include "reporter/data/origin_data.h"
#include "reporter/data/time_data.h"
#include "reporter/data/view_data.h"
#include "reporter/display/escape.h"
#include "reporter/html/format_html.h"
#include "reporter/page/page.h"
#include "reporter/page/page_compare.h"
#include "reporter/page/page_exemplars.h"
#include "reporter/recording/recorded_title.h"
#include "reporter/site/assets.h"
#include "reporter/window/window_data.h"
#include "storage/report/report_encode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Scripts and the style are in the file itself, and nothing else may run or be loaded: each bears the mark of this
 * document. Where the pages of the site have handlers or styles in the markup there are none, so nothing else needs to
 * be allowed. */
#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data:; connect-src 'none'; "             \
    "base-uri 'none'; form-action 'none'"

#define WINDOW_BYTES 1048576u /* of the exemplars' data in one file */
#define ORIGIN_BYTES 1048576u

struct writer {
    struct wp_buffer *out;
    const struct wp_facts *facts;
    const struct wp_page_context *context;
    const struct wp_compare *compare; /* NULL: none */
    const struct wp_trace *system;    /* NULL: none */
    struct wp_pool pool;
    const char *subject; /* what was recorded */
    char nonce[17];
    struct wp_buffer windows; /* data of the exemplars that are in the file */
    unsigned window_count;
};

/* "flame" of flame.html, "exemplar-3" of exemplar-3.html: the name of a section. */
static void section_name(char *name, size_t room, enum wp_page_kind page, unsigned part, const struct wp_facts *facts)
{
    struct wp_buffer path = {0};
    struct wp_page_id page_id = {page, facts->release, facts->aggregate};
    wp_page_id_path_part(&path, &page_id, part);
    const char *file = path.data ? strrchr((const char *)path.data, '/') : NULL;
    snprintf(name, room, "%.*s", file ? (int)strcspn(file + 1, ".") : 0, file ? file + 1 : "");
    if (!strcmp(name, "index"))
        snprintf(name, room, "overview");
    wp_buffer_fini(&path);
}

/* The many parts about functions are of the site alone, and so are windows beyond what a mail can carry. */
static bool is_here(const struct writer *writer, int page)
{
    return (page == WP_PAGE_COMPARE && writer->compare) || wp_page_is_of_facts((enum wp_page_kind)page, writer->facts);
}

static bool is_section(const struct writer *writer, const char *name, size_t size)
{
    for (int page = WP_PAGE_OVERVIEW; page < WP_PAGES; page++) {
        char other[32];
        section_name(other, sizeof(other), (enum wp_page_kind)page, 0, writer->facts);
        if (is_here(writer, page) && strlen(other) == size && !strncmp(other, name, size))
            return true;
    }
    for (unsigned part = 1; part <= writer->window_count; part++) {
        char one[32], rows[32];
        section_name(one, sizeof(one), WP_PAGE_EXEMPLAR, part, writer->facts);
        section_name(rows, sizeof(rows), WP_PAGE_EXEMPLAR_ROWS, part, writer->facts);
        if ((strlen(one) == size && !strncmp(one, name, size)) || (strlen(rows) == size && !strncmp(rows, name, size)))
            return true;
    }
    return false;
}

/* The address in href="...", which ends at `end`, as one inside this file: "../../v1/main/flame.html#node=1" is
 * "#page=flame&amp;node=1". What leads to another aggregate leads to the overview. */
static void put_address(struct writer *writer, const char *address, const char *end)
{
    size_t size = (size_t)(end - address);
    const char *hash = memchr(address, '#', size), *file = address;
    const char *path_end = hash ? hash : end;
    for (const char *at = address; at < path_end; at++)
        if (*at == '/')
            file = at + 1;
    size_t name = strcspn(file, ".#\"");
    wp_buffer_puts(writer->out, "#page=");
    if (file + name <= path_end && is_section(writer, file, name))
        wp_buffer_append(writer->out, file, name);
    else if (!strncmp(file, "exemplar", 8))
        wp_buffer_puts(writer->out, "exemplars");
    else if (!strncmp(file, "wait-cycle", 10))
        wp_buffer_puts(writer->out, "waits");
    else if (!strncmp(file, "function", 8) || !strncmp(file, "cycle", 5)) /* one of them stands in the table of all */
        wp_buffer_puts(writer->out, "functions");
    else if (!strncmp(file, "source-", 7))
        wp_buffer_puts(writer->out, "sources");
    else
        wp_buffer_puts(writer->out, "overview");
    if (hash && hash + 1 < end) {
        wp_buffer_puts(writer->out, "&amp;");
        wp_buffer_append(writer->out, hash + 1, (size_t)(end - hash - 1));
    }
}

/* Copies what our own formatter made (its quotes in texts and values are escaped, so a quote in it is always markup):
 * addresses lead into this file, and ids, which are unique on a page, are distinguished by the section's name. */
static void put_content(struct writer *writer, const char *text, const char *end, const char *section)
{
    while (text < end) {
        const char *href = strstr(text, " href=\""), *id = strstr(text, " id=\"");
        const char *at = !href || (id && id < href) ? id : href;
        if (!at || at >= end) {
            wp_buffer_append(writer->out, text, (size_t)(end - text));
            return;
        }
        const char *value = strchr(at, '"') + 1, *close = strchr(value, '"');
        wp_buffer_append(writer->out, text, (size_t)(value - text));
        if (at == href)
            put_address(writer, value, close);
        else
            wp_buffer_printf(writer->out, "%s-%.*s", section, (int)(close - value), value);
        text = close;
    }
}

static int build_page(struct writer *writer, struct wp_display *display, unsigned part, struct wp_error *err)
{
    enum wp_page_kind page = display->page_id.page;
    if (part)
        return wp_page_exemplar(display, writer->facts, part, err);
    return page == WP_PAGE_COMPARE ? wp_page_compare(display, writer->compare, true, err)
                                   : wp_page_build(display, writer->facts, err);
}

/* `part`: of a window, from 1; 0 of other pages. */
static int put_section(struct writer *writer, enum wp_page_kind page, unsigned part, struct wp_error *err)
{
    static const char begin[] = "<main id=\"main\">\n";
    struct wp_display display;
    struct wp_buffer html = {0};
    char name[32];
    wp_display_init(&display, &(struct wp_page_id){page, writer->facts->release, writer->facts->aggregate});
    display.context = writer->context;
    int rc = build_page(writer, &display, part, err);
    if (!rc)
        rc = wp_format_html(&html, &display, err);
    const char *start = rc ? NULL : strstr((const char *)html.data, begin);
    const char *end = start ? strstr(start, "</main>\n") : NULL;
    section_name(name, sizeof(name), page, part, writer->facts);
    if (end) {
        wp_buffer_printf(writer->out, "<section class=\"sheet\" id=\"page=%s\" data-page=\"%s\"", name, name);
        if (part)
            wp_buffer_printf(writer->out, " data-payload=\"exemplar-%u\"", part);
        wp_buffer_puts(writer->out, ">\n");
        put_content(writer, start + strlen(begin), end, name);
        wp_buffer_puts(writer->out, "</section>\n");
    } else if (!rc) {
        rc = wp_error_set(err, -EINVAL, "page %s has no content", name);
    }
    wp_display_fini(&display);
    wp_buffer_fini(&html);
    return rc;
}

/* The first windows, as many as a mail can carry. */
static int take_windows(struct writer *writer, struct wp_error *err)
{
    int rc = 0;
    for (unsigned i = 1; i <= writer->facts->exemplars.count && !rc; i++) {
        size_t before = writer->windows.size;
        char name[32];
        snprintf(name, sizeof(name), "exemplar-%u", i);
        rc = wp_window_data(&writer->windows, writer->facts->exemplars.rows[i - 1].trace, name, err);
        if (writer->windows.size > WINDOW_BYTES) {
            writer->windows.size = before;
            break;
        }
        writer->window_count = i;
    }
    return rc;
}

static int put_windows(struct writer *writer, struct wp_error *err)
{
    int rc = 0;
    for (unsigned part = 1; part <= writer->window_count && !rc; part++) {
        rc = put_section(writer, WP_PAGE_EXEMPLAR, part, err);
        if (!rc)
            rc = put_section(writer, WP_PAGE_EXEMPLAR_ROWS, part, err);
    }
    return rc;
}

static void put_asset(struct writer *writer, const char *name)
{
    for (size_t i = 0; i < wp_asset_count; i++)
        if (!strcmp(wp_assets[i].name, name))
            wp_buffer_append(writer->out, wp_assets[i].bytes, wp_assets[i].size);
}

static void put_script(struct writer *writer, const char *name)
{
    wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
    put_asset(writer, name);
    wp_buffer_puts(writer->out, "</script>\n");
}

static void put_head(struct writer *writer)
{
    struct wp_buffer *out = writer->out;
    wp_buffer_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    wp_buffer_printf(
        out, "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY "\">\n", writer->nonce, writer->nonce);
    wp_buffer_puts(out,
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light "
        "dark\">\n<title>");
    wp_escape_html(out, writer->subject);
    wp_buffer_puts(out, " · ");
    wp_escape_html(out, writer->facts->release);
    wp_buffer_printf(out, " · Wakepath</title>\n<style nonce=\"%s\">\n", writer->nonce);
    put_asset(writer, "wakepath.css");
    wp_buffer_puts(out, "</style>\n");
    put_script(writer, "theme.js");
    wp_buffer_puts(out, "</head>\n");
}

static void put_top(struct writer *writer)
{
    struct wp_buffer *out = writer->out;
    wp_buffer_puts(out,
        "<body class=\"wide\">\n<header class=\"top\">\n<a class=\"brand\" href=\"#page=overview\">"
        "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M3 18h4V9h5v5h4V5h5\"/></svg>Wakepath</a>\n"
        "<nav class=\"crumbs\" aria-label=\"Where you are\"><bdi>");
    wp_escape_html(out, writer->facts->release);
    wp_buffer_puts(out, "</bdi><span aria-hidden=\"true\">/</span><bdi>");
    wp_escape_html(out, writer->subject);
    wp_buffer_puts(out,
        "</bdi></nav>\n<button id=\"theme\" type=\"button\" hidden>Theme</button>\n</header>\n"
        "<nav class=\"tabs\" aria-label=\"Views\">\n");
    for (int page = WP_PAGE_OVERVIEW; page < WP_PAGES; page++) {
        char name[32];
        section_name(name, sizeof(name), (enum wp_page_kind)page, 0, writer->facts);
        if (is_here(writer, page) && page != WP_PAGE_BEHIND) /* figures lead there */
            wp_buffer_printf(
                out, "<a href=\"#page=%s\"><bdi>%s</bdi></a>\n", name, wp_page_title((enum wp_page_kind)page));
    }
    wp_buffer_puts(out, "</nav>\n<main id=\"main\">\n");
}

static int put_data(struct writer *writer, int (*make)(struct wp_buffer *, const struct wp_facts *, struct wp_error *),
    struct wp_error *err)
{
    wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
    int rc = make(writer->out, writer->facts, err);
    wp_buffer_puts(writer->out, "</script>\n");
    return rc;
}

/* Whose time it is; of each by itself only where all of them fit. */
static int put_origins(struct writer *writer, struct wp_error *err)
{
    struct wp_buffer data = {0};
    int rc = 0;
    for (size_t i = 0; i < writer->context->origins.count && !rc && data.size <= ORIGIN_BYTES; i++)
        if (writer->context->origins.rows[i].report)
            rc = wp_origin_data(&data, writer->context, i, err);
    if (!rc)
        wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
    if (!rc)
        rc = wp_origin_list(writer->out, writer->context, err);
    wp_buffer_puts(writer->out, rc ? "" : "</script>\n");
    if (!rc && data.size && data.size <= ORIGIN_BYTES) {
        wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
        wp_buffer_append(writer->out, data.data, data.size);
        wp_buffer_puts(writer->out, "</script>\n");
    }
    wp_buffer_fini(&data);
    return rc;
}

static int put_scripts(struct writer *writer, struct wp_error *err)
{
    static const char *const names[] = {"units.js", "manners.js", "table.js", "column.js", "view.js", "palette.js",
        "folding.js", "tip.js", "surface.js", "flame_model.js", "flame_times.js", "flame_hosts.js", "flame_exemplar.js",
        "stretch.js", "flame_folds.js", "flame_save.js", "flame_drop.js", "flame.js", "flame_sums.js", "figure.js",
        "rows.js", "behind.js", "time_axis.js", "brush.js", "time_view.js", "trace_model.js", "states.js",
        "chronology.js", "spans.js", "strips.js", "links.js", "ops.js", "timeline_rows.js", "running.js"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        put_script(writer, names[i]);
    int rc = put_data(writer, wp_view_data_flame, err);
    if (!rc)
        rc = put_data(writer, wp_time_data, err);
    if (!rc)
        rc = put_origins(writer, err);
    size_t before = writer->out->size;
    if (!rc && writer->window_count)
        rc = put_data(writer, wp_exemplar_data, err);
    if (writer->out->size - before > WINDOW_BYTES)
        writer->out->size = before;
    if (!rc && writer->facts->trace)
        rc = put_data(writer, wp_view_data_trace, err);
    if (!rc && writer->facts->trace && writer->system) {
        wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
        rc = wp_window_data(writer->out, writer->system, "system", err);
        wp_buffer_puts(writer->out, "</script>\n");
    }
    if (writer->window_count) {
        wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
        wp_buffer_append(writer->out, writer->windows.data, writer->windows.size);
        wp_buffer_puts(writer->out, "</script>\n");
    }
    if (!rc && writer->compare) {
        wp_buffer_printf(writer->out, "<script nonce=\"%s\">\n", writer->nonce);
        rc = wp_view_data_compare(writer->out, writer->facts, writer->compare, err);
        wp_buffer_puts(writer->out, "</script>\n");
    }
    put_script(writer, "single.js");
    return rc;
}

/* Differs between documents and is the same for the same one: names cannot know it, since it is made from all of them.
 */
static int choose_nonce(struct writer *writer, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    int rc = wp_report_encode(writer->facts->report, &bytes, err);
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * 1099511628211u;
    snprintf(writer->nonce, sizeof(writer->nonce), "%016llx", (unsigned long long)hash);
    wp_buffer_fini(&bytes);
    return rc;
}

int wp_single_file(struct wp_buffer *out, const struct wp_page_context *context,
    const struct wp_single_file_options *options, struct wp_error *err)
{
    struct writer writer = {.out = out,
        .facts = context->facts,
        .context = context,
        .compare = options->compare,
        .system = options->system};
    int rc = choose_nonce(&writer, err);
    if (!rc)
        rc = take_windows(&writer, err);
    writer.subject = wp_recorded_title(&writer.pool, context->facts);
    if (rc) {
        wp_pool_fini(&writer.pool);
        wp_buffer_fini(&writer.windows);
        return rc;
    }
    put_head(&writer);
    put_top(&writer);
    for (int page = WP_PAGE_OVERVIEW; page < WP_PAGES && !rc; page++)
        if (is_here(&writer, page))
            rc = put_section(&writer, (enum wp_page_kind)page, 0, err);
    if (!rc)
        rc = put_windows(&writer, err);
    wp_buffer_puts(
        out, "</main>\n<footer>Made by Wakepath: where did the time go, and who was being waited for?</footer>\n");
    if (!rc)
        rc = put_scripts(&writer, err);
    wp_buffer_puts(out, "</body>\n</html>\n");
    out->failed |= writer.pool.failed;
    wp_pool_fini(&writer.pool);
    wp_buffer_fini(&writer.windows);
    return !rc && out->failed
        ? wp_error_set(err, -ENOMEM, "out of memory for the file of %s", context->facts->aggregate)
        : rc;
}
