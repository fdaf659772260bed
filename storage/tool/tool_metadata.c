/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store metadata get|set|rm|ls: of a release, of an aggregate, of one of its timeboxes. */
#include "storage/tool/tool_metadata.h"

#include "common/strings.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/shard_store.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/value/bucket.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
    struct wp_tool *tool;
    struct wp_metadata_scope scope;
    char aggregate[WP_ID_ROOM]; /* of it, when a bucket is meant */
    const char *shard;          /* NULL: none given */
    const char *key, *value;
    uint64_t now_s;
    struct json_object *rows; /* --json */
    uint64_t found;
    char holder[WP_ID_ROOM]; /* the shard that will say it */
    uint64_t said_s;         /* when that shard said what it says now; 0: nothing */
    struct wp_error *err;
};

static int show_row(void *context, const struct wp_metadata_row *row)
{
    struct job *job = context;
    bool is_asked = (!job->key || !strcmp(row->key, job->key)) && (!job->shard || !strcmp(row->shard, job->shard));
    if (!is_asked || (!row->is_winner && !job->shard && !(job->tool->flags & WP_TOOL_LONG)))
        return 0;
    job->found++;
    if (job->rows) {
        struct json_object *object = wp_json_add_row(job->rows);
        wp_json_put_text(object, "key", row->key);
        wp_json_put_text(object, "value", row->value);
        wp_json_put_text(object, "shard", row->shard);
        wp_json_put_number(object, "real_s", row->real_s);
        wp_json_put(object, "holds", json_object_new_boolean(row->is_winner));
        return 0;
    }
    struct wp_buffer *out = &job->tool->out;
    if (job->key && !(job->tool->flags & WP_TOOL_LONG)) { /* for scripts: the value and nothing else */
        wp_buffer_printf(out, "%s\n", row->value);
        return 0;
    }
    struct json_object *object = json_object_new_object(); /* names and values are hostile: printed as all text is */
    wp_json_put_text(object, row->key, row->value);
    if (job->tool->flags & WP_TOOL_LONG)
        wp_buffer_printf(
            out, "%llu %s%s ", (unsigned long long)row->real_s, row->shard, row->is_winner ? "" : " (overruled)");
    wp_json_print(out, object);
    json_object_put(object);
    return 0;
}

/* What is said of an aggregate is said of its only bucket; of one that is not there yet it can be said too. */
static int choose_bucket(struct wp_txn *txn, struct job *job)
{
    char **names = NULL;
    size_t count = 0;
    if (!job->scope.aggregate || job->scope.aggregate == job->aggregate)
        return 0;
    int rc = wp_txn_aggregates(txn, &names, &count, job->err);
    bool is_known = false;
    for (size_t i = 0; i < count; i++)
        is_known |= wp_bucket_base(names[i]) == strlen(job->scope.aggregate) &&
            !strncmp(names[i], job->scope.aggregate, wp_bucket_base(names[i]));
    if (!rc && is_known)
        rc = wp_bucket_choose(names, count, job->scope.aggregate, job->aggregate, job->err);
    if (!rc && is_known)
        job->scope.aggregate = job->aggregate;
    wp_strings_free(names, count);
    return rc;
}

static int show(struct job *job)
{
    struct wp_tool *tool = job->tool;
    struct wp_txn *txn = NULL;
    job->rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    int rc = wp_txn_begin(&txn, tool->store, tool->location.release, false, job->err);
    if (!rc)
        rc = choose_bucket(txn, job);
    if (!rc)
        rc = wp_txn_all_metadata(txn, &job->scope, show_row, job, job->err);
    wp_txn_abort(txn);
    if (!rc && job->key && !job->found)
        rc = wp_error_set(job->err, -ENOENT, "no metadata '%s' there", job->key);
    if (rc || !job->rows) {
        json_object_put(job->rows);
        return rc;
    }
    return wp_tool_json(tool, job->rows, job->err);
}

static int find_holder(void *context, const struct wp_metadata_row *row)
{
    struct job *job = context;
    if (strcmp(row->key, job->key) || (job->shard ? strcmp(row->shard, job->shard) : !row->is_winner))
        return 0;
    snprintf(job->holder, sizeof(job->holder), "%s", row->shard);
    job->said_s = row->real_s;
    return 0;
}

/* The given shard; else the one whose value holds now, so that the new one holds after it; else the first. */
static int choose_shard(struct wp_txn *txn, struct job *job)
{
    char **shards = NULL;
    size_t count = 0;
    snprintf(job->holder, sizeof(job->holder), "%s", job->shard ? job->shard : "");
    job->said_s = 0;
    int rc = wp_txn_all_metadata(txn, &job->scope, find_holder, job, job->err);
    if (!rc && !job->shard)
        rc = wp_txn_shards(txn, &shards, &count, job->err);
    if (!rc && !*job->holder && count)
        snprintf(job->holder, sizeof(job->holder), "%s", shards[0]);
    if (!rc && !*job->holder)
        rc = wp_error_set(job->err, -ENOENT, "the release has no shard to keep it: give one with --shard");
    wp_strings_free(shards, count);
    return rc;
}

static int set_in(struct wp_txn *txn, void *context)
{
    struct job *job = context;
    int rc = choose_bucket(txn, job);
    if (!rc)
        rc = choose_shard(txn, job);
    if (!rc)
        rc = wp_txn_register_shard(txn, job->holder, job->err);
    bool is_dated = job->tool->values[WP_TOOL_NOW]; /* what is older than what was said changes nothing, as anywhere */
    uint64_t at_s = job->said_s > job->now_s && !is_dated ? job->said_s
                                                          : job->now_s; /* a clock was ahead: the later writer holds */
    return rc ? rc
              : wp_txn_set_metadata(
                    txn, &job->scope, &(struct wp_metadata_writer){job->holder, at_s}, job->key, job->value, job->err);
}

