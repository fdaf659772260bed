/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/dump_store.h"

#include "proto/store.pb-c.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u /* of what is not told as text */
#define FLUSH_FROM (1u << 20)

/* --- out --- */

static void print_bytes(struct wp_buffer *out, const char *name, const uint8_t *bytes, size_t size)
{
    wp_buffer_printf(out, " %s {\n", name);
    for (size_t at = 0; at < size; at += LINE_BYTES) {
        wp_buffer_puts(out, "  ");
        wp_dump_quote(bytes + at, size - at < LINE_BYTES ? size - at : LINE_BYTES, out);
        wp_buffer_putc(out, '\n');
    }
    wp_buffer_puts(out, " }\n");
}

/* Source text and maps: a line of theirs is a line here. */
static void print_lines(struct wp_buffer *out, const struct wp_buffer *raw)
{
    wp_buffer_puts(out, " text {\n");
    for (size_t at = 0; at < raw->size;) {
        const uint8_t *newline = memchr(raw->data + at, '\n', raw->size - at);
        size_t size = newline ? (size_t)(newline - raw->data) + 1 - at : raw->size - at;
        wp_buffer_puts(out, "  ");
        wp_dump_quote(raw->data + at, size, out);
        wp_buffer_putc(out, '\n');
        at += size;
    }
    wp_buffer_puts(out, " }\n");
}

static int print_message(
    struct wp_buffer *out, const char *name, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size)
{
    if (!size)
        return 0;
    wp_buffer_printf(out, " %s {\n", name);
    int rc = wp_dump_print(type, bytes, size, 2, out);
    wp_buffer_puts(out, " }\n");
    return rc;
}

static int print_text(struct wp_buffer *out, const struct wp_value *value)
{
    struct wp_buffer raw = {0};
    const ProtobufCMessageDescriptor *type = wp_dump_message(value->kind);
    int rc = wp_value_unwrap(NULL, value, &raw, NULL);
    if (!rc)
        rc = print_message(out, "head", &wakepath__store__head__descriptor, value->head, value->head_size);
    if (!rc && type)
        rc = print_message(out, "body", type, raw.data, raw.size);
    else if (!rc && raw.size)
        print_lines(out, &raw);
    wp_buffer_fini(&raw);
    return rc;
}

/* Lines of a buffer, for the reader. */
struct memory {
    char *rest;
};

static int next_in_memory(void *context, const char **line)
{
    struct memory *memory = context;
    if (!memory->rest || !*memory->rest)
        return 0;
    *line = strsep(&memory->rest, "\n");
    return 1;
}

static int parse_value(
    struct wp_dump_lines *lines, enum wp_value_kind kind, struct wp_buffer *stored, struct wp_error *err);

/* Whether the text leads back to the very bytes; other compressors and writers make others of the same content. */
static bool leads_back(const struct wp_buffer *text, enum wp_value_kind kind, const uint8_t *bytes, size_t size)
{
    struct wp_buffer copy = {0}, stored = {0};
    if (wp_buffer_puts(&copy, text->data ? (const char *)text->data : ""))
        return false;
    struct memory memory = {(char *)copy.data};
    struct wp_dump_lines lines = {.next = next_in_memory, .context = &memory};
    bool same = wp_dump_next(&lines) >= 0 && !parse_value(&lines, kind, &stored, NULL) && stored.size == size &&
        !memcmp(stored.data, bytes, size);
    wp_buffer_fini(&copy);
    wp_buffer_fini(&stored);
    return same;
}

static void print_value(struct wp_buffer *out, const char *key, MDB_val bytes)
{
    struct wp_buffer text = {0};
    struct wp_value value;
    struct wp_key parsed;
    bool is_text = !wp_key_parse(&parsed, key, NULL) && !wp_value_parse(&value, bytes.mv_data, bytes.mv_size, NULL) &&
        value.kind == parsed.kind && !print_text(&text, &value) && !text.failed &&
        leads_back(&text, value.kind, bytes.mv_data, bytes.mv_size);
    if (!is_text)
        print_bytes(out, "stored", bytes.mv_data, bytes.mv_size);
    else if (text.size)
        wp_buffer_append(out, text.data, text.size);
    wp_buffer_fini(&text);
}

int wp_dump_release(struct wp_txn *txn, struct wp_buffer *out, int (*flush)(void *context, struct wp_buffer *out),
    void *context, struct wp_error *err)
{
    MDB_cursor *cursor;
    MDB_val k, v;
    char key[WP_KEY_ROOM + 1];
    int rc = 0, mdb_rc = mdb_cursor_open(txn->mdb, txn->dbi, &cursor);
    if (mdb_rc)
        return wp_txn_error(txn, err, mdb_rc, "cannot read the values");
    wp_buffer_printf(out, "release %s\n", txn->env->release);
    while (!rc && !(mdb_rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))) {
        size_t size = k.mv_size < WP_KEY_ROOM ? k.mv_size : 0; /* LMDB's own limit is 511 */
        memcpy(key, k.mv_data, size);
        key[size] = 0;
        wp_buffer_puts(out, "value ");
        wp_dump_quote(k.mv_data, k.mv_size, out);
        wp_buffer_putc(out, '\n');
        print_value(out, strlen(key) == size ? key : "", v);
        rc = out->failed ? -ENOMEM : out->size >= FLUSH_FROM ? flush(context, out) : 0;
    }
    mdb_cursor_close(cursor);
    if (!rc && mdb_rc != MDB_NOTFOUND)
        return wp_txn_error(txn, err, mdb_rc, "cannot read the values");
    if (!rc)
        rc = flush(context, out);
    return rc ? wp_error_errno(err, rc, "cannot write the dump of '%s'", txn->env->release) : 0;
}

