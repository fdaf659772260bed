/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/dump_text.h"

#include "proto/store.pb-c.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NESTING 4u /* our messages go two deep */
#define WIRE_VARINT 0u
#define WIRE_BYTES 2u

const ProtobufCMessageDescriptor *wp_dump_message(enum wp_value_kind kind)
{
    static const ProtobufCMessageDescriptor *const types[WP_VALUE_KINDS] = {
        [WP_VALUE_METADATA] = &wakepath__store__metadata__descriptor,
        [WP_VALUE_PROCESSED] = &wakepath__store__processed__descriptor,
        [WP_VALUE_LAST_SAMPLE] = &wakepath__store__last_sample__descriptor,
        [WP_VALUE_GENEALOGY] = &wakepath__store__genealogy__descriptor,
        [WP_VALUE_SOURCEMAP] = &wakepath__store__source_map__descriptor,
        [WP_VALUE_SOURCE] = &wakepath__store__source__descriptor,
        [WP_VALUE_CLOCK] = &wakepath__store__clock__descriptor,
        [WP_VALUE_REPORT] = &wakepath__store__report__descriptor,
        [WP_VALUE_TRACE] = &wakepath__store__trace__descriptor,
        [WP_VALUE_EXEMPLARS] = &wakepath__store__exemplars__descriptor,
    };
    return (unsigned)kind < WP_VALUE_KINDS ? types[kind] : NULL;
}

/* --- strings --- */

