/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store prune: each release by age, then all of them together by size, then the space is given back. */
#include "storage/tool/tool_prune.h"

#include "common/strings.h"
#include "storage/env/shrink.h"
#include "storage/kind/report_store.h"
#include "storage/text/json_parts.h"
#include "storage/tool/gone_list.h"
#include "storage/tool/tool_reference.h"
#include "storage/tool/tool_shared.h"
#include "storage/upkeep/reference.h"
#include "storage/upkeep/release_retention.h"
#include "storage/upkeep/retention.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY ((uint64_t)WP_DAY_S)
#define YEAR (365 * DAY)
#define SHRINK_FROM ((uint64_t)64 << 10) /* a copy for less is not worth its writing */
#define PAGE 4096u

struct candidate {    /* may go for the quota */
    uint32_t release; /* index */
    char *key;
    uint64_t bytes, end_s;
};

struct pruned { /* a release */
    const char *name;
    struct wp_gone_list gone;
    uint32_t gone_by_age;
    struct wp_space before, after;
    bool is_shrunk;
    const char *dropped; /* why all of it goes; NULL it stays */
};

struct prune {
    struct wp_tool *tool;
    struct wp_retention rule;
    struct wp_error *err;
    struct pruned *releases, *now; /* now: the one that is worked on */
    uint32_t release_count;
    struct candidate *candidates;
    uint32_t candidate_count, candidate_room, own_from; /* own_from: those of `now` begin there */
    uint64_t quota_bytes;
    struct wp_retained_release
        *rows; /* of all releases, by their index; of those that are passed over without a name */
    uint64_t most_releases, release_age_s;
    bool is_whole; /* all releases of the store are looked at: whole ones may go */
    bool is_dry;
};

static void note_gone(void *context, const char *key, uint64_t bytes, const char *why)
{
    struct prune *prune = context;
    wp_gone_add(&prune->now->gone, key, bytes, why);
}

static void forget_candidates(struct prune *prune)
{
    while (prune->candidate_count > prune->own_from)
        free(prune->candidates[--prune->candidate_count].key);
}

/* --- one release, by age --- */

/* What deleting a value gives back, as nearly as it can be told: large ones have pages of their own. */
static uint64_t cost(size_t value_size, size_t key_size)
{
    size_t size = value_size + key_size + 16;
    return size > PAGE / 2 ? (size + PAGE - 1) / PAGE * PAGE : size;
}

static int gather_candidate(struct prune *prune, struct wp_txn *txn, const char *text, size_t size)
{
    const struct wp_newest *newest = &prune->rule.roll_up.newest;
    struct wp_key key;
    if (wp_key_parse(&key, text, NULL) ||
        (key.kind != WP_VALUE_REPORT && key.kind != WP_VALUE_TRACE && key.kind != WP_VALUE_EXEMPLARS))
        return 0;
    bool is_report = key.kind == WP_VALUE_REPORT;
    if (key.timebox_s == (is_report ? newest->report_s : newest->trace_s) ||
        key.timebox_s == (is_report ? newest->past_report_s : newest->past_trace_s))
        return 0;
    uint64_t length_s = is_report ? wp_txn_timebox_length(txn, text) : 0;
    if (wp_rows_grow(&prune->candidates, &prune->candidate_room, prune->candidate_count, sizeof(*prune->candidates)))
        return -ENOMEM;
    struct candidate *candidate = &prune->candidates[prune->candidate_count++];
    *candidate = (struct candidate){(uint32_t)(prune->now - prune->releases), strdup(text), cost(size, strlen(text)),
        wp_sum(key.timebox_s, length_s ? length_s : WP_RAW_TIMEBOX_S)};
    return candidate->key ? 0 : -ENOMEM;
}

struct gathering {
    struct prune *prune;
    struct wp_txn *txn;
};

static int gather_key(void *context, const char *key, size_t size)
{
    struct gathering *gathering = context;
    return gather_candidate(gathering->prune, gathering->txn, key, size);
}

