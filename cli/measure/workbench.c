/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/workbench.h"

#include "cli/base/args.h"
#include "cli/measure/work_tree.h"
#include "cli/base/privilege.h"
#include "cli/base/program.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define OUTPUT_LIMIT (64u << 20)
#define SHELL "/bin/sh"
#define GOT_WORSE 2 /* exit status of `wakepath check` */

/* A path in the folder; the folder's own is short enough (wp_workbench_begin). */
static const char *inside(const struct wp_workbench *bench, char path[PATH_MAX], const char *name, const char *end)
{
    snprintf(path, PATH_MAX, "%.*s/%s%s", PATH_MAX - 200, bench->out, name, end);
    return path;
}

static const char *tree_path(
    const struct wp_workbench *bench, char path[PATH_MAX], const struct wp_revision *revision, const char *end)
{
    char name[WP_COMMIT_ROOM + 8];
    snprintf(name, sizeof(name), "trees/%.16s", revision->commit);
    return inside(bench, path, name, end);
}

/* --- building --- */

/* The last line that a program printed, without what a terminal obeys; "" of none. */
static void last_line(const char *log, char *line, size_t room)
{
    struct wp_buffer text = {0};
    struct wp_error ignored;
    *line = 0;
    if (!wp_file_read(log, OUTPUT_LIMIT, &text, &ignored)) {
        size_t end = text.size, size = 0;
        while (end && (text.data[end - 1] == '\n' || text.data[end - 1] == '\r'))
            end--;
        while (size < end && size + 1 < room && text.data[end - size - 1] != '\n')
            size++;
        for (size_t i = 0; i < size; i++) {
            unsigned char c = text.data[end - size + i];
            line[i] = (char)(c < 0x20 || c == 0x7f ? ' ' : c);
        }
        line[size] = 0;
    }
    wp_buffer_fini(&text);
}

static int note(struct wp_workbench *bench, const struct wp_measure_row *row, struct wp_error *err)
{
    struct wp_error reason = {0};
    int rc = wp_measure_log_add(&bench->log, row, &reason);
    bench->has_work |= !rc;
    if (rc)
        *err = reason;
    return rc;
}

static int run_build(struct wp_workbench *bench, const struct wp_revision *revision, struct wp_error *err)
{
    char tree[PATH_MAX], log[PATH_MAX], shell[] = "sh", option[] = "-c", line[300];
    struct wp_args args = {0};
    int status = 0;
    wp_args_add(&args, shell);
    wp_args_add(&args, option);
    wp_args_add(&args, bench->options->build);
    tree_path(bench, tree, revision, "");
    tree_path(bench, log, revision, ".log");
    int rc = args.failed
        ? wp_error_set(err, -ENOMEM, "out of memory for a command line")
        : wp_step_run(&bench->stepper,
              &(struct wp_step_options){
                  .name = "build", .path = SHELL, .argv = args.items, .dir = tree, .is_build = true, .log = log},
              &status, err);
    wp_args_fini(&args);
    if (rc || !status)
        return rc;
    last_line(log, line, sizeof(line));
    wp_error_set(err, -EINVAL, "the build ends with %d: %s (all of it: %s)", status, *line ? line : "no word", log);
    return 1;
}

/* Kept beside the tree, so that `git clean` and builds cannot touch it. */
static int mark_built(struct wp_workbench *bench, const struct wp_revision *revision, struct wp_error *err)
{
    char path[PATH_MAX];
    int rc = wp_file_write_cached(tree_path(bench, path, revision, ".built"), "", 0, err);
    bench->has_work |= !rc && bench->options->build;
    return rc;
}

static bool is_built(const struct wp_workbench *bench, const struct wp_revision *revision)
{
    char path[PATH_MAX];
    return !access(tree_path(bench, path, revision, ".built"), F_OK);
}

