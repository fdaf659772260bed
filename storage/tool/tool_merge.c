/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store merge: first everything is looked at, then each release is one transaction. */
#include "storage/tool/tool_merge.h"

#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/release_store.h"
#include "storage/kind/shard_store.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_location.h"
#include "storage/tool/tool_shared.h"
#include "storage/tool/tool_undo.h"
#include "storage/upkeep/merge_store.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct seen { /* a shard of a source */
    char release[WP_ID_ROOM], shard[WP_ID_ROOM];
    uint8_t origin[16];
};

struct merging {
    struct wp_tool *tool;
    struct wp_store *from, *to;
    const char *release;
    struct wp_txn *source;
    struct wp_merge merge;
    struct seen *seen; /* of all sources */
    uint32_t seen_count, seen_room;
    struct json_object *rows, *shards, *damaged; /* --json; of this release */
    struct wp_buffer lines;                      /* for people; of this release */
    struct wp_error *err;
};

static void note_shard(void *context, const char *shard, const char *as, const uint8_t origin[16])
{
    struct merging *merging = context;
    if (merging->shards) {
        struct json_object *row = wp_json_add_row(merging->shards);
        wp_json_put_text(row, "shard", shard);
        wp_json_put_text(row, "as", as);
        wp_json_put_hex(row, "origin", (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)origin});
    } else if (strcmp(shard, as)) {
        wp_buffer_printf(&merging->lines, "  shard %s is shard %s there\n", shard, as);
    }
}

static void note_damage(void *context, const char *key, const char *reason)
{
    struct merging *merging = context;
    if (merging->damaged) {
        struct json_object *row = wp_json_add_row(merging->damaged);
        wp_json_put_text(row, "key", key);
        wp_json_put_text(row, "reason", reason);
    }
    wp_buffer_printf(&merging->tool->complaints, "%s/%s is left out: %s\n", merging->release, key, reason);
}

/* LMDB's locks break when a process opens a file under two names. */
static int refuse_itself(const struct merging *merging)
{
    char path[PATH_MAX + 160];
    struct stat from, to;
    snprintf(path, sizeof(path), "%s/%s/data.mdb", wp_store_root(merging->from), merging->release);
    int rc = stat(path, &from);
    snprintf(path, sizeof(path), "%s/%s/data.mdb", wp_store_root(merging->to), merging->release);
    rc |= stat(path, &to);
    if (rc || from.st_dev != to.st_dev || from.st_ino != to.st_ino)
        return 0;
    return wp_error_set(merging->err, -EINVAL, "release '%s' would be merged into itself", merging->release);
}

/* Namesakes among the sources themselves: the target may know neither yet. */
static int check_namesakes(struct merging *merging)
{
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(merging->source, &shards, &count, merging->err);
    for (size_t i = 0; !rc && i < count && !merging->merge.renames_shards; i++) {
        struct seen own = {0};
        snprintf(own.release, sizeof(own.release), "%s", merging->release);
        snprintf(own.shard, sizeof(own.shard), "%s", shards[i]);
        rc = wp_txn_shard_origin(merging->source, shards[i], own.origin, merging->err);
        for (uint32_t j = 0; !rc && j < merging->seen_count; j++) {
            const struct seen *other = &merging->seen[j];
            if (!strcmp(own.release, other->release) && !strcmp(own.shard, other->shard) &&
                memcmp(own.origin, other->origin, 16))
                rc = wp_error_set(merging->err, -EEXIST,
                    "two of the stores have a shard '%s' of release '%s', and they are not the "
                    "same: --rename-shard gives one a name of its own",
                    own.shard, own.release);
        }
        if (!rc && wp_rows_grow(&merging->seen, &merging->seen_room, merging->seen_count, sizeof(*merging->seen)))
            rc = wp_error_set(merging->err, -ENOMEM, "out of memory for merging");
        if (!rc)
            merging->seen[merging->seen_count++] = own;
    }
    wp_strings_free(shards, count);
    return rc;
}

static int check_release(struct merging *merging)
{
    struct wp_txn *to = NULL;
    int rc = refuse_itself(merging);
    if (!rc)
        rc = wp_txn_begin(&merging->source, merging->from, merging->release, false, merging->err);
    if (rc)
        return rc;
    rc = wp_txn_begin(&to, merging->to, merging->release, false, merging->err);
    if (!rc || rc == -ENOENT)
        rc = wp_merge_check(to, merging->source, &merging->merge, merging->err);
    if (!rc)
        rc = check_namesakes(merging);
    wp_txn_abort(to);
    wp_txn_abort(merging->source);
    return rc;
}

