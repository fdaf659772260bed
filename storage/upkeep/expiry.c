/* SPDX-License-Identifier: Apache-2.0 */
/* State that outlives its use: sessions that are over, processes that nothing refers to, blobs that no process has. */
#include "storage/upkeep/expiry.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_store.h"
#include "storage/kind/source_store.h"
#include "storage/report/report_read.h"
#include "storage/value/columns.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sessions --- */

static int drop_processed(struct wp_txn *txn, const struct wp_retention *rule, const char *shard,
    const uint8_t session[16], const char *why, struct wp_error *err)
{
    struct wp_key key = {.kind = WP_VALUE_PROCESSED};
    char text[WP_KEY_ROOM];
    memcpy(key.session, session, 16);
    snprintf(key.shard, sizeof(key.shard), "%s", shard);
    int rc = wp_key_format(&key, text, err);
    if (!rc)
        rc = wp_retention_delete(txn, rule, text, why, err);
    return rc == -ENOENT ? 0 : rc;
}

struct choice {
    const uint8_t *session; /* that one; NULL: those that are old */
    uint64_t until_s;       /* old: heard of last before this */
    const char *why;
};

static bool is_chosen(const struct choice *choice, const Wakepath__Store__LastSample__Entry *entry, uint64_t state_s)
{
    if (entry->session.len != 16)
        return false;
    return choice->session ? !memcmp(entry->session.data, choice->session, 16)
                           : wp_sum(entry->real_s, state_s) <= choice->until_s;
}

static int drop_sessions(struct wp_txn *txn, const struct wp_retention *rule, const char *shard,
    const struct choice *choice, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_key key = {.kind = WP_VALUE_LAST_SAMPLE};
    snprintf(key.shard, sizeof(key.shard), "%s", shard);
    int rc = wp_txn_get_key(txn, &key, &bytes, NULL);
    Wakepath__Store__LastSample *m = rc
        ? NULL
        : (Wakepath__Store__LastSample *)wp_message_unpack(
              &wakepath__store__last_sample__descriptor, bytes.data, bytes.size, "last_sample", NULL);
    wp_buffer_clear(&bytes);
    rc = 0; /* none, or damaged: that stays as it is */
    size_t kept = 0, count = m ? m->n_entries : 0;
    for (size_t i = 0; !rc && i < count; i++) {
        Wakepath__Store__LastSample__Entry *entry = m->entries[i];
        if (!is_chosen(choice, entry, rule->state_s)) {
            m->entries[i] = m->entries[kept]; /* those that go gather at the end, to be freed with the rest */
            m->entries[kept++] = entry;
        } else {
            rc = drop_processed(txn, rule, shard, entry->session.data, choice->why, err);
        }
    }
    if (!rc && kept < count) {
        m->n_entries = kept;
        rc = wp_message_pack(&m->base, &bytes, err);
        m->n_entries = count;
        if (!rc)
            rc = wp_txn_put_key(txn, &key, bytes.data, bytes.size, err);
    }
    if (m)
        wakepath__store__last_sample__free_unpacked(m, NULL);
    wp_buffer_fini(&bytes);
    return rc;
}

static int expire_sessions(struct wp_txn *txn, const struct wp_retention *rule, const char *shard, struct wp_error *err)
{
    return drop_sessions(txn, rule, shard, &(struct choice){NULL, rule->roll_up.now_s, "old session"}, err);
}

int wp_txn_drop_session(
    struct wp_txn *txn, const struct wp_retention *rule, const uint8_t session[16], struct wp_error *err)
{
    const struct choice choice = {.session = session, .why = "asked for"};
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(txn, &shards, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = drop_sessions(txn, rule, shards[i], &choice, err);
        if (!rc) /* also one that last_sample does not name */
            rc = drop_processed(txn, rule, shards[i], session, choice.why, err);
    }
    wp_strings_free(shards, count);
    return rc;
}

/* --- processes --- */

