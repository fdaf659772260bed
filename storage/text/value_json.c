/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/value_json.h"

#include "proto/store.pb-c.h"
#include "storage/text/json_parts.h"
#include "storage/text/report_json.h"
#include "storage/text/trace_json.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define BLOB_SHOWN 65536u

/* --- state: small messages, by their fields --- */

static bool is_id(const char *name)
{
    return !strcmp(name, "session") || !strcmp(name, "host") || !strcmp(name, "digests") || !strcmp(name, "build_ids");
}

static void put_field(struct wp_json *json, const ProtobufCFieldDescriptor *field, const void *at);

static void put_fields(struct wp_json *json, const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *at = (const char *)message + field->offset;
        if (field->label != PROTOBUF_C_LABEL_REPEATED || field->type != PROTOBUF_C_TYPE_MESSAGE) {
            put_field(json, field, at);
            continue;
        }
        size_t count = *(const size_t *)(const void *)((const char *)message + field->quantifier_offset);
        ProtobufCMessage *const *rows = *(ProtobufCMessage *const *const *)(const void *)at;
        wp_json_array(json, field->name);
        for (size_t j = 0; j < count; j++) {
            wp_json_object(json, NULL);
            put_fields(json, rows[j]);
            wp_json_end(json);
        }
        wp_json_end(json);
    }
}

static void put_field(struct wp_json *json, const ProtobufCFieldDescriptor *field, const void *at)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return;
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
        wp_json_number(json, field->name, *(const uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT64:
        wp_json_number(json, field->name, *(const uint64_t *)at);
        break;
    case PROTOBUF_C_TYPE_SINT64:
        wp_json_raw(json, field->name, "%" PRId64, *(const int64_t *)at);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        wp_json_bool(json, field->name, *(const protobuf_c_boolean *)at);
        break;
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData bytes = *(const ProtobufCBinaryData *)at;
        if (is_id(field->name) && bytes.len == 16)
            wp_json_hex(json, field->name, bytes);
        else
            wp_json_data(json, field->name, bytes);
        break;
    }
    default:
        break;
    }
}

static int put_message(
    struct wp_json *json, const ProtobufCMessageDescriptor *type, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message = wp_message_unpack(type, raw->data, raw->size, type->short_name, err);
    if (!message)
        return -errno;
    put_fields(json, message);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}

/* --- state: columns --- */

static void put_named(
    struct wp_json *json, const char *name, const ProtobufCBinaryData *texts, size_t count, uint32_t id)
{
    wp_json_data(json, name, id && id <= count ? texts[id - 1] : (ProtobufCBinaryData){0});
}

static int put_genealogy(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__genealogy__descriptor, raw->data, raw->size, "genealogy", err);
    if (!message)
        return -errno;
    const Wakepath__Store__Genealogy *m = (const Wakepath__Store__Genealogy *)message;
    wp_json_array(json, "processes");
    int rc = WP_LENGTHS("genealogy", err, m->n_host, m->n_comm, m->n_exe, m->n_pid, m->n_parent_pid, m->n_start_ns,
        m->n_parent_start_ns);
    for (size_t i = 0; !rc && i < m->n_pid; i++) {
        wp_json_object(json, NULL);
        put_named(json, "host", m->strings, m->n_strings, m->host[i]);
        wp_json_number(json, "pid", m->pid[i]);
        put_named(json, "comm", m->strings, m->n_strings, m->comm[i]);
        put_named(json, "exe", m->strings, m->n_strings, m->exe[i]);
        wp_json_number(json, "start_ns", m->start_ns[i]);
        wp_json_number(json, "parent_pid", m->parent_pid[i]);
        wp_json_number(json, "parent_start_ns", m->parent_start_ns[i]);
        wp_json_number(json, "exec_ns", i < m->n_exec_ns ? m->exec_ns[i] : 0);
        wp_json_number(json, "end_ns", i < m->n_end_ns ? m->end_ns[i] : 0);
        wp_json_number(json, "ending", i < m->n_ending ? m->ending[i] : 0);
        put_named(json, "oom_cgroup", m->strings, m->n_strings, i < m->n_oom_cgroup ? m->oom_cgroup[i] : 0);
        put_named(json, "oom_holder", m->strings, m->n_strings, i < m->n_oom_holder ? m->oom_holder[i] : 0);
        wp_json_number(json, "oom_bytes", i < m->n_oom_bytes ? m->oom_bytes[i] : 0);
        put_named(json, "cgroup", m->strings, m->n_strings, i < m->n_cgroup ? m->cgroup[i] : 0);
        put_named(json, "workload", m->strings, m->n_strings, i < m->n_workload ? m->workload[i] : 0);
        wp_json_end(json);
    }
    wp_json_end(json);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