void wp_dump_quote(const uint8_t *bytes, size_t size, struct wp_buffer *out)
{
    wp_buffer_putc(out, '"');
    for (size_t i = 0; i < size; i++) {
        uint8_t c = bytes[i];
        if (c == '\n')
            wp_buffer_puts(out, "\\n");
        else if (c == '\t')
            wp_buffer_puts(out, "\\t");
        else if (c == '"' || c == '\\')
            wp_buffer_append(out, (const char[]){'\\', (char)c}, 2);
        else if (c < 0x20 || c > 0x7e)
            wp_buffer_printf(out, "\\x%02x", c);
        else
            wp_buffer_putc(out, (char)c);
    }
    wp_buffer_putc(out, '"');
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands behind a backslash. */
static int unescape(const char **text, uint8_t *byte)
{
    char c = *(*text)++;
    if (c == 'n' || c == 't') {
        *byte = c == 'n' ? '\n' : '\t';
        return 0;
    }
    if (c == '"' || c == '\\') {
        *byte = (uint8_t)c;
        return 0;
    }
    if (c != 'x' || hex_digit((*text)[0]) < 0 || hex_digit((*text)[1]) < 0)
        return -EBADMSG;
    *byte = (uint8_t)(hex_digit((*text)[0]) * 16 + hex_digit((*text)[1]));
    *text += 2;
    return 0;
}

int wp_dump_unquote(const char **text, struct wp_buffer *out)
{
    if (*(*text)++ != '"')
        return -EBADMSG;
    while (**text != '"') {
        uint8_t byte = (uint8_t) * (*text)++;
        if (!byte)
            return -EBADMSG;
        if (byte == '\\' && unescape(text, &byte))
            return -EBADMSG;
        if (wp_buffer_append(out, &byte, 1))
            return -ENOMEM;
    }
    (*text)++;
    return 0;
}

/* --- the wire format of protobuf (varints and lengths are all that our messages use) --- */

static void put_varint(struct wp_buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    do {
        bytes[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    wp_buffer_append(out, bytes, size);
}

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool is_number(const ProtobufCFieldDescriptor *field)
{
    return field->type != PROTOBUF_C_TYPE_BYTES && field->type != PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_packed(const ProtobufCFieldDescriptor *field)
{
    return is_number(field) && field->label == PROTOBUF_C_LABEL_REPEATED;
}

static void print_number(const ProtobufCFieldDescriptor *field, uint64_t value, unsigned indent, struct wp_buffer *out)
{
    wp_buffer_printf(out, "%*s%s ", (int)indent, "", field->name);
    if (field->type == PROTOBUF_C_TYPE_SINT64 || field->type == PROTOBUF_C_TYPE_SINT32)
        wp_buffer_printf(out, "%" PRId64 "\n", (int64_t)(value >> 1) ^ -(int64_t)(value & 1));
    else
        wp_buffer_printf(out, "%" PRIu64 "\n", value);
}

static int print_bytes(
    const ProtobufCFieldDescriptor *field, const uint8_t *bytes, size_t size, unsigned indent, struct wp_buffer *out)
{
    const uint8_t *at = bytes, *end = bytes + size;
    uint64_t value;
    int rc = 0;
    if (is_packed(field)) {
        while (at < end && take_varint(&at, end, &value))
            print_number(field, value, indent, out);
        return at == end ? 0 : -EBADMSG;
    }
    if (is_number(field))
        return -EBADMSG;
    wp_buffer_printf(out, "%*s%s ", (int)indent, "", field->name);
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        wp_dump_quote(bytes, size, out);
    } else {
        wp_buffer_puts(out, "{\n");
        rc = wp_dump_print(field->descriptor, bytes, size, indent + 1, out);
        wp_buffer_printf(out, "%*s}", (int)indent, "");
    }
    wp_buffer_putc(out, '\n');
    return rc;
}

int wp_dump_print(
    const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size, unsigned indent, struct wp_buffer *out)
{
    const uint8_t *at = bytes, *end = bytes + size;
    if (indent > NESTING)
        return -EBADMSG;
    while (at < end) {
        uint64_t tag, value;
        if (!take_varint(&at, end, &tag) || tag >> 32)
            return -EBADMSG;
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        if (!field || !take_varint(&at, end, &value))
            return -EBADMSG;
        if ((tag & 7) == WIRE_VARINT && is_number(field) && !is_packed(field)) {
            print_number(field, value, indent, out);
            continue;
        }
        if ((tag & 7) != WIRE_BYTES || value > (uint64_t)(end - at))
            return -EBADMSG;
        int rc = print_bytes(field, at, (size_t)value, indent, out);
        if (rc)
            return rc;
        at += value;
    }
    return out->failed ? -ENOMEM : 0;
}

/* --- and back --- */

int wp_dump_next(struct wp_dump_lines *lines)
{
    const char *line;
    int rc = lines->next(lines->context, &line);
    lines->line = rc > 0 ? line : NULL;
    lines->number += rc > 0;
    return rc;
}

static int refuse(const struct wp_dump_lines *lines, struct wp_error *err, const char *why)
{
    return wp_error_set(err, -EBADMSG, "line %llu: %s: '%.60s'", (unsigned long long)lines->number, why,
        lines->line ? lines->line : "");
}

static bool parse_number(const ProtobufCFieldDescriptor *field, const char *text, uint64_t *value)
{
    char *end;
    bool is_signed = field->type == PROTOBUF_C_TYPE_SINT64 || field->type == PROTOBUF_C_TYPE_SINT32;
    errno = 0;
    if (is_signed) {
        int64_t number = strtoimax(text, &end, 10);
        *value = ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
    } else {
        *value = strtoumax(text, &end, 10);
    }
    bool starts = (*text >= '0' && *text <= '9') || (is_signed && *text == '-');
    return starts && !*end && !errno;
}

/* The field that a line names, and what stands behind its name; NULL: the line belongs to somebody else. */
static const ProtobufCFieldDescriptor *field_of(
    const ProtobufCMessageDescriptor *type, const char *line, unsigned indent, const char **value)
{
    char name[64];
    if (!line || strspn(line, " ") != indent)
        return NULL;
    line += indent;
    const char *blank = strchr(line, ' ');
    if (!blank || (size_t)(blank - line) >= sizeof(name))
        return NULL;
    memcpy(name, line, (size_t)(blank - line));
    name[blank - line] = 0;
    *value = blank + 1;
    return protobuf_c_message_descriptor_get_field_by_name(type, name);
}

static void put_tagged(struct wp_buffer *out, const ProtobufCFieldDescriptor *field, const struct wp_buffer *bytes)
{
    put_varint(out, (uint64_t)field->id << 3 | WIRE_BYTES);
    put_varint(out, bytes->size);
    if (bytes->size)
        wp_buffer_append(out, bytes->data, bytes->size);
}

/* All lines of a column, which stand together. */
static int parse_column(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field,
    struct wp_dump_lines *lines, unsigned indent, struct wp_buffer *bytes, struct wp_error *err)
{
    const char *text;
    int rc = 1;
    while (rc > 0 && field_of(type, lines->line, indent, &text) == field) {
        uint64_t value;
        if (!parse_number(field, text, &value))
            return refuse(lines, err, "not a number");
        put_varint(bytes, value);
        rc = wp_dump_next(lines);
    }
    return rc < 0 ? rc : 0;
}

static int parse_field(const ProtobufCFieldDescriptor *field, const char *text, struct wp_dump_lines *lines,
    unsigned indent, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    uint64_t value;
    int rc = 0;
    if (is_number(field)) {
        if (!parse_number(field, text, &value))
            return refuse(lines, err, "not a number");
        put_varint(out, (uint64_t)field->id << 3 | WIRE_VARINT);
        put_varint(out, value);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        rc = wp_dump_unquote(&text, &bytes);
        if (rc || *text)
            rc = refuse(lines, err, "not a quoted string");
    } else if (strcmp(text, "{")) {
        rc = refuse(lines, err, "'{' is missing");
    } else {
        rc = wp_dump_next(lines);
        if (rc >= 0)
            rc = wp_dump_parse(field->descriptor, lines, indent + 1, &bytes, err);
        if (!rc && (!lines->line || strspn(lines->line, " ") != indent || strcmp(lines->line + indent, "}")))
            rc = refuse(lines, err, "'}' is missing");
    }
    if (!rc && !is_number(field))
        put_tagged(out, field, &bytes);
    if (!rc)
        rc = wp_dump_next(lines);
    wp_buffer_fini(&bytes);
    return rc < 0 ? rc : 0;
}

int wp_dump_parse(const ProtobufCMessageDescriptor *type, struct wp_dump_lines *lines, unsigned indent,
    struct wp_buffer *out, struct wp_error *err)
{
    const char *text;
    int rc = 0;
    if (indent > NESTING)
        return refuse(lines, err, "nested too deep");
    while (!rc && lines->line && strspn(lines->line, " ") >= indent) {
        const ProtobufCFieldDescriptor *field = field_of(type, lines->line, indent, &text);
        if (!field)
            return refuse(lines, err, "not a field of this value");
        if (is_packed(field)) {
            struct wp_buffer bytes = {0};
            rc = parse_column(type, field, lines, indent, &bytes, err);
            if (!rc)
                put_tagged(out, field, &bytes);
            wp_buffer_fini(&bytes);
        } else {
            rc = parse_field(field, text, lines, indent, out, err);
        }
    }
    if (!rc && out->failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for a value");
    return rc;
}
