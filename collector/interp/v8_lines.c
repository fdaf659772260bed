/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/v8_lines.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_text.h"
#include "collector/interp/v8_bytecodes.h"

#include <string.h>

#define NUMBER_BYTES 10u
#define OFFSET_BITS 30 /* of a position: a bit that says that it is not in the script, the offset + 1, inlining */
#define INLINING_BITS 16
#define SCALES                                                                                                         \
    4u /* bytecodes that say how large the next one's operands are: two and four bytes, and while debugging */

struct stream {
    const uint8_t *bytes;
    size_t at, size;
};

/* What a position says. */
struct position {
    uint32_t offset, inlining; /* in the script, + 1, 0: unknown; 0: in the function itself */
};

static struct wp_v8_head head_of(const struct wp_v8_object *object)
{
    struct wp_v8_head head = {.kind = UINT32_MAX};
    if (object->size >= WP_V8_HEAD)
        memcpy(&head, object->table, sizeof(head));
    return head;
}

/* A part of a table, as far as it is there. */
static struct stream part_of(const struct wp_v8_object *object, size_t at, size_t size)
{
    size_t there = at < object->size ? object->size - at : 0;
    return (struct stream){there ? object->table + at : object->table, 0, size < there ? size : there};
}

/* Seven bits from each byte, the lowest first; the last one has no eighth (base/vlq.h). */
static bool read_number(struct stream *s, uint64_t *number)
{
    *number = 0;
    for (uint32_t i = 0; i < NUMBER_BYTES && s->at < s->size; i++) {
        uint8_t byte = s->bytes[s->at++];
        *number |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128)
            return true;
    }
    return false;
}

/* The sign is in the lowest bit. */
static bool read_signed(struct stream *s, int64_t *number)
{
    uint64_t word;
    if (!read_number(s, &word))
        return false;
    *number = (int64_t)(word >> 1 ^ (0 - (word & 1)));
    return true;
}

/* Of the last entry that begins at or before a place (codegen/source-position-table.cc): pairs of what is added to the
 * place, a negative one - 1 where no statement begins, and to the position. The first may be at place -1, before the
 * function's own code. Sums of hostile numbers wrap. */
static uint64_t position_at(struct stream s, uint64_t wanted)
{
    uint64_t place = UINT64_MAX, position = 0;
    int64_t step, more;
    while (read_signed(&s, &step)) {
        place += (uint64_t)(step < 0 ? -(step + 1) : step);
        if ((int64_t)place > (int64_t)wanted || !read_signed(&s, &more))
            break;
        position += (uint64_t)more;
    }
    return position;
}

static struct position split(uint64_t position)
{
    uint32_t offset = (uint32_t)(position >> 1 & ((1u << OFFSET_BITS) - 1));
    return (struct position){
        position & 1 ? 0 : offset, (uint32_t)(position >> (OFFSET_BITS + 1) & ((1u << INLINING_BITS) - 1))};
}

/* How many bytes a bytecode has with its operands; 0: none of the table's. */
static size_t bytecode_size(const struct wp_v8_bytecodes *known, const struct stream *code)
{
    size_t each = known->count / 3, at = code->at;
    uint8_t first = at < code->size ? code->bytes[at] : 0;
    size_t scale = first < SCALES ? 1 + (first & 1) : 0, prefix = scale ? 1 : 0;
    if (at + prefix >= code->size || code->bytes[at + prefix] >= each)
        return 0;
    return prefix + known->sizes[scale * each + code->bytes[at + prefix]];
}

/* The bytecode that a place in baseline code is of (baseline/bytecode-offset-iterator.h): how much code each has, that
 * before the first one leading. False: the tables end before. */
static bool find_bytecode(const struct wp_v8_object *object, uint64_t wanted, uint64_t *bytecode)
{
    struct wp_v8_head head = head_of(object);
    const struct wp_v8_bytecodes *known = wp_v8_bytecodes(object->version);
    struct stream places = part_of(object, WP_V8_HEAD, head.second);
    struct stream code = part_of(object, WP_V8_HEAD + (size_t)head.second, head.third);
    uint64_t end, more;
    *bytecode = 0;
    if (!known || !read_number(&places, &end))
        return false;
    while (end <= wanted && read_number(&places, &more)) {
        size_t size = bytecode_size(known, &code);
        end += more;
        *bytecode = code.at;
        if (!size)
            return false;
        code.at += size;
    }
    return end > wanted;
}

