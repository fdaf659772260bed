/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-store stat, releases */
#include "storage/tool/tool_stat.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/report/head.h"
#include "storage/text/json_parts.h"
#include "storage/tool/tool_shared.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct kind_sum {
    uint64_t keys, stored_bytes, raw_bytes;
};

struct aggregate_sum {
    char name[WP_ID_ROOM];
    uint64_t reports, traces, total_ns, first_ns, last_ns;
    char *recorded; /* command and workload; owned, NULL: not told */
    char *differs;  /* from others of its name in what it was recorded with; owned, NULL: alone */
};

struct sums {
    struct wp_txn *txn;
    struct kind_sum kinds[WP_VALUE_KINDS]; /* [0]: damaged */
    struct kind_sum newer;                 /* of formats of newer versions: not damaged, and not to be read */
    struct aggregate_sum *aggregates;      /* in order of their first keys */
    size_t aggregate_count;
    uint64_t file_bytes, map_bytes, first_ns, last_ns;
    unsigned readers;
    size_t shards;
};

static void widen(uint64_t *first_ns, uint64_t *last_ns, const struct wp_head *head)
{
    if (head->first_ns && (!*first_ns || head->first_ns < *first_ns))
        *first_ns = head->first_ns;
    if (head->last_ns > *last_ns)
        *last_ns = head->last_ns;
}

static int add_to_aggregate(struct sums *sums, const struct wp_key *key, const struct wp_value *value)
{
    struct wp_head head = {0};
    struct aggregate_sum *last = NULL; /* buckets of one name share a folder: their keys take turns */
    for (size_t i = sums->aggregate_count; i > 0 && !last; i--)
        last = strcmp(sums->aggregates[i - 1].name, key->aggregate) ? NULL : &sums->aggregates[i - 1];
    if (!last) {
        if (WP_ARRAY_NEXT(sums->aggregates, sums->aggregate_count))
            return -ENOMEM;
        last = &sums->aggregates[sums->aggregate_count++];
        *last = (struct aggregate_sum){0};
        memcpy(last->name, key->aggregate, sizeof(last->name));
    }
    if (key->kind != WP_VALUE_REPORT && key->kind != WP_VALUE_TRACE)
        return 0;
    if (value->head_size)
        wp_head_decode(&head, value->head, value->head_size, NULL);
    if (key->kind == WP_VALUE_TRACE) {
        last->traces++;
        return 0;
    }
    last->reports++;
    last->total_ns += head.total_ns;
    widen(&last->first_ns, &last->last_ns, &head);
    widen(&sums->first_ns, &sums->last_ns, &head);
    return 0;
}

static int add_key(void *context, const char *text, size_t size)
{
    struct sums *sums = context;
    struct wp_key key;
    struct wp_value value;
    const uint8_t *bytes;
    int rc = wp_key_parse(&key, text, NULL);
    if (!rc)
        rc = wp_txn_stored(sums->txn, text, &bytes, &size, NULL);
    if (!rc)
        rc = wp_value_parse(&value, bytes, size, NULL);
    bool is_good = !rc && value.kind == key.kind;
    struct kind_sum *sum = rc == -EPROTONOSUPPORT ? &sums->newer : &sums->kinds[is_good ? key.kind : 0];
    sum->keys++;
    sum->stored_bytes += size;
    if (!is_good)
        return 0;
    sum->raw_bytes += value.raw_size;
    return *key.aggregate ? add_to_aggregate(sums, &key, &value) : 0;
}

static void add_environment(struct sums *sums, const char *release)
{
    char path[PATH_MAX + 160];
    struct stat st;
    MDB_envinfo info;
    snprintf(path, sizeof(path), "%s/%s/data.mdb", sums->txn->store->root, release);
    if (!stat(path, &st))
        sums->file_bytes = (uint64_t)st.st_blocks * 512;
    if (!mdb_env_info(sums->txn->env->mdb, &info)) {
        sums->map_bytes = info.me_mapsize;
        sums->readers = info.me_numreaders;
    }
}

struct recorded {
    const char *keys[2];
    struct wp_buffer text;
};

