/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are interpreters, and what those that say so themselves may say. */
#include "collector/interp/python_file.h"
#include "collector/interp/python_offsets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/skipped.h"

static void test_files(void **state)
{
    struct wp_elf_file file;
    struct wp_interp_file found;
    struct wp_error err;
    uint32_t version = 0;
    (void)state;
    assert_int_equal(wp_elf_file_open_path(&file, "/proc/self/exe", &err), 0);
    assert_int_equal(wp_python_file_read(&file, &found, &version, &err), -ENOENT);
    wp_elf_file_close(&file);
    if (access("/usr/bin/python3.11", R_OK))
        WP_SKIP("no /usr/bin/python3.11");
    assert_int_equal(wp_elf_file_open_path(&file, "/usr/bin/python3.11", &err), 0);
    assert_int_equal(wp_python_file_read(&file, &found, &version, &err), 0);
    assert_int_equal(version, 0x030b);
    assert_true(found.loop_end - found.loop > 10000 && found.runtime && found.code_type);
#if defined(__x86_64__) /* Debian's is stripped, and has a part that is seldom run */
    assert_true(found.cold_end > found.cold);
#endif
    wp_elf_file_close(&file);
}

static void put_word(uint8_t *bytes, unsigned at, uint64_t word)
{
    memcpy(bytes + at, &word, sizeof(word));
}

struct own_word {
    unsigned at;
    uint64_t word;
};

static void fill_own(uint8_t bytes[WP_PYTHON_OWN_OFFSETS], const struct own_word *words, size_t count)
{
    memset(bytes, 0, WP_PYTHON_OWN_OFFSETS);
    memcpy(bytes, "xdebugpy", 8);
    for (size_t i = 0; i < count; i++)
        put_word(bytes, words[i].at, words[i].word);
}

/* As 3.13.0 and 3.14.10 have them. */
static const struct own_word of_3_13[] = {{8, 0x030d00f0}, {40, 632}, {64, 7264}, {72, 7344}, {168, 8}, {184, 72},
    {192, 152}, {232, 8}, {240, 0}, {248, 56}, {264, 70}, {280, 112}, {296, 128}, {304, 136}, {312, 68}, {344, 200},
    {360, 8}, {520, 16}, {528, 32}, {544, 32}, {552, 16}, {560, 40}};
static const struct own_word of_3_14[] = {{8, 0x030e0af0}, {40, 808}, {64, 7272}, {72, 7344}, {192, 8}, {208, 72},
    {216, 152}, {256, 8}, {264, 0}, {272, 56}, {288, 74}, {320, 112}, {336, 128}, {344, 136}, {352, 68}, {384, 208},
    {408, 8}, {600, 16}, {608, 32}, {624, 32}, {632, 16}, {640, 40}, {680, 72}};

static void fill_3_13(uint8_t bytes[WP_PYTHON_OWN_OFFSETS])
{
    fill_own(bytes, of_3_13, sizeof(of_3_13) / sizeof(*of_3_13));
}

static void fill_3_14(uint8_t bytes[WP_PYTHON_OWN_OFFSETS])
{
    fill_own(bytes, of_3_14, sizeof(of_3_14) / sizeof(*of_3_14));
}

/* A file that has an interpreter's symbols in a table of any size, of which most is a hole. The fifth is that of a
 * version that says itself where it has what. */
#define SYMBOLS 5u

static int read_sized(uint64_t table_size, uint64_t flags, uint64_t loop_size)
{
    static const char names[] = "\0_PyRuntime\0PyCode_Type\0_PyEval_EvalFrameDefault\0Py_Version";
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Shdr sections[3];
        char names[64];
        uint64_t hex;
        uint8_t own[WP_PYTHON_OWN_OFFSETS];
        Elf64_Sym symbols[SYMBOLS];
    } image = {.head = {.e_type = ET_DYN,
                   .e_machine = EM_AARCH64,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(image.head),
                   .e_shoff = sizeof(image.head) + sizeof(image.segment),
                   .e_ehsize = sizeof(image.head),
                   .e_phentsize = sizeof(image.segment),
                   .e_phnum = 1,
                   .e_shentsize = sizeof(*image.sections),
                   .e_shnum = 3,
                   .e_shstrndx = 2},
        .segment = {.p_type = PT_LOAD, .p_filesz = 4096, .p_memsz = 4096},
        .sections = {{0},
            {.sh_type = SHT_DYNSYM,
                .sh_flags = flags,
                .sh_offset = offsetof(__typeof__(image), symbols),
                .sh_size = table_size,
                .sh_link = 2,
                .sh_entsize = sizeof(Elf64_Sym)},
            {.sh_type = SHT_STRTAB, .sh_offset = offsetof(__typeof__(image), names), .sh_size = sizeof(image.names)}}};
    const Elf64_Sym symbols[SYMBOLS] = {{0}, {1, 0, 0, 1, offsetof(__typeof__(image), own), 8}, {12, 0, 0, 1, 16, 8},
        {24, 0, 0, 1, 32, loop_size}, {49, 0, 0, 1, offsetof(__typeof__(image), hex), 8}};
    struct wp_elf_file file;
    struct wp_interp_file found;
    struct wp_error err;
    uint32_t version = 0;
    memcpy(image.head.e_ident, ELFMAG "\2\1\1", 7);
    memcpy(image.names, names, sizeof(names));
    memcpy(image.symbols, symbols, sizeof(symbols));
    fill_3_14(image.own);
    image.hex = 0x030e0af0;
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
    assert_int_equal(ftruncate(fd, (off_t)(sizeof(image) + table_size)), 0);
    assert_int_equal(wp_elf_file_open(&file, fd, &err), 0);
    int rc = wp_python_file_read(&file, &found, &version, &err);
    wp_elf_file_close(&file);
    return rc;
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(read_sized(4 * sizeof(Elf64_Sym), 0, 8), -ENOTSUP); /* an interpreter of no known version */
    assert_int_equal(read_sized(((uint64_t)3 << 20) * sizeof(Elf64_Sym), 0, 8), -ENOENT);
    assert_int_equal(read_sized(4 * sizeof(Elf64_Sym), SHF_COMPRESSED, 8), -ENOENT);
}