/* --- in --- */

static int bad(const struct wp_dump_lines *lines, struct wp_error *err, const char *why)
{
    return wp_error_set(err, -EBADMSG, "line %llu: %s: '%.60s'", (unsigned long long)lines->number, why,
        lines->line ? lines->line : "");
}

static int parse_strings(struct wp_dump_lines *lines, struct wp_buffer *out, struct wp_error *err)
{
    int rc = 1;
    while (rc > 0 && lines->line && !strncmp(lines->line, "  \"", 3)) {
        const char *text = lines->line + 2;
        rc = wp_dump_unquote(&text, out);
        if (rc || *text)
            return bad(lines, err, "not a quoted string");
        if (out->size > WP_VALUE_RAW_LIMIT)
            return bad(lines, err, "a value is too long");
        rc = wp_dump_next(lines);
    }
    return rc < 0 ? rc : 0;
}

static int parse_block(
    struct wp_dump_lines *lines, const ProtobufCMessageDescriptor *type, struct wp_buffer *out, struct wp_error *err)
{
    int rc = wp_dump_next(lines);
    if (rc >= 0)
        rc = type ? wp_dump_parse(type, lines, 2, out, err) : parse_strings(lines, out, err);
    if (rc)
        return rc;
    if (!lines->line || strcmp(lines->line, " }"))
        return bad(lines, err, "'}' is missing");
    rc = wp_dump_next(lines);
    return rc < 0 ? rc : 0;
}

/* The lines of one value, as the bytes that are stored. */
static int parse_value(
    struct wp_dump_lines *lines, enum wp_value_kind kind, struct wp_buffer *stored, struct wp_error *err)
{
    struct wp_buffer head = {0}, raw = {0};
    bool is_stored = false;
    int rc = 0;
    while (!rc && lines->line && *lines->line == ' ') {
        if (!strcmp(lines->line, " stored {")) {
            is_stored = true;
            rc = parse_block(lines, NULL, stored, err);
        } else if (!strcmp(lines->line, " head {")) {
            rc = parse_block(lines, &wakepath__store__head__descriptor, &head, err);
        } else if (!strcmp(lines->line, " body {") && wp_dump_message(kind)) {
            rc = parse_block(lines, wp_dump_message(kind), &raw, err);
        } else if (!strcmp(lines->line, " text {")) {
            rc = parse_block(lines, NULL, &raw, err);
        } else {
            rc = bad(lines, err, "not a part of a value");
        }
    }
    if (!rc && !is_stored)
        rc = kind ? wp_value_wrap(NULL, &(struct wp_raw_value){kind, &head, raw.data, raw.size}, stored, err)
                  : bad(lines, err, "a value of an unknown kind");
    wp_buffer_fini(&head);
    wp_buffer_fini(&raw);
    return rc;
}

static int load_value(struct wp_txn *txn, struct wp_dump_lines *lines, struct wp_error *err)
{
    struct wp_buffer key = {0}, stored = {0};
    struct wp_key parsed = {0};
    const char *text = lines->line + strlen("value ");
    int rc = wp_dump_unquote(&text, &key);
    if (rc || *text || !key.size || key.size >= WP_KEY_ROOM)
        rc = bad(lines, err, "not a key");
    if (!rc) {
        wp_buffer_putc(&key, 0);
        wp_key_parse(&parsed, (const char *)key.data, NULL); /* a foreign key has its bytes with it */
        rc = wp_dump_next(lines);
        rc = rc < 0 ? rc : parse_value(lines, parsed.kind, &stored, err);
    }
    if (!rc) {
        MDB_val k = {key.size - 1, key.data}, v = {stored.size, stored.data};
        int mdb_rc = mdb_put(txn->mdb, txn->dbi, &k, &v, MDB_NOOVERWRITE);
        if (mdb_rc == MDB_KEYEXIST)
            rc = bad(lines, err, "a key stands there twice, before");
        else if (mdb_rc)
            rc = wp_txn_error(txn, err, mdb_rc, "cannot put a value");
    }
    wp_buffer_fini(&key);
    wp_buffer_fini(&stored);
    return rc;
}

static int stop_at_first(void *context, const char *key, size_t size)
{
    (void)context, (void)key, (void)size;
    return 1;
}

int wp_load_release(struct wp_txn *txn, struct wp_dump_lines *lines, uint64_t *values, struct wp_error *err)
{
    *values = 0;
    int rc = wp_txn_visit(txn, "", stop_at_first, NULL, err);
    if (rc > 0)
        return wp_error_set(err, -EEXIST, "release '%s' of '%s' holds something, and is not written over",
            txn->env->release, txn->store->root);
    while (!rc && lines->line && !strncmp(lines->line, "value ", 6)) {
        rc = load_value(txn, lines, err);
        *values += !rc;
    }
    if (!rc && lines->line && strncmp(lines->line, "release ", 8))
        rc = bad(lines, err, "neither a value nor a release");
    return rc;
}
