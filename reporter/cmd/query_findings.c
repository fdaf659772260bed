/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/query_findings.h"

#include "common/json.h"
#include "reporter/compare/operand.h"
#include "reporter/display/escape.h"
#include "reporter/export/format_findings.h"
#include "reporter/export/format_text.h"
#include "reporter/findings/finding_since.h"
#include "reporter/findings/pattern.h"
#include "reporter/load/facts_read.h"
#include "reporter/read/release_order.h"
#include "reporter/recording/supervisor_finding.h"
#include "reporter/recording/process_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OLDER 32u /* releases back that are looked at for the first with a finding */

/* Of one release, once it is read. */
struct part {
    struct wp_pool pool; /* of its texts */
    struct wp_finding_origin origin;
    uint64_t wall_ns;
    struct wp_finding findings[WP_FINDINGS];
    size_t finding_count;
    bool is_read, is_there;
};

struct answer {
    const struct wp_query_options *query;
    const struct wp_stores *stores;
    struct wp_release_order order;
    struct part *parts; /* owned; by row of the order */
    struct wp_query_gaps *gaps;
};

static void keep_text(struct wp_pool *pool, const char **text)
{
    *text = *text ? wp_pool_text(pool, *text) : NULL;
}

/* What an answer has; the facts go, for there may be many releases. */
static int keep_findings(struct part *part, const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_pool *pool = &part->pool;
    part->origin = (struct wp_finding_origin){
        wp_pool_text(pool, facts->release), wp_pool_text(pool, facts->aggregate), facts->total_ns};
    part->wall_ns = facts->wall_ns;
    part->finding_count = facts->finding_count;
    memcpy(part->findings, facts->findings, sizeof(part->findings));
    for (size_t i = 0; i < part->finding_count; i++) {
        struct wp_finding *finding = &part->findings[i];
        const char **texts[] = {&finding->kind, &finding->sentence, &finding->key, &finding->function, &finding->file,
            &finding->fragment, &finding->pattern.key, &finding->pattern.title, &finding->pattern.evidence};
        for (size_t text = 0; text < sizeof(texts) / sizeof(*texts); text++)
            keep_text(pool, texts[text]);
    }
    return pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for the findings") : 0;
}

/* -ENOENT, -EBADMSG: it lacks the aggregate or cannot be read, and has no findings. */
static int read_facts(struct answer *answer, size_t row, struct wp_error *err)
{
    const struct wp_query_options *query = answer->query;
    struct part *part = &answer->parts[row];
    struct wp_snapshot snapshot;
    struct wp_facts facts = {0};
    struct wp_genealogy *genealogy = NULL;
    bool is_asked = wp_query_is_asked(query, answer->order.rows[row].id);
    char aggregate[WP_ID_ROOM];
    int rc = wp_snapshot_begin(&snapshot, answer->stores, answer->order.rows[row].id, err);
    if (rc)
        return rc;
    rc = wp_aggregate_choose(&snapshot, query->aggregate, &query->selection, aggregate, err);
    if (!rc)
        rc = wp_facts_read(&facts, &snapshot, aggregate, &query->selection, err);
    if (!rc && is_asked)
        rc = wp_process_tree_read(&facts, &genealogy, &snapshot, err);
    if (!rc)
        wp_process_findings_add(&facts);
    if (is_asked)
        answer->gaps->values += facts.damage_count;
    if (!rc)
        rc = keep_findings(part, &facts, err);
    part->is_there = !rc;
    wp_genealogy_fini(&genealogy);
    wp_facts_fini(&facts);
    wp_snapshot_end(&snapshot);
    return rc;
}

/* A release that somebody named must be there and whole; another may lack what is asked for, or be damaged. */
static int read_part(struct answer *answer, size_t row, struct wp_error *err)
{
    struct part *part = &answer->parts[row];
    const char *release = answer->order.rows[row].id;
    struct wp_error own = {0};
    if (part->is_read)
        return 0;
    part->is_read = true;
    int rc = read_facts(answer, row, &own);
    bool is_asked = wp_query_is_asked(answer->query, release), is_lacking = rc == -ENOENT || rc == -EBADMSG;
    if (is_lacking && !(is_asked && answer->query->release_count)) {
        answer->gaps->releases += is_asked && rc == -EBADMSG;
        return 0;
    }
    if (rc && err)
        *err = own;
    return rc ? wp_error_wrap(err, rc, "release %s", release) : 0;
}

static struct wp_release_findings findings_of(const struct part *part)
{
    return (struct wp_release_findings){
        part->origin.release, part->origin.total_ns, part->findings, part->finding_count};
}

static int find_since(struct answer *answer, size_t row, size_t finding, struct wp_error *err)
{
    struct part *part = &answer->parts[row];
    struct wp_release_findings own = findings_of(part);
    bool is_found = false;
    int rc = 0;
    size_t older = answer->order.rows[row].baseline;
    for (unsigned back = 0; !is_found && back < OLDER && older != SIZE_MAX && !rc; back++) {
        rc = read_part(answer, older, err);
        struct wp_release_findings before = findings_of(&answer->parts[older]);
        is_found =
            !rc && answer->parts[older].is_there && wp_finding_look_back(&part->findings[finding], &own, &before);
        older = answer->order.rows[older].baseline;
    }
    return rc;
}

static size_t shown(const struct answer *answer, size_t row)
{
    size_t top = answer->query->top, count = answer->parts[row].finding_count;
    return top && top < count ? top : count;
}

