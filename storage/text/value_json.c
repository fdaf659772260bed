/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/value_json.h"

#include "proto/store.pb-c.h"
#include "storage/text/json_parts.h"
#include "storage/text/report_json.h"
#include "storage/text/trace_json.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <string.h>

#define BLOB_SHOWN 65536u

/* --- state: small messages, by their fields --- */

static bool is_id(const char *name)
{
    return !strcmp(name, "session") || !strcmp(name, "host") || !strcmp(name, "digests") || !strcmp(name, "build_ids");
}

static void put_field(struct json_object *object, const ProtobufCFieldDescriptor *field, const void *at);

static struct json_object *message_json(const ProtobufCMessage *message)
{
    struct json_object *object = json_object_new_object();
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *at = (const char *)message + field->offset;
        if (field->label != PROTOBUF_C_LABEL_REPEATED || field->type != PROTOBUF_C_TYPE_MESSAGE) {
            put_field(object, field, at);
            continue;
        }
        size_t count = *(const size_t *)(const void *)((const char *)message + field->quantifier_offset);
        ProtobufCMessage *const *rows = *(ProtobufCMessage *const *const *)(const void *)at;
        struct json_object *array = wp_json_put_rows(object, field->name);
        for (size_t j = 0; j < count; j++)
            json_object_array_add(array, message_json(rows[j]));
    }
    return object;
}

static void put_field(struct json_object *object, const ProtobufCFieldDescriptor *field, const void *at)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return;
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
        wp_json_put_number(object, field->name, *(const uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT64:
        wp_json_put_number(object, field->name, *(const uint64_t *)at);
        break;
    case PROTOBUF_C_TYPE_SINT64:
        wp_json_put(object, field->name, json_object_new_int64(*(const int64_t *)at));
        break;
    case PROTOBUF_C_TYPE_BOOL:
        wp_json_put(object, field->name, json_object_new_boolean(*(const protobuf_c_boolean *)at));
        break;
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData bytes = *(const ProtobufCBinaryData *)at;
        if (is_id(field->name) && bytes.len == 16)
            wp_json_put_hex(object, field->name, bytes);
        else
            wp_json_put_bytes(object, field->name, bytes);
        break;
    }
    default:
        break;
    }
}

static int put_message(struct json_object *object, const ProtobufCMessageDescriptor *type, const struct wp_buffer *raw,
    struct wp_error *err)
{
    ProtobufCMessage *message = wp_message_unpack(type, raw->data, raw->size, type->short_name, err);
    if (!message)
        return -EBADMSG;
    struct json_object *fields = message_json(message);
    json_object_object_foreach(fields, name, value) wp_json_put(object, name, json_object_get(value));
    json_object_put(fields);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}

/* --- state: columns --- */

static void put_named(
    struct json_object *row, const char *name, const ProtobufCBinaryData *texts, size_t count, uint32_t id)
{
    wp_json_put_bytes(row, name, id && id <= count ? texts[id - 1] : (ProtobufCBinaryData){0});
}

