/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store log: what is recorded of whose work. */
#include "storage/tool/tool_log.h"

#include "common/clock.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/commit_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK "check." /* of the keys that `wakepath check --keep` writes into metadata of an aggregate */

struct line {
    const char *release;
    uint64_t last_ns;
    struct wp_commit commit;
    uint64_t checks, worse; /* that were kept; of them, that found something worse */
    bool is_read;
};

static int take_check(void *context, const struct wp_metadata_row *row)
{
    struct line *line = context;
    if (!row->is_winner || strncmp(row->key, CHECK, strlen(CHECK)))
        return 0;
    struct json_object *value = json_tokener_parse(row->value), *worse = NULL;
    if (json_object_object_get_ex(value, "worse", &worse)) {
        line->checks++;
        line->worse += json_object_get_int64(worse) > 0;
    }
    json_object_put(value);
    return 0;
}

static int read_line(struct wp_tool *tool, struct line *line, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    char **aggregates = NULL;
    size_t count = 0;
    uint64_t first_ns;
    int rc = wp_txn_begin(&txn, tool->store, line->release, false, err);
    if (!rc)
        rc = wp_txn_activity(txn, &first_ns, &line->last_ns, err);
    if (!rc)
        rc = wp_txn_commit_of(txn, &line->commit, err);
    if (!rc)
        rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = wp_txn_all_metadata(txn, &(struct wp_metadata_scope){.aggregate = aggregates[i]}, take_check, line, err);
    wp_strings_free(aggregates, count);
    wp_txn_abort(txn);
    line->is_read = !rc;
    return wp_tool_pass_over(tool, rc, err);
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    return strcmp(a->release, b->release);
}

static void print_line(struct wp_buffer *out, const struct line *line)
{
    const struct wp_commit *commit = &line->commit;
    time_t seconds = (time_t)(line->last_ns / WP_NS_PER_S);
    char when[16] = "-";
    struct tm tm;
    if (line->last_ns && gmtime_r(&seconds, &tm))
        strftime(when, sizeof(when), "%Y-%m-%d", &tm);
    wp_buffer_printf(
        out, "%-20s %-12.*s %-10s", line->release, WP_COMMIT_SHOWN, commit->id, *commit->date ? commit->date : when);
    if (*commit->id)
        wp_buffer_printf(out, " %s: %s%s%s%s", commit->author, commit->subject, *commit->branch ? " (" : "",
            commit->branch, *commit->branch ? ")" : "");
    if (line->checks)
        wp_buffer_printf(out, "  [%llu check%s kept, %llu worse]", (unsigned long long)line->checks,
            line->checks == 1 ? "" : "s", (unsigned long long)line->worse);
    wp_buffer_putc(out, '\n');
}

static void add_row(struct json_object *rows, struct line *line)
{
    struct json_object *row = wp_json_add_row(rows);
    wp_json_put_text(row, "release", line->release);
    wp_json_put_number(row, "last_ns", line->last_ns);
    for (unsigned i = 0; *line->commit.id && i < WP_COMMIT_TEXTS; i++) {
        size_t room;
        const char *text = wp_commit_text_at(&line->commit, i, &room);
        wp_json_put_text(row, wp_commit_keys[i], text);
    }
    wp_json_put_number(row, "checks", line->checks);
    wp_json_put_number(row, "checks_worse", line->worse);
}

int wp_tool_log(struct wp_tool *tool, struct wp_error *err)
{
    struct json_object *rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    struct line *lines = NULL;
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    if (!rc && !(lines = calloc(count + 1, sizeof(*lines))))
        rc = wp_error_set(err, -ENOMEM, "out of memory for the log");
    for (size_t i = 0; !rc && i < count; i++) {
        lines[i].release = releases[i];
        rc = read_line(tool, &lines[i], err);
    }
    if (!rc && count)
        qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; !rc && i < count; i++)
        if (lines[i].is_read && rows)
            add_row(rows, &lines[i]);
        else if (lines[i].is_read)
            print_line(&tool->out, &lines[i]);
    free(lines);
    wp_strings_free(releases, count);
    if (rc || !rows) {
        json_object_put(rows);
        return rc;
    }
    return wp_tool_json(tool, rows, err);
}
