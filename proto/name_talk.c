/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/name_talk.h"

#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES ((size_t)4 << 20)

static int bad(struct wp_error *err, const char *what)
{
    return wp_error_set(err, -EINVAL, "bad names: %s", what);
}

static int pack(const ProtobufCMessage *message, struct wp_buffer *out, struct wp_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (wp_buffer_reserve(out, size))
        return wp_error_set(err, -ENOMEM, "out of memory for names");
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    return 0;
}

static bool take_build(struct wp_build *build, const ProtobufCBinaryData *bytes)
{
    if (!bytes->len || bytes->len > WP_BUILD_BYTES)
        return false;
    *build = (struct wp_build){.size = (uint8_t)bytes->len};
    memcpy(build->bytes, bytes->data, bytes->len);
    return true;
}

int wp_name_question_encode(const struct wp_name_question *q, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Wire__NameQuestion m = WAKEPATH__WIRE__NAME_QUESTION__INIT;
    m.id = q->id;
    m.build_id = (ProtobufCBinaryData){q->build.size, (uint8_t *)q->build.bytes};
    m.offset = (uint64_t *)q->offsets;
    m.n_offset = q->count;
    return pack(&m.base, out, err);
}

int wp_name_question_decode(
    struct wp_name_question *q, void **owned, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Wire__NameQuestion *m =
        size > MESSAGE_BYTES ? NULL : wakepath__wire__name_question__unpack(NULL, size, bytes);
    int rc = 0;
    if (!m)
        return bad(err, "not a message");
    *q = (struct wp_name_question){.id = m->id, .offsets = m->offset, .count = (uint32_t)m->n_offset};
    if (!take_build(&q->build, &m->build_id))
        rc = bad(err, "a question without an object");
    else if (!m->n_offset || m->n_offset > WP_NAME_PLACES)
        rc = bad(err, "a question of no places, or of too many");
    if (rc) {
        wakepath__wire__name_question__free_unpacked(m, NULL);
        return rc;
    }
    *owned = m;
    return 0;
}

void wp_name_question_free(void *owned)
{
    if (owned)
        wakepath__wire__name_question__free_unpacked(owned, NULL);
}

int wp_name_answer_encode(const struct wp_name_answer *a, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Wire__NameAnswer m = WAKEPATH__WIRE__NAME_ANSWER__INIT;
    size_t rows = a->row_count, levels = a->level_count;
    uint8_t *room = malloc(rows * 12 + levels * (2 * sizeof(char *) + 4) + 8);
    if (!room)
        return wp_error_set(err, -ENOMEM, "out of memory for names");
    m.id = a->id;
    m.build_id = (ProtobufCBinaryData){a->build.size, (uint8_t *)a->build.bytes};
    m.is_yours = a->is_yours;
    m.offset = (void *)room;
    m.function = (void *)(m.offset + rows);
    m.file = m.function + levels;
    m.line = (void *)(m.file + levels);
    m.levels = m.line + levels;
    m.n_offset = m.n_levels = rows;
    m.n_function = m.n_file = m.n_line = levels;
    for (size_t i = 0; i < rows; i++) {
        m.offset[i] = a->rows[i].offset;
        m.levels[i] = a->rows[i].count;
    }
    for (size_t i = 0; i < levels; i++) {
        m.function[i] = (char *)(uintptr_t)a->levels[i].function;
        m.file[i] = (char *)(uintptr_t)a->levels[i].file;
        m.line[i] = a->levels[i].line;
    }
    int rc = pack(&m.base, out, err);
    free(room);
    return rc;
}

static int check_answer(const Wakepath__Wire__NameAnswer *m, struct wp_error *err)
{
    size_t levels = 0;
    if (!m->n_offset || m->n_offset > WP_NAME_PLACES || m->n_levels != m->n_offset)
        return bad(err, "an answer of no places, or of too many");
    for (size_t i = 0; i < m->n_levels; i++) {
        if (m->levels[i] > WP_NAME_LEVELS)
            return bad(err, "too many functions at one place");
        levels += m->levels[i];
    }
    if (m->n_function != levels || m->n_file != levels || m->n_line != levels || (m->is_yours && levels))
        return bad(err, "columns of different lengths");
    for (size_t i = 0; i < levels; i++)
        if (strlen(m->function[i]) > WP_NAME_BYTES || strlen(m->file[i]) > WP_NAME_BYTES)
            return bad(err, "a name that is too long");
    return 0;
}

/* Rows and levels in one piece of memory; the texts stay the message's. */
struct decoded {
    Wakepath__Wire__NameAnswer *message;
    struct wp_name_row rows[WP_NAME_PLACES];
    struct wp_name_level levels[];
};

int wp_name_answer_decode(struct wp_name_answer *a, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    Wakepath__Wire__NameAnswer *m =
        size > MESSAGE_BYTES ? NULL : wakepath__wire__name_answer__unpack(NULL, size, bytes);
    *a = (struct wp_name_answer){0}; /* nothing to be freed, whatever the caller's was */
    if (!m)
        return bad(err, "not a message");
    *a = (struct wp_name_answer){.id = m->id,
        .is_yours = m->is_yours,
        .row_count = (uint32_t)m->n_offset,
        .level_count = (uint32_t)m->n_function};
    int rc = take_build(&a->build, &m->build_id) ? check_answer(m, err) : bad(err, "an answer without an object");
    struct decoded *d = rc ? NULL : malloc(sizeof(*d) + m->n_function * sizeof(d->levels[0]));
    if (!rc && !d)
        rc = wp_error_set(err, -ENOMEM, "out of memory for names");
    if (rc) {
        wakepath__wire__name_answer__free_unpacked(m, NULL);
        *a = (struct wp_name_answer){0};
        return rc;
    }
    d->message = m;
    uint32_t first = 0;
    for (uint32_t i = 0; i < a->row_count; first += m->levels[i++])
        d->rows[i] = (struct wp_name_row){m->offset[i], first, m->levels[i]};
    for (uint32_t i = 0; i < a->level_count; i++)
        d->levels[i] = (struct wp_name_level){m->function[i], m->file[i], m->line[i]};
    a->rows = d->rows;
    a->levels = d->levels;
    a->owned = d;
    return 0;
}

void wp_name_answer_fini(struct wp_name_answer *a)
{
    struct decoded *d = a->owned;
    if (d)
        wakepath__wire__name_answer__free_unpacked(d->message, NULL);
    free(d);
    *a = (struct wp_name_answer){0};
}
