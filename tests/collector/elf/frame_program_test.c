/* SPDX-License-Identifier: Apache-2.0 */
/* The quick reader of frame descriptions: those written here by hand, and those of this program. What it makes of whole
 * libraries is held against an interpreter of its own by cfi_test.py. */
#include "collector/elf/frame_program.h"

#include <dwarf.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESS 0x10000u
#define CODE 0x4000u

struct written {
    uint8_t bytes[512];
    size_t size, description; /* where that begins */
};

static void put(struct written *w, const void *bytes, size_t size)
{
    assert_true(w->size + size <= sizeof(w->bytes));
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void put_u32(struct written *w, uint32_t value)
{
    put(w, &value, 4);
}

/* A CIE as compilers write it (code 1, data -8, caller in 16, CFA = sp + 8, caller at CFA - 8), and a description of
 * CODE. */
static void describe(struct written *w, const char *letters, uint8_t encoding, const uint8_t *program, size_t size)
{
    static const uint8_t first[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};
    uint8_t head[] = {1, 0x78, 16, 1, encoding};
    bool is_augmented = *letters == 'z';
    *w = (struct written){.size = 0};
    put_u32(w, (uint32_t)(4 + 1 + strlen(letters) + 1 + (is_augmented ? 5 : 3) + sizeof(first)));
    put_u32(w, 0);
    put(w, "\1", 1);
    put(w, letters, strlen(letters) + 1);
    put(w, head, is_augmented ? 5 : 3);
    put(w, first, sizeof(first));
    w->description = w->size;
    put_u32(w, (uint32_t)(4 + 8 + (is_augmented ? 1 : 0) + size));
    put_u32(w, (uint32_t)w->size);
    put_u32(w, CODE - (encoding & DW_EH_PE_pcrel ? (uint32_t)(ADDRESS + w->size) : 0));
    put_u32(w, 100);
    if (is_augmented)
        put(w, "", 1);
    put(w, program, size);
}

static bool read_written(const struct written *w, struct wp_frame_function *f)
{
    struct wp_frame_section section = {.bytes = w->bytes, .size = w->size, .address = ADDRESS, .bp = 6, .ra = 16};
    return wp_frame_program_read(&section, ADDRESS + w->description, f);
}

static bool read_program(const uint8_t *program, size_t size, struct wp_frame_function *f)
{
    struct written w;
    describe(&w, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4, program, size);
    return read_written(&w, f);
}

static void expect_row(const struct wp_frame_row *row, uint64_t address, uint64_t reg, int64_t offset)
{
    assert_int_equal(row->address, address);
    assert_int_equal(row->cfa_register, reg);
    assert_int_equal(row->cfa_offset, offset);
    assert_int_equal(row->ra.kind, WP_FRAME_AT);
    assert_int_equal(row->ra.value, -8);
}

static void usual_function(void **state)
{
    (void)state;
    struct wp_frame_function f;
    static const uint8_t program[] = {DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
        DW_CFA_advance_loc1, 3, DW_CFA_def_cfa_register, 6, DW_CFA_advance_loc2, 40, 0, DW_CFA_remember_state,
        DW_CFA_restore | 6, DW_CFA_def_cfa, 7, 8, DW_CFA_advance_loc | 1, DW_CFA_restore_state, DW_CFA_nop};
    assert_true(read_program(program, sizeof(program), &f));
    assert_int_equal(f.begin, CODE);
    assert_int_equal(f.end, CODE + 100);
    assert_int_equal(f.count, 5);
    expect_row(&f.rows[0], CODE, 7, 8);
    assert_int_equal(f.rows[0].bp.kind, WP_FRAME_SAME);
    expect_row(&f.rows[1], CODE + 1, 7, 16);
    assert_int_equal(f.rows[1].bp.kind, WP_FRAME_AT);
    assert_int_equal(f.rows[1].bp.value, -16);
    expect_row(&f.rows[2], CODE + 4, 6, 16);
    expect_row(&f.rows[3], CODE + 44, 7, 8);
    assert_int_equal(f.rows[3].bp.kind, WP_FRAME_SAME);
    expect_row(&f.rows[4], CODE + 45, 6, 16);
    assert_int_equal(f.rows[4].bp.kind, WP_FRAME_AT);
}

static void other_rules(void **state)
{
    (void)state;
    struct wp_frame_function f;
    static const uint8_t top[] = {DW_CFA_undefined, 16}, moved[] = {DW_CFA_register, 16, 5},
                         wide[] = {DW_CFA_def_cfa_sf, 7, 0x7e, DW_CFA_offset_extended_sf, 6, 0x7f,
                             DW_CFA_def_cfa_offset_sf, 0x7d},
                         others[] = {DW_CFA_expression, 3, 2, DW_OP_breg7, 0, DW_CFA_val_expression, 12, 1, DW_OP_lit0,
                             DW_CFA_val_offset, 13, 1, DW_CFA_GNU_args_size, 0x80, 1, DW_CFA_def_cfa_offset, 24};
    assert_true(read_program(top, sizeof(top), &f));
    assert_int_equal(f.rows[0].ra.kind, WP_FRAME_UNDEFINED);
    assert_true(read_program(moved, sizeof(moved), &f));
    assert_int_equal(f.rows[0].ra.kind, WP_FRAME_REGISTER);
    assert_int_equal(f.rows[0].ra.value, 5);
    assert_true(read_program(wide, sizeof(wide), &f));
    assert_int_equal(f.rows[0].cfa_offset, 24); /* -3 * -8 */
    assert_int_equal(f.rows[0].bp.value, 8);
    assert_true(read_program(others, sizeof(others), &f)); /* of registers that do not matter */
    expect_row(&f.rows[0], CODE, 7, 24);
}

/* Left to libdw. */
static void refused(void **state)
{
    (void)state;
    struct wp_frame_function f;
    struct written w;
    static const struct {
        uint8_t bytes[8], size;
    } programs[] = {{{DW_CFA_def_cfa_expression, 1, DW_OP_lit0}, 3}, {{DW_CFA_expression, 6, 1, DW_OP_lit0}, 4},
        {{DW_CFA_val_expression, 16, 1, DW_OP_lit0}, 4}, {{DW_CFA_val_offset, 6, 1}, 3},
        {{DW_CFA_set_loc, 0, 0, 0, 0, 0, 0, 0}, 8}, {{DW_CFA_restore_state}, 1},
        {{DW_CFA_advance_loc | 63, DW_CFA_advance_loc | 63}, 2}, {{DW_CFA_def_cfa_offset}, 1},
        {{DW_CFA_def_cfa_offset, 0x80, 0x80}, 3}, {{DW_CFA_expression, 3, 100}, 3}, {{0x3f}, 1}};
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        assert_false(read_program(programs[i].bytes, programs[i].size, &f));
    static const uint8_t nothing[] = {DW_CFA_nop};
    static const struct {
        const char *letters;
        uint8_t encoding;
        bool is_read;
    } forms[] = {{"zR", DW_EH_PE_udata4, true}, {"zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4, true},
        {"zR", DW_EH_PE_datarel | DW_EH_PE_sdata4, false},
        {"zR", DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, false}, {"zR", DW_EH_PE_uleb128, false},
        {"eh", DW_EH_PE_sdata4, false}, {"zX", DW_EH_PE_sdata4, false}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        describe(&w, forms[i].letters, forms[i].encoding, nothing, sizeof(nothing));
        assert_int_equal(read_written(&w, &f), forms[i].is_read);
        if (forms[i].is_read)
            assert_int_equal(f.begin, CODE);
    }
}

/* Cut short at each place, and with each byte spoilt: read or refused, in bounds. */
static void damaged(void **state)
{
    (void)state;
    struct wp_frame_function f;
    struct written w, spoilt;
    static const uint8_t program[] = {
        DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_remember_state, DW_CFA_restore_state};
    describe(&w, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4, program, sizeof(program));
    for (size_t size = 0; size < w.size; size++) {
        spoilt = w;
        spoilt.size = size;
        assert_false(read_written(&spoilt, &f));
    }
    for (size_t at = 0; at < w.size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            spoilt = w;
            spoilt.bytes[at] ^= (uint8_t)(1u << bit);
            if (read_written(&spoilt, &f))
                assert_true(f.count && f.count <= WP_FRAME_ROWS && f.rows[0].address == f.begin && f.begin < f.end);
        }
}

struct own {
    unsigned functions, read;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own *own = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *program = &info->dlpi_phdr[i];
        if (program->p_type != PT_GNU_EH_FRAME)
            continue;
        const uint8_t *table =
            (const uint8_t *)(info->dlpi_addr + program->p_vaddr); /* NOLINT: an address of this process */
        int32_t frames, entry[2];
        uint32_t count;
        memcpy(&frames, table + 4, 4);
        memcpy(&count, table + 8, 4);
        struct wp_frame_section section = {.bytes = table + 4 + frames,
            .size = 1u << 30,
            .address = (uintptr_t)(table + 4 + frames),
            .bp = 6,
            .ra = 16};
        for (uint32_t at = 0; at < count; at++) {
            static struct wp_frame_function function;
            memcpy(entry, table + 12 + 8 * (size_t)at, 8);
            bool is_read = wp_frame_program_read(&section, (uint64_t)((intptr_t)table + entry[1]), &function);
            assert_true(!is_read || function.begin == (uint64_t)((intptr_t)table + entry[0]));
            own->functions++;
            own->read += is_read;
        }
    }
    return 0;
}

/* Of what is loaded here (libc, libdw and others) nearly all is read without libdw. */
static void what_compilers_write(void **state)
{
    (void)state;
    struct own own = {0};
    dl_iterate_phdr(look_at, &own);
    assert_true(own.functions > 1000);
    assert_true(own.read > own.functions * 98 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(usual_function), cmocka_unit_test(other_rules),
        cmocka_unit_test(refused), cmocka_unit_test(damaged), cmocka_unit_test(what_compilers_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
