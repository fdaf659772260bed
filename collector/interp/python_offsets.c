/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_offsets.h"

#include <string.h>

/* Include/cpython/pystate.h, Include/internal/pycore_{runtime,interp,frame}.h,
 * Include/cpython/{code,frameobject,tupleobject,dictobject}.h and unicodeobject.h, Lib/asyncio/events.py of each
 * version. */
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
    .frame_top = 64,
    .tuple_first = 24,
    .timer_when = 88,
    .values = WP_PYTHON_VALUES_BEFORE,
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
    .frame_top = 64,
    .tuple_first = 24,
    .timer_when = 80,
    .values = WP_PYTHON_VALUES_MARKED,
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

/* Places in _Py_DebugOffsets (Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14): of what is
 * read, in the order of own_fields, and of what has to be as expected. */
enum { OWN_VERSION = 8, OWN_FREE_THREADED = 16 };
#define OWN_FIELDS 16u

struct own_layout {
    uint16_t version;
    uint16_t fields[OWN_FIELDS];
    uint16_t type, table_size, table_data, text_state, text_length;
    uint16_t coroutine; /* 0: it does not say where a coroutine has its frame */
};

static const struct own_layout own_layouts[] = {
    {.version = 0x030d,
        .fields = {40, 64, 72, 168, 192, 184, 232, 240, 248, 264, 280, 296, 304, 312, 344, 560},
        .type = 360,
        .table_size = 520,
        .table_data = 528,
        .text_state = 544,
        .text_length = 552},
    {.version = 0x030e,
        .fields = {40, 64, 72, 192, 216, 208, 256, 264, 272, 288, 320, 336, 344, 352, 384, 640},
        .type = 408,
        .table_size = 600,
        .table_data = 608,
        .text_state = 624,
        .text_length = 632,
        .coroutine = 680},
};

static uint64_t own_word(const uint8_t *bytes, unsigned at)
{
    uint64_t word;
    memcpy(&word, bytes + at, sizeof(word));
    return word;
}

struct own_field {
    uint16_t below, align; /* what its value is below, and a multiple of */
    uint16_t to;           /* in struct wp_interp_offsets */
};

#define OWN(least_above, multiple, field)                                                                              \
    {                                                                                                                  \
        least_above, multiple, offsetof(struct wp_interp_offsets, field)                                               \
    }
static const struct own_field own_fields[OWN_FIELDS] = {OWN(UINT16_MAX, 8, interpreters),
    OWN(UINT16_MAX, 8, next_interpreter), OWN(UINT16_MAX, 8, threads), OWN(WP_INTERP_STATE_BYTES - 7, 8, next_thread),
    OWN(WP_INTERP_STATE_BYTES - 7, 8, thread_id), OWN(121, 8, frame), OWN(WP_INTERP_FRAME_BYTES - 7, 8, frame_back),
    OWN(WP_INTERP_FRAME_BYTES - 7, 8, frame_code), OWN(WP_INTERP_FRAME_BYTES - 7, 8, frame_at), OWN(80, 1, frame_mark),
    OWN(121, 8, code_file), OWN(137, 8, code_name), OWN(137, 8, code_lines), OWN(125, 4, code_first_line),
    OWN(1024, 8, code_bytes), OWN(64, 8, text_data)};

/* What it does not say. */
static const struct wp_interp_offsets told_3_13 = {.has_marks = 1,
                                          .mark_end = 3, /* FRAME_OWNED_BY_CSTACK */
                                          .mark_is_own = 1,
                                          .frame_bytes = 80,
                                          .text_apart = 16,
                                          .coroutine = 72,
                                          .frame_owner = 70,
                                          .frame_self = 72,
                                          .frame_top = 64,
                                          .tuple_first = 24,
                                          .timer_when = 80,
                                          .values = WP_PYTHON_VALUES_INSIDE},
                                      told_3_14 = {.has_marks = 1,
                                          .mark_end = 3, /* FRAME_OWNED_BY_INTERPRETER */
                                          .mark_is_own = 1,
                                          .frame_bytes = 88,
                                          .text_apart = 16,
                                          .coroutine = 72,
                                          .frame_owner = 74,
                                          .frame_self = 80,
                                          .frame_top = 64,
                                          .top_is_address = 1,
                                          .tuple_first = 32,
                                          .timer_when = 80,
                                          .values = WP_PYTHON_VALUES_INSIDE};

static const struct own_layout *layout_of(uint32_t version)
{
    for (size_t i = 0; i < sizeof(own_layouts) / sizeof(*own_layouts); i++)
        if (own_layouts[i].version == version)
            return &own_layouts[i];
    return NULL;
}

static bool is_as_expected(const uint8_t *bytes, const struct own_layout *own)
{
    return !own_word(bytes, OWN_FREE_THREADED) && own_word(bytes, own->type) == 8 &&
        own_word(bytes, own->table_size) == 16 && own_word(bytes, own->table_data) == 32 &&
        own_word(bytes, own->text_state) == 32 && own_word(bytes, own->text_length) == 16;
}

bool wp_python_offsets_read(const uint8_t *bytes, size_t size, struct wp_interp_offsets *at, uint32_t *version)
{
    if (size < WP_PYTHON_OWN_OFFSETS || memcmp(bytes, "xdebugpy", 8))
        return false;
    *version = (uint32_t)(own_word(bytes, OWN_VERSION) >> 16) & 0xffff;
    const struct own_layout *own = layout_of(*version);
    if (!own || !is_as_expected(bytes, own))
        return false;
    *at = *version == 0x030d ? told_3_13 : told_3_14;
    if (own->coroutine && own_word(bytes, own->coroutine) != at->coroutine)
        return false;
    for (size_t i = 0; i < OWN_FIELDS; i++) {
        const struct own_field *field = &own_fields[i];
        uint64_t value = own_word(bytes, own->fields[i]);
        if (value >= field->below || value % field->align)
            return false;
        uint16_t offset = (uint16_t)value;
        memcpy((uint8_t *)at + field->to, &offset, sizeof(offset));
    }
    return at->code_bytes && at->frame_at < at->frame_bytes - 7 && at->frame_back < at->frame_bytes - 7 &&
        at->frame_code < at->frame_bytes - 7 && at->frame_mark == at->frame_owner;
}
