/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/export/format_findings.h"

#include "reporter/findings/pattern.h"

/* "v1/main/flame.html#node=0123abcd", from the root of a site. */
static void put_page(struct wp_buffer *out, const struct wp_finding_origin *origin, const struct wp_finding *finding)
{
    wp_page_id_path_part(out, &(struct wp_page_id){finding->page, origin->release, origin->aggregate}, 0);
    if (finding->fragment)
        wp_buffer_printf(out, "#%s", finding->fragment);
}

static void put_pattern(struct wp_json *json, const struct wp_pattern *pattern)
{
    wp_json_object(json, "pattern");
    wp_json_text(json, "key", pattern->key);
    wp_json_text(json, "title", pattern->title);
    wp_json_text(json, "sure", wp_surety_key(pattern->sure));
    wp_json_text(json, "evidence", pattern->evidence);
    wp_json_end(json);
}

void wp_format_finding(struct wp_json *json, const struct wp_finding_origin *origin, const struct wp_finding *finding)
{
    struct wp_buffer page = {0};
    wp_json_text(json, "kind", finding->kind);
    wp_json_text(json, "sentence", finding->sentence);
    wp_json_number(json, "ns", finding->ns);
    wp_json_fixed(json, "percent", origin->total_ns ? 100.0 * (double)finding->ns / (double)origin->total_ns : 0);
    if (finding->count)
        wp_json_number(json, "count", finding->count);
    if (finding->threads)
        wp_json_number(json, "threads", finding->threads);
    if (finding->function)
        wp_json_text(json, "function", finding->function);
    if (finding->file) {
        wp_json_text(json, "file", finding->file);
        wp_json_number(json, "line", finding->line);
    }
    if (finding->since)
        wp_json_text(json, "since", finding->since);
    if (finding->pattern.key)
        put_pattern(json, &finding->pattern);
    put_page(&page, origin, finding);
    wp_buffer_putc(&page, '\0');
    json->out->failed |= page.failed;
    wp_json_text(json, "page", page.failed ? "" : (const char *)page.data);
    wp_buffer_fini(&page);
}

void wp_format_findings(
    struct wp_json *json, const char *key, const struct wp_facts *facts, const struct wp_finding *rows, size_t limit)
{
    const struct wp_finding_origin origin = {facts->release, facts->aggregate, facts->total_ns};
    wp_json_array(json, key);
    for (size_t i = 0; i < facts->finding_count && i < limit; i++) {
        wp_json_object(json, NULL);
        wp_format_finding(json, &origin, &rows[i]);
        wp_json_end(json);
    }
    wp_json_end(json);
}