/* May run again: everything that it notes begins afresh. A dry run gives up what it has done. */
static int prune_by_age(struct wp_txn *txn, void *context)
{
    struct prune *prune = context;
    wp_gone_cut(&prune->now->gone, 0);
    forget_candidates(prune);
    int rc = wp_txn_space(txn, &prune->now->before, prune->err);
    if (!rc)
        rc = wp_txn_retain(txn, &prune->rule, prune->err);
    if (!rc)
        rc = wp_txn_newest(txn, prune->rule.roll_up.now_s, &prune->rule.roll_up.newest, prune->err);
    if (!rc && prune->quota_bytes)
        rc = wp_txn_visit(txn, "", gather_key, &(struct gathering){prune, txn}, prune->err);
    if (!rc)
        rc = wp_txn_space(txn, &prune->now->after, prune->err);
    if (rc == -ENOMEM || prune->now->gone.has_failed)
        return wp_error_set(prune->err, -ENOMEM, "out of memory for pruning");
    return rc ? rc : prune->is_dry;
}

/* --- all of them, by size --- */

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->end_s != b->end_s)
        return a->end_s < b->end_s ? -1 : 1;
    return a->release != b->release ? (a->release < b->release ? -1 : 1) : strcmp(a->key, b->key);
}

static int drop_chosen(struct wp_txn *txn, void *context)
{
    struct prune *prune = context;
    struct pruned *release = prune->now;
    wp_gone_cut(&release->gone, release->gone_by_age); /* of a try before this one */
    int rc = 0;
    for (uint32_t i = 0; !rc && i < prune->candidate_count; i++)
        if (&prune->releases[prune->candidates[i].release] == release) {
            rc = wp_retention_delete(txn, &prune->rule, prune->candidates[i].key, "over the quota", prune->err);
            rc = rc == -ENOENT ? 0 : rc; /* compacted by its writer meanwhile */
        }
    if (!rc)
        rc = wp_txn_drop_empty(txn, &prune->rule, prune->err);
    return rc ? rc : wp_txn_space(txn, &release->after, prune->err);
}

/* What went by age is there again: only the sizes can be told. */
static void drop_dry(struct prune *prune)
{
    for (uint32_t i = 0; i < prune->candidate_count; i++) {
        const struct candidate *candidate = &prune->candidates[i];
        prune->now = &prune->releases[candidate->release];
        note_gone(prune, candidate->key, candidate->bytes, "over the quota");
        prune->now->after.used_bytes -= candidate->bytes < prune->now->after.used_bytes ? candidate->bytes : 0;
    }
}

static uint64_t used_bytes(const struct prune *prune)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < prune->release_count; i++)
        sum += prune->releases[i].after.used_bytes;
    return sum;
}

/* The oldest that together are too much; the others are forgotten. */
static void choose(struct prune *prune)
{
    uint64_t over = used_bytes(prune) > prune->quota_bytes ? used_bytes(prune) - prune->quota_bytes : 0, freed = 0;
    if (prune->candidate_count)
        qsort(prune->candidates, prune->candidate_count, sizeof(*prune->candidates), compare_candidates);
    prune->own_from = 0;
    while (prune->own_from < prune->candidate_count && freed < over)
        freed += prune->candidates[prune->own_from++].bytes;
    forget_candidates(prune);
}

static int prune_by_size(struct prune *prune)
{
    int rc = 0;
    choose(prune);
    if (prune->is_dry) {
        drop_dry(prune);
        return 0;
    }
    for (uint32_t i = 0; !rc && prune->candidate_count && i < prune->release_count; i++) {
        prune->now = &prune->releases[i];
        prune->now->gone_by_age = prune->now->gone.count;
        if (prune->now->name && !prune->now->dropped)
            rc = wp_store_update(prune->tool->store, prune->now->name, drop_chosen, prune, prune->err);
    }
    return rc;
}

/* --- whole releases --- */

