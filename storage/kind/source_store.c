/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects and JIT maps a process had, by the digest of what is known of them: a set of rows (process, name,
 * digest), one sub-message a process. A JIT map grows: each part of it that was learnt is a row of its own. */
#include "storage/kind/source_store.h"

#include "proto/store.pb-c.h"
#include "storage/kind/chunks.h"
#include "storage/kind/latest.h"
#include "storage/value/columns.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define HOST_LIMIT 255u
#define BLOCK_BYTES ((size_t)1 << 20)

typedef Wakepath__Store__Source__Process process_type;

struct row {
    uint32_t host, name;
    uint32_t pid;
    uint64_t start_ns;
    uint8_t digest[16];
};

struct sources {
    struct wp_intern *strings;
    struct row *rows;
    uint32_t count, room;
    bool is_whole; /* nothing is left out */
};

static int compare_processes(const struct sources *all, const struct row *a, const struct row *b)
{
    int rc = wp_rows_compare_texts(all->strings, a->host, b->host);
    if (!rc && a->pid != b->pid)
        rc = a->pid < b->pid ? -1 : 1;
    if (!rc && a->start_ns != b->start_ns)
        rc = a->start_ns < b->start_ns ? -1 : 1;
    return rc;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct sources *all = context;
    const struct row *a = left, *b = right;
    int rc = compare_processes(all, a, b);
    if (!rc)
        rc = wp_rows_compare_texts(all->strings, a->name, b->name);
    return rc ? rc : memcmp(a->digest, b->digest, sizeof(a->digest));
}

static int add_row(struct sources *all, const struct row *row)
{
    if (row->host == UINT32_MAX || row->name == UINT32_MAX ||
        wp_rows_grow(&all->rows, &all->room, all->count, sizeof(*all->rows)))
        return -ENOMEM;
    all->rows[all->count++] = *row;
    return 0;
}

static int start(struct sources *all, struct wp_error *err)
{
    *all = (struct sources){.strings = wp_intern_create()};
    return all->strings ? 0 : wp_error_set(err, -ENOMEM, "out of memory for sources");
}

static void finish(struct sources *all)
{
    wp_intern_destroy(all->strings);
    free(all->rows);
}

static int check_process(const process_type *process, struct wp_error *err)
{
    int rc = WP_LENGTHS("source", err, process->n_names, process->n_digests);
    if (!rc &&
        (process->host.len > HOST_LIMIT || (process->host.len && memchr(process->host.data, 0, process->host.len))))
        rc = wp_error_set(err, -EBADMSG, "source: a host's name is too long or holds a NUL");
    if (!rc)
        rc = wp_texts_check(process->names, process->n_names, "source", err);
    for (size_t i = 0; !rc && i < process->n_digests; i++)
        if (process->digests[i].len != 16)
            rc = wp_error_set(err, -EBADMSG, "source: a digest of %zu bytes", process->digests[i].len);
    return rc;
}

/* Unpacked, a row is half a dozen small pieces: they are taken from large ones, which go back to the system. */
struct pieces {
    struct block {
        struct block *before;
        size_t used;
        _Alignas(max_align_t) uint8_t bytes[];
    } * last;    /* owned */
    size_t room; /* of the last */
};

static void *take_piece(void *context, size_t size)
{
    struct pieces *pieces = context;
    size_t wanted = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    if (!pieces->last || pieces->room - pieces->last->used < wanted) {
        size_t room = wanted > BLOCK_BYTES ? wanted : BLOCK_BYTES;
        struct block *block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        *block = (struct block){.before = pieces->last};
        pieces->last = block;
        pieces->room = room;
    }
    void *piece = pieces->last->bytes + pieces->last->used;
    pieces->last->used += wanted;
    return piece;
}

static void keep_piece(void *context, void *piece)
{
    (void)context;
    (void)piece;
}

static void free_pieces(struct pieces *pieces)
{
    for (struct block *block; (block = pieces->last); free(block))
        pieces->last = block->before;
}

static int take_row(void *context, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct sources *all = context;
    struct pieces pieces = {0};
    ProtobufCAllocator allocator = {take_piece, keep_piece, &pieces};
    const Wakepath__Store__Source *m = (const Wakepath__Store__Source *)wp_message_unpack_by(
        &allocator, &wakepath__store__source__descriptor, bytes, size, "source", err);
    if (!m) {
        int code = -errno;
        free_pieces(&pieces);
        return code;
    }
    int rc = 0;
    for (size_t i = 0; !rc && i < m->n_processes; i++) {
        const process_type *process = m->processes[i];
        struct row row = {.pid = process->pid, .start_ns = process->start_ns};
        rc = check_process(process, err);
        if (!rc)
            row.host =
                process->host.len ? wp_intern_id(all->strings, (const char *)process->host.data, process->host.len) : 0;
        for (size_t j = 0; !rc && j < process->n_names; j++) {
            row.name = wp_intern_id(all->strings, (const char *)process->names[j].data, process->names[j].len);
            memcpy(row.digest, process->digests[j].data, sizeof(row.digest));
            if (add_row(all, &row))
                rc = wp_error_set(err, -ENOMEM, "out of memory for sources");
        }
    }
    free_pieces(&pieces);
    return rc;
}

