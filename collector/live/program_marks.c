/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/program_marks.h"

#include "collector/bpf/kernel_marks.h"

#define CAST_FUNCTION "bpf_rdonly_cast"
#define COUNT_VARIABLE "__preempt_count"

#define NAME_OF(name) #name,
static const char *const names[] = {WP_MARKED_TYPES(NAME_OF)};
#undef NAME_OF

static int32_t type_number(const struct wp_kernel_btf *types, int32_t value)
{
    uint32_t index = (uint32_t)value - WP_MARK_TYPE_FIRST;
    bool is_mark = index < sizeof(names) / sizeof(names[0]);
    return is_mark ? (int32_t)wp_kernel_btf_find(types, names[index], BTF_KIND_STRUCT) : value;
}

static void put_call(const struct wp_kernel_btf *types, struct bpf_insn *insn)
{
    uint32_t id =
        insn->src_reg || insn->imm != WP_MARK_CAST ? 0 : wp_kernel_btf_find(types, CAST_FUNCTION, BTF_KIND_FUNC);
    if (!id)
        return;
    insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
    insn->imm = (int32_t)id;
}

/* Of an instruction that takes two places. */
static void put_wide(const struct wp_kernel_btf *types, struct bpf_insn *insn)
{
    uint64_t value = (uint32_t)insn[0].imm | (uint64_t)(uint32_t)insn[1].imm << 32;
    uint32_t id = value == WP_MARK_COUNT ? wp_kernel_btf_find(types, COUNT_VARIABLE, BTF_KIND_VAR) : 0;
    if (id) {
        insn[0].src_reg = BPF_PSEUDO_BTF_ID;
        insn[0].imm = (int32_t)id;
        insn[1].imm = 0;
    } else if (!insn[1].imm) {
        insn->imm = type_number(types, insn->imm);
    }
}

void wp_program_marks_put(const struct wp_kernel_btf *types, struct bpf_insn *insns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bpf_insn *insn = &insns[i];
        bool is_wide = insn->code == (BPF_LD | BPF_DW | BPF_IMM);
        if (insn->code == (BPF_JMP | BPF_CALL))
            put_call(types, insn);
        else if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_K) || insn->code == (BPF_ALU | BPF_MOV | BPF_K))
            insn->imm = type_number(types, insn->imm);
        else if (is_wide && i + 1 < count && !insn->src_reg)
            put_wide(types, insn);
        i += is_wide;
    }
}