static int keep_named(struct prune *prune)
{
    struct wp_tool *tool = prune->tool;
    int rc = 0;
    for (unsigned i = 0; !rc && i < tool->given_count; i++) {
        struct wp_reference reference;
        bool is_there = false;
        if (tool->given[i].option != WP_TOOL_KEEP)
            continue;
        rc = wp_reference_parse(&reference, tool->given[i].value, prune->err);
        if (!rc)
            rc = wp_tool_resolve_exact(&reference, tool->store, prune->err);
        for (uint32_t j = 0; !rc && j < prune->release_count; j++)
            if (prune->rows[j].name && !strcmp(prune->rows[j].name, reference.release))
                is_there = prune->rows[j].is_named = true;
        if (!rc && !is_there) /* a misspelt name keeps nothing */
            rc = wp_error_set(prune->err, -ENOENT, "there is no release '%s' to keep", tool->given[i].value);
    }
    return rc;
}

static int drop_release(struct prune *prune, const struct wp_retained_release *row)
{
    struct pruned *release = &prune->releases[row - prune->rows];
    release->dropped = row->why;
    release->after.used_bytes = release->after.file_bytes = 0;
    return prune->is_dry ? 0 : wp_store_drop(prune->tool->store, release->name, prune->err);
}

/* What is gone with its release need not go for the quota. */
static void forget_dropped(struct prune *prune)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < prune->candidate_count; i++) {
        if (prune->releases[prune->candidates[i].release].dropped)
            free(prune->candidates[i].key);
        else
            prune->candidates[kept++] = prune->candidates[i];
    }
    prune->candidate_count = kept;
}

static int prune_releases(struct prune *prune)
{
    int rc = keep_named(prune);
    if (!rc)
        wp_releases_choose(
            prune->rows, prune->release_count, prune->most_releases, prune->release_age_s, prune->rule.roll_up.now_s);
    for (uint32_t i = 0; !rc && i < prune->release_count; i++)
        if (prune->rows[i].why)
            rc = drop_release(prune, &prune->rows[i]);
    if (!rc)
        forget_dropped(prune);
    return rc;
}

static int prune_releases_by_size(struct prune *prune)
{
    int rc = 0;
    struct wp_retained_release *row;
    while (!rc && used_bytes(prune) > prune->quota_bytes &&
        (row = wp_releases_oldest(prune->rows, prune->release_count))) {
        row->why = "over the quota";
        rc = drop_release(prune, row);
    }
    return rc;
}

static int read_row(struct prune *prune, const char *name)
{
    struct wp_txn *txn = NULL;
    struct wp_retained_release *row = &prune->rows[prune->now - prune->releases];
    int rc = wp_txn_begin(&txn, prune->tool->store, name, false, prune->err);
    if (!rc)
        rc = wp_release_row_read(row, txn, prune->rule.roll_up.now_s, prune->err);
    wp_txn_abort(txn);
    row->name = rc ? NULL : name;
    return rc;
}

/* --- space --- */

static int shrink(struct prune *prune)
{
    for (uint32_t i = 0; i < prune->release_count; i++) {
        struct pruned *release = &prune->releases[i];
        uint64_t spare = release->after.file_bytes - release->after.used_bytes;
        if (!release->name || release->dropped || spare < SHRINK_FROM || spare < release->after.file_bytes / 8)
            continue;
        struct wp_error err = {0};
        int rc = wp_store_shrink(prune->tool->store, release->name, &release->after, &err);
        release->is_shrunk = !rc;
        if (rc) /* what was to go is gone; that its space stays where it is must be said */
            wp_buffer_printf(&prune->tool->complaints, "%s\n", err.text);
    }
    return 0;
}

/* --- what is said --- */

static void print_release(const struct prune *prune, const struct pruned *release)
{
    struct wp_buffer *out = &prune->tool->out;
    char bytes[32], before[32], after[32];
    if (release->dropped) {
        wp_buffer_printf(out, "%sgone %10s  %s, all of it  (%s)\n", prune->is_dry ? "would be " : "",
            wp_tool_size(release->before.used_bytes, bytes, sizeof(bytes)), release->name, release->dropped);
        return;
    }
    wp_gone_print(&release->gone, release->name, prune->is_dry, out);
    wp_buffer_printf(out, "%s: %s in use, %s before; file of %s%s\n", release->name,
        wp_tool_size(release->after.used_bytes, after, sizeof(after)),
        wp_tool_size(release->before.used_bytes, before, sizeof(before)),
        wp_tool_size(release->after.file_bytes, bytes, sizeof(bytes)),
        release->is_shrunk ? ", given back the rest" : "");
}

