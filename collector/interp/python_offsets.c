/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_offsets.h"

#include <string.h>

/* Include/cpython/pystate.h, Include/internal/pycore_{runtime,interp,frame}.h, Include/cpython/{code,frameobject}.h and
 * unicodeobject.h of each version. */
static const struct wp_interp_offsets python_3_9 = {.interpreters = 32,
    .next_interpreter = 0,
    .threads = 8,
    .next_thread = 8,
    .thread_id = 176,
    .frame = 24,
    .frame_code = 32,
    .frame_back = 24,
    .frame_at = 104,
    .frame_bytes = 112,
    .code_lines = 120,
    .code_name = 112,
    .code_file = 104,
    .code_first_line = 40,
    .text_data = 48,
    .text_apart = 24};

static const struct wp_interp_offsets python_3_10 = {.interpreters = 32,
    .next_interpreter = 0,
    .threads = 8,
    .next_thread = 8,
    .thread_id = 176,
    .frame = 24,
    .frame_code = 32,
    .frame_back = 24,
    .frame_at = 96,
    .frame_bytes = 104,
    .code_lines = 120,
    .code_name = 112,
    .code_file = 104,
    .code_first_line = 40,
    .text_data = 48,
    .text_apart = 24,
    .unit_bits = 1};

static const struct wp_interp_offsets python_3_11 = {.interpreters = 40,
    .next_interpreter = 0,
    .threads = 16,
    .next_thread = 8,
    .thread_id = 152,
    .frame = 56,
    .held_at = 8 + 1,
    .frame_code = 32,
    .frame_back = 48,
    .frame_at = 56,
    .frame_mark = 68,
    .frame_bytes = 80,
    .has_marks = 1,
    .mark_end = 1, /* is_entry */
    .coroutine = 80,
    .frame_owner = 69,
    .frame_self = 72,
    .code_lines = 136,
    .code_name = 128,
    .code_file = 112,
    .code_first_line = 72,
    .code_bytes = 184,
    .text_data = 48,
    .text_apart = 24};

static const struct wp_interp_offsets python_3_12 = {.interpreters = 40,
    .next_interpreter = 0,
    .threads = 72,
    .next_thread = 8,
    .thread_id = 136,
    .frame = 56,
    .held_at = 0 + 1,
    .frame_code = 0,
    .frame_back = 8,
    .frame_at = 56,
    .frame_mark = 70,
    .frame_bytes = 80,
    .has_marks = 1,
    .coroutine = 72,
    .frame_owner = 70,
    .frame_self = 72,
    .mark_end = 3, /* FRAME_OWNED_BY_CSTACK */
    .mark_is_own = 1,
    .code_lines = 136,
    .code_name = 128,
    .code_file = 112,
    .code_first_line = 68,
    .code_bytes = 192,
    .text_data = 40,
    .text_apart = 16};

const struct wp_interp_offsets *wp_python_offsets(uint32_t version)
{
    switch (version) {
    case 0x0309:
        return &python_3_9;
    case 0x030a:
        return &python_3_10;
    case 0x030b:
        return &python_3_11;
    case 0x030c:
        return &python_3_12;
    default:
        return NULL;
    }
}

/* Places in _Py_DebugOffsets of 3.13 (Include/internal/pycore_runtime.h). */
enum {
    OWN_VERSION = 8,
    OWN_FREE_THREADED = 16,
    OWN_INTERPRETERS = 40,
    OWN_NEXT_INTERPRETER = 64,
    OWN_THREADS = 72,
    OWN_NEXT_THREAD = 168,
    OWN_FRAME = 184,
    OWN_THREAD_ID = 192,
    OWN_FRAME_BACK = 232,
    OWN_FRAME_CODE = 240,
    OWN_FRAME_AT = 248,
    OWN_FRAME_MARK = 264,
    OWN_CODE_FILE = 280,
    OWN_CODE_NAME = 296,
    OWN_CODE_LINES = 304,
    OWN_CODE_FIRST_LINE = 312,
    OWN_CODE_BYTES = 344,
    OWN_TYPE = 360,
    OWN_TABLE_SIZE = 520,
    OWN_TABLE_DATA = 528,
    OWN_TEXT_STATE = 544,
    OWN_TEXT_LENGTH = 552,
    OWN_TEXT_DATA = 560
};