/* How many lines end before an offset in a script; UINT32_MAX: not all pieces before it are known. */
static uint32_t lines_before(const struct wp_v8_objects *objects, uint64_t script, uint64_t offset)
{
    uint32_t lines = 0;
    for (uint32_t part = 1; part <= WP_V8_PIECES; part++) {
        struct wp_v8_object piece;
        if (!objects->find(objects->context, script, part, &piece))
            return UINT32_MAX;
        struct wp_v8_head head = head_of(&piece);
        struct stream ends = part_of(&piece, WP_V8_HEAD, SIZE_MAX);
        if (head.kind != WP_V8_SOURCE || !head.second)
            return UINT32_MAX;
        uint32_t characters = head.third / head.second;
        for (uint16_t end; ends.size - ends.at >= sizeof(end); ends.at += sizeof(end)) {
            memcpy(&end, ends.bytes + ends.at, sizeof(end));
            lines += end < offset;
        }
        if (offset <= characters)
            return lines;
        offset -= characters;
    }
    return UINT32_MAX;
}

static uint32_t line_of(const struct wp_v8_objects *objects, const struct wp_v8_head *shared, uint32_t offset)
{
    uint32_t before = offset && shared->owner ? lines_before(objects, shared->owner, offset - 1) : UINT32_MAX;
    uint64_t line = (uint64_t)before + shared->first + 1;
    return before == UINT32_MAX || line > INT32_MAX ? 0 : (uint32_t)line;
}

/* A function at an offset in its script. False: it is not known. */
static bool put_place(
    const struct wp_v8_objects *objects, uint64_t function, uint32_t offset, struct wp_interp_place *place)
{
    struct wp_v8_object object;
    if (!objects->find(objects->context, function, 0, &object))
        return false;
    struct wp_v8_head head = head_of(&object);
    if (head.kind != WP_V8_SHARED)
        return false;
    *place = (struct wp_interp_place){object.function, object.file, line_of(objects, &head, offset)};
    return true;
}

/* At a bytecode. */
static uint32_t put_bytecode(
    const struct wp_v8_objects *objects, uint64_t function, uint64_t bytecode, struct wp_interp_place *place)
{
    struct wp_v8_object object;
    if (!objects->find(objects->context, function, 0, &object))
        return 0;
    struct wp_v8_head head = head_of(&object);
    struct position at = split(position_at(part_of(&object, WP_V8_HEAD, head.third), bytecode));
    return put_place(objects, function, at.offset, place);
}

/* Of an inlining: the function, and the position that it was called at. */
static bool find_inlining(const struct wp_v8_object *object, const struct wp_v8_head *head, uint32_t inlining,
    uint64_t *function, uint64_t *call)
{
    uint64_t words[2];
    struct stream functions = part_of(object, WP_V8_HEAD, 8 * (size_t)head->first);
    struct stream all = part_of(object, WP_V8_HEAD + 8 * (size_t)head->first, 16 * (size_t)head->second);
    if (inlining >= head->second || ((size_t)inlining + 1) * sizeof(words) > all.size)
        return false;
    memcpy(words, all.bytes + (size_t)inlining * sizeof(words), sizeof(words));
    uint32_t index = (uint32_t)words[1];
    if (index >= head->first || ((size_t)index + 1) * 8 > functions.size)
        return false;
    memcpy(function, functions.bytes + (size_t)index * 8, 8);
    *function &= ~(uint64_t)7; /* tags */
    *call = words[0];
    return true;
}

/* A call's inlining comes before its own, so that a chain of them ends. 0: one of them is not known. */
static uint32_t put_optimised(const struct wp_v8_objects *objects, const struct wp_v8_object *object, uint64_t place,
    struct wp_interp_place *places, uint32_t room)
{
    struct wp_v8_head head = head_of(object);
    size_t positions_at = WP_V8_HEAD + 8 * (size_t)head.first + 16 * (size_t)head.second;
    uint64_t position = position_at(part_of(object, positions_at, head.third), place), function;
    struct position at = split(position);
    uint32_t count = 0;
    while (at.inlining && count + 1 < room) {
        if (!find_inlining(object, &head, at.inlining - 1, &function, &position))
            return put_place(objects, head.owner, 0, places) ? 1 : 0; /* there are more of them than were sent */
        if (!put_place(objects, function, at.offset, &places[count]))
            return 0;
        count++;
        struct position call = split(position);
        if (call.inlining >= at.inlining)
            return 0;
        at = call;
    }
    return put_place(objects, head.owner, at.inlining ? 0 : at.offset, &places[count]) ? count + 1 : 0;
}

/* A task is where its function begins. */
static uint32_t put_task(const struct wp_v8_objects *objects, uint64_t function, struct wp_interp_place *place)
{
    struct wp_v8_object object;
    if (!objects->find(objects->context, function, 0, &object) || !put_bytecode(objects, function, 0, place))
        return 0;
    place->function = object.task;
    return 1;
}