static int write_release(struct wp_txn *txn, void *context)
{
    struct merging *merging = context;
    wp_buffer_clear(&merging->lines);
    merging->merge.written = merging->merge.same = 0;
    if (merging->rows) { /* a try before this one may have left some */
        json_object_put(merging->shards);
        json_object_put(merging->damaged);
        merging->shards = json_object_new_array();
        merging->damaged = json_object_new_array();
    }
    return wp_txn_merge(txn, merging->source, &merging->merge, merging->err);
}

static void print_result(struct merging *merging)
{
    struct wp_buffer *out = &merging->tool->out;
    if (!merging->rows) {
        wp_buffer_printf(out, "%s of %s: %llu values written, %llu were there\n", merging->release,
            wp_store_root(merging->from), (unsigned long long)merging->merge.written,
            (unsigned long long)merging->merge.same);
        if (merging->lines.size)
            wp_buffer_puts(out, (const char *)merging->lines.data);
        return;
    }
    struct json_object *row = wp_json_add_row(merging->rows);
    wp_json_put_text(row, "from", wp_store_root(merging->from));
    wp_json_put_text(row, "release", merging->release);
    wp_json_put_number(row, "written", merging->merge.written);
    wp_json_put_number(row, "same", merging->merge.same);
    wp_json_put(row, "shards", merging->shards);
    wp_json_put(row, "damaged", merging->damaged);
    merging->shards = merging->damaged = NULL;
}

static int merge_release(struct merging *merging)
{
    int rc = wp_txn_begin(&merging->source, merging->from, merging->release, false, merging->err);
    if (rc)
        return rc;
    rc = wp_store_update(merging->to, merging->release, write_release, merging, merging->err);
    wp_txn_abort(merging->source);
    if (!rc)
        print_result(merging);
    return rc;
}

/* One argument: all of its releases, or the one that it names. */
static int each_release(struct merging *merging, const char *argument, int (*work)(struct merging *merging))
{
    const char *const arguments[WP_TOOL_ARGUMENTS] = {argument};
    char **releases = NULL;
    size_t count = 0;
    struct wp_tool *tool = merging->tool;
    int rc = wp_tool_open_at(tool, arguments, merging->err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, merging->err);
    merging->from = tool->store;
    for (size_t i = 0; !rc && i < count; i++) {
        merging->release = releases[i];
        rc = work(merging);
    }
    wp_strings_free(releases, count);
    wp_store_close(tool->store); /* the next one may be the same root */
    tool->store = NULL;
    return rc;
}

static int check_places(const struct wp_tool *tool, struct wp_error *err)
{
    int rc = 0;
    for (int i = 0; !rc && i < WP_TOOL_ARGUMENTS && tool->arguments[i]; i++) {
        const char *const arguments[WP_TOOL_ARGUMENTS] = {tool->arguments[i]};
        struct wp_tool_location location;
        rc = wp_tool_location_of(&location, arguments, err);
    }
    return rc;
}

int wp_tool_merge(struct wp_tool *tool, struct wp_error *err)
{
    struct merging merging = {
        .tool = tool, .err = err, .rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL};
    const char *into = tool->values[WP_TOOL_INTO];
    merging.merge = (struct wp_merge){.renames_shards = tool->flags & WP_TOOL_RENAME_SHARD,
        .shard = note_shard,
        .damaged = note_damage,
        .context = &merging};
    struct wp_tool_undo undo = {0};
    int rc = into ? check_places(tool, err) : 0; /* nothing is made when one is missing */
    if (!rc && into)
        wp_tool_undo_note(&undo, into);
    if (!rc)
        rc = into ? wp_store_open(&merging.to, into, true, err)
                  : wp_error_set(err, -WP_TOOL_MISUSE, "merge needs --into ROOT: the store that takes the others");
    if (!rc)
        rc = wp_store_upkeep(merging.to, err);
    for (int i = 0; !rc && i < WP_TOOL_ARGUMENTS && tool->arguments[i]; i++)
        rc = each_release(&merging, tool->arguments[i], check_release);
    for (int i = 0; !rc && i < WP_TOOL_ARGUMENTS && tool->arguments[i]; i++)
        rc = each_release(&merging, tool->arguments[i], merge_release);
    wp_store_close(merging.to);
    wp_tool_undo_end(&undo, rc);
    wp_buffer_fini(&merging.lines);
    free(merging.seen);
    json_object_put(merging.shards);
    json_object_put(merging.damaged);
    if (rc || !merging.rows) {
        json_object_put(merging.rows);
        return rc;
    }
    return wp_tool_json(tool, merging.rows, err);
}