/* What a store says may be hostile to a terminal. */
static int add_recorded(void *context, const struct wp_metadata_row *row)
{
    struct recorded *recorded = context;
    for (int i = 0; row->is_winner && i < 2; i++) {
        if (strcmp(row->key, recorded->keys[i]))
            continue;
        wp_buffer_printf(&recorded->text, "%s%s", recorded->text.size ? ", " : "", i ? "workload " : "");
        for (const char *at = row->value; *at; at++)
            wp_buffer_putc(&recorded->text, (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
    }
    return 0;
}

/* What a recording said it was of; damaged metadata is said by verify. */
static int read_recorded(struct sums *sums, struct aggregate_sum *sum)
{
    const struct wp_metadata_scope scope = {.aggregate = sum->name};
    struct recorded recorded = {.keys = {WP_BUCKET_PREFIX "command", WP_BUCKET_PREFIX "workload"}};
    int rc = wp_txn_all_metadata(sums->txn, &scope, add_recorded, &recorded, NULL);
    if (recorded.text.size)
        wp_buffer_putc(&recorded.text, 0);
    sum->recorded = (char *)recorded.text.data;
    return rc == -ENOMEM || recorded.text.failed ? -ENOMEM : 0;
}

/* Those that stand side by side because they were not recorded alike say in what. */
static int add_differences(struct sums *sums, struct wp_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = wp_txn_aggregates(sums->txn, &names, &count, err);
    for (size_t i = 0; !rc && i < sums->aggregate_count; i++) {
        struct wp_buffer text = {0};
        if (read_recorded(sums, &sums->aggregates[i])) {
            rc = wp_error_set(err, -ENOMEM, "out of memory");
            break;
        }
        if (wp_bucket_is_alone(names, count, sums->aggregates[i].name))
            continue;
        rc = wp_bucket_difference(sums->txn, names, count, sums->aggregates[i].name, &text, err);
        rc = rc == -EBADMSG ? 0 : rc; /* said by verify */
        sums->aggregates[i].differs = (char *)text.data;
    }
    wp_strings_free(names, count);
    return rc;
}

static void free_sums(struct sums *sums)
{
    for (size_t i = 0; i < sums->aggregate_count; i++) {
        free(sums->aggregates[i].differs);
        free(sums->aggregates[i].recorded);
    }
    free(sums->aggregates);
}

static int sum_release(struct wp_tool *tool, const char *release, struct sums *sums, struct wp_error *err)
{
    char **shards = NULL;
    *sums = (struct sums){0};
    int rc = wp_txn_begin(&sums->txn, tool->store, release, false, err);
    if (rc)
        return rc;
    rc = wp_txn_visit(sums->txn, "", add_key, sums, err);
    if (rc == -ENOMEM)
        wp_error_set(err, rc, "out of memory");
    if (!rc)
        rc = add_differences(sums, err);
    if (!rc)
        rc = wp_txn_shards(sums->txn, &shards, &sums->shards, err);
    wp_strings_free(shards, rc ? 0 : sums->shards);
    add_environment(sums, release);
    wp_txn_abort(sums->txn);
    sums->txn = NULL;
    return rc;
}

static const char *date(uint64_t ns, char text[40])
{
    time_t seconds = (time_t)(ns / WP_NS_PER_S);
    struct tm tm;
    if (!ns || !gmtime_r(&seconds, &tm) || !strftime(text, 40, "%Y-%m-%dT%H:%M:%SZ", &tm))
        snprintf(text, 40, "-");
    return text;
}

static const struct kind_sum *kind_at(const struct sums *sums, int i)
{
    return i < WP_VALUE_KINDS ? &sums->kinds[i] : &sums->newer;
}

static const char *kind_name(int i)
{
    return !i ? "damaged" : i < WP_VALUE_KINDS ? wp_value_kind_name((enum wp_value_kind)i) : "newer";
}

static void print_sums(struct wp_buffer *out, const char *release, const struct sums *sums)
{
    char file[32], stored[32], raw[32], first[40], last[40], total[32];
    wp_buffer_printf(out, "%s: %s on disk, %zu shard%s\n", release, wp_tool_size(sums->file_bytes, file, sizeof(file)),
        sums->shards, sums->shards == 1 ? "" : "s");
    for (int i = 0; i <= WP_VALUE_KINDS; i++) {
        const struct kind_sum *sum = kind_at(sums, i);
        if (sum->keys)
            wp_buffer_printf(out, "  %-12s %7llu keys %10s stored %10s raw\n", kind_name(i),
                (unsigned long long)sum->keys, wp_tool_size(sum->stored_bytes, stored, sizeof(stored)),
                wp_tool_size(sum->raw_bytes, raw, sizeof(raw)));
    }
    for (size_t i = 0; i < sums->aggregate_count; i++) {
        const struct aggregate_sum *sum = &sums->aggregates[i];
        wp_buffer_printf(out, "  aggregate %s: %llu report%s, %llu trace%s, %s to %s, total %s\n", sum->name,
            (unsigned long long)sum->reports, sum->reports == 1 ? "" : "s", (unsigned long long)sum->traces,
            sum->traces == 1 ? "" : "s", date(sum->first_ns, first), date(sum->last_ns, last),
            wp_tool_time(sum->total_ns, total, sizeof(total)));
        if (sum->recorded)
            wp_buffer_printf(out, "    recorded: %s\n", sum->recorded);
        if (sum->differs)
            wp_buffer_printf(out, "    apart from others of its name: %s\n", sum->differs);
    }
}

static struct json_object *sums_json(const char *release, const struct sums *sums)
{
    struct json_object *object = json_object_new_object(), *kinds = json_object_new_object();
    wp_json_put_text(object, "release", release);
    wp_json_put_number(object, "file_bytes", sums->file_bytes);
    wp_json_put_number(object, "map_bytes", sums->map_bytes);
    wp_json_put_number(object, "reader_slots", sums->readers);
    wp_json_put_number(object, "shards", sums->shards);
    wp_json_put_number(object, "first_ns", sums->first_ns);
    wp_json_put_number(object, "last_ns", sums->last_ns);
    for (int i = 0; i <= WP_VALUE_KINDS; i++) {
        const struct kind_sum *sum = kind_at(sums, i);
        struct json_object *kind = json_object_new_object();
        wp_json_put_number(kind, "keys", sum->keys);
        wp_json_put_number(kind, "stored_bytes", sum->stored_bytes);
        wp_json_put_number(kind, "raw_bytes", sum->raw_bytes);
        wp_json_put(kinds, kind_name(i), kind);
    }
    wp_json_put(object, "kinds", kinds);
    struct json_object *rows = wp_json_put_rows(object, "aggregates");
    for (size_t i = 0; i < sums->aggregate_count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "name", sums->aggregates[i].name);
        wp_json_put_number(row, "reports", sums->aggregates[i].reports);
        wp_json_put_number(row, "traces", sums->aggregates[i].traces);
        wp_json_put_number(row, "first_ns", sums->aggregates[i].first_ns);
        wp_json_put_number(row, "last_ns", sums->aggregates[i].last_ns);
        wp_json_put_number(row, "total_ns", sums->aggregates[i].total_ns);
        if (sums->aggregates[i].recorded)
            wp_json_put_text(row, "recorded", sums->aggregates[i].recorded);
        if (sums->aggregates[i].differs)
            wp_json_put_text(row, "differs", sums->aggregates[i].differs);
    }
    return object;
}

static void print_line(struct wp_buffer *out, const char *release, const struct sums *sums)
{
    char file[32], first[40], last[40];
    wp_buffer_printf(out, "%-40s %20s %20s %3zu aggregate%s %10s\n", release, date(sums->first_ns, first),
        date(sums->last_ns, last), sums->aggregate_count, sums->aggregate_count == 1 ? " " : "s",
        wp_tool_size(sums->file_bytes, file, sizeof(file)));
}

static int sum_all(
    struct wp_tool *tool, void (*print)(struct wp_buffer *, const char *, const struct sums *), struct wp_error *err)
{
    struct json_object *rows = tool->flags & WP_TOOL_JSON ? json_object_new_array() : NULL;
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_tool_open(tool, err);
    if (!rc)
        rc = wp_tool_releases(tool, &releases, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct sums sums;
        int sum_rc = sum_release(tool, releases[i], &sums, err);
        rc = wp_tool_pass_over(tool, sum_rc, err);
        if (!sum_rc && rows)
            json_object_array_add(rows, sums_json(releases[i], &sums));
        else if (!sum_rc)
            print(&tool->out, releases[i], &sums);
        free_sums(&sums);
    }
    wp_strings_free(releases, count);
    if (rc || !rows) {
        json_object_put(rows);
        return rc;
    }
    return wp_tool_json(tool, rows, err);
}

int wp_tool_stat(struct wp_tool *tool, struct wp_error *err)
{
    return sum_all(tool, print_sums, err);
}

int wp_tool_releases_list(struct wp_tool *tool, struct wp_error *err)
{
    return sum_all(tool, print_line, err);
}