int wp_workbench_build(struct wp_workbench *bench, const struct wp_revision *revision, struct wp_error *err)
{
    char path[PATH_MAX];
    if (is_built(bench, revision))
        return 0;
    int rc = wp_work_tree_make(tree_path(bench, path, revision, ""), bench->options->repository, revision, err);
    if (rc == -EINVAL || rc == -ETIMEDOUT)
        rc = 1;
    if (!rc && bench->options->build)
        rc = run_build(bench, revision, err);
    if (!rc)
        return mark_built(bench, revision, err);
    struct wp_measure_row row = {.what = WP_MEASURED_BROKEN};
    memcpy(row.commit, revision->commit, sizeof(row.commit));
    memcpy(row.release, revision->release, sizeof(row.release));
    return rc > 0 && note(bench, &row, err) ? err->code : rc;
}

/* --- recording --- */

/* Runs a program of ours; its words are in OUT/run.log. */
static int run_own(struct wp_workbench *bench, const char *dir, struct wp_args *args, int *status, struct wp_error *err)
{
    char path[PATH_MAX], log[PATH_MAX];
    if (args->failed)
        return wp_error_set(err, -ENOMEM, "out of memory for a command line");
    int rc = wp_program_sibling(args->items[0], path, sizeof(path), err);
    if (!rc)
        rc = wp_step_run(&bench->stepper,
            &(struct wp_step_options){.name = args->items[0],
                .path = path,
                .argv = args->items,
                .dir = dir,
                .log = inside(bench, log, "run.log", "")},
            status, err);
    return rc;
}

static int record_command(struct wp_workbench *bench, const struct wp_revision *revision,
    const struct wp_measure_cell *cell, int *status, struct wp_error *err)
{
    char tree[PATH_MAX], run[PATH_MAX];
    struct wp_args args = {0};
    wp_args_add(&args, "wakepath");
    wp_args_add(&args, "record");
    wp_args_add(&args, "--quiet");
    wp_args_add(&args, "--no-capture"); /* it goes with OUT/run */
    wp_args_add(&args, "--out");
    wp_args_add(&args, inside(bench, run, "run", ""));
    wp_args_add(&args, "--release");
    wp_args_add(&args, revision->release);
    if (bench->options->cell_count > 1) {
        wp_args_add(&args, "--aggregate");
        wp_args_addf(&args, "%s=command", cell->name);
    }
    wp_args_add(&args, "--");
    for (size_t i = 0; cell->argv[i]; i++)
        wp_args_add(&args, cell->argv[i]);
    int rc = run_own(bench, tree_path(bench, tree, revision, ""), &args, status, err);
    wp_args_fini(&args);
    return rc;
}

static uint64_t number_of(struct json_object *from, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(from, key, &value) ? json_object_get_uint64(value) : 0;
}

/* Time for want of a CPU is what the machine's other work makes of a command's. */
static bool is_runnable(const char *category)
{
    return !strcmp(category, "scheduler") || !strcmp(category, "involuntary");
}

/* Of a summary: categories are members, and the kernel has counted how often the command went to sleep. */
static void read_parts(struct json_object *whole, struct json_object *categories, struct wp_measure_row *row)
{
    struct json_object *command;
    row->steady_ns = number_of(categories, "scheduler") + number_of(categories, "involuntary");
    if (json_object_object_get_ex(whole, "command", &command) && json_object_is_type(command, json_type_object))
        row->waits = number_of(command, "voluntary_switches");
}

/* Of the answer to a query: categories are rows, and what is neither work nor the want of a CPU is waits. */
static void read_rows(struct json_object *rows, struct wp_measure_row *row)
{
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *part = json_object_array_get_idx(rows, i), *name;
        if (!json_object_object_get_ex(part, "category", &name))
            continue;
        const char *category = json_object_get_string(name);
        if (is_runnable(category))
            row->steady_ns += number_of(part, "ns");
        else if (!number_of(part, "running_ns") && strcmp(category, "running_not_sampled"))
            row->waits += number_of(part, "count");
    }
}

