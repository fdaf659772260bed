/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_note.h"

#include "common/buffer.h"
#include "common/strings.h"
#include "reporter/read/commits.h"
#include "storage/env/store.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMAND_BYTES 1000u /* of its words: who reads it knows the rest */

struct note {
    struct wp_metadata_entry entries[2 + WP_COMMIT_TEXTS];
    size_t count;
    struct wp_error *err;
};

static int put_note(struct wp_txn *txn, void *context)
{
    const struct note *note = context;
    const struct wp_metadata_scope scope = {.aggregate = NULL};
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(txn, &shards, &count, note->err);
    if (!rc && !count)
        rc = wp_error_set(note->err, -ENOENT, "the release has no shard");
    if (!rc) /* at the same second the greater one holds */
        rc = wp_txn_put_metadata_at(txn, &scope, &(struct wp_metadata_writer){shards[count - 1], (uint64_t)time(NULL)},
            note->entries, note->count, note->err);
    wp_strings_free(shards, count);
    return rc;
}

/* Words with a blank in them are quoted; nobody runs the line again. */
static void put_words(struct wp_buffer *line, char *const *words)
{
    for (size_t i = 0; words[i] && line->size < COMMAND_BYTES; i++) {
        bool is_quoted = !*words[i] || strpbrk(words[i], " \t\n'\"");
        wp_buffer_printf(line, "%s%s%s%s", i ? " " : "", is_quoted ? "'" : "", words[i], is_quoted ? "'" : "");
    }
    line->size = line->size < COMMAND_BYTES ? line->size : COMMAND_BYTES;
    for (size_t i = 0; i < line->size; i++)
        line->data[i] = line->data[i] < ' ' ? ' ' : line->data[i];
    wp_buffer_putc(line, 0);
}

static void put_entry(struct note *note, const char *key, const char *value)
{
    if (value && *value)
        note->entries[note->count++] = (struct wp_metadata_entry){key, value};
}

/* Of the repository that this folder is in; without one, or when that does not know the release, nothing. */
static void put_commit(struct note *note, struct wp_commit *commit, const char *release)
{
    size_t room;
    if (wp_commits_read(commit, ".", &release, 1, NULL) || !*commit->id)
        return;
    for (unsigned i = 0; i < WP_COMMIT_TEXTS; i++)
        put_entry(note, wp_commit_keys[i], wp_commit_text_at(commit, i, &room));
}

static void put_load(char text[32])
{
    double load = 0;
    if (getloadavg(&load, 1) == 1)
        snprintf(text, 32, "%.1f", load);
}

int wp_command_note(const char *root, const char *release, char *const *command, struct wp_error *err)
{
    struct wp_buffer line = {0};
    struct wp_store *store = NULL;
    struct wp_commit commit;
    struct note note = {.err = err};
    char text[32] = "";
    put_commit(&note, &commit, release);
    if (command) {
        put_words(&line, command);
        put_entry(&note, "recorded.command", (const char *)line.data);
        put_load(text);
        put_entry(&note, "recorded.load", text);
    }
    int rc = line.failed ? wp_error_set(err, -ENOMEM, "out of memory for the command") : 0;
    if (!rc && !note.count)
        return 0;
    if (!rc)
        rc = wp_store_open(&store, root, true, err);
    if (!rc)
        rc = wp_store_update(store, release, put_note, &note, err);
    wp_store_close(store);
    wp_buffer_fini(&line);
    return rc;
}