/* --- too many --- */

/* A row of no process: the text of a file of source. */
static bool is_text(const struct row *row)
{
    return !row->pid && !row->start_ns;
}

static int compare_kinds(const void *rows, uint32_t left, uint32_t right)
{
    const struct sources *all = rows;
    const struct row *a = &all->rows[left], *b = &all->rows[right];
    int rc = wp_rows_compare_texts(all->strings, a->host, b->host);
    return rc ? rc : wp_rows_compare_texts(all->strings, a->name, b->name);
}

static uint64_t start_of(const void *rows, uint32_t row)
{
    return ((const struct sources *)rows)->rows[row].start_ns;
}

/* Sorted; texts stand first. Of processes that are started for ever the latest stay that had an object. */
static int trim(struct sources *all)
{
    uint32_t texts = 0, kept;
    while (texts < all->count && is_text(&all->rows[texts]))
        texts++;
    if (all->is_whole || all->count - texts <= WP_SOURCE_ROWS)
        return 0;
    struct sources rest = {.strings = all->strings, .rows = all->rows + texts, .count = all->count - texts};
    const struct wp_latest latest = {&rest, rest.count, WP_SOURCE_ROWS / 4 * 3, compare_kinds, start_of};
    bool *is_chosen = calloc(rest.count, sizeof(*is_chosen));
    int rc = is_chosen ? wp_latest_choose(&latest, is_chosen) : -ENOMEM;
    kept = rc ? all->count : texts;
    for (uint32_t i = 0; !rc && i < rest.count; i++)
        if (is_chosen[i])
            all->rows[kept++] = rest.rows[i];
    all->count = kept;
    free(is_chosen);
    return rc;
}

static void begin_process(const struct sources *all, const struct row *row, process_type *process,
    ProtobufCBinaryData *names, ProtobufCBinaryData *digests)
{
    wakepath__store__source__process__init(process);
    process->host = (ProtobufCBinaryData){
        wp_intern_size(all->strings, row->host), (uint8_t *)(uintptr_t)wp_intern_text(all->strings, row->host)};
    process->pid = row->pid;
    process->start_ns = row->start_ns;
    process->names = names;
    process->digests = digests;
}

static int pack(void *context, struct wp_buffer *out, struct wp_error *err)
{
    struct sources *all = context;
    if (all->count)
        qsort_r(all->rows, all->count, sizeof(*all->rows), compare_rows, all);
    if (trim(all))
        return wp_error_set(err, -ENOMEM, "out of memory for sources");
    struct wp_columns columns = {0};
    Wakepath__Store__Source m = WAKEPATH__STORE__SOURCE__INIT;
    ProtobufCBinaryData *names = wp_columns_texts(&columns, all->count),
                        *digests = wp_columns_texts(&columns, all->count);
    process_type *processes = calloc(all->count + 1u, sizeof(*processes));
    m.processes = calloc(all->count + 1u, sizeof(*m.processes));
    int rc =
        columns.has_failed || !processes || !m.processes ? wp_error_set(err, -ENOMEM, "out of memory for sources") : 0;
    for (uint32_t i = 0; !rc && i < all->count; i++) {
        struct row *row = &all->rows[i];
        if (i && !compare_rows(row, row - 1, all))
            continue;
        if (!i || compare_processes(all, row, row - 1)) {
            m.processes[m.n_processes] = &processes[m.n_processes];
            begin_process(all, row, m.processes[m.n_processes++], names + i, digests + i);
        }
        process_type *process = m.processes[m.n_processes - 1];
        process->names[process->n_names++] = (ProtobufCBinaryData){
            wp_intern_size(all->strings, row->name), (uint8_t *)(uintptr_t)wp_intern_text(all->strings, row->name)};
        process->digests[process->n_digests++] = (ProtobufCBinaryData){sizeof(row->digest), row->digest};
    }
    if (!rc)
        rc = wp_message_pack(&m.base, out, err);
    free(m.processes);
    free(processes);
    wp_columns_fini(&columns);
    return rc;
}