/* Compilers may make a function of each instruction: then no frame of the loop is on the stack. */
static void test_loop(void **state)
{
    (void)state;
    assert_int_equal(read_sized(SYMBOLS * sizeof(Elf64_Sym), 0, 1 << 16), 0);
    assert_int_equal(read_sized(SYMBOLS * sizeof(Elf64_Sym), 0, 1184), -ENOTSUP);
}

static void test_own_offsets(void **state)
{
    static const unsigned bounded[] = {40, 64, 72, 168, 184, 192, 232, 240, 248, 264, 280, 296, 304, 312, 344, 560};
    uint8_t bytes[WP_PYTHON_OWN_OFFSETS];
    struct wp_interp_offsets at;
    uint32_t version = 0;
    (void)state;
    fill_3_13(bytes);
    assert_true(wp_python_offsets_read(bytes, sizeof(bytes), &at, &version));
    assert_true(version == 0x030d && at.threads == 7344 && at.code_bytes == 200 && at.frame_mark == 70);
    assert_false(wp_python_offsets_read(bytes, sizeof(bytes) - 1, &at, &version));
    for (size_t i = 0; i < sizeof(bounded) / sizeof(*bounded); i++) {
        fill_3_13(bytes);
        put_word(bytes, bounded[i], UINT64_MAX - 7);
        assert_false(wp_python_offsets_read(bytes, sizeof(bytes), &at, &version));
    }
    fill_3_13(bytes);
    put_word(bytes, 16, 1); /* without a global lock */
    assert_false(wp_python_offsets_read(bytes, sizeof(bytes), &at, &version));
    put_word(bytes, 16, 0);
    put_word(bytes, 8, 0x030f00f0);
    assert_false(wp_python_offsets_read(bytes, sizeof(bytes), &at, &version));
    assert_int_equal(version, 0x030f);
    fill_3_14(bytes);
    assert_true(wp_python_offsets_read(bytes, sizeof(bytes), &at, &version));
    assert_true(version == 0x030e && at.threads == 7344 && at.code_bytes == 208 && at.frame_mark == 74);
    put_word(bytes, 680, 80); /* a coroutine has its frame elsewhere */
    assert_false(wp_python_offsets_read(bytes, sizeof(bytes), &at, &version));
}

/* What the kernel side reads by them lies in what it has read. */
static void test_bounds(void **state)
{
    (void)state;
    for (uint32_t version = 0x0309; version <= 0x030c; version++) {
        const struct wp_interp_offsets *at = wp_python_offsets(version);
        assert_true(at->thread_id + 8u <= WP_INTERP_STATE_BYTES && at->frame + 8u <= WP_INTERP_STATE_BYTES);
        assert_true(at->frame_bytes <= WP_INTERP_FRAME_BYTES && at->frame_mark < at->frame_bytes);
        assert_true(at->frame_code + 8u <= at->frame_bytes && at->frame_back + 8u <= at->frame_bytes);
        assert_true(at->frame_at + 4u <= at->frame_bytes);
        assert_true(at->code_lines + 8u <= WP_INTERP_CODE_BYTES && at->code_name + 8u <= WP_INTERP_CODE_BYTES);
        assert_true(at->code_file + 8u <= WP_INTERP_CODE_BYTES && at->code_first_line + 4u <= WP_INTERP_CODE_BYTES);
    }
    assert_null(wp_python_offsets(0x0308));
    assert_null(wp_python_offsets(0x030d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_loop), cmocka_unit_test(test_own_offsets), cmocka_unit_test(test_bounds)};
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
