/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/frame_rules.h"

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
    static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3,
        DW_OP_shl, DW_OP_plus};
    if (count != sizeof(atoms))
        return false;
    for (size_t i = 0; i < count; i++)
        if (ops[i].atom != atoms[i])
            return false;
    return ops[0].number == 8 && ops[1].number == 0;
}

static int16_t bp_at(int64_t at)
{
    return at % 8 || at / 8 < -30000 || at / 8 > 30000 ? WP_BP_SAME : (int16_t)(at / 8);
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
    int64_t at = ops[0].atom != DW_OP_call_frame_cfa ? 1 : count == 1 ? 0 : ops[1].atom == DW_OP_plus_uconst ? (int64_t)ops[1].number : 1;
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

static uint16_t cfa_of(const struct wp_frame_machine *m, Dwarf_Frame *frame, bool is_signal)
{
    Dwarf_Op *ops;
    size_t count;
    unsigned reg;
    int64_t offset;
    if (is_signal)
        return WP_CFA_SIGNAL;
    enum caller caller = caller_of(m, frame);
    if (caller == CALLER_NONE)
        return WP_CFA_END;
    if (caller == CALLER_ODD || dwarf_frame_cfa(frame, &ops, &count) || !count)
        return WP_CFA_NONE;
    if (is_plt(ops, count))
        return WP_CFA_PLT;
    if (!is_register(&ops[0], &reg, &offset))
        return WP_CFA_NONE;
    if (count == 1)
        return cfa_at(m, reg, offset, caller);
    bool is_realigned = count == 2 && reg == m->bp && ops[1].atom == DW_OP_deref && caller != CALLER_IN_LINK;
    return is_realigned && cfa_at(m, m->bp, offset, caller) ? (uint16_t)((uint16_t)(int16_t)offset | WP_CFA_BP_AT) : WP_CFA_NONE;
}

struct wp_unwind_row wp_frame_rules_of(const struct wp_frame_machine *m, Dwarf_Frame *frame, bool is_signal)
{
    return (struct wp_unwind_row){.cfa = cfa_of(m, frame, is_signal), .bp = bp_of(m, frame)};
}

static enum caller caller_in(const struct wp_frame_machine *m, const struct wp_frame_row *row, int16_t bp)
{
    switch (row->ra.kind) {
    case WP_FRAME_UNDEFINED: return CALLER_NONE;
    case WP_FRAME_SAME: return m->is_caller_behind_bp ? CALLER_IN_LINK : CALLER_KEPT;
    case WP_FRAME_REGISTER:
        return row->ra.value == (int64_t)m->link ? CALLER_IN_LINK : m->is_caller_behind_bp ? CALLER_ODD : CALLER_KEPT;
    case WP_FRAME_AT: break;
    }
    return m->is_caller_behind_bp && (row->ra.value % 8 || row->ra.value / 8 != bp + 1) ? CALLER_ODD : CALLER_KEPT;
}

struct wp_unwind_row wp_frame_rules_row(const struct wp_frame_machine *m, const struct wp_frame_row *row, bool is_signal)
{
    int16_t bp = row->bp.kind == WP_FRAME_AT ? bp_at(row->bp.value) : WP_BP_SAME;
    enum caller caller = caller_in(m, row, bp);
    uint16_t cfa = is_signal ? WP_CFA_SIGNAL : caller == CALLER_NONE ? WP_CFA_END : caller == CALLER_ODD ? WP_CFA_NONE :
        cfa_at(m, row->cfa_register, row->cfa_offset, caller);
    return (struct wp_unwind_row){.cfa = cfa, .bp = bp};
}
