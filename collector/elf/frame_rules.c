/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/frame_rules.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

static const struct wp_frame_machine machines[] = {{EM_X86_64, 6, 7, 16, 5, false}, {EM_AARCH64, 29, 31, 30, 30, true}};

const struct wp_frame_machine *wp_frame_machine_of(unsigned elf_machine)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (machines[i].elf == elf_machine)
            return &machines[i];
    return NULL;
}

/* A register and an offset as libdw gives them; false for anything else. */
static bool is_register(const Dwarf_Op *op, unsigned *reg, int64_t *offset)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        *reg = op->atom - DW_OP_breg0;
        *offset = (int64_t)op->number;
        return true;
    }
    *reg = (unsigned)op->number;
    *offset = (int64_t)op->number2;
    return op->atom == DW_OP_bregx;
}

/* 8 + (((pc & 15) >= 11) << 3) on sp: what linkers write for .plt. */
static bool is_plt(const Dwarf_Op *ops, size_t count)
{
    static const uint8_t atoms[] = {
        DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    if (count != sizeof(atoms))
        return false;
    for (size_t i = 0; i < count; i++)
        if (ops[i].atom != atoms[i])
            return false;
    return ops[0].number == 8 && ops[1].number == 0;
}

static int16_t bp_at(int64_t at)
{
    return (int16_t)(at % 8 || at / 8 < -30000 || at / 8 > 30000 ? WP_BP_SAME : at / 8);
}

static int16_t bp_of(const struct wp_frame_machine *m, Dwarf_Frame *frame)
{
    Dwarf_Op *ops, memory[3];
    size_t count;
    unsigned reg;
    int64_t offset;
    if (dwarf_frame_register(frame, (int)m->bp, memory, &ops, &count) || !count)
        return WP_BP_SAME;
    if (ops[0].atom == DW_OP_call_frame_cfa) { /* put before every rule, also before those that do not use it */
        if (count == 2 && is_register(&ops[1], &reg, &offset) && reg == m->bp && !offset)
            return WP_BP_AT_BP;
        int64_t at = count == 1 ? 0 : ops[1].atom == DW_OP_plus_uconst ? (int64_t)ops[1].number : 1;
        return bp_at(at);
    }
    return WP_BP_SAME;
}

enum caller { CALLER_KEPT, CALLER_IN_LINK, CALLER_NONE, CALLER_ODD };

static enum caller caller_of(const struct wp_frame_machine *m, Dwarf_Frame *frame)
{
    Dwarf_Op *ops, memory[3];
    size_t count;
    if (dwarf_frame_register(frame, (int)m->ra, memory, &ops, &count))
        return CALLER_KEPT;
    if (!count && ops == memory)
        return CALLER_NONE; /* it is said to be undefined: the first function of a thread */
    if (!count)
        return m->is_caller_behind_bp ? CALLER_IN_LINK : CALLER_KEPT;
    if (count == 1 && (ops[0].atom == DW_OP_reg0 + m->link || (ops[0].atom == DW_OP_regx && ops[0].number == m->link)))
        return CALLER_IN_LINK;
    if (!m->is_caller_behind_bp)
        return CALLER_KEPT;
    int64_t at = ops[0].atom != DW_OP_call_frame_cfa ? 1
        : count == 1                                 ? 0
        : ops[1].atom == DW_OP_plus_uconst           ? (int64_t)ops[1].number
                                                     : 1;
    return at % 8 || at / 8 != bp_of(m, frame) + 1 ? CALLER_ODD : CALLER_KEPT;
}

/* CFA = register + offset. */
static uint16_t cfa_at(const struct wp_frame_machine *m, uint64_t reg, int64_t offset, enum caller caller)
{
    if (offset % 8 || offset < INT16_MIN || offset > INT16_MAX - 7)
        return WP_CFA_NONE;
    uint16_t high = (uint16_t)(int16_t)offset;
    if (reg == m->sp)
        return (uint16_t)(high | (caller == CALLER_IN_LINK ? WP_CFA_DI : WP_CFA_SP));
    return reg == m->bp && caller != CALLER_IN_LINK ? (uint16_t)(high | WP_CFA_BP) : WP_CFA_NONE;
}

/* Four bits for where the caller's bp is; false: it is somewhere else. */
static bool bp_code(int16_t bp, unsigned *code)
{
    bool is_near = bp <= -2 && bp > -1 - WP_CFA_WIDE_CODES;
    *code = is_near ? (unsigned)(-1 - bp) : 0;
    return is_near || bp == WP_BP_SAME;
}

/* The row of a rule with a CFA far above sp, which `cfa` has no room for; of no rule when this has none either. */
static struct wp_unwind_row wide_row(
    const struct wp_frame_machine *m, uint64_t reg, int64_t offset, enum caller caller, int16_t bp)
{
    unsigned code;
    if (reg != m->sp || offset <= 0 || offset % 8 || (uint64_t)offset > WP_CFA_WIDE_MOST || caller != CALLER_KEPT ||
        !bp_code(bp, &code))
        return (struct wp_unwind_row){.cfa = WP_CFA_NONE, .bp = bp};
    return (struct wp_unwind_row){
        .cfa = WP_CFA_WIDE((unsigned)(offset >> 19), code), .bp = (int16_t)(uint16_t)(offset >> 3)};
}

/* The row of a rule with another register, which hand-written code keeps its caller's stack pointer in; of no rule when
 * there is none. */
static struct wp_unwind_row held_row(
    const struct wp_frame_machine *m, uint64_t reg, int64_t offset, enum caller caller, int16_t bp)
{
    static const uint8_t held[WP_CFA_HELDS] = {
        [WP_CFA_HELD_AX] = 0, [WP_CFA_HELD_SI] = 4, [WP_CFA_HELD_R9] = 9, [WP_CFA_HELD_R11] = 11};
    unsigned code;
    if (m->elf == EM_X86_64 && caller == CALLER_KEPT && offset % 8 == 0 && offset >= -8 &&
        offset <= WP_CFA_SP_AT_MOST && bp_code(bp, &code))
        for (unsigned i = 0; i < WP_CFA_HELDS; i++)
            if (held[i] == reg)
                return (struct wp_unwind_row){.cfa = WP_CFA_HELD(i), .bp = WP_CFA_SP_AT_BP(offset, code)};
    return (struct wp_unwind_row){.cfa = WP_CFA_NONE, .bp = bp};
}

static struct wp_unwind_row row_at(
    const struct wp_frame_machine *m, uint64_t reg, int64_t offset, enum caller caller, int16_t bp)
{
    uint16_t cfa = cfa_at(m, reg, offset, caller);
    if (cfa)
        return (struct wp_unwind_row){.cfa = cfa, .bp = bp};
    return reg == m->sp ? wide_row(m, reg, offset, caller, bp) : held_row(m, reg, offset, caller, bp);
}

/* *(sp + offset) + above */
static bool is_kept_sp(const struct wp_frame_machine *m, const Dwarf_Op *ops, size_t count, int64_t *offset)
{
    unsigned reg;
    return count == 3 && is_register(&ops[0], &reg, offset) && reg == m->sp && ops[1].atom == DW_OP_deref &&
        ops[2].atom == DW_OP_plus_uconst && *offset % 8 == 0 && *offset >= -8 && *offset <= WP_CFA_SP_AT_MOST &&
        ops[2].number % 8 == 0 && ops[2].number >= 8 && ops[2].number <= WP_CFA_SP_AT_MOST_ABOVE;
}

/* A rule that is not register + offset. */
static struct wp_unwind_row special_row(
    const struct wp_frame_machine *m, const Dwarf_Op *ops, size_t count, enum caller caller, int16_t bp)
{
    struct wp_unwind_row row = {.cfa = WP_CFA_NONE, .bp = bp};
    unsigned reg, code;
    int64_t offset;
    bool is_realigned = count == 2 && is_register(&ops[0], &reg, &offset) && reg == m->bp && ops[1].atom == DW_OP_deref;
    if (is_plt(ops, count))
        row.cfa = WP_CFA_PLT;
    else if (is_realigned && cfa_at(m, m->bp, offset, caller))
        row.cfa = (uint16_t)((uint16_t)(int16_t)offset | WP_CFA_BP_AT);
    else if (caller == CALLER_KEPT && is_kept_sp(m, ops, count, &offset) && bp_code(bp, &code))
        row = (struct wp_unwind_row){.cfa = WP_CFA_SP_AT(ops[2].number), .bp = WP_CFA_SP_AT_BP(offset, code)};
    return row;
}

struct wp_unwind_row wp_frame_rules_of(const struct wp_frame_machine *m, Dwarf_Frame *frame, bool is_signal)
{
    struct wp_unwind_row row = {.bp = bp_of(m, frame)};
    enum caller caller = caller_of(m, frame);
    Dwarf_Op *ops;
    size_t count;
    unsigned reg;
    int64_t offset;
    if (is_signal || caller == CALLER_NONE)
        row.cfa = is_signal ? WP_CFA_SIGNAL : WP_CFA_END;
    else if (caller == CALLER_ODD || dwarf_frame_cfa(frame, &ops, &count) || !count)
        row.cfa = WP_CFA_NONE;
    else if (count == 1 && is_register(&ops[0], &reg, &offset))
        return row_at(m, reg, offset, caller, row.bp);
    else
        return special_row(m, ops, count, caller, row.bp);
    return row;
}

static enum caller caller_in(const struct wp_frame_machine *m, const struct wp_frame_row *row, int16_t bp)
{
    switch (row->ra.kind) {
    case WP_FRAME_UNDEFINED:
        return CALLER_NONE;
    case WP_FRAME_SAME:
        return m->is_caller_behind_bp ? CALLER_IN_LINK : CALLER_KEPT;
    case WP_FRAME_REGISTER:
        return row->ra.value == (int64_t)m->link ? CALLER_IN_LINK : m->is_caller_behind_bp ? CALLER_ODD : CALLER_KEPT;
    case WP_FRAME_AT:
        break;
    }
    return m->is_caller_behind_bp && (row->ra.value % 8 || row->ra.value / 8 != bp + 1) ? CALLER_ODD : CALLER_KEPT;
}

struct wp_unwind_row wp_frame_rules_row(
    const struct wp_frame_machine *m, const struct wp_frame_row *row, bool is_signal)
{
    int16_t bp = row->bp.kind == WP_FRAME_AT ? bp_at(row->bp.value) : WP_BP_SAME;
    enum caller caller = caller_in(m, row, bp);
    if (is_signal || caller == CALLER_NONE || caller == CALLER_ODD)
        return (struct wp_unwind_row){.cfa = is_signal ? WP_CFA_SIGNAL
                : caller == CALLER_NONE                ? WP_CFA_END
                                                       : WP_CFA_NONE,
            .bp = bp};
    return row_at(m, row->cfa_register, row->cfa_offset, caller, bp);
}