struct process {
    uint32_t host, pid;
    uint64_t start_ns;
};

struct needs {
    const struct wp_retention *rule;
    struct wp_intern *hosts;
    struct process *processes; /* of the reports that are kept; sorted */
    uint32_t count, room;
    bool is_blind; /* a report could not be read: nothing may go */
};

static int compare_processes(const void *left, const void *right)
{
    const struct process *a = left, *b = right;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Each process once: a process stands in report after report. */
static void tidy(struct needs *needs)
{
    uint32_t kept = 0;
    if (needs->count)
        qsort(needs->processes, needs->count, sizeof(*needs->processes), compare_processes);
    for (uint32_t i = 0; i < needs->count; i++)
        if (!i || compare_processes(&needs->processes[i], &needs->processes[kept - 1]))
            needs->processes[kept++] = needs->processes[i];
    needs->count = kept;
}

static int add_report(struct needs *needs, const struct wp_report *report)
{
    uint32_t count;
    const struct wp_report_process *rows = wp_report_processes(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (needs->count == needs->room)
            tidy(needs);
        uint32_t host = wp_intern_str(needs->hosts, wp_report_text(report, rows[i].host));
        if (host == UINT32_MAX ||
            wp_rows_grow(&needs->processes, &needs->room, needs->count, sizeof(*needs->processes)))
            return -ENOMEM;
        needs->processes[needs->count++] = (struct process){host, rows[i].pid, rows[i].start_ns};
    }
    return 0;
}

static int gather(struct wp_txn *txn, struct needs *needs, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = wp_txn_keys(txn, "", &keys, &count, err);
    needs->hosts = rc ? NULL : wp_intern_create();
    if (!rc && !needs->hosts)
        rc = -ENOMEM;
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_report *report = NULL;
        if (wp_key_parse(&key, keys[i], NULL) || key.kind != WP_VALUE_REPORT)
            continue;
        rc = wp_txn_decode_report(txn, keys[i], &report, err);
        if (!rc)
            rc = add_report(needs, report);
        if (wp_is_damage(rc)) {
            needs->is_blind = true;
            rc = 0;
        }
        wp_report_destroy(report);
    }
    wp_strings_free(keys, count);
    tidy(needs);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the processes of the reports") : rc;
}

static bool is_in_reports(const struct needs *needs, const char *host, uint32_t pid, uint64_t start_ns)
{
    struct process wanted = {wp_intern_find(needs->hosts, host, strlen(host)), pid, 0};
    if (wanted.host == UINT32_MAX)
        return false;
    uint32_t low = WP_LOWER_BOUND(middle, 0, needs->count, compare_processes(&needs->processes[middle], &wanted) < 0);
    for (; low < needs->count && needs->processes[low].host == wanted.host && needs->processes[low].pid == pid; low++)
        if (wp_genealogy_same_start(needs->processes[low].start_ns, start_ns))
            return true;
    return false;
}

/* One that began not long ago may still live, and so may one whose begin is not known. */
static bool is_needed(const struct needs *needs, const char *host, uint32_t pid, uint64_t start_ns)
{
    return needs->is_blind || !start_ns ||
        wp_sum(start_ns / WP_NS_PER_S, needs->rule->state_s) > needs->rule->roll_up.now_s ||
        is_in_reports(needs, host, pid, start_ns);
}

static bool row_is_needed(void *context, const struct wp_genealogy_row *row)
{
    return is_needed(context, row->host, row->pid, row->start_ns);
}

static int expire_genealogy(struct wp_txn *txn, const struct needs *needs, const char *shard, struct wp_error *err)
{
    char key[WP_KEY_ROOM], why[80];
    size_t dropped;
    int rc = wp_genealogy_expire(txn, shard, row_is_needed, (void *)(uintptr_t)needs, &dropped, err);
    if (rc || !dropped || !needs->rule->gone)
        return rc;
    snprintf(key, sizeof(key), "__state__/genealogy.%s", shard);
    snprintf(why, sizeof(why), "%zu processes that nothing refers to", dropped);
    needs->rule->gone(needs->rule->context, key, 0, why);
    return 0;
}

