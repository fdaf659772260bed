/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store rm: a release, an aggregate, a timebox or a session, by its name. */
#include "storage/tool/tool_rm.h"

#include "common/nearest.h"
#include "common/strings.h"
#include "storage/env/shrink.h"
#include "storage/env/store.h"
#include "storage/env/store_lock.h"
#include "storage/env/txn.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/state_store.h"
#include "storage/text/json_parts.h"
#include "storage/tool/gone_list.h"
#include "storage/tool/tool_location.h"
#include "storage/tool/tool_reference.h"
#include "storage/tool/tool_shared.h"
#include "storage/upkeep/expiry.h"
#include "storage/upkeep/reference.h"
#include "storage/upkeep/release_retention.h"
#include "storage/upkeep/removal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHRINK_FROM ((uint64_t)64 << 10) /* a copy for less is not worth its writing */

struct removing {
    struct wp_tool *tool;
    struct wp_error *err;
    struct wp_retention rule;
    struct wp_gone_list gone;
    struct wp_space before, after;
    struct wp_reference name;   /* release, aggregate and timebox */
    const char *session;        /* its text; "" none */
    char aggregate[WP_ID_ROOM]; /* the bucket that is meant; "" all */
    bool is_dry, is_whole;
};

static void note_gone(void *context, const char *key, uint64_t bytes, const char *why)
{
    wp_gone_add(&((struct removing *)context)->gone, key, bytes, why);
}

/* --- its name --- */

/* REV@TIMEBOX is of all aggregates: a name that wp_reference_parse has no use for. */
static int parse_name(struct removing *r, const char *text)
{
    char copy[3 * WP_ID_ROOM], aggregate[] = ":all@", *mark;
    if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
        return wp_error_set(r->err, -ENAMETOOLONG, "'%.100s...' is too long", text);
    mark = strchr(copy, '@');
    if (!mark || strchr(copy, ':'))
        return wp_reference_parse(&r->name, text, r->err);
    char with[sizeof(copy) + sizeof(aggregate)];
    *mark = 0;
    snprintf(with, sizeof(with), "%s%s%s", copy, aggregate, mark + 1);
    int rc = wp_reference_parse(&r->name, with, r->err);
    *r->name.aggregate = 0;
    return rc;
}

/* A script's variable that is empty must not make a whole release of a part of it. */
static int refuse_empty_part(const struct wp_tool *tool, struct wp_error *err)
{
    const char *word = tool->arguments[1] ? tool->arguments[1] : tool->arguments[0];
    const char *name = tool->location.release;
    size_t size = strlen(word), own = strlen(name);
    bool is_empty =
        !size || word[size - 1] == '/' || (own && strchr(":@", name[own - 1])) || strstr(name, ":@") != NULL;
    return is_empty ? wp_error_set(err, -WP_TOOL_MISUSE,
                          "'%s': nothing stands behind ':', '@' or '/': give the part, or the release alone", word)
                    : 0;
}

/* What is in it cannot be looked at, nor be removed in part. */
static int check_readable(struct removing *r)
{
    const char *release = r->name.release;
    int rc = wp_tool_release_is_there(r->tool, release, r->err);
    return rc == -EBADMSG
        ? wp_error_wrap(r->err, rc, "rm cannot open '%s'; delete its folder '%s/%s' while nobody writes it", release,
              wp_store_root(r->tool->store), release)
        : rc;
}

static int open_named(struct removing *r)
{
    struct wp_tool *tool = r->tool;
    int rc = wp_tool_location_of(&tool->location, tool->arguments, r->err);
    if (!rc && !*tool->location.release)
        return wp_error_set(r->err, -WP_TOOL_MISUSE,
            "rm needs what to remove: %s RELEASE[:AGGREGATE][@TIMEBOX][/SESSION]", tool->arguments[0]);
    if (!rc)
        rc = refuse_empty_part(tool, r->err);
    if (!rc)
        rc = parse_name(r, tool->location.release);
    r->session = tool->location.rest;
    if (!rc && *r->session && (*r->name.aggregate || r->name.has_timebox))
        return wp_error_set(r->err, -WP_TOOL_MISUSE,
            "'%s': a sum cannot be parted by its sessions; a session's state is the release's: give %s/%s", r->session,
            r->name.release, r->session);
    if (!rc)
        rc = wp_store_open(&tool->store, tool->location.root, false, r->err);
    if (!rc)
        rc = wp_tool_resolve_exact(&r->name, tool->store, r->err);
    if (!rc)
        rc = check_readable(r);
    r->is_whole = !*r->session && !*r->name.aggregate && !r->name.has_timebox;
    return rc;
}

