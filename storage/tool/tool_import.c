/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store import: what was recorded elsewhere, filed under its own release. A capture goes through the
 * aggregator. */
#include "storage/tool/tool_import.h"

#include "common/path.h"
#include "common/release_id.h"
#include "common/selector.h"
#include "common/strings.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/state_store.h"
#include "storage/text/json_parts.h"
#include "storage/report/report_read.h"
#include "storage/tool/import_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/tool/tool_undo.h"
#include "storage/upkeep/merge_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct importing {
    struct wp_tool *tool;
    const char *into, *wanted;      /* root; the release that was asked for, NULL: as it was recorded */
    char release[WP_ID_ROOM];       /* where the one at hand goes */
    const char *from;               /* the argument at hand */
    struct wp_import_origin origin; /* of a capture */
    struct wp_txn *source;          /* of a root's release */
    struct wp_merge merge;
    uint64_t now_s;
    uint64_t unmatched;       /* bit by bit those of the given options that hold nothing */
    bool is_there, is_own;    /* nothing had to be done; what is there is in the shard that it would go to */
    bool is_empty;            /* none of the given aggregates has time in it: nothing is written */
    bool has_any;             /* something was imported, or is there */
    struct json_object *rows; /* --json */
    struct wp_error *err;
};

static const char *shard_of(const struct importing *i)
{
    const char *shard = i->tool->values[WP_TOOL_SHARD];
    return shard ? shard : "import";
}

/* The release that it was recorded as is the one that it may be filed under. */
static int choose_release(struct importing *i, const char *recorded)
{
    if (!i->wanted && !*recorded)
        return wp_error_set(i->err, -EINVAL, "'%s' does not say what release it is of: give --release ID", i->from);
    if (i->wanted && *recorded && strcmp(i->wanted, recorded) && !(i->tool->flags & WP_TOOL_FORCE))
        return wp_error_set(i->err, -EEXIST,
            "'%s' was recorded as release '%s', not '%s': --force files it there all the same", i->from, recorded,
            i->wanted);
    snprintf(i->release, sizeof(i->release), "%s", i->wanted ? i->wanted : recorded);
    return 0;
}

/* A capture says the release's name, as its recorder gave it; the aggregator makes an id of it. */
static int choose_recorded(struct importing *i)
{
    char id[WP_ID_ROOM] = "";
    if (*i->origin.release)
        wp_release_id(i->origin.release, id);
    return choose_release(i, id);
}

/* What the target has of a capture's session. */
struct known {
    const char *only; /* in this release; NULL: in any */
    struct wp_txn *txn;
    char release[WP_ID_ROOM], shard[WP_ID_ROOM]; /* "": nothing */
    uint8_t session[16];
    bool is_whole;
};

static int look_at(void *context, const char *text, size_t size)
{
    struct known *known = context;
    struct wp_resume resume;
    struct wp_key key;
    (void)size;
    if (wp_key_parse(&key, text, NULL))
        return 0;
    snprintf(known->shard, sizeof(known->shard), "%s", key.shard);
    known->is_whole = !wp_txn_get_resume(known->txn, key.shard, key.session, &resume, NULL) && resume.ended;
    return 1;
}

/* 1: it has something. */
static int find_session(struct importing *i, struct wp_store *to, struct known *known)
{
    char prefix[WP_KEY_ROOM], **releases = NULL;
    size_t count = 0;
    int rc = wp_store_releases(to, &releases, &count, i->err);
    snprintf(prefix, sizeof(prefix), "__state__/processed.%s.", i->origin.session);
    for (size_t at = 0; !rc && at < count; at++) {
        if (known->only && strcmp(known->only, releases[at]))
            continue;
        rc = wp_txn_begin(&known->txn, to, releases[at], false, i->err);
        if (!rc)
            rc = wp_txn_visit(known->txn, prefix, look_at, known, i->err);
        if (rc == 1)
            snprintf(known->release, sizeof(known->release), "%s", releases[at]);
        wp_txn_abort(known->txn);
    }
    wp_strings_free(releases, count);
    return rc;
}