static bool process_is_needed(void *context, const char *host, uint32_t pid, uint64_t start_ns)
{
    return is_needed(context, host, pid, start_ns);
}

static int expire_sources(struct wp_txn *txn, const struct needs *needs, const char *shard, struct wp_error *err)
{
    char key[WP_KEY_ROOM], why[80];
    size_t dropped;
    int rc = wp_source_expire(txn, shard, process_is_needed, (void *)(uintptr_t)needs, &dropped, err);
    if (rc || !dropped || !needs->rule->gone)
        return rc;
    snprintf(key, sizeof(key), "__state__/source.%s", shard);
    snprintf(why, sizeof(why), "%zu processes that nothing refers to", dropped);
    needs->rule->gone(needs->rule->context, key, 0, why);
    return 0;
}

int wp_txn_expire_state(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err)
{
    struct needs needs = {.rule = rule};
    char **shards = NULL;
    size_t count = 0;
    int rc = wp_txn_shards(txn, &shards, &count, err);
    if (!rc)
        rc = gather(txn, &needs, err);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = expire_sessions(txn, rule, shards[i], err);
        if (!rc)
            rc = expire_genealogy(txn, &needs, shards[i], err);
        if (!rc)
            rc = expire_sources(txn, &needs, shards[i], err);
    }
    wp_strings_free(shards, count);
    wp_intern_destroy(needs.hosts);
    free(needs.processes);
    return rc;
}

/* --- blobs --- */

struct references {
    uint8_t (*digests)[16];
    uint32_t count, room;
};

static int add_references(struct references *refs, const Wakepath__Store__Source *m)
{
    for (size_t i = 0; i < m->n_processes; i++)
        for (size_t j = 0; j < m->processes[i]->n_digests; j++) {
            if (m->processes[i]->digests[j].len != 16)
                continue;
            if (wp_rows_grow(&refs->digests, &refs->room, refs->count, sizeof(*refs->digests)))
                return -ENOMEM;
            memcpy(refs->digests[refs->count++], m->processes[i]->digests[j].data, 16);
        }
    return 0;
}

static int compare_digests(const void *left, const void *right)
{
    return memcmp(left, right, 16);
}

/* -EBADMSG: a list cannot be read. */
static int gather_references(struct wp_txn *txn, struct references *refs, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    int rc = wp_txn_keys(txn, "__state__/source.", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_buffer bytes = {0};
        Wakepath__Store__Source *m = NULL;
        rc = wp_txn_get(txn, keys[i], WP_VALUE_SOURCE, &bytes, err);
        if (!rc)
            m = (Wakepath__Store__Source *)wp_message_unpack(
                &wakepath__store__source__descriptor, bytes.data, bytes.size, "source", err);
        if (!rc)
            rc = m ? add_references(refs, m) : -errno;
        if (m)
            wakepath__store__source__free_unpacked(m, NULL);
        wp_buffer_fini(&bytes);
    }
    wp_strings_free(keys, count);
    if (!rc && refs->count)
        qsort(refs->digests, refs->count, sizeof(*refs->digests), compare_digests);
    return rc;
}

int wp_txn_drop_blobs(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err)
{
    struct references refs = {0};
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = gather_references(txn, &refs, err);
    if (wp_is_damage(rc)) { /* who knows what it named: all blobs stay */
        free(refs.digests);
        return 0;
    }
    if (!rc)
        rc = wp_txn_keys(txn, "__source__/", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        if (!wp_key_parse(&key, keys[i], NULL) &&
            !(refs.count && bsearch(key.digest, refs.digests, refs.count, 16, compare_digests)))
            rc = wp_retention_delete(txn, rule, keys[i], "blob without a reference", err);
    wp_strings_free(keys, count);
    free(refs.digests);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the references to blobs") : rc;
}
