/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store compact */
#include "storage/tool/tool_compact.h"

#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_compact.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/upkeep/rollup.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define DAY ((uint64_t)WP_DAY_S)

struct work {
    uint64_t before, after;        /* keys */
    const struct wp_roll_up *rule; /* NULL: deltas only */
    struct wp_error *err;
};

static int count_key(void *context, const char *key, size_t size)
{
    (void)key, (void)size;
    ++*(uint64_t *)context;
    return 0;
}

static int compact_release(struct wp_txn *txn, void *context)
{
    struct work *work = context;
    char **shards = NULL;
    size_t count = 0;
    work->before = work->after = 0;
    int rc = wp_txn_visit(txn, "", count_key, &work->before, work->err);
    if (!rc)
        rc = wp_txn_shards(txn, &shards, &count, work->err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = wp_txn_compact(txn, shards[i], work->err);
    wp_strings_free(shards, count);
    if (!rc && work->rule) {
        struct wp_roll_up rule = *work->rule;
        rc = wp_txn_roll_up(txn, &rule, NULL, NULL, work->err);
    }
    return rc ? rc : wp_txn_visit(txn, "", count_key, &work->after, work->err);
}

int wp_tool_compact(struct wp_tool *tool, struct wp_error *err)
{
    struct json_object *rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    char **releases = NULL;
    size_t count = 0;
    struct wp_roll_up rule = {.now_s = (uint64_t)time(NULL), .hours_s = 30 * DAY, .days_s = 365 * DAY, .late_s = 3600};
    int rc = wp_tool_age(tool, WP_TOOL_HOURS, &rule.hours_s, err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_DAYS, &rule.days_s, err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_LATE, &rule.late_s, err);
    if (!rc)
        rc = wp_tool_number(tool, WP_TOOL_NOW, &rule.now_s, err);
    tool->is_changing = true;
    if (!rc)
        rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_store_upkeep(tool->store, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct work work = {.rule = tool->flags & WP_TOOL_ROLL_UP ? &rule : NULL, .err = err};
        int one = wp_tool_release_is_there(tool, releases[i], err);
        if (!one)
            one = wp_store_update(tool->store, releases[i], compact_release, &work, err);
        rc = wp_tool_pass_over(tool, one, err);
        if (one)
            continue;
        if (rows) {
            struct json_object *row = wp_json_add_row(rows);
            wp_json_put_text(row, "release", releases[i]);
            wp_json_put_number(row, "keys_before", work.before);
            wp_json_put_number(row, "keys_after", work.after);
        } else {
            wp_buffer_printf(&tool->out, "%s: %llu keys, %llu before\n", releases[i], (unsigned long long)work.after,
                (unsigned long long)work.before);
        }
    }
    wp_strings_free(releases, count);
    if (rc || !rows) {
        json_object_put(rows);
        return rc;
    }
    return wp_tool_json(tool, rows, err);
}
