/* SPDX-License-Identifier: Apache-2.0 */
/* Who started whom: rows of (host, pid, start) with their parents, a set. */
#include "storage/kind/genealogy_store.h"

#include "common/array.h"
#include "common/clock.h"
#include "proto/store.pb-c.h"
#include "storage/kind/chunks.h"
#include "storage/kind/latest.h"
#include "storage/value/columns.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    uint32_t host, comm, exe, pid, parent_pid;
    uint64_t start_ns, parent_start_ns;
    uint64_t exec_ns, end_ns; /* from here on: no part of who it is */
    uint32_t ending;
    uint32_t oom_cgroup, oom_holder;
    uint64_t oom_bytes;
    uint32_t cgroup, workload;
};

struct genealogy {
    struct wp_intern *strings;
    struct row *rows;
    uint32_t count, room;
};

static int compare_texts(const struct wp_intern *strings, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(wp_intern_text(strings, a), wp_intern_text(strings, b));
}

#define COMPARE(a, b)                                                                                                  \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct wp_intern *strings = context;
    const struct row *a = left, *b = right;
    int rc = compare_texts(strings, a->host, b->host);
    if (rc)
        return rc;
    COMPARE(a->pid, b->pid);
    COMPARE(a->start_ns, b->start_ns);
    COMPARE(a->parent_pid, b->parent_pid);
    COMPARE(a->parent_start_ns, b->parent_start_ns);
    rc = compare_texts(strings, a->comm, b->comm);
    return rc ? rc : compare_texts(strings, a->exe, b->exe);
}

static int add_row(struct genealogy *all, struct row row)
{
    if (row.host == UINT32_MAX || row.comm == UINT32_MAX || row.exe == UINT32_MAX || row.oom_cgroup == UINT32_MAX ||
        row.oom_holder == UINT32_MAX || row.cgroup == UINT32_MAX || row.workload == UINT32_MAX ||
        wp_rows_grow(&all->rows, &all->room, all->count, sizeof(*all->rows)))
        return -ENOMEM;
    all->rows[all->count++] = row;
    return 0;
}

static int start(struct genealogy *all, struct wp_error *err)
{
    *all = (struct genealogy){.strings = wp_intern_create()};
    return all->strings ? 0 : wp_error_set(err, -ENOMEM, "out of memory for a genealogy");
}

static void finish(struct genealogy *all)
{
    wp_intern_destroy(all->strings);
    free(all->rows);
}

static uint32_t text_here(struct genealogy *all, const Wakepath__Store__Genealogy *m, uint32_t id)
{
    return id ? wp_intern_id(all->strings, (const char *)m->strings[id - 1].data, m->strings[id - 1].len) : 0;
}

static bool is_column(size_t length, size_t rows)
{
    return !length || length == rows;
}

static int check_endings(const Wakepath__Store__Genealogy *m, struct wp_error *err)
{
    if (!is_column(m->n_exec_ns, m->n_pid) || !is_column(m->n_end_ns, m->n_pid) || !is_column(m->n_ending, m->n_pid))
        return wp_error_set(err, -EBADMSG, "columns of a genealogy are not equally long");
    if (!is_column(m->n_oom_cgroup, m->n_pid) || !is_column(m->n_oom_holder, m->n_pid) ||
        !is_column(m->n_oom_bytes, m->n_pid) || !is_column(m->n_cgroup, m->n_pid) ||
        !is_column(m->n_workload, m->n_pid))
        return wp_error_set(err, -EBADMSG, "columns of a genealogy are not equally long");
    int rc = wp_ids_check(m->ending, m->n_ending, WP_ENDING_MOST, "ending of a process", err);
    if (!rc)
        rc = wp_ids_check(m->oom_cgroup, m->n_oom_cgroup, m->n_strings, "cgroup without memory", err);
    if (!rc)
        rc = wp_ids_check(m->oom_holder, m->n_oom_holder, m->n_strings, "holder of memory", err);
    if (!rc)
        rc = wp_ids_check(m->cgroup, m->n_cgroup, m->n_strings, "cgroup of a process", err);
    return rc ? rc : wp_ids_check(m->workload, m->n_workload, m->n_strings, "container of a process", err);
}