/* The figure of a JSON file, what it is less the time runnable, and the number of waits; -EBADMSG. */
static int read_figure(const char *path, bool is_query, struct wp_measure_row *row, struct wp_error *err)
{
    const char *key = is_query ? "matched_ns" : "wall_ns";
    struct json_object *whole = json_object_from_file(path), *from = whole, *releases, *parts = NULL, *value;
    if (is_query && json_object_object_get_ex(whole, "releases", &releases) &&
        json_object_is_type(releases, json_type_array))
        from = json_object_array_get_idx(releases, 0);
    bool has = from && json_object_object_get_ex(from, key, &value) && json_object_is_type(value, json_type_int) &&
        json_object_object_get_ex(from, is_query ? "rows" : "categories", &parts) &&
        json_object_is_type(parts, is_query ? json_type_array : json_type_object);
    if (has) {
        row->ns = json_object_get_uint64(value);
        row->steady_ns = row->waits = 0;
        if (is_query)
            read_rows(parts, row);
        else
            read_parts(whole, parts, row);
        row->steady_ns = row->ns > row->steady_ns ? row->ns - row->steady_ns : 0;
    }
    json_object_put(whole);
    return has ? 0 : wp_error_set(err, -EBADMSG, "'%s' has no %s", path, key);
}

static int query_figure(
    struct wp_workbench *bench, const struct wp_measure_cell *cell, struct wp_measure_row *row, struct wp_error *err)
{
    char path[PATH_MAX], answer[PATH_MAX];
    struct wp_args args = {0};
    int status = 0;
    wp_args_add(&args, "wakepath-reporter");
    wp_args_add(&args, "query");
    wp_args_add(&args, "--out");
    wp_args_add(&args, inside(bench, answer, "run/query.json", ""));
    wp_args_add(&args, "--store");
    wp_args_add(&args, inside(bench, path, "run/store", ""));
    wp_args_add(&args, "--aggregate");
    wp_args_add(&args, bench->options->cell_count > 1 ? cell->name : "main");
    wp_args_add(&args, "--format=json");
    wp_args_add(&args, "--by=category");
    wp_args_add(&args, "--top=100");
    wp_args_add(&args, "--allow-empty"); /* a commit may not have the hop */
    for (size_t i = 0; bench->options->filter[i]; i++)
        wp_args_add(&args, bench->options->filter[i]);
    int rc = run_own(bench, NULL, &args, &status, err);
    wp_args_fini(&args);
    if (!rc && status)
        rc = wp_error_set(err, -EINVAL, "wakepath query failed: see %s", inside(bench, path, "run.log", ""));
    return rc ? rc : read_figure(answer, true, row, err);
}

/* Once, however often it is done: a merge knows a shard again by its origin. */
static int add_to_store(struct wp_workbench *bench, struct wp_error *err)
{
    char from[PATH_MAX], into[PATH_MAX], line[300];
    struct wp_args args = {0};
    int status = 0;
    wp_args_add(&args, "wakepath-store");
    wp_args_add(&args, "merge");
    wp_args_add(&args, "--rename-shard"); /* each recording has a store, and so a shard "local", of its own */
    wp_args_add(&args, inside(bench, from, "run/store", ""));
    wp_args_add(&args, "--into");
    wp_args_add(&args, inside(bench, into, "store", ""));
    int rc = run_own(bench, NULL, &args, &status, err);
    wp_args_fini(&args);
    if (!rc && status) {
        last_line(inside(bench, from, "run.log", ""), line, sizeof(line));
        rc = wp_error_set(err, -EIO, "the recording cannot be added to '%s': %s", into, line);
    }
    return rc;
}