static int look_for_session(struct importing *i, struct known *known)
{
    struct wp_store *to = NULL;
    struct stat st;
    if (stat(i->into, &st) && errno == ENOENT)
        return 0;
    int rc = wp_store_open(&to, i->into, false, i->err);
    if (!rc)
        rc = find_session(i, to, known);
    wp_store_close(to);
    return rc;
}

/* Nothing counts twice: neither again in the same release nor in another one. */
static int check_session(struct importing *i)
{
    struct known known = {0};
    int rc = look_for_session(i, &known);
    if (rc != 1)
        return rc;
    bool is_same = !strcmp(known.release, i->release);
    i->is_there = is_same && known.is_whole;
    i->is_own = !strcmp(known.shard, shard_of(i));
    if (is_same && !known.is_whole && strcmp(known.shard, shard_of(i)))
        return wp_error_set(i->err, -EEXIST, "a part of '%s' is in shard '%s' of release '%s': go on with --shard %s",
            i->from, known.shard, known.release, known.shard);
    if (is_same || i->tool->flags & WP_TOOL_FORCE)
        return 0;
    return wp_error_set(i->err, -EEXIST, "'%s' is in release '%s' already: --force files it under '%s' too", i->from,
        known.release, i->release);
}

static int put(struct importing *i, struct wp_txn *txn, const char *shard, const char *key, const char *value)
{
    struct wp_metadata_scope scope = {NULL, false, 0};
    return wp_txn_set_metadata(txn, &scope, &(struct wp_metadata_writer){shard, i->now_s}, key, value, i->err);
}

/* Where it came from, and the labels that were given. */
static int note_in(struct importing *i, struct wp_txn *txn, const char *shard)
{
    char key[300], value[PATH_MAX];
    const char *name = strrchr(i->from, '/');
    snprintf(key, sizeof(key), "import.%s.from", *i->origin.session ? i->origin.session : shard);
    snprintf(value, sizeof(value), "%s", name && name[1] ? name + 1 : i->from);
    int rc = put(i, txn, shard, key, value);
    if (!rc && *i->origin.session && *i->origin.release) {
        snprintf(key, sizeof(key), "import.%s.release", i->origin.session);
        rc = put(i, txn, shard, key, i->origin.release);
    }
    for (unsigned at = 0; !rc && at < i->tool->given_count; at++) {
        const struct wp_tool_given *given = &i->tool->given[at];
        const char *equals = strchr(given->value, '=');
        if (given->option != WP_TOOL_LABEL)
            continue;
        snprintf(key, sizeof(key), "label.%.*s", (int)(equals - given->value), given->value);
        rc = put(i, txn, shard, key, equals + 1);
    }
    return rc;
}

static int find_note(void *context, const struct wp_metadata_row *row)
{
    return !strcmp(row->key, context);
}

/* What cannot be read is said by who shows it. */
static bool is_empty_bucket(struct wp_txn *txn, const char *bucket)
{
    struct wp_report_reading reading;
    int rc = wp_txn_read_report(txn, bucket, &(struct wp_selection){0}, &reading, NULL);
    bool is_empty = rc == -ENOENT || (!rc && !reading.damage_count && !wp_report_total(reading.report));
    if (!rc)
        wp_damage_free(reading.damage, reading.damage_count);
    if (!rc)
        wp_report_destroy(reading.report);
    return is_empty;
}

/* There may be several of the name, of different selectors or workloads. */
static bool has_nothing(struct wp_txn *txn, const char *name, size_t size)
{
    char **buckets = NULL;
    size_t count = 0;
    bool is_empty = !wp_txn_aggregates(txn, &buckets, &count, NULL);
    for (size_t at = 0; at < count && is_empty; at++)
        is_empty = !wp_bucket_is_of(buckets[at], name, size) || is_empty_bucket(txn, buckets[at]);
    wp_strings_free(buckets, count);
    return is_empty;
}

