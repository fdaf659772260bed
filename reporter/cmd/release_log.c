/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/release_log.h"

#include "common/json.h"
#include "common/nearest.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "reporter/cmd/option_values.h"
#include "reporter/compare/stored_checks.h"
#include "reporter/display/humanize.h"
#include "reporter/facts/commit_line.h"
#include "reporter/read/release_order.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_GIT = 0x100 };

struct log_options {
    const char *stores[WP_STORES_LIMIT];
    size_t store_count, most;
    struct wp_order_options order;
    bool is_json;
};

struct log {
    const struct log_options *options;
    struct wp_stores stores;
    struct wp_release_order order;
    struct wp_buffer *out;
    struct wp_json json;
};

/* What is shown of a release. */
struct entry {
    struct wp_pool pool;
    const struct wp_release_row *row;
    struct wp_commit commit;
    bool is_damaged;
};

static const struct argp_option option_table[] = {
    {"store", 's', "ROOT", 0, "The store to read; may be repeated, several are read as one (wakepath-report/store)", 0},
    {"git", KEY_GIT, "DIR", 0,
        "Order and name the releases by this repository (a work tree or a bare clone); else by time, with what their "
        "recordings kept",
        0},
    {"top", 'n', "N", 0, "Most releases, 0 for all (all)", 0},
    {"format", 'f', "FORMAT", 0, "text or json (text)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct log_options *options = state->input;
    char *end;
    switch (key) {
    case 's':
        wp_option_store(state, options->stores, &options->store_count, arg);
        break;
    case KEY_GIT:
        options->order.git = arg;
        break;
    case 'n':
        options->most = strtoul(arg, &end, 10);
        if (*arg < '0' || *arg > '9' || *end)
            argp_error(state, "'%s' is not a number of releases", arg);
        break;
    case 'f':
        options->is_json = !strcmp(arg, "json");
        if (!options->is_json && strcmp(arg, "text"))
            argp_error(state, "'%s' is not a format: text or json", arg);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", arg);
        break;
    case ARGP_KEY_END:
        wp_option_stores_end(state, options->stores, &options->store_count);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* --- checks --- */

/* A terminal must not do what a sentence says. */
static void put_plain(struct wp_buffer *out, const char *text)
{
    for (size_t size = strlen(text); size;) {
        uint32_t c;
        size_t bytes = wp_utf8_decode(text, size, &c);
        wp_utf8_put(out, bytes && wp_utf8_is_control(c) ? ' ' : c);
        text += bytes ? bytes : 1;
        size -= bytes ? bytes : 1;
    }
}

static void put_check(struct log *log, const char *aggregate, const struct wp_stored_check *check)
{
    struct wp_buffer *out = log->out;
    if (log->options->is_json) {
        struct wp_json *json = &log->json;
        wp_json_object(json, NULL);
        wp_json_text(json, "aggregate", aggregate);
        wp_json_text(json, "against", check->against);
        wp_json_text(json, "method", check->method);
        wp_json_number(json, "worse", check->worse);
        wp_json_number(json, "better", check->better);
        wp_json_text(json, "severity", check->severity);
        wp_json_text(json, "sentence", check->sentence);
        wp_json_number(json, "real_s", check->real_s);
        wp_json_end(json);
        return;
    }
    wp_buffer_printf(out, "    %s ", check->worse ? "worse than" : check->better ? "better than" : "same as");
    put_plain(out, check->against);
    wp_buffer_printf(out, " in %s: ", aggregate);
    if (check->worse || check->better)
        wp_buffer_printf(
            out, "%llu worse, %llu better. ", (unsigned long long)check->worse, (unsigned long long)check->better);
    put_plain(out, *check->sentence ? check->sentence : "Nothing surely changed.");
    wp_buffer_putc(out, '\n');
}

static int put_checks(struct log *log, struct entry *entry, const struct wp_snapshot *snapshot, struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    int rc = wp_snapshot_aggregates(snapshot, &aggregates, &count, err);
    for (size_t i = 0; i < count && !rc; i++) {
        struct wp_metadata metadata;
        struct wp_stored_check *checks = NULL;
        rc = wp_metadata_read(&metadata, &entry->pool, snapshot, aggregates[i], err);
        size_t found = rc ? 0 : wp_stored_checks_read(&checks, &entry->pool, &metadata);
        for (size_t j = 0; j < found; j++)
            put_check(log, aggregates[i], &checks[j]);
        rc = rc == -EBADMSG ? 0 : rc;
    }
    wp_strings_free(aggregates, count);
    return rc;
}

/* --- releases --- */

static void put_head(struct log *log, struct entry *entry)
{
    const struct wp_release_row *row = entry->row;
    struct wp_commit *commit = &entry->commit;
    if (!log->options->is_json) {
        const char *when = *commit->date ? commit->date : wp_human_time(&entry->pool, row->last_ns);
        wp_buffer_printf(log->out, "%-20s %-12.*s %s", row->id, WP_COMMIT_SHOWN, commit->id, when);
        if (*commit->id)
            wp_buffer_printf(log->out, " %s: %s%s%s%s", commit->author, commit->subject, *commit->branch ? " (" : "",
                commit->branch, *commit->branch ? ")" : "");
        wp_buffer_puts(log->out, entry->is_damaged ? "  damaged\n" : "\n");
        return;
    }
    struct wp_json *json = &log->json;
    wp_json_object(json, NULL);
    wp_json_text(json, "release", row->id);
    wp_json_number(json, "first_ns", row->first_ns);
    wp_json_number(json, "last_ns", row->last_ns);
    wp_json_text(json, "baseline", row->baseline == SIZE_MAX ? "" : log->order.rows[row->baseline].id);
    if (*commit->id) {
        wp_json_object(json, "commit");
        for (unsigned i = 0; i < WP_COMMIT_TEXTS; i++) {
            size_t room;
            const char *text = wp_commit_text_at(commit, i, &room);
            wp_json_text(json, wp_commit_keys[i] + strlen(WP_COMMIT_PREFIX), text);
        }
        wp_json_end(json);
    }
    wp_json_array(json, "checks");
}

static int put_release(struct log *log, const struct wp_release_row *row, struct wp_error *err)
{
    struct entry entry = {.row = row};
    struct wp_snapshot snapshot;
    struct wp_metadata metadata = {0};
    int rc = wp_snapshot_begin(&snapshot, &log->stores, row->id, err);
    entry.is_damaged = rc == -EBADMSG;
    if (rc && !entry.is_damaged)
        return rc == -ENOENT ? 0 : rc; /* removed a moment ago */
    if (row->commit)
        entry.commit = *row->commit;
    else if (!rc && !wp_metadata_read(&metadata, &entry.pool, &snapshot, NULL, NULL))
        wp_commit_from_metadata(&entry.commit, &metadata);
    put_head(log, &entry);
    if (!rc) {
        rc = put_checks(log, &entry, &snapshot, err);
        wp_snapshot_end(&snapshot);
    }
    if (log->options->is_json) {
        wp_json_end(&log->json);
        wp_json_end(&log->json);
    }
    if (entry.pool.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for the log");
    wp_pool_fini(&entry.pool);
    return entry.is_damaged ? 0 : rc;
}

static int put_all(struct log *log, struct wp_error *err)
{
    size_t most = log->options->most ? log->options->most : SIZE_MAX;
    int rc = 0;
    if (log->options->is_json) {
        wp_json_object(&log->json, NULL);
        wp_json_number(&log->json, "schema", 1);
        wp_json_array(&log->json, "releases");
    } else if (!log->order.count) /* a person may have named another folder */
        return wp_error_set(err, -ENOENT,
            log->options->store_count > 1 ? "store %s and those behind it have no release" : "store %s has no release",
            log->options->stores[0]);
    for (size_t i = 0; i < log->order.count && i < most && !rc; i++)
        rc = put_release(log, &log->order.rows[i], err);
    if (!log->options->is_json)
        return !rc && log->out->failed ? wp_error_set(err, -ENOMEM, "out of memory for the log") : rc;
    wp_json_end(&log->json);
    wp_json_end(&log->json);
    return rc ? rc : wp_json_finish(&log->json, "the log", err);
}

int wp_release_log_run(int argc, char **argv, struct wp_buffer *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse, NULL,
        "Lists releases, the newest first, with their commits, and what `check --keep` found in them.", NULL, NULL,
        NULL};
    struct log_options options = {0};
    struct log log = {.options = &options, .out = out, .json = {.out = out, .style = WP_JSON_PRETTY}};
    char name[] = "wakepath-reporter log";
    argv[0] = name;
    wp_options_check(&argp, argc, argv, false);
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    int rc = wp_stores_open(&log.stores, options.stores, options.store_count, err);
    if (rc)
        return rc;
    rc = wp_release_order_read(&log.order, &log.stores, &options.order, err);
    if (!rc)
        rc = put_all(&log, err);
    wp_release_order_fini(&log.order);
    wp_stores_close(&log.stores);
    return rc;
}
