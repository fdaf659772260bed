/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/frame_program.h"

#include <dwarf.h>
#include <string.h>

#define REMEMBERED 16u

/* What is left to read. A read behind the end fails, and so does all that comes after it. */
struct cursor {
    const uint8_t *at, *end;
    bool has_failed;
};

static uint64_t read_uint(struct cursor *c, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < size) {
        c->has_failed = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, size); /* little endian, as both machines are */
    c->at += size;
    return value;
}

static uint64_t take_leb(struct cursor *c, bool is_signed)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = read_uint(c, 1);
        value |= (byte & 127) << shift;
        if (byte & 128)
            continue;
        if (is_signed && byte & 64 && shift + 7 < 64)
            value |= ~0ull << (shift + 7);
        return value;
    }
    c->has_failed = true;
    return 0;
}

static void skip(struct cursor *c, uint64_t size)
{
    if ((uint64_t)(c->end - c->at) < size) {
        c->has_failed = true;
        c->at = c->end;
        return;
    }
    c->at += size;
}

/* A pointer of a known size without its base; false for forms that are not read here. */
static bool take_pointer(struct cursor *c, uint8_t encoding, uint64_t *value)
{
    switch (encoding & 15) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        *value = read_uint(c, 8);
        return true;
    case DW_EH_PE_udata4:
        *value = read_uint(c, 4);
        return true;
    case DW_EH_PE_sdata4:
        *value = (uint64_t)(int64_t)(int32_t)read_uint(c, 4);
        return true;
    default:
        return false;
    }
}

static struct cursor cursor_at(const struct wp_frame_section *s, size_t at, size_t end)
{
    return (struct cursor){.at = s->bytes + at, .end = s->bytes + end};
}

/* The extent of the entry at `at`, behind its length; false for the wide form and what ends beyond the section. */
static bool entry_at(const struct wp_frame_section *s, size_t at, struct cursor *c)
{
    uint32_t length;
    if (at > s->size || s->size - at < 4)
        return false;
    memcpy(&length, s->bytes + at, 4);
    if (length < 4 || length >= 0xfffffff0u || length > s->size - at - 4)
        return false;
    *c = cursor_at(s, at + 4, at + 4 + length);
    return true;
}

struct run {
    const struct wp_frame_section *section;
    const struct wp_frame_cie *cie;
    struct wp_frame_row now, remembered[REMEMBERED];
    unsigned depth;
    struct wp_frame_function *function; /* NULL: the rules that a CIE begins with */
};

static struct wp_frame_rule *rule_of(struct run *r, uint64_t number)
{
    return number == r->section->bp ? &r->now.bp : number == r->section->ra ? &r->now.ra : NULL;
}

static void set_rule(struct run *r, uint64_t number, enum wp_frame_rule_kind kind, int64_t value)
{
    struct wp_frame_rule *rule = rule_of(r, number);
    if (rule)
        *rule = (struct wp_frame_rule){kind, value};
}

static void restore_rule(struct run *r, uint64_t number)
{
    struct wp_frame_rule *rule = rule_of(r, number);
    if (rule)
        *rule = number == r->section->bp ? r->cie->first.bp : r->cie->first.ra;
}

static int64_t scaled(const struct run *r, uint64_t factor)
{
    return (int64_t)(factor * (uint64_t)r->cie->data_align);
}

/* The rules that were true up to here are a row. */
static bool advance(struct run *r, uint64_t delta)
{
    struct wp_frame_function *f = r->function;
    uint64_t next = r->now.address + delta * r->cie->code_align;
    if (!f || next < r->now.address)
        return false;
    if (next == r->now.address)
        return true;
    if (f->count == WP_FRAME_ROWS)
        return false;
    f->rows[f->count++] = r->now;
    r->now.address = next;
    return next <= f->end;
}