uint32_t wp_v8_places(const struct wp_v8_objects *objects, uint64_t word, struct wp_interp_place *places, uint32_t room)
{
    struct wp_v8_object object;
    uint64_t address = WP_INTERP_CODE_OF(word), bytecode;
    uint32_t unit = WP_INTERP_UNIT_OF(word);
    if (!room || !objects->find(objects->context, address, 0, &object))
        return 0;
    struct wp_v8_head head = head_of(&object);
    if (unit == WP_INTERP_UNIT_TASK)
        return put_task(objects, address, places);
    bool has_place = unit && unit != WP_INTERP_UNIT_MOST;
    if (head.kind == WP_V8_SHARED)
        return has_place ? put_bytecode(objects, address, unit - 1, places) : put_place(objects, address, 0, places);
    if (head.kind == WP_V8_OPTIMISED && has_place)
        return put_optimised(objects, &object, unit - 1, places, room);
    if (head.kind == WP_V8_BASELINE && has_place && find_bytecode(&object, unit - 1, &bytecode))
        return put_bytecode(objects, head.owner, bytecode, places);
    return put_place(objects, head.owner, 0, places);
}

static uint32_t character(const uint8_t *text, uint32_t i, uint32_t unit)
{
    return unit == 2 ? (uint32_t)text[2 * i] | (uint32_t)text[2 * i + 1] << 8 : text[i];
}

/* As ECMAScript has it ("Line Terminators"): CR LF is one, which ends with the LF. A CR that ends a piece is taken for
 * half of one: what the next piece begins with is not known here. */
static void put_line_ends(struct wp_buffer *out, const uint8_t *text, uint32_t count, uint32_t unit)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = character(text, i, unit);
        bool is_end = c == '\n' || c == 0x2028 || c == 0x2029 ||
            (c == '\r' && i + 1 < count && character(text, i + 1, unit) != '\n');
        uint16_t at = (uint16_t)i;
        if (is_end)
            wp_buffer_append(out, &at, sizeof(at));
    }
}

/* Bytes of a record, as far as they came. */
static void put_part(struct wp_buffer *out, const struct wp_fact_code *code, size_t at, size_t size)
{
    struct stream part = part_of(&(struct wp_v8_object){.table = code->lines, .size = code->lines_size}, at, size);
    wp_buffer_append(out, part.bytes, part.size);
}

static void put_head(struct wp_buffer *out, const struct wp_v8_head *head)
{
    uint8_t bytes[WP_V8_HEAD] = {0};
    memcpy(bytes, head, sizeof(*head));
    wp_buffer_append(out, bytes, sizeof(bytes));
}

/* Two parts of full room come first, of which what is used is kept: the rest is of other records. */
static void put_compiled(struct wp_buffer *out, const struct wp_fact_code *code, struct wp_v8_head head)
{
    bool is_baseline = head.kind == WP_V8_BASELINE;
    uint32_t last = is_baseline ? WP_V8_BYTECODE_AT : WP_V8_POSITIONS_AT,
             most = is_baseline ? WP_V8_PLACES : WP_V8_INLININGS;
    head.first = is_baseline ? 0 : head.first < WP_V8_INLINED ? head.first : WP_V8_INLINED;
    head.second = head.second < most ? head.second : most;
    if (code->lines_size < last) /* the beginning alone */
        head.first = head.second = head.third = 0;
    put_head(out, &head);
    put_part(out, code, WP_V8_HEAD, is_baseline ? head.second : 8 * (size_t)head.first);
    if (!is_baseline)
        put_part(out, code, WP_V8_HEAD + 8 * WP_V8_INLINED, 16 * (size_t)head.second);
    put_part(out, code, last, head.third);
}

static void put_name(struct wp_buffer *out, const struct wp_fact_text *name)
{
    if (name->unit && !name->size)
        wp_buffer_append(out, "<anonymous>", sizeof("<anonymous>"));
    else
        wp_interp_text_put(out, name);
}

size_t wp_v8_texts_put(struct wp_buffer *out, const struct wp_fact_code *code)
{
    put_name(out, &code->name);
    size_t file_at = out->size;
    wp_interp_text_put(out, &code->file);
    wp_buffer_puts(out, "task ");
    put_name(out, &code->name);
    return file_at;
}

void wp_v8_table_put(struct wp_buffer *out, const struct wp_fact_code *code)
{
    struct wp_v8_head head = {0};
    if (code->lines_size >= WP_V8_HEAD)
        memcpy(&head, code->lines, sizeof(head));
    if (head.kind == WP_V8_BASELINE || head.kind == WP_V8_OPTIMISED) {
        put_compiled(out, code, head);
        return;
    }
    if (code->lines_size < WP_V8_HEAD || head.kind != WP_V8_SOURCE) {
        wp_buffer_append(out, code->lines, code->lines_size);
        return;
    }
    uint32_t bytes = code->lines_size - WP_V8_HEAD;
    put_head(out, &head);
    if ((head.second == 1 || head.second == 2) && head.third == bytes && bytes <= WP_V8_PIECE)
        put_line_ends(out, code->lines + WP_V8_HEAD, bytes / head.second, head.second);
}