static struct row row_here(struct genealogy *all, const Wakepath__Store__Genealogy *m, size_t i)
{
    return (struct row){.host = text_here(all, m, m->host[i]),
        .comm = text_here(all, m, m->comm[i]),
        .exe = text_here(all, m, m->exe[i]),
        .pid = m->pid[i],
        .parent_pid = m->parent_pid[i],
        .start_ns = m->start_ns[i],
        .parent_start_ns = m->parent_start_ns[i],
        .exec_ns = m->n_exec_ns ? m->exec_ns[i] : 0,
        .end_ns = m->n_end_ns ? m->end_ns[i] : 0,
        .ending = m->n_ending ? m->ending[i] : 0,
        .oom_cgroup = m->n_oom_cgroup ? text_here(all, m, m->oom_cgroup[i]) : 0,
        .oom_holder = m->n_oom_holder ? text_here(all, m, m->oom_holder[i]) : 0,
        .oom_bytes = m->n_oom_bytes ? m->oom_bytes[i] : 0,
        .cgroup = m->n_cgroup ? text_here(all, m, m->cgroup[i]) : 0,
        .workload = m->n_workload ? text_here(all, m, m->workload[i]) : 0};
}

static int take_row(void *context, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct genealogy *all = context;
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__genealogy__descriptor, bytes, size, "genealogy", err);
    if (!message)
        return -errno;
    const Wakepath__Store__Genealogy *m = (const Wakepath__Store__Genealogy *)message;
    int rc = WP_LENGTHS("genealogy", err, m->n_host, m->n_comm, m->n_exe, m->n_pid, m->n_parent_pid, m->n_start_ns,
        m->n_parent_start_ns);
    if (!rc)
        rc = wp_texts_check(m->strings, m->n_strings, "genealogy", err);
    if (!rc)
        rc = wp_ids_check(m->host, m->n_host, m->n_strings, "host of a process", err);
    if (!rc)
        rc = wp_ids_check(m->comm, m->n_comm, m->n_strings, "name of a process", err);
    if (!rc)
        rc = wp_ids_check(m->exe, m->n_exe, m->n_strings, "file of a process", err);
    if (!rc)
        rc = check_endings(m, err);
    for (size_t i = 0; !rc && i < m->n_pid; i++)
        if (add_row(all, row_here(all, m, i)))
            rc = wp_error_set(err, -ENOMEM, "out of memory for a genealogy");
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

#define SAME_START_NS (2 * WP_NS_PER_S) /* two sessions' clocks tell one start a little apart */

struct expiry {
    const struct genealogy *all;
    bool *is_kept;
    uint32_t *queue, queued, most;
};

static void keep_row(struct expiry *expiry, uint32_t row)
{
    if (expiry->is_kept[row] || expiry->queued >= expiry->most)
        return;
    expiry->is_kept[row] = true;
    expiry->queue[expiry->queued++] = row;
}

bool wp_genealogy_same_start(uint64_t a_ns, uint64_t b_ns)
{
    return !a_ns || !b_ns || (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) <= SAME_START_NS;
}

static bool is_before_parent(const struct genealogy *all, const struct row *row, const struct row *child)
{
    int rc = compare_texts(all->strings, row->host, child->host);
    return rc < 0 || (!rc && row->pid < child->parent_pid);
}

/* The rows of the parent: they stand together, in order of host and pid. */
static void keep_parent(struct expiry *expiry, const struct row *child)
{
    const struct genealogy *all = expiry->all;
    uint32_t low = WP_LOWER_BOUND(middle, 0, all->count, is_before_parent(all, &all->rows[middle], child));
    for (; low < all->count && all->rows[low].pid == child->parent_pid &&
         !compare_texts(all->strings, all->rows[low].host, child->host);
         low++)
        if (wp_genealogy_same_start(all->rows[low].start_ns, child->parent_start_ns))
            keep_row(expiry, low);
}