/* "main" for "mian", without what parts its buckets. */
static int refuse_aggregate(struct removing *r, struct wp_txn *txn)
{
    char **names = NULL;
    size_t count = 0;
    const char *meant = NULL;
    if (!wp_txn_aggregates(txn, &names, &count, NULL)) {
        for (size_t i = 0; i < count; i++)
            names[i][wp_bucket_base(names[i])] = 0;
        meant = wp_nearest(r->name.aggregate, (const char *const *)names, count);
    }
    if (meant && strcmp(meant, r->name.aggregate)) /* else there are several buckets, which the error names */
        wp_error_set(r->err, -ENOENT, "release '%s' has no aggregate '%s': did you mean '%s'?", r->name.release,
            r->name.aggregate, meant);
    wp_strings_free(names, count);
    return -ENOENT;
}

/* --- what may not go --- */

static int check_session(struct removing *r, struct wp_txn *txn, const uint8_t session[16])
{
    char **shards = NULL;
    size_t count = 0;
    struct wp_resume resume = {.ended = true};
    int rc = wp_txn_shards(txn, &shards, &count, r->err);
    bool is_forced = r->tool->flags & WP_TOOL_FORCE;
    int there = 0;
    for (size_t i = 0; !rc && !is_forced && !there && resume.ended && i < count; i++) {
        there = wp_txn_get_resume(txn, shards[i], session, &resume, r->err);
        if (there == -ENOENT) { /* another shard's */
            resume.ended = true;
            there = 0;
        }
    }
    wp_strings_free(shards, count);
    if (there)
        return wp_error_wrap(r->err, -EBUSY, "session '%s' may go on: --force removes it", r->session);
    return rc || is_forced || resume.ended
        ? rc
        : wp_error_set(r->err, -EBUSY,
              "session '%s' of host '%s' has not ended: what it sends again would count twice; end its collector, or "
              "give --force",
              r->session, resume.hostname);
}

struct look {
    struct removing *removing;
    struct wp_txn *txn;
};

/* A session that goes on, in a shard whose aggregator is there: whatever the hosts' clocks say. */
static int find_open(void *context, const char *text, size_t size)
{
    const struct look *look = context;
    struct wp_resume resume;
    struct wp_key key;
    char lock[WP_ID_ROOM + 8];
    (void)size;
    if (wp_key_parse(&key, text, NULL))
        return 0;
    snprintf(lock, sizeof(lock), "shard.%s", key.shard);
    return (wp_txn_get_resume(look->txn, key.shard, key.session, &resume, NULL) || !resume.ended) &&
        wp_lock_is_held(wp_store_root(look->removing->tool->store), lock);
}

static int refuse_kept(const struct removing *r)
{
    return wp_error_set(r->err, -EBUSY,
        "release '%s' is kept by its metadata 'keep', or that cannot be read: --force removes it", r->name.release);
}

static int check_kept(const struct removing *r, struct wp_txn *txn)
{
    int rc = r->tool->flags & WP_TOOL_FORCE ? 0 : wp_txn_is_kept(txn, r->err);
    return rc > 0 ? refuse_kept(r) : rc;
}

static int check_release(struct wp_txn *txn, void *context)
{
    struct removing *r = context;
    if (r->tool->flags & WP_TOOL_FORCE)
        return 0;
    struct wp_retained_release *row = calloc(1, sizeof(*row));
    if (!row)
        return wp_error_set(r->err, -ENOMEM, "out of memory");
    int rc = wp_release_row_read(row, txn, r->rule.roll_up.now_s, r->err);
    if (!rc && !row->is_live) {
        rc = wp_txn_visit(txn, "__state__/processed.", find_open, &(struct look){r, txn}, r->err);
        row->is_live = rc > 0;
        rc = rc > 0 ? 0 : rc;
    }
    if (!rc && row->is_live)
        rc = wp_error_set(r->err, -EBUSY,
            "release '%s' is recorded now: a session of it has not ended; end its collector, or give --force",
            r->name.release);
    else if (!rc && row->is_named)
        rc = refuse_kept(r);
    wp_release_rows_free(row, 1);
    return rc;
}

/* --- removing --- */

