/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/query.h"

#include "common/json.h"
#include "common/path.h"
#include "common/strings.h"
#include "reporter/base/output.h"
#include "reporter/cmd/query_asked.h"
#include "reporter/cmd/query_findings.h"
#include "reporter/code/group.h"
#include "reporter/compare/operand.h"
#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/export/format_categories.h"
#include "reporter/export/format_text.h"
#include "reporter/facts/beside.h"
#include "reporter/load/facts_read.h"
#include "reporter/site/tasks_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAIL_COLUMNS 78u
#define LEAST_COLUMNS 40u

/* What is said of one release. */
struct part {
    char aggregate[WP_ID_ROOM];
    char *release; /* owned by the list of releases */
    struct wp_group group;
    size_t reaching;         /* rows of it that the limit leaves */
    struct wp_task task;     /* its name is the release's */
    const char *base, *word; /* what its total is of; base NULL: of all control paths, which are whole threads */
};

struct answer {
    const struct wp_query_options *query;
    struct part *parts; /* owned */
    size_t count;
};

static size_t shown(const struct answer *answer, const struct part *part)
{
    size_t top = answer->query->top;
    return top && top < part->reaching ? top : part->reaching;
}

static int read_part(struct part *part, const struct wp_query_options *query, const struct wp_snapshot *snapshot,
    struct wp_query_gaps *gaps, struct wp_error *err)
{
    struct wp_facts facts = {0};
    int rc = wp_aggregate_choose(snapshot, query->aggregate, &query->selection, part->aggregate, err);
    if (!rc)
        rc = wp_facts_read_windows(&facts, snapshot, part->aggregate, &query->selection,
            &(struct wp_facts_windows){.contour = &query->contour}, err);
    const struct wp_facts *of = query->of_detached ? facts.detached : &facts;
    if (!rc && of)
        rc = wp_group_build(&part->group, of, &query->filter, query->by, err);
    part->reaching = rc ? 0 : wp_group_sort_by(&part->group, &query->order);
    gaps->values += facts.damage_count;
    part->task = (struct wp_task){.name = part->release, .wall_ns = facts.wall_ns, .total_ns = facts.total_ns};
    memcpy(part->task.parts, facts.categories, sizeof(part->task.parts));
    part->word = query->of_detached ? "detached" : wp_beside_word(&facts);
    part->base = query->of_detached          ? "work that was started and not waited for"
        : facts.is_progress || facts.idle_ns ? wp_beside_base(&facts)
                                             : NULL;
    wp_facts_fini(&facts);
    return rc;
}

/* A release that nobody named may lack the aggregate or the time, or be damaged: the others are reported. */
static int read_release(struct answer *answer, const struct wp_stores *stores, char *release,
    struct wp_query_gaps *gaps, struct wp_error *err)
{
    struct part *part = &answer->parts[answer->count];
    struct wp_snapshot snapshot;
    part->release = release;
    int rc = wp_snapshot_begin(&snapshot, stores, release, err);
    if (!rc) {
        rc = read_part(part, answer->query, &snapshot, gaps, err);
        wp_snapshot_end(&snapshot);
    }
    answer->count += !rc;
    if (answer->query->release_count || (rc != -ENOENT && rc != -EBADMSG))
        return rc ? wp_error_wrap(err, rc, "release %s", release) : 0;
    gaps->releases += rc == -EBADMSG;
    return 0;
}

