/* SPDX-License-Identifier: Apache-2.0 */
/* (build id, offset) -> function, file, line and what is inlined there: what addresses meant while the release ran, a
 * set of rows. */
#include "storage/kind/sourcemap_store.h"

#include "proto/store.pb-c.h"
#include "storage/kind/chunks.h"
#include "storage/value/columns.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID_LIMIT 64u

struct row {
    uint32_t build, object, function, file; /* ids of texts and of build ids */
    uint32_t line, level;
    uint64_t offset;
};

struct sourcemap {
    struct wp_intern *strings, *builds;
    struct row *rows;
    uint32_t count, room;
};

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct sourcemap *map = context;
    const struct row *a = left, *b = right;
    int rc = wp_rows_compare_texts(map->builds, a->build, b->build);
    if (!rc)
        rc = wp_rows_compare_texts(map->strings, a->object, b->object);
    if (!rc && a->offset != b->offset)
        rc = a->offset < b->offset ? -1 : 1;
    if (!rc && a->level != b->level)
        rc = a->level < b->level ? -1 : 1;
    if (!rc)
        rc = wp_rows_compare_texts(map->strings, a->function, b->function);
    if (!rc)
        rc = wp_rows_compare_texts(map->strings, a->file, b->file);
    return rc ? rc : a->line < b->line ? -1 : a->line > b->line;
}

static int add_row(struct sourcemap *map, struct row row)
{
    if (row.build == UINT32_MAX || row.object == UINT32_MAX || row.function == UINT32_MAX || row.file == UINT32_MAX ||
        wp_rows_grow(&map->rows, &map->room, map->count, sizeof(*map->rows)))
        return -ENOMEM;
    map->rows[map->count++] = row;
    return 0;
}

static int start(struct sourcemap *map, struct wp_error *err)
{
    *map = (struct sourcemap){.strings = wp_intern_create(), .builds = wp_intern_create()};
    return map->strings && map->builds ? 0 : wp_error_set(err, -ENOMEM, "out of memory for a source map");
}

static void finish(struct sourcemap *map)
{
    wp_intern_destroy(map->strings);
    wp_intern_destroy(map->builds);
    free(map->rows);
}

static int check(const Wakepath__Store__SourceMap *m, struct wp_error *err)
{
    int rc = WP_LENGTHS("source map", err, m->n_build, m->n_object, m->n_offset, m->n_function);
    if (!rc && m->n_file)
        rc = WP_LENGTHS("files of a source map", err, m->n_build, m->n_file);
    if (!rc && m->n_line)
        rc = WP_LENGTHS("lines of a source map", err, m->n_build, m->n_line);
    if (!rc && m->n_level)
        rc = WP_LENGTHS("levels of a source map", err, m->n_build, m->n_level);
    if (!rc)
        rc = wp_ids_check(m->file, m->n_file, m->n_strings, "file", err);
    if (!rc)
        rc = wp_texts_check(m->strings, m->n_strings, "source map", err);
    if (!rc)
        rc = wp_ids_check(m->build, m->n_build, m->n_build_ids, "build id", err);
    if (!rc)
        rc = wp_ids_check(m->object, m->n_object, m->n_strings, "object", err);
    if (!rc)
        rc = wp_ids_check(m->function, m->n_function, m->n_strings, "function", err);
    for (size_t i = 0; !rc && i < m->n_build_ids; i++)
        if (!m->build_ids[i].len || m->build_ids[i].len > BUILD_ID_LIMIT)
            rc = wp_error_set(err, -EBADMSG, "source map: build id of %zu bytes", m->build_ids[i].len);
    for (size_t i = 0; !rc && i < m->n_build; i++)
        if (!m->build[i])
            rc = wp_error_set(err, -EBADMSG, "source map: row %zu has no build id", i);
    return rc;
}

static uint32_t id_here(struct wp_intern *texts, const ProtobufCBinaryData *there, uint32_t id)
{
    return id ? wp_intern_id(texts, (const char *)there[id - 1].data, there[id - 1].len) : 0;
}

static int take_row(void *context, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct sourcemap *map = context;
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__source_map__descriptor, bytes, size, "source map", err);
    if (!message)
        return -errno;
    const Wakepath__Store__SourceMap *m = (const Wakepath__Store__SourceMap *)message;
    int rc = check(m, err);
    for (size_t i = 0; !rc && i < m->n_build; i++)
        if (add_row(map,
                (struct row){.build = id_here(map->builds, m->build_ids, m->build[i]),
                    .object = id_here(map->strings, m->strings, m->object[i]),
                    .function = id_here(map->strings, m->strings, m->function[i]),
                    .file = id_here(map->strings, m->strings, m->n_file ? m->file[i] : 0),
                    .line = m->n_line ? m->line[i] : 0,
                    .level = m->n_level ? m->level[i] : 0,
                    .offset = m->offset[i]}))
            rc = wp_error_set(err, -ENOMEM, "out of memory for a source map");
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

/* Numbers a text as the sorted rows first name it. */
static uint32_t id_there(
    const struct wp_intern *texts, uint32_t id, uint32_t *ids, ProtobufCBinaryData *there, size_t *count)
{
    if (id && !ids[id]) {
        there[*count].data = (uint8_t *)(uintptr_t)wp_intern_text(texts, id);
        there[*count].len = wp_intern_size(texts, id);
        ids[id] = (uint32_t)++ * count;
    }
    return ids[id];
}