static int put_genealogy(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__genealogy__descriptor, raw->data, raw->size, "genealogy", err);
    if (!message)
        return -EBADMSG;
    const Wakepath__Store__Genealogy *m = (const Wakepath__Store__Genealogy *)message;
    struct json_object *rows = wp_json_put_rows(object, "processes");
    int rc = WP_LENGTHS("genealogy", err, m->n_host, m->n_comm, m->n_exe, m->n_pid, m->n_parent_pid, m->n_start_ns,
        m->n_parent_start_ns);
    for (size_t i = 0; !rc && i < m->n_pid; i++) {
        struct json_object *row = wp_json_add_row(rows);
        put_named(row, "host", m->strings, m->n_strings, m->host[i]);
        wp_json_put_number(row, "pid", m->pid[i]);
        put_named(row, "comm", m->strings, m->n_strings, m->comm[i]);
        put_named(row, "exe", m->strings, m->n_strings, m->exe[i]);
        wp_json_put_number(row, "start_ns", m->start_ns[i]);
        wp_json_put_number(row, "parent_pid", m->parent_pid[i]);
        wp_json_put_number(row, "parent_start_ns", m->parent_start_ns[i]);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

static int put_sourcemap(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__source_map__descriptor, raw->data, raw->size, "source map", err);
    if (!message)
        return -EBADMSG;
    const Wakepath__Store__SourceMap *m = (const Wakepath__Store__SourceMap *)message;
    struct json_object *rows = wp_json_put_rows(object, "functions");
    int rc = WP_LENGTHS("source map", err, m->n_build, m->n_object, m->n_offset, m->n_function);
    for (size_t i = 0; !rc && i < m->n_build; i++) {
        struct json_object *row = wp_json_add_row(rows);
        uint32_t build = m->build[i];
        wp_json_put_hex(
            row, "build_id", build && build <= m->n_build_ids ? m->build_ids[build - 1] : (ProtobufCBinaryData){0});
        put_named(row, "object", m->strings, m->n_strings, m->object[i]);
        wp_json_put_number(row, "offset", m->offset[i]);
        put_named(row, "function", m->strings, m->n_strings, m->function[i]);
        put_named(row, "file", m->strings, m->n_strings, m->n_file == m->n_build ? m->file[i] : 0);
        wp_json_put_number(row, "line", m->n_line == m->n_build ? m->line[i] : 0);
        wp_json_put_number(row, "level", m->n_level == m->n_build ? m->level[i] : 0);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

static int put_source(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__source__descriptor, raw->data, raw->size, "source", err);
    if (!message)
        return -EBADMSG;
    const Wakepath__Store__Source *m = (const Wakepath__Store__Source *)message;
    struct json_object *rows = wp_json_put_rows(object, "sources");
    for (size_t i = 0; i < m->n_processes; i++) {
        const Wakepath__Store__Source__Process *process = m->processes[i];
        for (size_t j = 0; j < process->n_names && j < process->n_digests; j++) {
            struct json_object *row = wp_json_add_row(rows);
            wp_json_put_bytes(row, "host", process->host);
            wp_json_put_number(row, "pid", process->pid);
            wp_json_put_number(row, "start_ns", process->start_ns);
            wp_json_put_bytes(row, "name", process->names[j]);
            wp_json_put_hex(row, "digest", process->digests[j]);
        }
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}

static int put_content(
    struct json_object *object, enum wp_value_kind kind, const struct wp_buffer *raw, struct wp_error *err)
{
    switch (kind) {
    case WP_VALUE_METADATA:
        return put_message(object, &wakepath__store__metadata__descriptor, raw, err);
    case WP_VALUE_PROCESSED:
        return put_message(object, &wakepath__store__processed__descriptor, raw, err);
    case WP_VALUE_LAST_SAMPLE:
        return put_message(object, &wakepath__store__last_sample__descriptor, raw, err);
    case WP_VALUE_CLOCK:
        return put_message(object, &wakepath__store__clock__descriptor, raw, err);
    case WP_VALUE_GENEALOGY:
        return put_genealogy(object, raw, err);
    case WP_VALUE_SOURCEMAP:
        return put_sourcemap(object, raw, err);
    case WP_VALUE_SOURCE:
        return put_source(object, raw, err);
    case WP_VALUE_REPORT:
        return wp_report_json(object, raw, err);
    case WP_VALUE_TRACE:
        return wp_trace_json(object, raw, err);
    case WP_VALUE_EXEMPLARS:
        return wp_exemplars_json(object, raw, err);
    case WP_VALUE_BLOB:
        wp_json_put(
            object, "text", wp_json_string((const char *)raw->data, raw->size < BLOB_SHOWN ? raw->size : BLOB_SHOWN));
        return 0;
    default:
        return 0;
    }
}

struct json_object *wp_value_json(
    const struct wp_key *key, const struct wp_value *value, const struct wp_buffer *raw, struct wp_error *err)
{
    struct json_object *object = json_object_new_object();
    char text[WP_KEY_ROOM];
    if (!object || wp_key_format(key, text, err))
        return object;
    wp_json_put_text(object, "key", text);
    wp_json_put_text(object, "kind", wp_value_kind_name(value->kind));
    wp_json_put_number(object, "version", value->version);
    wp_json_put_text(object, "codec", value->codec == WP_CODEC_ZSTD ? "zstd" : "none");
    wp_json_put_number(object, "stored_bytes", WP_VALUE_HEADER + value->head_size + value->body_size);
    wp_json_put_number(object, "raw_bytes", value->raw_size);
    wp_json_put_hex(object, "digest", (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)value->digest});
    if (value->kind == WP_VALUE_SHARD && value->head_size)
        wp_json_put(object, "head", wp_value_head_json(value));
    if (put_content(object, value->kind, raw, err)) {
        json_object_put(object);
        return NULL;
    }
    return object;
}