/* One of the instructions that have a whole byte; false: not one of those that are read here. */
static bool instruct(struct run *r, uint8_t op, struct cursor *c)
{
    uint64_t number;
    switch (op) {
    case DW_CFA_nop:
        return true;
    case DW_CFA_advance_loc1:
        return advance(r, read_uint(c, 1));
    case DW_CFA_advance_loc2:
        return advance(r, read_uint(c, 2));
    case DW_CFA_advance_loc4:
        return advance(r, read_uint(c, 4));
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
        number = take_leb(c, false);
        set_rule(r, number, WP_FRAME_AT, scaled(r, take_leb(c, op == DW_CFA_offset_extended_sf)));
        return true;
    case DW_CFA_restore_extended:
        restore_rule(r, take_leb(c, false));
        return r->function;
    case DW_CFA_undefined:
        set_rule(r, take_leb(c, false), WP_FRAME_UNDEFINED, 0);
        return true;
    case DW_CFA_same_value:
        set_rule(r, take_leb(c, false), WP_FRAME_SAME, 0);
        return true;
    case DW_CFA_register:
        number = take_leb(c, false);
        set_rule(r, number, WP_FRAME_REGISTER, (int64_t)take_leb(c, false));
        return true;
    case DW_CFA_remember_state:
        if (r->depth == REMEMBERED)
            return false;
        r->remembered[r->depth++] = r->now;
        return true;
    case DW_CFA_restore_state:
        if (!r->depth)
            return false;
        number = r->now.address;
        r->now = r->remembered[--r->depth];
        r->now.address = number;
        return true;
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        r->now.cfa_register = take_leb(c, false);
        number = take_leb(c, op == DW_CFA_def_cfa_sf);
        r->now.cfa_offset = op == DW_CFA_def_cfa_sf ? scaled(r, number) : (int64_t)number;
        return true;
    case DW_CFA_def_cfa_register:
        r->now.cfa_register = take_leb(c, false);
        return true;
    case DW_CFA_def_cfa_offset:
        r->now.cfa_offset = (int64_t)take_leb(c, false);
        return true;
    case DW_CFA_def_cfa_offset_sf:
        r->now.cfa_offset = scaled(r, take_leb(c, true));
        return true;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        if (rule_of(r, take_leb(c, false)))
            return false;
        skip(c, take_leb(c, false));
        return true;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        number = take_leb(c, false);
        take_leb(c, op == DW_CFA_val_offset_sf);
        return !rule_of(r, number);
    case DW_CFA_GNU_args_size:
        take_leb(c, false);
        return true;
    default:
        return false;
    }
}

static bool execute(struct run *r, struct cursor *c)
{
    while (c->at < c->end) {
        uint8_t op = (uint8_t)read_uint(c, 1), low = op & 63;
        bool is_read = true;
        switch (op & 0xc0) {
        case DW_CFA_advance_loc:
            is_read = advance(r, low);
            break;
        case DW_CFA_offset:
            set_rule(r, low, WP_FRAME_AT, scaled(r, take_leb(c, false)));
            break;
        case DW_CFA_restore:
            restore_rule(r, low);
            is_read = r->function;
            break;
        default:
            is_read = instruct(r, op, c);
        }
        if (!is_read || c->has_failed)
            return false;
    }
    return true;
}

static bool read_augmentation(struct wp_frame_cie *cie, const char *letters, struct cursor *c)
{
    uint64_t ignored;
    if (!*letters)
        return true;
    if (*letters != 'z')
        return false;
    cie->is_augmented = true;
    uint64_t size = take_leb(c, false);
    if ((uint64_t)(c->end - c->at) < size)
        return false;
    const uint8_t *after = c->at + size;
    for (letters++; *letters; letters++) {
        if (*letters == 'R')
            cie->encoding = (uint8_t)read_uint(c, 1);
        else if (*letters == 'S')
            cie->is_signal = true;
        else if (*letters == 'L')
            read_uint(c, 1);
        else if (*letters != 'P' || !take_pointer(c, (uint8_t)read_uint(c, 1), &ignored))
            return false;
    }
    bool is_whole = c->at <= after && !c->has_failed;
    c->at = after;
    return is_whole;
}