static int pack(void *context, struct wp_buffer *out, struct wp_error *err)
{
    struct sourcemap *map = context;
    struct wp_columns columns = {0};
    Wakepath__Store__SourceMap m = WAKEPATH__STORE__SOURCE_MAP__INIT;
    uint32_t *string_ids = wp_columns_u32(&columns, wp_intern_count(map->strings));
    uint32_t *build_ids = wp_columns_u32(&columns, wp_intern_count(map->builds));
    m.strings = wp_columns_texts(&columns, wp_intern_count(map->strings));
    m.build_ids = wp_columns_texts(&columns, wp_intern_count(map->builds));
    m.build = wp_columns_u32(&columns, map->count);
    m.object = wp_columns_u32(&columns, map->count);
    m.function = wp_columns_u32(&columns, map->count);
    m.offset = wp_columns_u64(&columns, map->count);
    m.file = wp_columns_u32(&columns, map->count);
    m.line = wp_columns_u32(&columns, map->count);
    m.level = wp_columns_u32(&columns, map->count);
    bool has_file = false, has_line = false, has_level = false;
    int rc = columns.has_failed ? wp_error_set(err, -ENOMEM, "out of memory for a source map") : 0;
    if (!rc && map->count)
        qsort_r(map->rows, map->count, sizeof(*map->rows), compare_rows, map);
    for (uint32_t i = 0; !rc && i < map->count; i++) {
        const struct row *row = &map->rows[i];
        if (i && !compare_rows(row, row - 1, map))
            continue;
        m.build[m.n_build++] = id_there(map->builds, row->build, build_ids, m.build_ids, &m.n_build_ids);
        m.object[m.n_object++] = id_there(map->strings, row->object, string_ids, m.strings, &m.n_strings);
        m.function[m.n_function++] = id_there(map->strings, row->function, string_ids, m.strings, &m.n_strings);
        m.file[m.n_function - 1] = id_there(map->strings, row->file, string_ids, m.strings, &m.n_strings);
        m.line[m.n_function - 1] = row->line;
        m.level[m.n_function - 1] = row->level;
        m.offset[m.n_offset++] = row->offset;
        has_file |= row->file != 0;
        has_line |= row->line != 0;
        has_level |= row->level != 0;
    }
    m.n_file = has_file ? m.n_build : 0;
    m.n_line = has_line ? m.n_build : 0;
    m.n_level = has_level ? m.n_build : 0;
    if (!rc)
        rc = wp_message_pack(&m.base, out, err);
    wp_columns_fini(&columns);
    return rc;
}

int wp_txn_add_sourcemap(
    struct wp_txn *txn, const char *shard, const struct wp_sourcemap_row *rows, size_t count, struct wp_error *err)
{
    struct sourcemap map;
    struct wp_chunks chunks = {WP_VALUE_SOURCEMAP, &map, take_row, pack};
    uint64_t delta = 0;
    if (!count)
        return 0;
    int rc = start(&map, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (!rows[i].build_id_size || rows[i].build_id_size > BUILD_ID_LIMIT)
            rc = wp_error_set(
                err, -EINVAL, "a build id has 1 to %u bytes, not %u", BUILD_ID_LIMIT, rows[i].build_id_size);
        else if (add_row(&map,
                     (struct row){
                         .build = wp_intern_id(map.builds, (const char *)rows[i].build_id, rows[i].build_id_size),
                         .object = wp_rows_string(map.strings, rows[i].object),
                         .function = wp_rows_string(map.strings, rows[i].function),
                         .file = wp_rows_string(map.strings, rows[i].file),
                         .line = rows[i].line,
                         .level = rows[i].level,
                         .offset = rows[i].offset}))
            rc = wp_error_set(err, -ENOMEM, "out of memory for a source map");
    }
    if (!rc)
        rc = wp_chunks_append(txn, shard, &chunks, &delta, err);
    finish(&map);
    return !rc && delta && delta % WP_DELTAS == 0 ? wp_sourcemap_compact(txn, shard, err) : rc;
}

int wp_sourcemap_compact(struct wp_txn *txn, const char *shard, struct wp_error *err)
{
    struct sourcemap map;
    struct wp_chunks chunks = {WP_VALUE_SOURCEMAP, &map, take_row, pack};
    int rc = start(&map, err);
    if (!rc)
        rc = wp_chunks_compact(txn, shard, &chunks, err);
    finish(&map);
    return rc;
}

int wp_sourcemap_join(const struct wp_buffer *values, size_t count, struct wp_buffer *out, struct wp_error *err)
{
    struct sourcemap map;
    struct wp_chunks chunks = {WP_VALUE_SOURCEMAP, &map, take_row, pack};
    int rc = start(&map, err);
    if (!rc)
        rc = wp_chunks_join(&chunks, values, count, out, err);
    finish(&map);
    return rc;
}

int wp_sourcemap_check(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct sourcemap map;
    struct wp_chunks chunks = {WP_VALUE_SOURCEMAP, &map, take_row, pack};
    int rc = start(&map, err);
    if (!rc)
        rc = wp_chunks_check(&chunks, bytes, size, err);
    finish(&map);
    return rc;
}