static bool is_shown(const struct answer *answer, size_t row)
{
    return answer->parts[row].is_there && wp_query_is_asked(answer->query, answer->order.rows[row].id);
}

static int read_all(struct answer *answer, struct wp_error *err)
{
    int rc = wp_query_check_asked(answer->query, answer->order.names, answer->order.count, err);
    size_t found = 0;
    for (size_t row = 0; row < answer->order.count && !rc; row++) {
        if (!wp_query_is_asked(answer->query, answer->order.rows[row].id))
            continue;
        rc = read_part(answer, row, err);
        found += !rc && answer->parts[row].is_there;
        for (size_t i = 0; !rc && i < shown(answer, row); i++)
            rc = find_since(answer, row, i, err);
    }
    if (!rc && !found && answer->gaps->releases)
        rc = wp_query_unread(answer->gaps, err);
    else if (!rc && !found)
        rc = wp_error_set(
            err, -ENOENT, "store %s has no release with anything of what was asked for", answer->query->stores[0]);
    return rc;
}

static int format_text(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
    display.title = "Findings";
    for (size_t row = 0; row < answer->order.count; row++) {
        const struct part *part = &answer->parts[row];
        if (!is_shown(answer, row))
            continue;
        wp_display_heading(
            &display, wp_pool_printf(&display.pool, "%s in release %s", part->origin.aggregate, part->origin.release));
        for (size_t i = 0; i < shown(answer, row); i++) {
            struct wp_item *item = wp_display_add(
                &display, WP_ITEM_FINDING, wp_finding_text(&display.pool, part->origin.release, &part->findings[i]));
            if (item)
                item->number = i + 1;
        }
        if (!shown(answer, row))
            wp_display_add(&display, WP_ITEM_PARAGRAPH, "Nothing of the process of interest was recorded.");
    }
    int rc = display.pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for the findings")
                                 : wp_format_text(out, &display, err);
    wp_display_fini(&display);
    return rc;
}

static int format_json(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    struct wp_json json = {.out = out, .style = WP_JSON_SPACED};
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_array(&json, "releases");
    for (size_t row = 0; row < answer->order.count; row++) {
        const struct part *part = &answer->parts[row];
        if (!is_shown(answer, row))
            continue;
        wp_json_object(&json, NULL);
        wp_json_text(&json, "release", part->origin.release);
        wp_json_text(&json, "aggregate", part->origin.aggregate);
        wp_json_number(&json, "wall_ns", part->wall_ns);
        wp_json_number(&json, "total_ns", part->origin.total_ns);
        wp_json_array(&json, "findings");
        for (size_t i = 0; i < shown(answer, row); i++) {
            wp_json_object(&json, NULL);
            wp_format_finding(&json, &part->origin, &part->findings[i]);
            wp_json_end(&json);
        }
        wp_json_end(&json);
        wp_json_end(&json);
    }
    wp_json_end(&json);
    wp_json_end(&json);
    return wp_json_finish(&json, "the findings", err);
}

static int format_csv(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    wp_buffer_puts(out, "release,aggregate,kind,pattern,sure,function,file,since,sentence,line,ns,count,threads\r\n");
    for (size_t row = 0; row < answer->order.count; row++)
        for (size_t i = 0; is_shown(answer, row) && i < shown(answer, row); i++) {
            const struct part *part = &answer->parts[row];
            const struct wp_finding *finding = &part->findings[i];
            const char *texts[] = {part->origin.release, part->origin.aggregate, finding->kind, finding->pattern.key,
                finding->pattern.key ? wp_surety_key(finding->pattern.sure) : NULL, finding->function, finding->file,
                finding->since, finding->sentence};
            for (size_t text = 0; text < sizeof(texts) / sizeof(*texts); text++) {
                wp_escape_csv(out, texts[text] ? texts[text] : "");
                wp_buffer_putc(out, ',');
            }
            wp_buffer_printf(out, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 "\r\n", finding->line, finding->ns,
                finding->count, finding->threads);
        }
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the findings") : 0;
}

int wp_query_findings(
    struct wp_buffer *out, const struct wp_query_options *query, struct wp_query_gaps *gaps, struct wp_error *err)
{
    static int (*const formats[])(struct wp_buffer *, const struct answer *, struct wp_error *) = {
        format_text, format_json, format_csv};
    struct wp_stores stores;
    struct answer answer = {.query = query, .stores = &stores, .gaps = gaps};
    *gaps = (struct wp_query_gaps){0};
    int rc = wp_stores_open(&stores, query->stores, query->store_count, err);
    if (rc)
        return rc;
    rc = wp_release_order_read(&answer.order, &stores, &(struct wp_order_options){0}, err);
    answer.parts = rc ? NULL : calloc(answer.order.count + 1, sizeof(*answer.parts));
    if (!rc && !answer.parts)
        rc = wp_error_set(err, -ENOMEM, "out of memory for the findings of %zu releases", answer.order.count);
    if (!rc)
        rc = read_all(&answer, err);
    if (!rc)
        rc = formats[query->format](out, &answer, err);
    for (size_t row = 0; answer.parts && row < answer.order.count; row++)
        wp_pool_fini(&answer.parts[row].pool);
    free(answer.parts);
    wp_release_order_fini(&answer.order);
    wp_stores_close(&stores);
    return rc;
}