static int put_sourcemap(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__source_map__descriptor, raw->data, raw->size, "source map", err);
    if (!message)
        return -errno;
    const Wakepath__Store__SourceMap *m = (const Wakepath__Store__SourceMap *)message;
    wp_json_array(json, "functions");
    int rc = WP_LENGTHS("source map", err, m->n_build, m->n_object, m->n_offset, m->n_function);
    for (size_t i = 0; !rc && i < m->n_build; i++) {
        wp_json_object(json, NULL);
        uint32_t build = m->build[i];
        wp_json_hex(
            json, "build_id", build && build <= m->n_build_ids ? m->build_ids[build - 1] : (ProtobufCBinaryData){0});
        put_named(json, "object", m->strings, m->n_strings, m->object[i]);
        wp_json_number(json, "offset", m->offset[i]);
        put_named(json, "function", m->strings, m->n_strings, m->function[i]);
        put_named(json, "file", m->strings, m->n_strings, m->n_file == m->n_build ? m->file[i] : 0);
        wp_json_number(json, "line", m->n_line == m->n_build ? m->line[i] : 0);
        wp_json_number(json, "level", m->n_level == m->n_build ? m->level[i] : 0);
        wp_json_end(json);
    }
    wp_json_end(json);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

static int put_source(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err)
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__source__descriptor, raw->data, raw->size, "source", err);
    if (!message)
        return -errno;
    const Wakepath__Store__Source *m = (const Wakepath__Store__Source *)message;
    wp_json_array(json, "sources");
    for (size_t i = 0; i < m->n_processes; i++) {
        const Wakepath__Store__Source__Process *process = m->processes[i];
        for (size_t j = 0; j < process->n_names && j < process->n_digests; j++) {
            wp_json_object(json, NULL);
            wp_json_data(json, "host", process->host);
            wp_json_number(json, "pid", process->pid);
            wp_json_number(json, "start_ns", process->start_ns);
            wp_json_data(json, "name", process->names[j]);
            wp_json_hex(json, "digest", process->digests[j]);
            wp_json_end(json);
        }
    }
    wp_json_end(json);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}

static int put_content(struct wp_json *json, enum wp_value_kind kind, const struct wp_buffer *raw, struct wp_error *err)
{
    switch (kind) {
    case WP_VALUE_METADATA:
        return put_message(json, &wakepath__store__metadata__descriptor, raw, err);
    case WP_VALUE_PROCESSED:
        return put_message(json, &wakepath__store__processed__descriptor, raw, err);
    case WP_VALUE_LAST_SAMPLE:
        return put_message(json, &wakepath__store__last_sample__descriptor, raw, err);
    case WP_VALUE_CLOCK:
        return put_message(json, &wakepath__store__clock__descriptor, raw, err);
    case WP_VALUE_GENEALOGY:
        return put_genealogy(json, raw, err);
    case WP_VALUE_SOURCEMAP:
        return put_sourcemap(json, raw, err);
    case WP_VALUE_SOURCE:
        return put_source(json, raw, err);
    case WP_VALUE_REPORT:
        return wp_report_json(json, raw, err);
    case WP_VALUE_TRACE:
        return wp_trace_json(json, raw, err);
    case WP_VALUE_EXEMPLARS:
        return wp_exemplars_json(json, raw, err);
    case WP_VALUE_BLOB:
        wp_json_bytes(json, "text", (const char *)raw->data, raw->size < BLOB_SHOWN ? raw->size : BLOB_SHOWN);
        return 0;
    default:
        return 0;
    }
}

int wp_value_json(struct wp_json *json, const struct wp_key *key, const struct wp_value *value,
    const struct wp_buffer *raw, struct wp_error *err)
{
    char text[WP_KEY_ROOM];
    wp_json_object(json, NULL);
    int rc = wp_key_format(key, text, err);
    if (rc)
        return rc;
    wp_json_text(json, "key", text);
    wp_json_text(json, "kind", wp_value_kind_name(value->kind));
    wp_json_number(json, "version", value->version);
    wp_json_text(json, "codec", value->codec == WP_CODEC_ZSTD ? "zstd" : "none");
    wp_json_number(json, "stored_bytes", WP_VALUE_HEADER + value->head_size + value->body_size);
    wp_json_number(json, "raw_bytes", value->raw_size);
    wp_json_hex(json, "digest", (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)value->digest});
    if (value->kind == WP_VALUE_SHARD && value->head_size)
        wp_value_head_json(json, "head", value);
    rc = put_content(json, value->kind, raw, err);
    wp_json_end(json);
    return rc;
}