static struct wp_genealogy_row row_shown(const struct genealogy *all, const struct row *row)
{
    return (struct wp_genealogy_row){.host = wp_intern_text(all->strings, row->host),
        .comm = wp_intern_text(all->strings, row->comm),
        .exe = wp_intern_text(all->strings, row->exe),
        .pid = row->pid,
        .parent_pid = row->parent_pid,
        .start_ns = row->start_ns,
        .parent_start_ns = row->parent_start_ns,
        .exec_ns = row->exec_ns,
        .end_ns = row->end_ns,
        .ending = row->ending,
        .oom_cgroup = wp_intern_text(all->strings, row->oom_cgroup),
        .oom_holder = wp_intern_text(all->strings, row->oom_holder),
        .oom_bytes = row->oom_bytes,
        .cgroup = wp_intern_text(all->strings, row->cgroup),
        .workload = wp_intern_text(all->strings, row->workload)};
}

/* Sorts and marks; whom a kept process descends from is kept. */
static int mark(struct genealogy *all, bool *is_kept,
    bool (*is_needed)(void *context, const struct wp_genealogy_row *row), void *context)
{
    struct expiry expiry = {all, is_kept, calloc(all->count + 1, sizeof(uint32_t)), 0, WP_GENEALOGY_ROWS};
    if (!expiry.queue)
        return -ENOMEM;
    qsort_r(all->rows, all->count, sizeof(*all->rows), compare_rows, all->strings);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct row *row = &all->rows[i];
        struct wp_genealogy_row shown = row_shown(all, row);
        if (is_needed(context, &shown))
            keep_row(&expiry, i);
    }
    for (uint32_t i = 0; i < expiry.queued; i++)
        keep_parent(&expiry, &all->rows[expiry.queue[i]]);
    free(expiry.queue);
    return 0;
}

/* --- too many --- */

static int compare_kinds(const void *rows, uint32_t left, uint32_t right)
{
    const struct genealogy *all = rows;
    const struct row *a = &all->rows[left], *b = &all->rows[right];
    int rc = compare_texts(all->strings, a->host, b->host);
    if (!rc)
        rc = compare_texts(all->strings, a->comm, b->comm);
    return rc ? rc : compare_texts(all->strings, a->exe, b->exe);
}

static uint64_t start_of(const void *rows, uint32_t row)
{
    return ((const struct genealogy *)rows)->rows[row].start_ns;
}

struct choice {
    const bool *is_chosen;
    uint32_t at;
};

static bool is_next_chosen(void *context, const struct wp_genealogy_row *row)
{
    struct choice *choice = context;
    (void)row;
    return choice->is_chosen[choice->at++];
}

static void drop(struct genealogy *all, const bool *is_kept)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (is_kept[i])
            all->rows[left++] = all->rows[i];
    all->count = left;
}

/* Sorted. Of processes that are started for ever the latest of each kind stay, and whom they descend from: what runs
 * for long is one of few. */