/* Which of the aggregates that were asked for have nothing there. */
static void find_unmatched(struct importing *i, struct wp_txn *txn)
{
    i->unmatched = 0;
    for (unsigned at = 0; at < i->tool->given_count; at++) {
        const struct wp_tool_given *given = &i->tool->given[at];
        const char *equals = strchr(given->value, '=');
        size_t size = equals ? (size_t)(equals - given->value) : 0;
        if (given->option == WP_TOOL_AGGREGATE && equals && has_nothing(txn, given->value, size))
            i->unmatched |= (uint64_t)1 << at;
    }
}

/* An import that was ended between its last commit and this has left it undone. */
static int note_capture(struct wp_txn *txn, void *context)
{
    struct importing *i = context;
    struct wp_metadata_scope scope = {NULL, false, 0};
    char key[300];
    snprintf(key, sizeof(key), "import.%s.from", i->origin.session);
    int rc = i->is_there ? wp_txn_all_metadata(txn, &scope, find_note, key, i->err) : 0;
    rc = rc == 1 ? 0 : rc ? rc : note_in(i, txn, shard_of(i));
    if (!rc)
        find_unmatched(i, txn);
    return rc;
}

static uint64_t asked_for(const struct importing *i)
{
    uint64_t asked = 0;
    for (unsigned at = 0; at < i->tool->given_count; at++)
        asked |= (uint64_t)(i->tool->given[at].option == WP_TOOL_AGGREGATE) << at;
    return asked;
}

/* What the programs said to be well is believed when it is there. Where aggregates are asked for, what none of them
 * fits leaves nothing. */
static int check_whole(struct importing *i)
{
    struct known known = {.only = i->release};
    int rc = look_for_session(i, &known);
    i->unmatched = asked_for(i);
    i->is_empty = !rc && i->unmatched;
    if (i->is_empty)
        return 0;
    return rc == 1 ? known.is_whole ? 0
                                    : wp_error_set(i->err, -EIO,
                                          "'%s' is not all in release '%s': import it again, what is there is not "
                                          "counted twice",
                                          i->from, i->release)
        : rc ? rc
                   : wp_error_set(i->err, -EIO, "nothing of '%s' came to release '%s'", i->from, i->release);
}

/* What an earlier import has left there would be taken for this one's: without rows, the aggregator writes nothing. */
static int forget_window(struct importing *i)
{
    const char *path = i->tool->values[WP_TOOL_SYSTEM];
    struct stat st;
    if (!path || lstat(path, &st) || !S_ISREG(st.st_mode) || !unlink(path))
        return 0;
    return wp_error_errno(i->err, -errno, "cannot remove the old '%s'", path);
}

static int import_capture(struct importing *i)
{
    struct wp_store *to = NULL;
    int rc = wp_origin_read(&i->origin, i->from, i->err);
    if (!rc)
        rc = choose_recorded(i);
    if (!rc)
        rc = check_session(i);
    if (!rc && i->is_there && i->tool->values[WP_TOOL_SYSTEM])
        rc = wp_error_set(i->err, -EEXIST, "release '%s' has '%s' already: --system-window needs a store without it",
            i->release, i->from);
    if (rc || (i->is_there && !i->is_own))
        return rc;
    if (!i->is_there) {
        rc = forget_window(i);
        if (!rc)
            rc = wp_import_run(&(struct wp_import_options){i->tool, i->from, i->into, i->release, shard_of(i)}, i->err);
        rc = rc ? rc : check_whole(i);
    }
    if (i->is_empty)
        return rc;
    if (!rc)
        rc = wp_store_open(&to, i->into, true, i->err);
    if (!rc)
        rc = wp_store_update(to, i->release, note_capture, i, i->err);
    wp_store_close(to);
    return rc;
}