static int remove_parts(struct removing *r, struct wp_txn *txn)
{
    uint8_t session[16];
    int rc = 0;
    if (*r->session) {
        rc = wp_txn_find_session(txn, r->session, session, r->err);
        if (!rc)
            rc = check_session(r, txn, session);
        return rc ? rc : wp_txn_drop_session(txn, &r->rule, session, r->err);
    }
    *r->aggregate = 0;
    if (*r->name.aggregate)
        rc = wp_txn_bucket(txn, r->name.aggregate, r->aggregate, r->err);
    if (rc == -ENOENT)
        return refuse_aggregate(r, txn);
    struct wp_removal removal = {r->aggregate, r->name.has_timebox, r->name.timebox_s};
    return rc ? rc : wp_txn_remove(txn, &r->rule, &removal, r->err);
}

/* May run again; a dry run gives up what it has done. */
static int remove_in(struct wp_txn *txn, void *context)
{
    struct removing *r = context;
    wp_gone_cut(&r->gone, 0);
    int rc = wp_txn_space(txn, &r->before, r->err);
    if (!rc)
        rc = r->is_whole ? check_release(txn, r) : check_kept(r, txn);
    if (!rc && !r->is_whole)
        rc = remove_parts(r, txn);
    if (!rc)
        rc = wp_txn_space(txn, &r->after, r->err);
    if (!rc && r->gone.has_failed)
        rc = wp_error_set(r->err, -ENOMEM, "out of memory for what is removed");
    return rc ? rc : r->is_dry || r->is_whole;
}

/* What was to go is gone; that its space stays where it is must be said. */
static void shrink(struct removing *r)
{
    struct wp_error err = {0};
    uint64_t spare = r->after.file_bytes - r->after.used_bytes;
    if (spare < SHRINK_FROM || spare < r->after.file_bytes / 8)
        return;
    if (wp_store_shrink(r->tool->store, r->name.release, &r->after, &err))
        wp_buffer_printf(&r->tool->complaints, "%s\n", err.text);
}

static int remove_named(struct removing *r)
{
    int rc = wp_store_update(r->tool->store, r->name.release, remove_in, r, r->err);
    if (rc < 0 || r->is_dry)
        return rc < 0 ? rc : 0;
    if (r->is_whole) {
        r->after = (struct wp_space){0};
        return wp_store_drop_checked(r->tool->store, r->name.release, check_release, r, r->err);
    }
    shrink(r);
    return 0;
}

/* --- what is said --- */

static int print_result(struct removing *r)
{
    struct wp_buffer *out = &r->tool->out;
    char before[32], after[32];
    const char *release = r->name.release, *would = r->is_dry ? "would be " : "";
    if (r->tool->flags & WP_TOOL_JSON) {
        struct json_object *object = json_object_new_object();
        wp_json_put(object, "dry_run", json_object_new_boolean(r->is_dry));
        wp_json_put_text(object, "release", release);
        wp_json_put(object, "dropped", json_object_new_boolean(r->is_whole));
        wp_gone_json(&r->gone, object);
        wp_json_put_number(object, "used_bytes_before", r->before.used_bytes);
        wp_json_put_number(object, "used_bytes", r->is_whole ? 0 : r->after.used_bytes);
        return wp_tool_json(r->tool, object, r->err);
    }
    wp_tool_size(r->before.used_bytes, before, sizeof(before));
    if (r->is_whole) {
        wp_buffer_printf(out, "%sgone %10s  %s, all of it\n", would, before, release);
        return 0;
    }
    wp_gone_print(&r->gone, release, r->is_dry, out);
    if (*r->session)
        wp_buffer_printf(out, "%s: what the session recorded stays in the sums\n", release);
    wp_buffer_printf(out, "%s: %s %sin use, %s before\n", release,
        wp_tool_size(r->after.used_bytes, after, sizeof(after)), would, before);
    return 0;
}

int wp_tool_rm(struct wp_tool *tool, struct wp_error *err)
{
    struct removing removing = {.tool = tool,
        .err = err,
        .rule = {.roll_up = {.now_s = (uint64_t)time(NULL)}, .gone = note_gone, .context = &removing},
        .is_dry = tool->flags & WP_TOOL_DRY_RUN};
    int rc = wp_tool_number(tool, WP_TOOL_NOW, &removing.rule.roll_up.now_s, err);
    if (!rc)
        rc = open_named(&removing);
    if (!rc && !removing.is_dry) /* who only looks sweeps nothing up */
        rc = wp_store_upkeep(tool->store, err);
    if (!rc)
        rc = remove_named(&removing);
    if (!rc)
        rc = print_result(&removing);
    wp_gone_fini(&removing.gone);
    return rc;
}
