/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/command_note.h"

#include "common/clock.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "reporter/read/commits.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/value/bucket.h"
#include "storage/value/recorded_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define LINE_BYTES 1000u
#define COMMIT_MS 5000u /* who recorded waits for git no longer */
#define ENTRIES (16u + WP_COMMIT_TEXTS)
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

struct note {
    const struct wp_command_note *of;
    struct wp_metadata_entry entries[ENTRIES];
    char texts[ENTRIES][32];
    size_t commit;        /* so many of them, the first, are of the release's commit alone ... */
    size_t count, common; /* ... and up to here they are the release's as well */
    struct wp_bucket_fact facts[WP_BUCKET_FACTS]; /* of the recording: only command and workload count */
    uint64_t real_s;
    char *aggregate; /* the recording's main one */
    struct wp_error *err;
};

/* --- the line --- */

static void put_word(struct wp_buffer *line, const char *word)
{
    if (*word && !word[strspn(word, PLAIN)]) {
        wp_buffer_puts(line, word);
        return;
    }
    wp_buffer_putc(line, '\'');
    for (size_t step; *word; word += step) {
        uint32_t c;
        step = wp_utf8_decode(word, WP_UTF8_MOST, &c);
        if (*word == '\'')
            wp_buffer_puts(line, "'\\''");
        else if (wp_utf8_is_control(c))
            wp_buffer_putc(line, ' ');
        else
            wp_utf8_put(line, c);
        step += !step;
    }
    wp_buffer_putc(line, '\'');
}

/* Where a character begins at or before `size`. */
static size_t cut_at(const uint8_t *text, size_t size)
{
    while (size && (text[size] & 0xc0) == 0x80)
        size--;
    return size;
}

void wp_command_line(struct wp_buffer *line, char *const *words)
{
    struct wp_buffer whole = {0};
    for (size_t i = 0; words[i]; i++) {
        wp_buffer_append(&whole, words[i], strlen(words[i]) + 1);
        if (i && line->size <= LINE_BYTES)
            wp_buffer_putc(line, ' ');
        if (line->size <= LINE_BYTES)
            put_word(line, words[i]);
    }
    if (line->size > LINE_BYTES) {
        line->size = cut_at(line->data, LINE_BYTES);
        wp_buffer_printf(line, "~%016" PRIx64, (uint64_t)XXH3_64bits(whole.data, whole.size));
    }
    wp_buffer_putc(line, 0);
    line->failed |= whole.failed;
    wp_buffer_fini(&whole);
}

/* --- what is noted --- */

static void add_text(struct note *note, const char *key, const char *value)
{
    if (value && *value)
        note->entries[note->count++] = (struct wp_metadata_entry){key, value};
}

static void add_number(struct note *note, const char *key, uint64_t number)
{
    char *text = note->texts[note->count];
    snprintf(text, sizeof(note->texts[0]), "%" PRIu64, number);
    add_text(note, key, text);
}

static uint64_t time_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * WP_NS_PER_S + (uint64_t)time->tv_usec * WP_NS_PER_US;
}

static void add_child(struct note *note, const struct wp_child *child)
{
    const struct rusage *usage = &child->usage;
    add_number(note, WP_RECORDED_EXIT, (uint64_t)wp_child_exit_code(child));
    add_number(note, WP_RECORDED_WALL, child->ended_ns - child->started_ns);
    add_number(note, WP_RECORDED_USER, time_of(&usage->ru_utime));
    add_number(note, WP_RECORDED_SYSTEM, time_of(&usage->ru_stime));
    add_number(note, WP_RECORDED_RSS, (uint64_t)usage->ru_maxrss * 1024);
    add_number(note, WP_RECORDED_MINOR_FAULTS, (uint64_t)usage->ru_minflt);
    add_number(note, WP_RECORDED_MAJOR_FAULTS, (uint64_t)usage->ru_majflt);
    add_number(note, WP_RECORDED_VOLUNTARY, (uint64_t)usage->ru_nvcsw);
    add_number(note, WP_RECORDED_INVOLUNTARY, (uint64_t)usage->ru_nivcsw);
}

void wp_command_commit(struct wp_commit *commit, const char *release)
{
    if (wp_commits_read(commit, ".", &release, 1, COMMIT_MS, NULL))
        *commit->id = 0;
}

static void add_commit(struct note *note, struct wp_commit *commit)
{
    size_t room;
    if (!commit || !*commit->id)
        return;
    for (unsigned i = 0; i < WP_COMMIT_TEXTS; i++)
        add_text(note, wp_commit_keys[i], wp_commit_text_at(commit, i, &room));
}

static void add_recorded(struct note *note, char load[32])
{
    double average = 0;
    if (getloadavg(&average, 1) == 1)
        snprintf(load, 32, "%.1f", average);
    add_text(note, WP_RECORDED_LOAD, load);
    add_text(note, WP_RECORDED_COMMAND, note->of->line);
    note->common = note->count;
    add_text(note, WP_RECORDED_DIRECTORY, note->of->directory);
    add_child(note, note->of->child);
}