/* --- what is a store already --- */

static void note_damage(void *context, const char *key, const char *reason)
{
    struct importing *i = context;
    wp_buffer_printf(&i->tool->complaints, "%s of '%s' is left out: %s\n", key, i->from, reason);
}

static void note_shard(void *context, const char *shard, const char *as, const uint8_t origin[16])
{
    struct importing *i = context;
    (void)shard, (void)origin;
    snprintf(i->tool->location.rest, sizeof(i->tool->location.rest), "%s", as); /* the last one keeps what is noted */
}

static int merge_in(struct wp_txn *txn, void *context)
{
    struct importing *i = context;
    i->merge.written = i->merge.same = 0;
    int rc = wp_merge_check(txn, i->source, &i->merge, i->err);
    if (!rc)
        rc = wp_txn_merge(txn, i->source, &i->merge, i->err);
    i->is_there = !rc && !i->merge.written;
    return rc || i->is_there ? rc : note_in(i, txn, i->tool->location.rest);
}

/* Where a shard of that origin is in another release than the wanted one: 1, and the release. */
static int find_shard(struct importing *i, struct wp_store *to, const uint8_t origin[16], char found[WP_ID_ROOM])
{
    char **releases = NULL, shard[WP_ID_ROOM];
    size_t count = 0;
    int rc = wp_store_releases(to, &releases, &count, i->err);
    for (size_t at = 0; !rc && at < count; at++) {
        struct wp_txn *txn = NULL;
        if (!strcmp(releases[at], i->release))
            continue;
        rc = wp_txn_begin(&txn, to, releases[at], false, i->err);
        if (!rc)
            rc = wp_txn_shard_of_origin(txn, origin, shard, i->err);
        wp_txn_abort(txn);
        rc = !rc ? 1 : rc == -ENOENT ? 0 : rc;
        if (rc == 1)
            snprintf(found, 129, "%s", releases[at]);
    }
    wp_strings_free(releases, count);
    return rc;
}

/* What is there as another release would count in both. */
static int check_shards(struct importing *i, struct wp_store *to)
{
    char **shards = NULL, found[WP_ID_ROOM];
    size_t count = 0;
    uint8_t origin[16];
    int rc = i->tool->flags & WP_TOOL_FORCE ? 0 : wp_txn_shards(i->source, &shards, &count, i->err);
    for (size_t at = 0; !rc && at < count; at++) {
        rc = wp_txn_shard_origin(i->source, shards[at], origin, i->err);
        if (!rc)
            rc = find_shard(i, to, origin, found);
        else if (wp_is_damage(rc) || rc == -ENODATA)
            rc = 0; /* left out and named when it is merged */
        if (rc == 1)
            rc = wp_error_set(i->err, -EEXIST,
                "shard '%s' of '%s' is in release '%s' already: --force files it under '%s' too", shards[at], i->from,
                found, i->release);
    }
    wp_strings_free(shards, count);
    return rc;
}

static int import_release(struct importing *i, struct wp_store *to, const char *release)
{
    i->merge = (struct wp_merge){.renames_shards = i->tool->flags & WP_TOOL_RENAME_SHARD,
        .counts_twice = i->tool->flags & WP_TOOL_FORCE,
        .shard = note_shard,
        .damaged = note_damage,
        .context = i};
    int rc = choose_release(i, release);
    if (!rc)
        rc = wp_txn_begin(&i->source, i->tool->store, release, false, i->err);
    if (rc)
        return rc;
    rc = check_shards(i, to);
    if (!rc)
        rc = wp_store_update(to, i->release, merge_in, i, i->err);
    wp_txn_abort(i->source);
    return rc;
}