int wp_txn_put_blob(struct wp_txn *txn, const uint8_t *bytes, size_t size, uint8_t digest[16], struct wp_error *err)
{
    struct wp_key key = {.kind = WP_VALUE_BLOB};
    char text[WP_KEY_ROOM];
    const uint8_t *stored;
    size_t stored_size;
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    memcpy(key.digest, &canonical, sizeof(key.digest));
    memcpy(digest, &canonical, sizeof(key.digest));
    int rc = wp_key_format(&key, text, err);
    if (!rc)
        rc = wp_txn_stored(txn, text, &stored, &stored_size, err);
    return rc == -ENOENT ? wp_txn_put_key(txn, &key, bytes, size, err) : rc;
}

int wp_txn_add_sources(
    struct wp_txn *txn, const char *shard, const struct wp_source_row *rows, size_t count, struct wp_error *err)
{
    struct sources all;
    struct wp_chunks chunks = {WP_VALUE_SOURCE, &all, take_row, pack};
    uint64_t delta = 0;
    if (!count)
        return 0;
    int rc = start(&all, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct row row = {.host = wp_intern_id(all.strings, rows[i].host, strnlen(rows[i].host, HOST_LIMIT)),
            .name = wp_rows_string(all.strings, *rows[i].name ? rows[i].name : "?"),
            .pid = rows[i].pid,
            .start_ns = rows[i].start_ns};
        memcpy(row.digest, rows[i].digest, sizeof(row.digest));
        if (add_row(&all, &row))
            rc = wp_error_set(err, -ENOMEM, "out of memory for sources");
    }
    if (!rc)
        rc = wp_chunks_append(txn, shard, &chunks, &delta, err);
    finish(&all);
    return !rc && delta && delta % WP_DELTAS == 0 ? wp_source_compact(txn, shard, err) : rc;
}

int wp_source_compact(struct wp_txn *txn, const char *shard, struct wp_error *err)
{
    struct sources all;
    struct wp_chunks chunks = {WP_VALUE_SOURCE, &all, take_row, pack};
    int rc = start(&all, err);
    if (!rc)
        rc = wp_chunks_compact(txn, shard, &chunks, err);
    finish(&all);
    return rc;
}

/* The rows of processes that are needed move to the front; how many there are. */
static uint32_t keep_needed(struct sources *all,
    bool (*is_needed)(void *context, const char *host, uint32_t pid, uint64_t start_ns), void *context, size_t *dropped)
{
    uint32_t kept = 0;
    bool is_kept = false;
    qsort_r(all->rows, all->count, sizeof(*all->rows), compare_rows, all);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct row *row = &all->rows[i];
        if (!i || compare_processes(all, row, kept && is_kept ? &all->rows[kept - 1] : row - 1)) {
            is_kept = is_needed(context, wp_intern_text(all->strings, row->host), row->pid, row->start_ns);
            *dropped += !is_kept;
        }
        if (is_kept)
            all->rows[kept++] = *row;
    }
    return kept;
}

int wp_source_expire(struct wp_txn *txn, const char *shard,
    bool (*is_needed)(void *context, const char *host, uint32_t pid, uint64_t start_ns), void *context, size_t *dropped,
    struct wp_error *err)
{
    struct sources all;
    struct wp_buffer bytes = {0};
    struct wp_key key = {.kind = WP_VALUE_SOURCE};
    *dropped = 0;
    snprintf(key.shard, sizeof(key.shard), "%s", shard);
    int rc = wp_source_compact(txn, shard, err); /* deltas that are left after it are damaged, and none of this one's */
    if (!rc)
        rc = start(&all, err);
    if (rc)
        return rc;
    rc = wp_txn_get_key(txn, &key, &bytes, NULL);
    if (!rc)
        rc = take_row(&all, bytes.data, bytes.size, NULL);
    wp_buffer_clear(&bytes);
    if (!rc && all.count) {
        all.count = keep_needed(&all, is_needed, context, dropped);
        rc = *dropped ? pack(&all, &bytes, err) : 0;
        if (!rc && *dropped)
            rc = wp_txn_put_key(txn, &key, bytes.data, bytes.size, err);
    } else if (rc != -ENOMEM) {
        rc = 0; /* none, or damaged: stays as it is */
    }
    wp_buffer_fini(&bytes);
    finish(&all);
    return rc;
}

int wp_source_join(const struct wp_buffer *values, size_t count, struct wp_buffer *out, struct wp_error *err)
{
    struct sources all;
    struct wp_chunks chunks = {WP_VALUE_SOURCE, &all, take_row, pack};
    int rc = start(&all, err);
    all.is_whole = true;
    if (!rc)
        rc = wp_chunks_join(&chunks, values, count, out, err);
    finish(&all);
    return rc;
}

int wp_source_check(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct sources all;
    struct wp_chunks chunks = {WP_VALUE_SOURCE, &all, take_row, pack};
    int rc = start(&all, err);
    all.is_whole = true;
    if (!rc)
        rc = wp_chunks_check(&chunks, bytes, size, err);
    finish(&all);
    return rc;
}