static struct json_object *release_json(const struct pruned *release)
{
    struct json_object *object = json_object_new_object();
    wp_json_put_text(object, "release", release->name);
    if (release->dropped)
        wp_json_put_text(object, "dropped", release->dropped);
    wp_gone_json(&release->gone, object);
    wp_json_put_number(object, "used_bytes_before", release->before.used_bytes);
    wp_json_put_number(object, "used_bytes", release->after.used_bytes);
    wp_json_put_number(object, "file_bytes_before", release->before.file_bytes);
    wp_json_put_number(object, "file_bytes", release->after.file_bytes);
    wp_json_put(object, "shrunk", json_object_new_boolean(release->is_shrunk));
    return object;
}

static int print_result(struct prune *prune)
{
    struct wp_tool *tool = prune->tool;
    char bytes[32];
    uint64_t used = used_bytes(prune),
             over = prune->quota_bytes && used > prune->quota_bytes ? used - prune->quota_bytes : 0;
    if (over && !prune->is_dry)
        wp_buffer_printf(&tool->complaints,
            "still %s over the quota: what is left is the newest of each release that is the newest of an aggregate, "
            "recorded now or named "
            "by --keep, and its state\n",
            wp_tool_size(over, bytes, sizeof(bytes)));
    if (tool->flags & WP_TOOL_QUIET && !(tool->flags & WP_TOOL_JSON) && !prune->is_dry)
        return 0;
    if (!(tool->flags & WP_TOOL_JSON)) {
        for (uint32_t i = 0; i < prune->release_count; i++)
            if (prune->releases[i].name)
                print_release(prune, &prune->releases[i]);
        if (over && prune->is_dry)
            wp_buffer_printf(&tool->out,
                "would still be %s over the quota: the newest of each release, and its state, stay\n",
                wp_tool_size(over, bytes, sizeof(bytes)));
        return 0;
    }
    struct json_object *object = json_object_new_object();
    wp_json_put(object, "dry_run", json_object_new_boolean(prune->is_dry));
    wp_json_put_number(object, "used_bytes", used);
    wp_json_put_number(object, "over_quota_bytes", over);
    struct json_object *rows = wp_json_put_rows(object, "releases");
    for (uint32_t i = 0; i < prune->release_count; i++)
        if (prune->releases[i].name)
            json_object_array_add(rows, release_json(&prune->releases[i]));
    return wp_tool_json(tool, object, prune->err);
}

static int parse(struct prune *prune)
{
    struct wp_tool *tool = prune->tool;
    struct wp_retention *rule = &prune->rule;
    *rule = (struct wp_retention){
        .roll_up = {.now_s = (uint64_t)time(NULL), .hours_s = 30 * DAY, .days_s = YEAR, .late_s = 3600},
        .is_rolled = !(tool->flags & WP_TOOL_NO_ROLL_UP),
        .traces_s = 7 * DAY,
        .months_s = WP_FOREVER,
        .state_s = 30 * DAY,
        .gone = note_gone,
        .context = prune};
    prune->is_dry = tool->flags & WP_TOOL_DRY_RUN;
    int rc = wp_tool_age(tool, WP_TOOL_TRACES, &rule->traces_s, prune->err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_HOURS, &rule->roll_up.hours_s, prune->err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_DAYS, &rule->roll_up.days_s, prune->err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_MONTHS, &rule->months_s, prune->err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_STATE, &rule->state_s, prune->err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_LATE, &rule->roll_up.late_s, prune->err);
    if (!rc)
        rc = wp_tool_number(tool, WP_TOOL_NOW, &rule->roll_up.now_s, prune->err);
    if (!rc)
        rc = wp_tool_bytes(tool, WP_TOOL_QUOTA, &prune->quota_bytes, prune->err);
    prune->most_releases = prune->release_age_s = UINT64_MAX;
    if (!rc)
        rc = wp_tool_number(tool, WP_TOOL_KEEP_RELEASES, &prune->most_releases, prune->err);
    if (!rc)
        rc = wp_tool_age(tool, WP_TOOL_KEEP_AGE, &prune->release_age_s, prune->err);
    if (!rc && !prune->most_releases)
        rc = wp_error_set(prune->err, -WP_TOOL_MISUSE, "--keep-releases 0 would delete all: leave it out to keep all");
    if (!rc && tool->values[WP_TOOL_QUOTA] && !prune->quota_bytes)
        rc = wp_error_set(prune->err, -WP_TOOL_MISUSE, "--quota 0 would keep nothing: leave it out for no quota");
    return rc;
}