/* Names of the aggregates that hold nothing. */
static struct json_object *unmatched_names(const struct importing *i)
{
    struct json_object *names = json_object_new_array();
    for (unsigned at = 0; names && at < WP_TOOL_GIVEN; at++) {
        const char *value = i->unmatched >> at & 1 ? i->tool->given[at].value : NULL;
        if (value)
            json_object_array_add(names, json_object_new_string_len(value, (int)strcspn(value, "=")));
    }
    return names;
}

static void print_result(struct importing *i)
{
    if (i->rows) {
        struct json_object *row = wp_json_add_row(i->rows);
        wp_json_put_text(row, "from", i->from);
        wp_json_put_text(row, "release", i->is_empty ? "" : i->release);
        wp_json_put_text(row, "session", i->origin.session);
        wp_json_put_number(row, "was_there", i->is_there);
        wp_json_put(row, "unmatched", unmatched_names(i));
    } else {
        if (!i->is_empty)
            wp_buffer_printf(&i->tool->out, i->is_there ? "%s: release %s has it already\n" : "%s: release %s\n",
                i->from, i->release);
        for (unsigned at = 0; at < WP_TOOL_GIVEN && i->unmatched >> at; at++)
            if (i->unmatched >> at & 1)
                wp_buffer_printf(&i->tool->out, "%s: nothing that was recorded fits --aggregate '%s'\n", i->from,
                    i->tool->given[at].value);
    }
}

static int import_root(struct importing *i)
{
    struct wp_tool *tool = i->tool;
    const char *const arguments[WP_TOOL_ARGUMENTS] = {i->from};
    struct wp_store *to = NULL;
    char **releases = NULL, *into = realpath(i->into, NULL), *from;
    size_t count = 0;
    int rc = wp_tool_open_at(tool, arguments, i->err);
    from = rc ? NULL : realpath(tool->location.root, NULL);
    if (from && into && !strcmp(from, into)) /* LMDB's locks break when a process opens a file twice */
        rc = wp_error_set(i->err, -EINVAL, "'%s' would be imported into itself", i->from);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, i->err);
    if (!rc && i->wanted && count != 1)
        rc = wp_error_set(i->err, -EINVAL, "'%s' has %zu releases: name one of them for --release", i->from, count);
    if (!rc)
        rc = wp_store_open(&to, i->into, true, i->err);
    if (!rc)
        rc = wp_store_upkeep(to, i->err);
    for (size_t at = 0; !rc && at < count; at++) {
        rc = import_release(i, to, releases[at]);
        if (!rc)
            print_result(i);
    }
    wp_strings_free(releases, count);
    wp_store_close(to);
    wp_store_close(tool->store);
    tool->store = NULL;
    free(into);
    free(from);
    return rc;
}

static int import_one(struct importing *i)
{
    struct stat st;
    i->is_there = i->is_empty = false;
    i->unmatched = 0;
    i->origin = (struct wp_import_origin){{0}, {0}};
    if (stat(i->from, &st) || !S_ISREG(st.st_mode)) {
        i->has_any = true;
        return import_root(i);
    }
    int rc = import_capture(i);
    i->has_any |= !i->is_empty;
    if (!rc)
        print_result(i);
    return rc;
}

/* Of all that was to be imported nothing fits: that is no success. */
static int refuse_empty(struct importing *i)
{
    struct wp_buffer *out = &i->tool->out;
    char selectors[512] = "";
    for (unsigned at = 0, size = 0; at < i->tool->given_count && size < sizeof(selectors); at++)
        if (i->tool->given[at].option == WP_TOOL_AGGREGATE)
            size += (unsigned)snprintf(
                selectors + size, sizeof(selectors) - size, "%s'%s'", size ? ", " : "", i->tool->given[at].value);
    wp_buffer_clear(out);
    return wp_error_set(i->err, -ENOENT, "nothing that was recorded fits --aggregate %s", selectors);
}