static int trim(struct genealogy *all)
{
    if (all->count <= WP_GENEALOGY_ROWS)
        return 0;
    const struct wp_latest latest = {all, all->count, WP_GENEALOGY_ROWS / 4 * 3, compare_kinds, start_of};
    bool *is_chosen = calloc(all->count, sizeof(*is_chosen)), *is_kept = calloc(all->count, sizeof(*is_kept));
    int rc = is_chosen && is_kept ? wp_latest_choose(&latest, is_chosen) : -ENOMEM;
    if (!rc)
        rc = mark(all, is_kept, is_next_chosen, &(struct choice){is_chosen, 0});
    if (!rc)
        drop(all, is_kept);
    free(is_chosen);
    free(is_kept);
    return rc;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t later_text(const struct wp_intern *strings, uint32_t a, uint32_t b)
{
    return compare_texts(strings, a, b) > 0 ? a : b;
}

/* Sorts; of rows of one process that differ in how it went on, one is left. */
static void fold(struct genealogy *all)
{
    uint32_t left = 0;
    if (all->count)
        qsort_r(all->rows, all->count, sizeof(*all->rows), compare_rows, all->strings);
    for (uint32_t i = 0; i < all->count; i++) {
        struct row *last = left ? &all->rows[left - 1] : NULL;
        const struct row *row = &all->rows[i];
        if (!last || compare_rows(row, last, all->strings)) {
            all->rows[left++] = *row;
            continue;
        }
        last->exec_ns = later(last->exec_ns, row->exec_ns);
        last->end_ns = later(last->end_ns, row->end_ns);
        last->ending = (uint32_t)later(last->ending, row->ending);
        last->oom_cgroup = later_text(all->strings, last->oom_cgroup, row->oom_cgroup);
        last->oom_holder = later_text(all->strings, last->oom_holder, row->oom_holder);
        last->oom_bytes = later(last->oom_bytes, row->oom_bytes);
        last->cgroup = later_text(all->strings, last->cgroup, row->cgroup);
        last->workload = later_text(all->strings, last->workload, row->workload);
    }
    all->count = left;
}

/* Strings are numbered as the sorted rows first name them. */
struct packer {
    const struct genealogy *all;
    Wakepath__Store__Genealogy message;
    uint32_t *ids;
};

static uint32_t text_there(struct packer *packer, uint32_t id)
{
    if (id && !packer->ids[id]) {
        packer->message.strings[packer->message.n_strings].data =
            (uint8_t *)(uintptr_t)wp_intern_text(packer->all->strings, id);
        packer->message.strings[packer->message.n_strings].len = wp_intern_size(packer->all->strings, id);
        packer->ids[id] = (uint32_t)++packer->message.n_strings;
    }
    return packer->ids[id];
}

static void put_row(struct packer *packer, const struct row *row)
{
    Wakepath__Store__Genealogy *m = &packer->message;
    m->host[m->n_host++] = text_there(packer, row->host);
    m->comm[m->n_comm++] = text_there(packer, row->comm);
    m->exe[m->n_exe++] = text_there(packer, row->exe);
    m->pid[m->n_pid++] = row->pid;
    m->parent_pid[m->n_parent_pid++] = row->parent_pid;
    m->start_ns[m->n_start_ns++] = row->start_ns;
    m->parent_start_ns[m->n_parent_start_ns++] = row->parent_start_ns;
    if (m->n_oom_cgroup)
        m->oom_cgroup[m->n_pid - 1] = text_there(packer, row->oom_cgroup);
    if (m->n_oom_holder)
        m->oom_holder[m->n_pid - 1] = text_there(packer, row->oom_holder);
    if (m->n_cgroup)
        m->cgroup[m->n_pid - 1] = text_there(packer, row->cgroup);
    if (m->n_workload)
        m->workload[m->n_pid - 1] = text_there(packer, row->workload);
}

/* A column without a value is left out. */
static void put_endings(const struct genealogy *all, struct wp_columns *columns, Wakepath__Store__Genealogy *m)
{
    m->exec_ns = wp_columns_u64(columns, all->count);
    m->end_ns = wp_columns_u64(columns, all->count);
    m->ending = wp_columns_u32(columns, all->count);
    m->oom_cgroup = wp_columns_u32(columns, all->count);
    m->oom_holder = wp_columns_u32(columns, all->count);
    m->oom_bytes = wp_columns_u64(columns, all->count);
    m->cgroup = wp_columns_u32(columns, all->count);
    m->workload = wp_columns_u32(columns, all->count);
    for (uint32_t i = 0; !columns->has_failed && i < all->count; i++) {
        const struct row *row = &all->rows[i];
        m->exec_ns[i] = row->exec_ns;
        m->end_ns[i] = row->end_ns;
        m->ending[i] = row->ending;
        m->n_exec_ns = row->exec_ns ? all->count : m->n_exec_ns;
        m->n_end_ns = row->end_ns ? all->count : m->n_end_ns;
        m->n_ending = row->ending ? all->count : m->n_ending;
        m->oom_bytes[i] = row->oom_bytes;
        m->n_oom_cgroup = row->oom_cgroup ? all->count : m->n_oom_cgroup;
        m->n_oom_holder = row->oom_holder ? all->count : m->n_oom_holder;
        m->n_oom_bytes = row->oom_bytes ? all->count : m->n_oom_bytes;
        m->n_cgroup = row->cgroup ? all->count : m->n_cgroup;
        m->n_workload = row->workload ? all->count : m->n_workload;
    }
}

static int pack(void *context, struct wp_buffer *out, struct wp_error *err)
{
    struct genealogy *all = context;
    fold(all);
    if (trim(all))
        return wp_error_set(err, -ENOMEM, "out of memory for a genealogy");
    struct wp_columns columns = {0};
    struct packer packer = {.all = all};
    Wakepath__Store__Genealogy *m = &packer.message;
    wakepath__store__genealogy__init(m);
    m->strings = wp_columns_texts(&columns, wp_intern_count(all->strings));
    packer.ids = wp_columns_u32(&columns, wp_intern_count(all->strings));
    m->host = wp_columns_u32(&columns, all->count);
    m->comm = wp_columns_u32(&columns, all->count);
    m->exe = wp_columns_u32(&columns, all->count);
    m->pid = wp_columns_u32(&columns, all->count);
    m->parent_pid = wp_columns_u32(&columns, all->count);
    m->start_ns = wp_columns_u64(&columns, all->count);
    m->parent_start_ns = wp_columns_u64(&columns, all->count);
    put_endings(all, &columns, m);
    int rc = columns.has_failed ? wp_error_set(err, -ENOMEM, "out of memory for a genealogy") : 0;
    if (!rc) {
        for (uint32_t i = 0; i < all->count; i++)
            put_row(&packer, &all->rows[i]);
        rc = wp_message_pack(&m->base, out, err);
    }
    wp_columns_fini(&columns);
    return rc;
}

static struct row row_given(struct genealogy *all, const struct wp_genealogy_row *given)
{
    return (struct row){.host = wp_rows_string(all->strings, given->host),
        .comm = wp_rows_string(all->strings, given->comm),
        .exe = wp_rows_string(all->strings, given->exe),
        .pid = given->pid,
        .parent_pid = given->parent_pid,
        .start_ns = given->start_ns,
        .parent_start_ns = given->parent_start_ns,
        .exec_ns = given->exec_ns,
        .end_ns = given->end_ns,
        .ending = given->ending < WP_ENDING_MOST ? given->ending : WP_ENDING_MOST,
        .oom_cgroup = wp_rows_string(all->strings, given->oom_cgroup),
        .oom_holder = wp_rows_string(all->strings, given->oom_holder),
        .oom_bytes = given->oom_bytes,
        .cgroup = wp_rows_string(all->strings, given->cgroup),
        .workload = wp_rows_string(all->strings, given->workload)};
}

int wp_txn_add_genealogy(
    struct wp_txn *txn, const char *shard, const struct wp_genealogy_row *rows, size_t count, struct wp_error *err)
{
    struct genealogy all;
    struct wp_chunks chunks = {WP_VALUE_GENEALOGY, &all, take_row, pack};
    uint64_t delta = 0;
    if (!count)
        return 0;
    int rc = start(&all, err);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < count; i++)
        if (add_row(&all, row_given(&all, &rows[i])))
            rc = wp_error_set(err, -ENOMEM, "out of memory for a genealogy");
    if (!rc)
        rc = wp_chunks_append(txn, shard, &chunks, &delta, err);
    finish(&all);
    return !rc && delta && delta % WP_DELTAS == 0 ? wp_genealogy_compact(txn, shard, err) : rc;
}