static int read_all(struct answer *answer, const struct wp_stores *stores, char **releases, size_t count,
    struct wp_query_gaps *gaps, struct wp_error *err)
{
    int rc = wp_query_check_asked(answer->query, releases, count, err);
    answer->parts = calloc(count + 1, sizeof(*answer->parts));
    if (!answer->parts)
        rc = wp_error_set(err, -ENOMEM, "out of memory for %zu releases", count);
    for (size_t i = 0; i < count && !rc; i++)
        if (wp_query_is_asked(answer->query, releases[i]))
            rc = read_release(answer, stores, releases[i], gaps, err);
    bool is_empty = answer->count && answer->query->is_filtered && !answer->query->allows_empty;
    for (size_t i = 0; i < answer->count; i++)
        is_empty &= !answer->parts[i].group.matched_ns;
    if (!rc && (is_empty || !answer->count) && gaps->releases)
        rc = wp_query_unread(gaps, err);
    else if (!rc && is_empty)
        rc = wp_query_refuse_empty(answer->query, err);
    else if (!rc && !answer->count)
        rc = wp_error_set(err, -ENOENT, "store %s has no release with anything of %s%s%s%s", answer->query->stores[0],
            answer->query->aggregate ? answer->query->aggregate : "an aggregate",
            answer->query->selection.hosts ? " on hosts " : "",
            answer->query->selection.hosts ? answer->query->selection.hosts : "",
            answer->query->selection.since_s || answer->query->selection.until_s ? " in that time" : "");
    return rc;
}

/* Of the terminal that is written to; else of a mail. */
static size_t columns_of(const struct wp_query_options *query)
{
    struct winsize size;
    bool is_terminal = !query->out && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col;
    return is_terminal ? (size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS
                                 : size.ws_col > 250  ? 250
                                                      : size.ws_col)
                       : MAIL_COLUMNS;
}

/* A second column says of what: of a function its file, of a line its function. */
static bool has_object(enum wp_group_by by)
{
    return by == WP_BY_FUNCTION || by == WP_BY_LINE;
}

static void add_table(struct wp_display *display, const struct answer *answer, const struct part *part)
{
    static const char *const titles[WP_BYS] = {
        "Process", "Function", "Host", "Category", "Path", "Source file", "Line"};
    static const struct wp_column columns[WP_BYS][6] = {
#define COLUMNS(kind)                                                                                                  \
    {                                                                                                                  \
        {NULL, NULL, kind}, {"On top", NULL, WP_CELL_DURATION}, {"Share", NULL, WP_CELL_SHARE},                        \
            {"Pieces", NULL, WP_CELL_COUNT}, {"In all", NULL, WP_CELL_DURATION},                                       \
        {                                                                                                              \
            "Of", NULL, WP_CELL_NAME                                                                                   \
        }                                                                                                              \
    }
        COLUMNS(WP_CELL_NAME), COLUMNS(WP_CELL_NAME), COLUMNS(WP_CELL_NAME), COLUMNS(WP_CELL_NAME),
        COLUMNS(WP_CELL_STACK), COLUMNS(WP_CELL_NAME), COLUMNS(WP_CELL_NAME)};
    enum wp_group_by by = answer->query->by;
    enum wp_group_measure measure = answer->query->order.measure;
    bool has_measure = measure > WP_ORDER_TOTAL && measure != WP_ORDER_PIECES; /* those have a column */
    size_t width = by == WP_BY_LINE ? 5 : has_object(by) ? 6 : by < WP_BY_CATEGORY || by == WP_BY_FILE ? 5 : 4;
    static const char *const measures[WP_ORDERS] = {[WP_ORDER_RUN] = "Running", "Waiting", NULL, "A piece"};
    struct wp_column *own = wp_pool_alloc(&display->pool, sizeof(columns[0]) + sizeof(*own));
    if (!own)
        return;
    memcpy(own, columns[by], sizeof(columns[0]));
    if (by == WP_BY_LINE) /* of lines there are no pieces */
        memmove(own + 3, own + 4, 2 * sizeof(*own));
    own[0].title = titles[by];
    if (has_measure)
        own[width] = (struct wp_column){measures[measure], NULL, WP_CELL_DURATION};
    struct wp_table *table = wp_display_table(display, "groups", own, width + has_measure, shown(answer, part));
    table->whole_ns = part->group.total_ns;
    table->empty = "Nothing matches.";
    for (size_t i = 0; i < part->group.count; i++) {
        const struct wp_group_row *row = &part->group.rows[i];
        struct wp_field *fields = wp_display_row(table);
        if (!fields)
            continue;
        /* FILE:LINE: the folders before it are in JSON and CSV. */
        fields[0].text = by == WP_BY_LINE ? wp_source_base(row->name) : *row->name ? row->name : "(none)";
        fields[1].number = fields[2].number = row->ns;
        if (by == WP_BY_LINE) {
            fields[3].number = row->inclusive_ns;
            fields[4].text = row->object;
            continue;
        }
        fields[3].number = row->count;
        if (width > 4)
            fields[4].number = row->inclusive_ns;
        if (width > 5)
            fields[5].text = row->object;
        if (has_measure)
            fields[width].number = wp_group_measured(row, measure);
    }
}

