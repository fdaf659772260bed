/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/commit/commit_timebox.h"

#include "common/array.h"
#include "storage/kind/metadata_store.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_ROOM 512u

struct late {
    const char *host; /* NULL: several */
    uint64_t events, total_ns;
};

struct wp_timebox_note {
    const char *bucket;
    uint64_t timebox_s;
    const struct wp_host_session **sessions; /* that are new in it; owned array */
    size_t session_count;
    struct late *late; /* owned */
    size_t late_count;
};

static struct wp_timebox_note *note_of(struct wp_timebox_notes *notes, const char *bucket, uint64_t timebox_s)
{
    for (size_t i = 0; i < notes->count; i++)
        if (notes->rows[i].timebox_s == timebox_s && !strcmp(notes->rows[i].bucket, bucket))
            return &notes->rows[i];
    if (WP_ARRAY_NEXT(notes->rows, notes->count))
        return NULL;
    notes->rows[notes->count] = (struct wp_timebox_note){.bucket = bucket, .timebox_s = timebox_s};
    return &notes->rows[notes->count++];
}

int wp_timebox_notes_late(struct wp_timebox_notes *notes, const char *bucket, uint64_t timebox_s, const char *host,
    const struct wp_report *report)
{
    struct late late = {.host = host, .total_ns = wp_report_total(report)};
    uint32_t count;
    const struct wp_event_count *events = wp_report_event_counts(report, &count);
    for (uint32_t i = 0; i < count; i++)
        late.events += events[i].total;
    if (!late.events && !late.total_ns)
        return 0;
    struct wp_timebox_note *note = note_of(notes, bucket, timebox_s);
    if (!note || WP_ARRAY_NEXT(note->late, note->late_count))
        return -ENOMEM;
    note->late[note->late_count++] = late;
    return 0;
}

int wp_timebox_notes_host(
    struct wp_timebox_notes *notes, const char *bucket, uint64_t timebox_s, const struct wp_host_session *session)
{
    struct wp_timebox_note *note = note_of(notes, bucket, timebox_s);
    if (!note || WP_ARRAY_NEXT(note->sessions, note->session_count))
        return -ENOMEM;
    note->sessions[note->session_count++] = session;
    return 0;
}

/* --- what is written --- */

struct said {
    char *key; /* owned */
    uint64_t number;
};

struct writing {
    const struct wp_commit_options *options;
    struct wp_metadata_entry *entries; /* owned, and their texts */
    size_t count, room;
    struct said *said; /* by this shard so far of what was late, by key; owned */
    size_t said_count, said_room;
    bool failed;
};

static void put_entry(struct writing *w, const char *key, const char *value)
{
    if (WP_ARRAY_FIT(w->entries, w->room, w->count + 1)) {
        w->failed = true;
        return;
    }
    struct wp_metadata_entry entry = {strdup(key), strdup(value)};
    w->entries[w->count++] = entry;
    w->failed |= !entry.key || !entry.value;
}

static void put_host_facts(struct writing *w, const struct wp_host_session *session)
{
    const char *hostname = wp_host_session_source(session)->hostname;
    const struct wp_hello *hello = &wp_host_session_source(session)->hello;
    const struct wp_metadata_entry facts[] = {
        {"kernel", hello->kernel}, {"boot", hello->boot_id}, {"version", hello->version}};
    char key[KEY_ROOM];
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        snprintf(key, sizeof(key), "host.%.200s.%s", hostname, facts[i].key);
        put_entry(w, key, facts[i].value ? facts[i].value : "");
    }
    for (uint32_t i = 0; i < hello->label_count; i++) {
        snprintf(key, sizeof(key), "host.%.200s.label.%.255s", hostname, hello->labels[i].key);
        put_entry(w, key, hello->labels[i].value);
    }
}