int wp_txn_read_genealogy(struct wp_txn *txn, const char *shard, struct wp_genealogy_visit *visit, struct wp_error *err)
{
    struct genealogy all;
    struct wp_chunks chunks = {WP_VALUE_GENEALOGY, &all, take_row, pack};
    int rc = start(&all, err);
    if (!rc)
        rc = wp_chunks_read(txn, shard, &chunks, &visit->damaged, err);
    if (!rc)
        fold(&all);
    for (uint32_t i = 0; !rc && i < all.count; i++) {
        struct wp_genealogy_row row = row_shown(&all, &all.rows[i]);
        rc = visit->each(visit->context, &row);
    }
    finish(&all);
    return rc;
}

int wp_genealogy_compact(struct wp_txn *txn, const char *shard, struct wp_error *err)
{
    struct genealogy all;
    struct wp_chunks chunks = {WP_VALUE_GENEALOGY, &all, take_row, pack};
    int rc = start(&all, err);
    if (!rc)
        rc = wp_chunks_compact(txn, shard, &chunks, err);
    finish(&all);
    return rc;
}

/* Writes what is left; *dropped rows went. */
static int put_rest(struct wp_txn *txn, const struct wp_key *key, struct genealogy *all, const bool *is_kept,
    size_t *dropped, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    uint32_t before = all->count;
    drop(all, is_kept);
    *dropped = before - all->count;
    int rc = *dropped ? pack(all, &bytes, err) : 0;
    if (!rc && *dropped)
        rc = wp_txn_put_key(txn, key, bytes.data, bytes.size, err);
    wp_buffer_fini(&bytes);
    return rc;
}

