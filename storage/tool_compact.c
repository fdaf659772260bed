/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store compact */
#include "storage/json_parts.h"
#include "storage/store_tool.h"
#include "storage/txn.h"

#include <errno.h>
#include <string.h>

struct work {
    uint64_t before, after; /* keys */
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
    return rc ? rc : wp_txn_visit(txn, "", count_key, &work->after, work->err);
}

/* A write transaction would make a release that is not there. */
static int check_release(struct wp_tool *tool, const char *release, struct wp_error *err)
{
    struct wp_txn *txn = NULL;
    int rc = wp_txn_begin(&txn, tool->store, release, false, err);
    wp_txn_abort(txn);
    return rc;
}

int wp_tool_compact(struct wp_tool *tool, struct wp_error *err)
{
    struct json_object *rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct work work = {.err = err};
        rc = check_release(tool, releases[i], err);
        if (!rc)
            rc = wp_store_update(tool->store, releases[i], compact_release, &work, err);
        if (!rc && rows) {
            struct json_object *row = wp_json_add_row(rows);
            wp_json_put_text(row, "release", releases[i]);
            wp_json_put_number(row, "keys_before", work.before);
            wp_json_put_number(row, "keys_after", work.after);
        } else if (!rc) {
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