static int prune_release(struct prune *prune, const char *name)
{
    prune->now = &prune->releases[prune->release_count++];
    prune->own_from = prune->candidate_count;
    int rc = wp_tool_release_is_there(prune->tool, name, prune->err);
    if (!rc)
        rc = wp_store_update(prune->tool->store, name, prune_by_age, prune, prune->err);
    if (rc < 0)
        return wp_tool_pass_over(prune->tool, rc, prune->err);
    prune->now->name = name;
    rc = prune->is_whole ? read_row(prune, name) : 0;
    return rc ? wp_tool_pass_over(prune->tool, rc, prune->err) : 0;
}

/* Whole releases are compared with each other: one alone cannot be said to be old among them. */
static int check_scope(struct prune *prune)
{
    const struct wp_tool *tool = prune->tool;
    prune->is_whole = !*tool->location.release;
    if (prune->is_whole ||
        (!tool->values[WP_TOOL_KEEP_RELEASES] && !tool->values[WP_TOOL_KEEP_AGE] && !tool->values[WP_TOOL_KEEP]))
        return 0;
    return wp_error_set(prune->err, -WP_TOOL_MISUSE,
        "--keep-releases, --keep-release-age and --keep are of all releases: give the store's root alone");
}

static int prune_all(struct prune *prune, char **releases, size_t count)
{
    int rc = 0;
    prune->releases = calloc(count + 1, sizeof(*prune->releases));
    prune->rows = calloc(count + 1, sizeof(*prune->rows));
    if (!prune->releases || !prune->rows)
        return wp_error_set(prune->err, -ENOMEM, "out of memory for pruning");
    for (size_t i = 0; !rc && i < count; i++)
        rc = prune_release(prune, releases[i]);
    if (!rc && prune->is_whole)
        rc = prune_releases(prune);
    if (!rc && prune->quota_bytes)
        rc = prune_by_size(prune);
    if (!rc && prune->quota_bytes && prune->is_whole)
        rc = prune_releases_by_size(prune);
    return rc;
}

int wp_tool_prune(struct wp_tool *tool, struct wp_error *err)
{
    struct prune prune = {.tool = tool, .err = err};
    char **releases = NULL;
    size_t count = 0;
    int rc = parse(&prune);
    tool->is_changing = true;
    if (!rc)
        rc = wp_tool_open(tool, err);
    if (!rc)
        rc = check_scope(&prune);
    if (!rc && !prune.is_dry) /* who only looks sweeps nothing up */
        rc = wp_store_upkeep(tool->store, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    if (!rc)
        rc = prune_all(&prune, releases, count);
    if (!rc && !prune.is_dry)
        rc = shrink(&prune);
    if (!rc)
        rc = print_result(&prune);
    for (uint32_t i = 0; i < prune.release_count; i++)
        wp_gone_fini(&prune.releases[i].gone);
    prune.own_from = 0;
    forget_candidates(&prune);
    free(prune.candidates);
    wp_release_rows_free(prune.rows, prune.release_count);
    free(prune.releases);
    wp_strings_free(releases, count);
    return rc;
}