int wp_genealogy_expire(struct wp_txn *txn, const char *shard,
    bool (*is_needed)(void *context, const struct wp_genealogy_row *row), void *context, size_t *dropped,
    struct wp_error *err)
{
    struct genealogy all;
    struct wp_buffer bytes = {0};
    struct wp_key key = {.kind = WP_VALUE_GENEALOGY};
    bool *is_kept = NULL;
    *dropped = 0;
    snprintf(key.shard, sizeof(key.shard), "%s", shard);
    int rc =
        wp_genealogy_compact(txn, shard, err); /* deltas that are left after it are damaged, and none of this one's */
    if (!rc)
        rc = start(&all, err);
    if (rc)
        return rc;
    rc = wp_txn_get_key(txn, &key, &bytes, err);
    if (!rc)
        rc = take_row(&all, bytes.data, bytes.size, err);
    if (!rc && all.count) {
        is_kept = calloc(all.count, sizeof(*is_kept));
        rc = is_kept ? mark(&all, is_kept, is_needed, context) : -ENOMEM;
        if (rc)
            wp_error_set(err, rc, "out of memory for a genealogy");
        else
            rc = put_rest(txn, &key, &all, is_kept, dropped, err);
    } else if (rc == -ENOENT || rc == -EBADMSG || rc == -EPROTONOSUPPORT) {
        rc = 0; /* none, or damaged: stays as it is */
    }
    free(is_kept);
    wp_buffer_fini(&bytes);
    finish(&all);
    return rc;
}

int wp_genealogy_join(const struct wp_buffer *values, size_t count, struct wp_buffer *out, struct wp_error *err)
{
    struct genealogy all;
    struct wp_chunks chunks = {WP_VALUE_GENEALOGY, &all, take_row, pack};
    int rc = start(&all, err);
    if (!rc)
        rc = wp_chunks_join(&chunks, values, count, out, err);
    finish(&all);
    return rc;
}

int wp_genealogy_check(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct genealogy all;
    struct wp_chunks chunks = {WP_VALUE_GENEALOGY, &all, take_row, pack};
    int rc = start(&all, err);
    if (!rc)
        rc = wp_chunks_check(&chunks, bytes, size, err);
    finish(&all);
    return rc;
}