static uint64_t own_word(const uint8_t *bytes, unsigned at)
{
    uint64_t word;
    memcpy(&word, bytes + at, sizeof(word));
    return word;
}

struct own_field {
    uint16_t from, below, align; /* place in _Py_DebugOffsets; what its value is below, and a multiple of */
    uint16_t to;                 /* in struct wp_interp_offsets */
};

#define OWN(place, least_above, multiple, field)                                                                       \
    {                                                                                                                  \
        place, least_above, multiple, offsetof(struct wp_interp_offsets, field)                                        \
    }
static const struct own_field own_fields[] = {OWN(OWN_INTERPRETERS, UINT16_MAX, 8, interpreters),
    OWN(OWN_NEXT_INTERPRETER, UINT16_MAX, 8, next_interpreter), OWN(OWN_THREADS, UINT16_MAX, 8, threads),
    OWN(OWN_NEXT_THREAD, WP_INTERP_STATE_BYTES - 7, 8, next_thread),
    OWN(OWN_THREAD_ID, WP_INTERP_STATE_BYTES - 7, 8, thread_id), OWN(OWN_FRAME, 121, 8, frame),
    OWN(OWN_FRAME_BACK, WP_INTERP_FRAME_BYTES - 7, 8, frame_back),
    OWN(OWN_FRAME_CODE, WP_INTERP_FRAME_BYTES - 7, 8, frame_code),
    OWN(OWN_FRAME_AT, WP_INTERP_FRAME_BYTES - 7, 8, frame_at), OWN(OWN_FRAME_MARK, 80, 1, frame_mark),
    OWN(OWN_CODE_FILE, 121, 8, code_file), OWN(OWN_CODE_NAME, 137, 8, code_name),
    OWN(OWN_CODE_LINES, 137, 8, code_lines), OWN(OWN_CODE_FIRST_LINE, 125, 4, code_first_line),
    OWN(OWN_CODE_BYTES, 1024, 8, code_bytes), OWN(OWN_TEXT_DATA, 64, 8, text_data)};

bool wp_python_offsets_read(const uint8_t *bytes, size_t size, struct wp_interp_offsets *at, uint32_t *version)
{
    if (size < WP_PYTHON_OWN_OFFSETS || memcmp(bytes, "xdebugpy", 8))
        return false;
    *version = (uint32_t)(own_word(bytes, OWN_VERSION) >> 16) & 0xffff;
    if (*version != 0x030d || own_word(bytes, OWN_FREE_THREADED) || own_word(bytes, OWN_TYPE) != 8 ||
        own_word(bytes, OWN_TABLE_SIZE) != 16 || own_word(bytes, OWN_TABLE_DATA) != 32 ||
        own_word(bytes, OWN_TEXT_STATE) != 32 || own_word(bytes, OWN_TEXT_LENGTH) != 16)
        return false;
    *at = (struct wp_interp_offsets){.has_marks = 1,
        .mark_end = 3,
        .mark_is_own = 1,
        .frame_bytes = 80,
        .text_apart = 16,
        .coroutine = 72,
        .frame_owner = 70,
        .frame_self = 72};
    for (size_t i = 0; i < sizeof(own_fields) / sizeof(*own_fields); i++) {
        const struct own_field *field = &own_fields[i];
        uint64_t value = own_word(bytes, field->from);
        if (value >= field->below || value % field->align)
            return false;
        uint16_t offset = (uint16_t)value;
        memcpy((uint8_t *)at + field->to, &offset, sizeof(offset));
    }
    return at->code_bytes && at->frame_at < at->frame_bytes - 7 && at->frame_back < at->frame_bytes - 7 &&
        at->frame_code < at->frame_bytes - 7;
}