/* The row that says so comes after, and then the recording goes: whatever ends us between is made good. */
static int finish_pending(struct wp_workbench *bench, struct wp_error *err)
{
    char path[PATH_MAX];
    const struct wp_measure_row *pending = wp_measure_log_pending(&bench->log);
    if (!pending || access(inside(bench, path, "run/store", ""), F_OK)) /* removed by hand: it is made again */
        return 0;
    struct wp_measure_row row = *pending;
    row.what = WP_MEASURED_SOUND;
    int rc = add_to_store(bench, err);
    return rc ? rc : note(bench, &row, err);
}

/* A whole recording: its figure, and a place in the store. */
static int keep_recording(
    struct wp_workbench *bench, const struct wp_measure_cell *cell, struct wp_measure_row *row, struct wp_error *err)
{
    char path[PATH_MAX];
    int rc = bench->options->filter ? query_figure(bench, cell, row, err)
                                    : read_figure(inside(bench, path, "run/summary.json", ""), false, row, err);
    row->what = WP_MEASURED_ADDING;
    if (!rc)
        rc = note(bench, row, err);
    if (!rc)
        rc = finish_pending(bench, err);
    row->what = WP_MEASURED_SOUND;
    return rc;
}

/* What the command ended with, or why there is no recording. */
static int judge(struct wp_workbench *bench, int status, struct wp_error *err)
{
    char summary[PATH_MAX], log[PATH_MAX], line[300];
    bool is_recorded = !access(inside(bench, summary, "run/summary.json", ""), F_OK);
    if (is_recorded && !status)
        return 0;
    last_line(inside(bench, log, "run.log", ""), line, sizeof(line));
    if (!is_recorded && status != 126 && status != 127)
        return wp_error_set(err, -EIO, "the recording failed: %s", line);
    wp_error_set(err, -EINVAL, "the command ends with %d: %s (all of it: %s)", status, *line ? line : "no word", log);
    return 1;
}

int wp_workbench_record(struct wp_workbench *bench, const struct wp_revision *revision,
    const struct wp_measure_cell *cell, uint32_t repeat, struct wp_measure_row *row, struct wp_error *err)
{
    char path[PATH_MAX];
    const struct wp_measure_row *done = wp_measure_log_find(&bench->log, revision->commit, cell->name, repeat);
    if (done) {
        *row = *done;
        return row->what == WP_MEASURED_SOUND ? 0 : wp_error_set(err, 1, "it failed before");
    }
    *row = (struct wp_measure_row){.repeat = repeat};
    memcpy(row->commit, revision->commit, sizeof(row->commit));
    memcpy(row->cell, cell->name, sizeof(row->cell));
    memcpy(row->release, revision->release, sizeof(row->release));
    int status = 0, rc = record_command(bench, revision, cell, &status, err);
    if (!rc)
        rc = judge(bench, status, err);
    row->what = WP_MEASURED_FAILED;
    if (!rc)
        rc = keep_recording(bench, cell, row, err);
    else if (rc > 0 && note(bench, row, err))
        return err->code;
    struct wp_error reason = {0};
    int left = rc < 0 ? 0 : wp_path_remove(inside(bench, path, "run", ""), &reason);
    if (left)
        *err = reason;
    return left ? left : rc;
}

int wp_workbench_check(struct wp_workbench *bench, const char *older, const char *newer, int *status,
    struct wp_buffer *text, struct wp_error *err)
{
    char path[PATH_MAX], line[300];
    struct wp_args args = {0};
    wp_args_add(&args, "wakepath-reporter");
    wp_args_add(&args, "check");
    wp_args_add(&args, "--store");
    wp_args_add(&args, inside(bench, path, "store", ""));
    wp_args_add(&args, older);
    wp_args_add(&args, newer);
    int rc = run_own(bench, NULL, &args, status, err);
    wp_args_fini(&args);
    inside(bench, path, "run.log", "");
    if (!rc && *status && *status != GOT_WORSE) {
        last_line(path, line, sizeof(line));
        rc = wp_error_set(err, -EIO, "%s and %s cannot be compared: wakepath check ends with %d: %s", older, newer,
            *status, *line ? line : "no word");
    }
    return rc ? rc : wp_file_read(path, OUTPUT_LIMIT, text, err);
}