/* From every shard, or what one of them has said before would hold again. */
static int remove_in(struct wp_txn *txn, void *context)
{
    struct job *job = context;
    char **shards = NULL;
    size_t count = 0;
    job->found = 0;
    int rc = choose_bucket(txn, job);
    if (!rc)
        rc = wp_txn_shards(txn, &shards, &count, job->err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (job->shard && strcmp(job->shard, shards[i]))
            continue;
        rc =
            wp_txn_set_metadata(txn, &job->scope, &(struct wp_metadata_writer){shards[i], 0}, job->key, NULL, job->err);
        job->found += !rc;
        rc = rc == -ENOENT ? 0 : rc;
    }
    wp_strings_free(shards, count);
    return !rc && !job->found ? wp_error_set(job->err, -ENOENT, "no metadata '%s' there", job->key) : rc;
}

static int change(struct job *job)
{
    struct wp_tool *tool = job->tool;
    if (job->scope.aggregate && !strncmp(job->key, "bucket.", 7)) /* the bucket's name is made of them */
        return wp_error_set(job->err, -WP_TOOL_MISUSE,
            "'%s': keys that begin with 'bucket.' say how the reports of an aggregate were "
            "made, and are its writer's alone",
            job->key);
    if (job->value && strlen(job->value) > WP_TEXT_LIMIT)
        return wp_error_set(
            job->err, -E2BIG, "a value has at most %u bytes, not %zu", WP_TEXT_LIMIT, strlen(job->value));
    int rc = wp_tool_release_is_there(tool, tool->location.release, job->err);
    if (!rc)
        rc = wp_store_update(tool->store, tool->location.release, job->value ? set_in : remove_in, job, job->err);
    if (rc || !(tool->flags & WP_TOOL_JSON))
        return rc;
    struct json_object *object = json_object_new_object();
    wp_json_put_text(object, "key", job->key);
    wp_json_put(object, "value", job->value ? wp_json_string(job->value, strlen(job->value)) : NULL);
    return wp_tool_json(tool, object, job->err);
}

static int take_options(struct job *job)
{
    struct wp_tool *tool = job->tool;
    job->scope.aggregate = tool->values[WP_TOOL_AGGREGATE];
    job->scope.has_timebox = tool->values[WP_TOOL_TIMEBOX] != NULL;
    job->shard = tool->values[WP_TOOL_SHARD];
    int rc = wp_tool_number(tool, WP_TOOL_TIMEBOX, &job->scope.timebox_s, job->err);
    if (!rc)
        rc = wp_tool_number(tool, WP_TOOL_NOW, &job->now_s, job->err);
    if (!rc && job->scope.has_timebox && !job->scope.aggregate)
        rc = wp_error_set(job->err, -WP_TOOL_MISUSE, "--timebox needs --aggregate");
    return rc;
}

/* REV:AGGREGATE@TIMEBOX says what --aggregate and --timebox do. */
static int take_reference(struct job *job)
{
    const struct wp_tool_location *location = &job->tool->location;
    if (job->scope.aggregate)
        return wp_error_set(
            job->err, -WP_TOOL_MISUSE, "'%s' says which aggregate, and so does --aggregate", job->tool->arguments[1]);
    job->scope.aggregate = location->aggregate;
    job->scope.has_timebox = location->has_timebox;
    job->scope.timebox_s = location->timebox_s;
    return 0;
}

int wp_tool_metadata(struct wp_tool *tool, struct wp_error *err)
{
    static const struct {
        const char *name;
        int words; /* behind it and the release */
    } verbs[] = {{"get", 1}, {"set", 2}, {"rm", 1}, {"ls", 0}};
    const char *verb = tool->arguments[0], *location[WP_TOOL_ARGUMENTS] = {tool->arguments[1]};
    struct job job = {.tool = tool, .now_s = (uint64_t)time(NULL), .err = err};
    int words = -1, count = 0;
    while (count < WP_TOOL_ARGUMENTS && tool->arguments[count])
        count++;
    for (size_t i = 0; verb && i < 4; i++)
        if (!strcmp(verb, verbs[i].name))
            words = verbs[i].words;
    int first = count - words; /* of the words: the place is one argument, or two, ROOT and what is in it */
    if (first == 3)
        location[1] = tool->arguments[2];
    if (words < 0 || (first != 2 && first != 3))
        return wp_error_set(err, -WP_TOOL_MISUSE,
            "metadata takes: get ROOT/RELEASE KEY, set ROOT/RELEASE KEY VALUE, rm ROOT/RELEASE KEY, "
            "ls ROOT/RELEASE");
    job.key = words > 0 ? tool->arguments[first] : NULL;
    job.value = words > 1 ? tool->arguments[first + 1] : NULL;
    tool->is_changing = !strcmp(verb, "set") || !strcmp(verb, "rm");
    int rc = take_options(&job);
    if (!rc)
        rc = wp_tool_open_at(tool, location, err);
    if (!rc && tool->location.is_reference)
        rc = take_reference(&job);
    if (!rc && (!*tool->location.release || (*tool->location.rest && !tool->location.is_reference)))
        rc = wp_error_set(err, -WP_TOOL_MISUSE, "'%s': give ROOT/RELEASE", tool->arguments[1]);
    if (rc)
        return rc;
    return tool->is_changing ? change(&job) : show(&job);
}