static int format_table(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
    struct wp_pool *pool = &display.pool;
    struct wp_buffer contour = {0};
    wp_contour_text(&contour, &answer->query->contour);
    wp_buffer_putc(&contour, '\0');
    display.title = wp_pool_printf(pool, "Time by %s", wp_group_by_name(answer->query->by));
    for (size_t i = 0; i < answer->count; i++) {
        const struct part *part = &answer->parts[i];
        wp_display_heading(&display, wp_pool_printf(pool, "%s in release %s", part->aggregate, part->release));
        wp_display_add(&display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(pool, "%s of %s matched (%s).", wp_human_duration(pool, part->group.matched_ns),
                wp_human_duration(pool, part->group.total_ns),
                wp_human_share(pool, part->group.matched_ns, part->group.total_ns)));
        if (contour.size > 1)
            wp_display_add(&display, WP_ITEM_PARAGRAPH,
                wp_pool_printf(pool, "Left out of the stacks: %s.", (const char *)contour.data));
        if (part->base)
            wp_display_add(
                &display, WP_ITEM_PARAGRAPH, wp_pool_printf(pool, "Shares are of the total: %s.", part->base));
        add_table(&display, answer, part);
    }
    int rc = pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for the answer")
                          : wp_format_text_within(out, &display, columns_of(answer->query), err);
    wp_buffer_fini(&contour);
    wp_display_fini(&display);
    return rc;
}