static int check_labels(const struct wp_tool *tool, struct wp_error *err)
{
    for (unsigned at = 0; at < tool->given_count; at++) {
        const char *text = tool->given[at].value, *equals = strchr(text, '=');
        if (tool->given[at].option == WP_TOOL_LABEL && (!equals || equals == text || equals - text > 128))
            return wp_error_set(err, -WP_TOOL_MISUSE, "--label takes KEY=VALUE, not '%s'", text);
    }
    return 0;
}

/* Here, and not by the aggregator, which would say it after the capture has been read. */
static int check_aggregates(const struct wp_tool *tool, struct wp_error *err)
{
    for (unsigned at = 0; at < tool->given_count; at++) {
        const char *text = tool->given[at].value, *equals = strchr(text, '=');
        struct wp_selector selector = {0};
        if (tool->given[at].option != WP_TOOL_AGGREGATE)
            continue;
        if (!equals || equals == text)
            return wp_error_set(err, -WP_TOOL_MISUSE, "--aggregate takes NAME=SELECTOR, not '%s'", text);
        int rc = wp_selector_parse(&selector, equals + 1, err);
        wp_selector_fini(&selector);
        if (rc)
            return -WP_TOOL_MISUSE;
    }
    return 0;
}

/* It is of one capture: a second one would be written over it, and for a store no aggregator runs. */
static int check_window(const struct wp_tool *tool, struct wp_error *err)
{
    const char *path = tool->values[WP_TOOL_SYSTEM], *from = tool->arguments[0];
    struct stat of, st;
    if (!path || !from)
        return 0;
    if (tool->arguments[1])
        return wp_error_set(err, -WP_TOOL_MISUSE, "--system-window is of one capture: import them one by one");
    if (stat(from, &of))
        return 0;
    if (!S_ISREG(of.st_mode))
        return wp_error_set(err, -WP_TOOL_MISUSE, "--system-window is of a capture, and '%s' is none", from);
    if (!stat(path, &st) && st.st_dev == of.st_dev && st.st_ino == of.st_ino)
        return wp_error_set(err, -WP_TOOL_MISUSE, "--system-window would be written over '%s'", from);
    return 0;
}

int wp_tool_import(struct wp_tool *tool, struct wp_error *err)
{
    struct importing importing = {.tool = tool,
        .into = tool->values[WP_TOOL_INTO],
        .wanted = tool->values[WP_TOOL_RELEASE],
        .err = err,
        .now_s = (uint64_t)time(NULL),
        .rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL};
    int rc = importing.into ? check_labels(tool, err)
                            : wp_error_set(err, -WP_TOOL_MISUSE, "import needs --into ROOT: the store that takes it");
    if (!rc)
        rc = check_aggregates(tool, err);
    if (!rc && importing.wanted && !wp_id_valid(importing.wanted))
        rc = wp_error_set(
            err, -WP_TOOL_MISUSE, "'%s' is not a release id: use [A-Za-z0-9._+-], at most 128", importing.wanted);
    if (!rc && !wp_id_valid(shard_of(&importing)))
        rc = wp_error_set(
            err, -WP_TOOL_MISUSE, "'%s' is not a shard id: use [A-Za-z0-9._+-], at most 128", shard_of(&importing));
    if (!rc)
        rc = check_window(tool, err);
    if (!rc)
        wp_import_sweep();
    struct wp_tool_undo undo = {0};
    if (!rc)
        wp_tool_undo_note(&undo, importing.into);
    for (int at = 0; !rc && at < WP_TOOL_ARGUMENTS && tool->arguments[at]; at++) {
        importing.from = tool->arguments[at];
        rc = import_one(&importing);
        if (!rc && !importing.has_any && !tool->arguments[at + 1])
            rc = refuse_empty(&importing);
    }
    wp_tool_undo_end(&undo, rc);
    if (rc || !importing.rows) {
        json_object_put(importing.rows);
        return rc;
    }
    return wp_tool_json(tool, importing.rows, err);
}