/* Rows come by key. */
static int recall(void *context, const struct wp_metadata_row *row)
{
    struct writing *w = context;
    if (strcmp(row->shard, w->options->shard) || !strstr(row->key, "late."))
        return 0;
    if (WP_ARRAY_FIT(w->said, w->said_room, w->said_count + 1))
        return -ENOMEM;
    char *key = strdup(row->key);
    if (!key)
        return -ENOMEM;
    w->said[w->said_count++] = (struct said){key, strtoull(row->value, NULL, 10)};
    return 0;
}

static int compare_said(const void *key, const void *said)
{
    return strcmp(key, ((const struct said *)said)->key);
}

/* What the shard has said before, and so much more. */
static void put_more_facts(struct writing *w, const char *key, uint64_t more)
{
    const struct said *said = w->said_count ? bsearch(key, w->said, w->said_count, sizeof(*said), compare_said) : NULL;
    uint64_t before = said ? said->number : 0;
    char value[32];
    snprintf(value, sizeof(value), "%" PRIu64, before + more < more ? UINT64_MAX : before + more);
    put_entry(w, key, value);
}

static int put_late_facts(struct writing *w, struct wp_txn *txn, const struct wp_metadata_scope *place,
    const struct wp_timebox_note *note, struct wp_error *err)
{
    uint64_t events = 0, total_ns = 0;
    char key[KEY_ROOM];
    int rc = wp_txn_all_metadata(txn, place, recall, w, err);
    for (size_t i = 0; !rc && i < note->late_count; i++) { /* hosts come once each, and several together once */
        const struct late *late = &note->late[i];
        events += late->events;
        total_ns += late->total_ns;
        if (!late->host)
            continue;
        snprintf(key, sizeof(key), "host.%.200s.late.events", late->host);
        put_more_facts(w, key, late->events);
        snprintf(key, sizeof(key), "host.%.200s.late.total_ns", late->host);
        put_more_facts(w, key, late->total_ns);
    }
    put_more_facts(w, "late.events", events);
    put_more_facts(w, "late.total_ns", total_ns);
    snprintf(key, sizeof(key), "%" PRIu64, w->options->real_now_s);
    put_entry(w, "late.last_s", key);
    return rc;
}

static int write_note(const struct wp_timebox_note *note, struct wp_txn *txn, const struct wp_commit_options *options,
    struct wp_error *err)
{
    struct wp_metadata_scope place = {note->bucket, true, note->timebox_s};
    struct writing w = {.options = options};
    for (size_t i = 0; i < note->session_count; i++)
        put_host_facts(&w, note->sessions[i]);
    int rc = note->late_count ? put_late_facts(&w, txn, &place, note, err) : 0;
    if (!rc && w.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for metadata of a timebox");
    if (!rc)
        rc = wp_txn_put_metadata_at(
            txn, &place, &(struct wp_metadata_writer){options->shard, options->real_now_s}, w.entries, w.count, err);
    for (size_t i = 0; i < w.count; i++) {
        free((char *)(uintptr_t)w.entries[i].key);
        free((char *)(uintptr_t)w.entries[i].value);
    }
    free(w.entries);
    for (size_t i = 0; i < w.said_count; i++)
        free(w.said[i].key);
    free(w.said);
    return rc;
}

int wp_timebox_notes_write(const struct wp_timebox_notes *notes, struct wp_txn *txn,
    const struct wp_commit_options *options, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < notes->count; i++)
        rc = write_note(&notes->rows[i], txn, options, err);
    return rc;
}

void wp_timebox_notes_count(const struct wp_timebox_notes *notes, struct wp_late_counts *counts)
{
    for (size_t i = 0; i < notes->count; i++)
        for (size_t j = 0; j < notes->rows[i].late_count; j++) {
            counts->reports++;
            counts->total_ns += notes->rows[i].late[j].total_ns;
        }
}

void wp_timebox_notes_fini(struct wp_timebox_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        free(notes->rows[i].sessions);
        free(notes->rows[i].late);
    }
    free(notes->rows);
    *notes = (struct wp_timebox_notes){0};
}
