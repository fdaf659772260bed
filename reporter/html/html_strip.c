/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/html_strip.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/html/html_parts.h"
#include "storage/value/category.h"

#include <inttypes.h>
#include <string.h>

struct strip {
    struct wp_buffer *out;
    struct wp_pool *pool;
    enum wp_page_kind from;
    const struct wp_critical_path *path;
    const struct wp_link *link;
};

static double percent(const struct strip *strip, uint64_t ns)
{
    return 100.0 * (double)ns / (double)strip->path->length_ns;
}

/* "1.20 s to 3.40 s: cc1, On-CPU". */
static void put_title(struct strip *strip, const struct wp_path_part *part, const char *what)
{
    wp_buffer_printf(strip->out, "<title>%s to %s: ", wp_human_duration(strip->pool, part->start_ns),
        wp_human_duration(strip->pool, part->start_ns + part->length_ns));
    wp_escape_html(strip->out, *part->process ? part->process : "nobody");
    wp_escape_html(strip->out, what);
    wp_buffer_puts(strip->out, "</title>");
}

/* Who: neighbours of one process together, with its name where there is room. */
static void put_process(struct strip *strip, uint32_t from, uint32_t to)
{
    const struct wp_path_part *first = &strip->path->parts[from], *last = &strip->path->parts[to - 1];
    struct wp_path_part whole = *first;
    whole.length_ns = last->start_ns + last->length_ns - first->start_ns;
    double width = percent(strip, whole.length_ns);
    wp_buffer_printf(
        strip->out, "<svg x=\"%.3f%%\" width=\"%.3f%%\" height=\"24\">", percent(strip, first->start_ns), width);
    put_title(strip, &whole, "");
    wp_buffer_puts(strip->out, "<rect class=\"who\" width=\"100%\" height=\"23\"/>");
    if (width * 10.6 > 8.4 * (double)wp_escape_width(first->process) + 12) { /* of a strip of 1060 pixels */
        wp_buffer_puts(strip->out, "<text x=\"6\" y=\"16\">");
        wp_escape_html(strip->out, first->process);
        wp_buffer_puts(strip->out, "</text>");
    }
    wp_buffer_puts(strip->out, "</svg>\n");
}

static void put_part(struct strip *strip, const struct wp_path_part *part)
{
    struct wp_link there = *strip->link;
    if (there.set) {
        there.fragment = wp_pool_printf(
            strip->pool, "from=%" PRIu64 "&to=%" PRIu64, part->start_ns, part->start_ns + part->length_ns);
        wp_buffer_puts(strip->out, "<a href=\"");
        wp_html_href(strip->out, strip->from, &there);
        wp_buffer_puts(strip->out, "\" tabindex=\"-1\">");
    }
    wp_buffer_printf(strip->out, "<svg x=\"%.3f%%\" y=\"24\" width=\"%.3f%%\" height=\"28\">",
        percent(strip, part->start_ns), percent(strip, part->length_ns));
    put_title(strip, part,
        wp_pool_printf(strip->pool, ", %s, %s", wp_category_title(part->category),
            wp_human_duration(strip->pool, part->length_ns)));
    wp_buffer_printf(strip->out, "<rect class=\"c-%s\" width=\"100%%\" height=\"28\"/></svg>%s\n",
        wp_category_key(part->category), there.set ? "</a>" : "");
}

void wp_html_strip(
    struct wp_buffer *out, enum wp_page_kind from, const struct wp_critical_path *path, const struct wp_link *link)
{
    struct wp_pool pool = {0};
    struct strip strip = {out, &pool, from, path, link};
    if (!path->count)
        return;
    wp_buffer_printf(out,
        "<svg class=\"strip\" role=\"%s\" aria-label=\"The critical path from its beginning to its end\">\n",
        link->set ? "group" : "img");
    for (uint32_t i = 0, end; i < path->count; i = end) {
        for (end = i + 1; end < path->count && !strcmp(path->parts[end].process, path->parts[i].process) &&
             path->parts[end].start_ns <= path->parts[end - 1].start_ns + path->parts[end - 1].length_ns;
             end++)
            ;
        put_process(&strip, i, end);
    }
    for (uint32_t i = 0; i < path->count; i++)
        put_part(&strip, &path->parts[i]);
    wp_buffer_printf(out, "</svg>\n<p class=\"ends\"><span>0</span><span>%s</span></p>\n",
        wp_human_duration(&pool, path->length_ns));
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}