static bool read_cie(const struct wp_frame_section *s, size_t at, struct wp_frame_cie *cie)
{
    struct cursor c;
    if (!entry_at(s, at, &c) || read_uint(&c, 4)) /* 0 says that it is one */
        return false;
    uint64_t version = read_uint(&c, 1);
    const char *letters = (const char *)c.at;
    const uint8_t *end = memchr(c.at, 0, (size_t)(c.end - c.at));
    if (!end || (version != 1 && version != 3))
        return false;
    c.at = end + 1;
    cie->code_align = take_leb(&c, false);
    cie->data_align = (int64_t)take_leb(&c, true);
    uint64_t caller = version == 1 ? read_uint(&c, 1) : take_leb(&c, false);
    struct run run = {.section = s, .cie = cie};
    if (caller != s->ra || !read_augmentation(cie, letters, &c) || !execute(&run, &c))
        return false;
    cie->first = run.now;
    return true;
}

static const struct wp_frame_cie *cie_at(struct wp_frame_section *s, size_t at)
{
    struct wp_frame_cie *cie = &s->cies[at / 8 % WP_FRAME_CIES];
    if (!cie->is_known || cie->at != at) {
        *cie = (struct wp_frame_cie){.at = at, .is_known = true};
        cie->is_usable = read_cie(s, at, cie);
    }
    return cie->is_usable ? cie : NULL;
}

/* What a description says before its program, which is left to read. */
static const struct wp_frame_cie *begin_reading(
    struct wp_frame_section *s, uint64_t address, struct wp_frame_function *f, struct cursor *c)
{
    uint64_t size;
    if (address < s->address || address - s->address >= s->size || !entry_at(s, (size_t)(address - s->address), c))
        return NULL;
    size_t here = (size_t)(c->at - s->bytes);
    uint64_t back = read_uint(c, 4);
    const struct wp_frame_cie *cie = back && back <= here ? cie_at(s, here - (size_t)back) : NULL;
    if (!cie || (cie->encoding & 0xf0 & ~DW_EH_PE_pcrel))
        return NULL;
    uint64_t base = cie->encoding & DW_EH_PE_pcrel ? s->address + (uint64_t)(c->at - s->bytes) : 0;
    if (!take_pointer(c, cie->encoding, &f->begin) || !take_pointer(c, cie->encoding & 7, &size))
        return NULL;
    f->begin += base;
    f->end = f->begin + size;
    f->is_signal = cie->is_signal;
    f->count = 0;
    if (cie->is_augmented)
        skip(c, take_leb(c, false));
    return c->has_failed || f->end <= f->begin ? NULL : cie;
}

bool wp_frame_program_range(struct wp_frame_section *s, uint64_t address, struct wp_frame_function *f)
{
    struct cursor c;
    return begin_reading(s, address, f, &c);
}

uint64_t wp_frame_program_next(const struct wp_frame_section *s, uint64_t address)
{
    struct cursor c;
    return address >= s->address && address - s->address < s->size && entry_at(s, (size_t)(address - s->address), &c)
        ? s->address + (uint64_t)(c.end - s->bytes)
        : 0;
}

bool wp_frame_program_read(struct wp_frame_section *s, uint64_t address, struct wp_frame_function *f)
{
    struct cursor c;
    const struct wp_frame_cie *cie = begin_reading(s, address, f, &c);
    if (!cie)
        return false;
    struct run run = {.section = s, .cie = cie, .now = cie->first, .function = f};
    run.now.address = f->begin;
    if (!execute(&run, &c) || f->count == WP_FRAME_ROWS)
        return false;
    if (run.now.address < f->end)
        f->rows[f->count++] = run.now;
    return f->count > 0;
}