/* --- with whom --- */

struct likeness {
    const struct note *note;
    const char *shard;
    uint64_t times; /* noted before, by this shard */
    unsigned differs;
    bool selects_command;
    bool has_command, has_workload; /* the aggregate */
};

static bool is_fact(const struct note *note, const char *key, const char *value)
{
    for (size_t i = 0; i < WP_BUCKET_FACTS; i++)
        if (!strcmp(note->facts[i].key, key))
            return !strcmp(note->facts[i].value, value);
    return false;
}

static int compare_row(void *context, const struct wp_metadata_row *row)
{
    struct likeness *likeness = context;
    bool is_command = !strcmp(row->key, WP_BUCKET_PREFIX "command");
    bool is_workload = !strcmp(row->key, WP_BUCKET_PREFIX "workload");
    if (!strcmp(row->key, WP_RECORDED_TIMES) && !strcmp(row->shard, likeness->shard))
        likeness->times = strtoull(row->value, NULL, 10);
    if (!row->is_winner)
        return 0;
    if ((is_command || is_workload) && !is_fact(likeness->note, row->key, row->value))
        likeness->differs++;
    likeness->has_command |= is_command;
    likeness->has_workload |= is_workload;
    likeness->selects_command |=
        !strcmp(row->key, WP_BUCKET_PREFIX "selector") && strstr(row->value, "command") != NULL;
    return 0;
}

static bool is_filled(struct wp_txn *txn, const struct note *note, const char *aggregate, struct likeness *likeness)
{
    struct wp_metadata_scope scope = {.aggregate = aggregate};
    if (wp_txn_all_metadata(txn, &scope, compare_row, likeness, NULL))
        return false; /* damaged: verify says so */
    return !likeness->differs && likeness->has_command == (note->of->line != NULL) &&
        likeness->has_workload == (note->of->workload != NULL) && (note->of->line || likeness->selects_command);
}

static int put_aggregate(struct wp_txn *txn, struct note *note, const char *name, const struct likeness *likeness)
{
    const struct wp_metadata_scope scope = {.aggregate = name};
    size_t count = note->count;
    add_number(note, WP_RECORDED_TIMES, likeness->times + 1);
    int rc = wp_txn_put_metadata_at(txn, &scope, &(struct wp_metadata_writer){likeness->shard, note->real_s},
        note->entries + note->commit, note->count - note->commit, note->err);
    note->count = count;
    return rc;
}

static int put_aggregates(struct wp_txn *txn, struct note *note, const char *shard)
{
    char **names = NULL;
    size_t count = 0;
    int rc = wp_txn_aggregates(txn, &names, &count, note->err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct likeness likeness = {.note = note, .shard = shard};
        if (!is_filled(txn, note, names[i], &likeness))
            continue;
        if (wp_bucket_is_of(names[i], "main", 4))
            snprintf(note->aggregate, WP_ID_ROOM, "%.*s",
                wp_bucket_is_alone(names, count, names[i]) ? 4 : (int)strlen(names[i]), names[i]);
        rc = put_aggregate(txn, note, names[i], &likeness);
    }
    wp_strings_free(names, count);
    return rc;
}

static int put_note(struct wp_txn *txn, void *context)
{
    struct note *note = context;
    const struct wp_metadata_scope scope = {.aggregate = NULL};
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(txn, &shards, &count, note->err);
    if (!rc && !count)
        rc = wp_error_set(note->err, -ENOENT, "the release has no shard");
    if (!rc) /* at the same second the greater one holds */
        rc = wp_txn_put_metadata_at(txn, &scope, &(struct wp_metadata_writer){shards[count - 1], note->real_s},
            note->entries, note->common, note->err);
    if (!rc && note->of->child)
        rc = put_aggregates(txn, note, shards[count - 1]);
    wp_strings_free(shards, count);
    return rc;
}

int wp_command_note(const struct wp_command_note *of, char aggregate[WP_ID_ROOM], struct wp_error *err)
{
    const struct wp_bucket bucket = {.selector = "", .command = of->line, .workload = of->workload};
    struct note note = {.of = of, .real_s = (uint64_t)time(NULL), .aggregate = aggregate, .err = err};
    struct wp_store *store = NULL;
    char load[32] = "";
    *aggregate = 0;
    wp_bucket_facts(note.facts, "", &bucket);
    add_commit(&note, of->commit);
    note.commit = note.common = note.count;
    if (of->child)
        add_recorded(&note, load);
    if (!note.count)
        return 0;
    int rc = wp_store_open(&store, of->root, true, err);
    if (!rc && of->is_unsynced)
        wp_store_set_unsynced(store);
    if (!rc)
        rc = wp_store_update(store, of->release, put_note, &note, err);
    wp_store_close(store);
    return rc;
}