static void put_rows(struct wp_json *json, const struct answer *answer, const struct part *part)
{
    wp_json_array(json, "rows");
    for (size_t i = 0; i < shown(answer, part); i++) {
        const struct wp_group_row *row = &part->group.rows[i];
        wp_json_object(json, NULL);
        wp_json_text(json, wp_group_by_name(answer->query->by), row->name);
        if (has_object(answer->query->by))
            wp_json_text(json, "object", row->object);
        wp_json_number(json, "ns", row->ns);
        wp_json_number(json, "inclusive_ns", row->inclusive_ns);
        wp_json_number(json, "count", row->count);
        if (answer->query->by < WP_BY_FILE)
            wp_json_number(json, "running_ns", row->running_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_contour(struct wp_json *json, const struct wp_contour *contour)
{
    struct wp_buffer text = {0};
    if (!contour->count)
        return;
    wp_contour_text(&text, contour);
    wp_buffer_putc(&text, '\0');
    json->out->failed |= text.failed;
    if (!text.failed)
        wp_json_text(json, "contour", (const char *)text.data);
    wp_buffer_fini(&text);
}

static int format_json(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    struct wp_json json = {.out = out, .style = WP_JSON_SPACED};
    wp_json_object(&json, NULL);
    wp_json_number(&json, "schema", 1);
    wp_json_text(&json, "by", wp_group_by_name(answer->query->by));
    put_contour(&json, &answer->query->contour);
    wp_json_array(&json, "releases");
    for (size_t i = 0; i < answer->count; i++) {
        const struct part *part = &answer->parts[i];
        wp_json_object(&json, NULL);
        wp_json_text(&json, "release", part->release);
        wp_json_text(&json, "aggregate", part->aggregate);
        wp_json_number(&json, "total_ns", part->group.total_ns);
        wp_json_text(&json, "base", part->word);
        wp_json_number(&json, "matched_ns", part->group.matched_ns);
        put_rows(&json, answer, part);
        wp_json_number(&json, "left_out", part->group.count - shown(answer, part));
        wp_json_end(&json);
    }
    wp_json_end(&json);
    wp_json_end(&json);
    return wp_json_finish(&json, "the summary", err);
}

static int format_csv(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    bool is_parted = has_object(answer->query->by);
    wp_buffer_printf(out, "release,aggregate,%s%s,ns,inclusive_ns,count\r\n", wp_group_by_name(answer->query->by),
        is_parted ? ",object" : "");
    for (size_t i = 0; i < answer->count; i++)
        for (size_t at = 0; at < shown(answer, &answer->parts[i]); at++) {
            const struct part *part = &answer->parts[i];
            const struct wp_group_row *row = &part->group.rows[at];
            const char *texts[] = {part->release, part->aggregate, row->name, row->object};
            for (size_t text = 0; text < (is_parted ? 4u : 3u); text++) {
                wp_escape_csv(out, texts[text]);
                wp_buffer_putc(out, ',');
            }
            wp_buffer_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n", row->ns, row->inclusive_ns, row->count);
        }
    return out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the answer") : 0;
}

static int format_tasks(struct wp_buffer *out, const struct answer *answer, struct wp_error *err)
{
    struct wp_task *tasks = calloc(answer->count + 1, sizeof(*tasks));
    if (!tasks)
        return wp_error_set(err, -ENOMEM, "out of memory for %zu releases", answer->count);
    for (size_t i = 0; i < answer->count; i++)
        tasks[i] = answer->parts[i].task;
    int rc =
        (answer->query->format == WP_QUERY_PAGE ? wp_tasks_page : wp_format_categories)(out, tasks, answer->count, err);
    free(tasks);
    return rc;
}

/* Appends the answer. -ENOENT: a release that was named is not there, or none has the aggregate; -EBADMSG: one that was
 * named, or all that there are, cannot be read. */
static int query_answer(
    struct wp_buffer *out, const struct wp_query_options *query, struct wp_query_gaps *gaps, struct wp_error *err)
{
    static int (*const formats[])(struct wp_buffer *, const struct answer *, struct wp_error *) = {
        format_table, format_json, format_csv, format_tasks, format_tasks};
    struct answer answer = {.query = query};
    struct wp_stores stores;
    char **releases = NULL;
    size_t count = 0;
    *gaps = (struct wp_query_gaps){0};
    int rc = wp_stores_open(&stores, query->stores, query->store_count, err);
    if (rc)
        return rc;
    rc = wp_stores_releases(&stores, NULL, NULL, &releases, &count, err);
    if (!rc)
        rc = read_all(&answer, &stores, releases, count, gaps, err);
    if (!rc)
        rc = formats[query->format](out, &answer, err);
    for (size_t i = 0; i < answer.count; i++)
        wp_group_fini(&answer.parts[i].group);
    free(answer.parts);
    wp_strings_free(releases, count);
    wp_stores_close(&stores);
    return rc;
}

int wp_query_run(const struct wp_logger *logger, int argc, char **argv, struct wp_error *err)
{
    struct wp_query_options query;
    struct wp_buffer out = {0};
    struct wp_query_gaps gaps = {0};
    wp_query_parse(&query, argc, argv);
    int rc = 0;
    for (size_t i = 0; i < query.release_count && !rc; i++)
        rc = wp_named_resolve(&(struct wp_named){&query.releases[i], &query.aggregate, &query.selection, query.git},
            &query.named[i], query.stores, query.store_count, err);
    if (!rc)
        rc =
            query.wants_findings ? wp_query_findings(&out, &query, &gaps, err) : query_answer(&out, &query, &gaps, err);
    if (!rc && gaps.values)
        wp_log(logger, WP_LOG_WARN, "damaged values are left out of the answer damaged=%zu", gaps.values);
    if (!rc)
        rc = wp_output_write(query.out, &out, false, err);
    if (!rc && gaps.releases)
        rc = wp_query_unread(&gaps, err);
    wp_buffer_fini(&out);
    return rc;
}
