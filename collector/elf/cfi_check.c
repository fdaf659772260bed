/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/cfi_check.h"

#include <dwarf.h>
#include <string.h>

#define REGISTERS 256u     /* x86-64 and arm64 have numbers below 146 */
#define REMEMBERED 16u     /* states at once: compilers nest one or two */
#define RULES_LIMIT 65536u /* bytes */

struct cursor {
    const uint8_t *at, *end;
    bool is_bad;
};

static void skip(struct cursor *c, uint64_t bytes)
{
    if (bytes > (uint64_t)(c->end - c->at))
        c->is_bad = true;
    else
        c->at += bytes;
}

/* Also of the signed form, whose value nobody here needs. */
static uint64_t take_leb128(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->is_bad = true;
    return value;
}

static void take_register(struct cursor *c)
{
    c->is_bad |= take_leb128(c) >= REGISTERS;
}

static void take_rule(struct cursor *c, uint8_t code, unsigned *remembered)
{
    switch (code) {
    case DW_CFA_advance_loc1:
        skip(c, 1);
        break;
    case DW_CFA_advance_loc2:
        skip(c, 2);
        break;
    case DW_CFA_advance_loc4:
        skip(c, 4);
        break;
    case DW_CFA_offset_extended:
    case DW_CFA_register:
    case DW_CFA_def_cfa:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
    case DW_CFA_GNU_negative_offset_extended:
        take_register(c);
        take_leb128(c);
        break;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
        take_register(c);
        break;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
        take_leb128(c);
        break;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        take_register(c);
        skip(c, take_leb128(c));
        break;
    case DW_CFA_def_cfa_expression:
        skip(c, take_leb128(c));
        break;
    case DW_CFA_remember_state:
        c->is_bad |= ++*remembered > REMEMBERED;
        break;
    case DW_CFA_restore_state:
        *remembered -= *remembered > 0;
        break;
    case DW_CFA_nop:
    case DW_CFA_GNU_window_save:
        break;
    default: /* also DW_CFA_set_loc, which compilers do not write */
        c->is_bad = true;
    }
}

static bool are_modest(const uint8_t *at, const uint8_t *end)
{
    struct cursor c = {at, end, at > end || end - at > RULES_LIMIT};
    unsigned remembered = 0;
    while (!c.is_bad && c.at < c.end) {
        uint8_t code = *c.at++, high = code & 0xc0;
        if (high == DW_CFA_offset)
            take_leb128(&c);
        else if (!high)
            take_rule(&c, code, &remembered);
    }
    return !c.is_bad;
}

/* Bytes of an address in that encoding, 0: one that is not written where this is read. */
static unsigned size_of(uint8_t encoding)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8};
    return (encoding & 0x70) == DW_EH_PE_aligned ? 0 : sizes[encoding & 15];
}

/* Of the addresses in the FDEs, in bytes; 0: an augmentation that is not known. */
static unsigned address_size(const Dwarf_CIE *cie)
{
    struct cursor c = {cie->augmentation_data, cie->augmentation_data + cie->augmentation_data_size, false};
    unsigned size = 8;
    for (const char *letter = cie->augmentation; *letter && size && !c.is_bad; letter++) {
        uint8_t encoding = c.at < c.end ? *c.at : DW_EH_PE_omit;
        if (*letter == 'L' || *letter == 'R' || *letter == 'P')
            skip(&c, 1);
        if (*letter == 'R')
            size = size_of(encoding);
        else if (*letter == 'P')
            skip(&c, size_of(encoding) ? size_of(encoding) : UINT64_MAX);
        else if (!strchr("zSBL", *letter))
            return 0;
    }
    return c.is_bad ? 0 : size;
}

/* The function whose FDE is at `offset`, and its CIE. */
static bool check_fde(struct wp_cfi_check *check, Dwarf_Off offset)
{
    Dwarf_CFI_Entry fde, cie;
    Dwarf_Off next;
    if (dwarf_next_cfi(check->ident, check->data, check->is_eh_frame, offset, &next, &fde) || dwarf_cfi_cie_p(&fde) ||
        dwarf_next_cfi(check->ident, check->data, check->is_eh_frame, fde.fde.CIE_pointer, &next, &cie) ||
        !dwarf_cfi_cie_p(&cie))
        return false;
    bool is_sized = *cie.cie.augmentation == 'z';
    unsigned size = is_sized || !*cie.cie.augmentation ? address_size(&cie.cie) : 0;
    struct cursor c = {fde.fde.start, fde.fde.end, !size};
    skip(&c, 2 * (uint64_t)size);
    if (is_sized)
        skip(&c, take_leb128(&c));
    if (c.is_bad || !are_modest(c.at, c.end) ||
        !are_modest(cie.cie.initial_instructions, cie.cie.initial_instructions_end))
        return false;
    size_t bytes = (size_t)(c.end - c.at);
    check->longest = bytes > check->longest ? bytes : check->longest;
    return true;
}

bool wp_cfi_check_table(struct wp_cfi_check *check, const uint8_t *table, uint32_t count, int64_t frames)
{
    int32_t entry[2], last = INT32_MIN;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(entry, table + 8 * (size_t)i, sizeof(entry));
        if (entry[0] < last || entry[1] < frames || !check_fde(check, (Dwarf_Off)(entry[1] - frames)))
            return false; /* what is not sorted may be looked up again and again */
        last = entry[0];
    }
    return true;
}

bool wp_cfi_check_all(struct wp_cfi_check *check)
{
    Dwarf_CFI_Entry entry;
    for (Dwarf_Off at = 0, next = 0;; at = next) {
        int rc = dwarf_next_cfi(check->ident, check->data, check->is_eh_frame, at, &next, &entry);
        if (rc > 0 || next <= at)
            return true;
        if (!rc && !dwarf_cfi_cie_p(&entry) &&
            !check_fde(check, at)) /* one that is damaged is passed over by libdw, too */
            return false;
    }
}