/* --- beginning --- */

static void digest_text(XXH64_state_t *state, const char *text)
{
    XXH64_update(state, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t digest_of(const struct wp_workbench_options *options)
{
    XXH64_state_t *state = XXH64_createState();
    uint64_t digest = 0;
    if (!state)
        return 0;
    XXH64_reset(state, 0);
    digest_text(state, "waits"); /* rows have that figure, too: those of older versions would be mixed with them */
    digest_text(state, options->build);
    for (size_t i = 0; options->filter && options->filter[i]; i++)
        digest_text(state, options->filter[i]);
    for (uint32_t i = 0; i < options->cell_count; i++) {
        digest_text(state, options->cells[i].name);
        for (size_t k = 0; options->cells[i].argv[k]; k++)
            digest_text(state, options->cells[i].argv[k]);
    }
    digest = XXH64_digest(state);
    XXH64_freeState(state);
    return digest;
}

/* An empty folder, a new one, or one with a log. Puts whether nothing else is in it in *is_alone. */
static int claim(struct wp_workbench *bench, const char *out, bool *is_alone, struct wp_error *err)
{
    bench->is_new = access(out, F_OK) && errno == ENOENT;
    int rc = wp_path_make(out, err), others = 0;
    bool has_log = false;
    if (!rc && (!realpath(out, bench->out) || strlen(bench->out) > PATH_MAX - 300))
        rc = wp_error_errno(err, errno ? -errno : -ENAMETOOLONG, "cannot use '%s'", out);
    DIR *folder = rc ? NULL : opendir(bench->out);
    if (!rc && !folder)
        rc = wp_error_errno(err, -errno, "cannot read '%s'", out);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        bool is_log = !strcmp(entry->d_name, "log");
        has_log |= is_log;
        others += !is_log && strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    }
    *is_alone = !others;
    if (folder)
        closedir(folder);
    return !rc && others && !has_log ? wp_error_set(err, -EEXIST, "'%s' holds something else: give another --out", out)
                                     : rc;
}

static int open_log(struct wp_workbench *bench, struct wp_error *err)
{
    char path[PATH_MAX];
    bool is_alone;
    int rc = claim(bench, bench->options->out, &is_alone, err);
    return rc
        ? rc
        : wp_measure_log_open(&bench->log, inside(bench, path, "log", ""), digest_of(bench->options), is_alone, err);
}

int wp_workbench_begin(struct wp_workbench *bench, const struct wp_workbench_options *options,
    struct wp_revisions *revisions, struct wp_error *err)
{
    char path[PATH_MAX];
    *bench = (struct wp_workbench){.options = options};
    int rc = wp_privilege_check(err);
    if (!rc)
        rc = open_log(bench, err);
    if (!rc)
        rc = wp_path_make(inside(bench, path, "trees", ""), err);
    if (!rc) {
        rc = wp_step_begin(&bench->stepper, err);
        bench->is_open = true;
    }
    if (!rc)
        rc = finish_pending(bench, err);
    if (!rc)
        rc = wp_measure_log_name(&bench->log, revisions, err);
    if (!rc)
        rc = wp_path_remove(inside(bench, path, "run", ""), err);
    if (rc)
        wp_workbench_end(bench, true);
    return rc;
}

void wp_workbench_end(struct wp_workbench *bench, bool failed)
{
    struct wp_error ignored;
    if (failed && bench->is_new && !bench->has_work && *bench->out)
        wp_path_remove(bench->out, &ignored);
    bench->is_new = false;
    if (bench->is_open)
        wp_step_end(&bench->stepper);
    wp_measure_log_close(&bench->log);
    bench->is_open = false;
}
