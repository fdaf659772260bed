/* SPDX-License-Identifier: Apache-2.0 */
/* The types that an object names are as the kernel's are, by name, size and place of each member, and few; marks in
 * instructions become the kernel's numbers, and nothing else changes. */
#include "collector/live/core_types.h"

#include "collector/bpf/kernel_marks.h"
#include "collector/live/program_marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define KERNEL "/sys/kernel/btf/vmlinux"

static struct wp_kernel_btf *kernel_types(void)
{
    struct wp_kernel_btf *kernel = NULL;
    assert_int_equal(wp_kernel_btf_create(&kernel, KERNEL), 0);
    return kernel;
}

/* As an object has them: one that the kernel has by that name, one with a flavor, one that is the object's own. */
static struct btf *local_types(void)
{
    struct btf *local = btf__new_empty();
    assert_non_null(local);
    btf__add_struct(local, "task_struct", 0);
    btf__add_struct(local, "sock___mine", 0);
    btf__add_struct(local, "wp_nobody_has_this", 8);
    btf__add_enum(local, "cgroup_subsys_id", 4);
    assert_true(btf__add_typedef(local, "irq_cpustat_t", 1) > 0);
    return local;
}

static struct btf *fill(const struct wp_kernel_btf *kernel, const struct btf *local)
{
    struct wp_core_types types;
    assert_int_equal(wp_core_types_create(&types), 0);
    assert_int_equal(wp_core_types_fill(&types, kernel, local), 0);
    struct btf *made = btf__parse(types.path, NULL);
    assert_non_null(made);
    wp_core_types_fini(&types);
    assert_int_equal(types.fd, -1);
    return made;
}

static void assert_same_members(const struct btf *made, const struct btf *whole, const char *name)
{
    const struct btf_type *one = btf__type_by_id(made, (uint32_t)btf__find_by_name_kind(made, name, BTF_KIND_STRUCT));
    const struct btf_type *other =
        btf__type_by_id(whole, (uint32_t)btf__find_by_name_kind(whole, name, BTF_KIND_STRUCT));
    assert_non_null(one);
    assert_non_null(other);
    assert_int_equal(one->size, other->size);
    assert_int_equal(btf_vlen(one), btf_vlen(other));
    for (uint32_t i = 0; i < btf_vlen(one); i++) {
        const struct btf_member *member = &btf_members(one)[i], *wanted = &btf_members(other)[i];
        assert_string_equal(btf__name_by_offset(made, member->name_off), btf__name_by_offset(whole, wanted->name_off));
        assert_int_equal(btf_member_bit_offset(one, i), btf_member_bit_offset(other, i));
        assert_int_equal(btf_member_bitfield_size(one, i), btf_member_bitfield_size(other, i));
        assert_int_equal(btf__resolve_size(made, member->type), btf__resolve_size(whole, wanted->type));
    }
}

static void test_named_types(void **state)
{
    (void)state;
    struct wp_kernel_btf *kernel = kernel_types();
    struct btf *local = local_types(), *whole = btf__parse_raw(KERNEL), *made = fill(kernel, local);
    assert_same_members(made, whole, "task_struct");
    assert_same_members(made, whole, "sock");
    assert_same_members(made, whole, "sched_entity");                            /* task_struct holds one */
    assert_true(btf__find_by_name_kind(made, "mm_struct", BTF_KIND_STRUCT) < 0); /* it has the address of one */
    assert_true(btf__find_by_name_kind(made, "wp_nobody_has_this", BTF_KIND_STRUCT) < 0);
    int number = btf__find_by_name_kind(made, "cgroup_subsys_id", BTF_KIND_ENUM);
    assert_true(number > 0);
    assert_int_equal(btf_vlen(btf__type_by_id(made, (uint32_t)number)),
        btf_vlen(btf__type_by_id(whole, (uint32_t)btf__find_by_name_kind(whole, "cgroup_subsys_id", BTF_KIND_ENUM))));
    assert_in_range(btf__type_cnt(made), 50, btf__type_cnt(whole) / 20);
    btf__free(made);
    btf__free(whole);
    btf__free(local);
    wp_kernel_btf_destroy(kernel);
}

static void test_marks(void **state)
{
    (void)state;
    struct wp_kernel_btf *kernel = kernel_types();
    struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = WP_MARK_TYPE_sock},
        {.code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = 2, .imm = WP_MARK_TYPE_inode},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = WP_MARK_TYPE_FIRST - 1},
        {.code = BPF_JMP | BPF_CALL, .imm = WP_MARK_CAST},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .imm = (int32_t)(uint32_t)WP_MARK_COUNT},
        {.imm = (int32_t)(WP_MARK_COUNT >> 32)}, {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .imm = 7},
        {.imm = WP_MARK_TYPE_sock}, {.code = BPF_JMP | BPF_EXIT}};
    const size_t count = sizeof(insns) / sizeof(insns[0]);
    struct bpf_insn before[sizeof(insns) / sizeof(insns[0])];
    memcpy(before, insns, sizeof(insns));
    wp_program_marks_put(kernel, insns, count);
    assert_int_equal(insns[0].imm, wp_kernel_btf_find(kernel, "sock", BTF_KIND_STRUCT));
    assert_int_equal(insns[1].imm, wp_kernel_btf_find(kernel, "inode", BTF_KIND_STRUCT));
    uint32_t function = wp_kernel_btf_find(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC);
    uint32_t variable = wp_kernel_btf_find(kernel, "__preempt_count", BTF_KIND_VAR);
    if (function) {
        assert_int_equal(insns[3].src_reg, BPF_PSEUDO_KFUNC_CALL);
        assert_int_equal(insns[3].imm, function);
    }
    if (variable) {
        assert_int_equal(insns[5].src_reg, BPF_PSEUDO_BTF_ID);
        assert_int_equal(insns[5].imm, variable);
        assert_int_equal(insns[6].imm, 0);
    }
    static const size_t same[] = {2, 4, 7, 8, 9};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        assert_memory_equal(&insns[same[i]], &before[same[i]], sizeof(before[0]));
    wp_kernel_btf_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_named_types), cmocka_unit_test(test_marks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
