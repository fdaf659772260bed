/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are interpreters of which language, and what the kernel side reads of their structs. */
#include "collector/interp/interp_languages.h"
#include "collector/interp/perl_file.h"
#include "collector/interp/php_file.h"
#include "collector/interp/ruby_file.h"
#include "collector/interp/v8_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/skipped.h"

static int read_path(const char *path, struct wp_interp_file *found, uint32_t *version)
{
    struct wp_elf_file file;
    struct wp_error err;
    assert_int_equal(wp_elf_file_open_path(&file, path, &err), 0);
    int rc = wp_interp_languages_read(&file, found, version, &err);
    wp_elf_file_close(&file);
    return rc;
}

static void test_none(void **state)
{
    struct wp_interp_file found;
    uint32_t version;
    (void)state;
    assert_int_equal(read_path("/proc/self/exe", &found, &version), -ENOENT);
}

static void check_file(const char *path, uint32_t wanted, struct wp_interp_file *found)
{
    uint32_t version = 0;
    if (access(path, R_OK))
        WP_SKIP(path);
    assert_int_equal(read_path(path, found, &version), 0);
    assert_int_equal(version, wanted);
    assert_int_equal(found->version, wanted);
    assert_true(found->runtime && found->loop && found->loop_end > found->loop);
}

static void test_python(void **state)
{
    struct wp_interp_file found;
    (void)state;
    check_file("/usr/bin/python3.11", 0x030b, &found);
}

static void test_asyncio(void **state)
{
    static const char path[] = "/usr/lib/python3.11/lib-dynload/_asyncio.cpython-311-x86_64-linux-gnu.so";
    struct wp_interp_file found;
    uint32_t version = 0;
    (void)state;
    if (access(path, R_OK))
        WP_SKIP(path);
    assert_int_equal(read_path(path, &found, &version), 0);
    assert_int_equal(version, WP_INTERP_ASYNCIO);
    assert_int_equal(found.version, version);
    assert_true(found.runtime && !found.loop);
}

static void test_ruby(void **state)
{
    struct wp_interp_file found;
    (void)state;
    check_file("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 1), &found);
    assert_true(found.inner_end - found.inner > 10000); /* vm_exec_core, which has no symbol */
    assert_int_equal(found.ruby.frame_bytes, 64);
}

/* Its relocations name symbols of a table that is not the loader's. */
static void relink(uint8_t *image)
{
    const Elf64_Ehdr *head = (const void *)image;
    Elf64_Shdr *sections = (void *)(image + head->e_shoff), *other = &sections[head->e_shnum - 2];
    for (unsigned i = 1; i + 2 < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_DYNSYM)
            *other = sections[i];
        else if (sections[i].sh_type == SHT_RELA)
            sections[i].sh_link = head->e_shnum - 2u;
    assert_int_equal(other->sh_type, SHT_DYNSYM);
    other->sh_type = SHT_SYMTAB;
}

static void test_ruby_of_other_tables(void **state)
{
    static const char path[] = "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1";
    struct wp_elf_file file;
    struct wp_interp_file found;
    struct wp_error err;
    struct stat about;
    uint32_t version;
    int from = open(path, O_RDONLY | O_CLOEXEC), fd = memfd_create("elf", MFD_CLOEXEC);
    (void)state;
    if (from < 0)
        WP_SKIP(path);
    assert_int_equal(fstat(from, &about), 0);
    assert_int_equal(sendfile(fd, from, NULL, (size_t)about.st_size), about.st_size);
    uint8_t *image = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(image, MAP_FAILED);
    relink(image);
    munmap(image, (size_t)about.st_size);
    close(from);
    assert_int_equal(wp_elf_file_open(&file, fd, &err), 0);
    assert_int_equal(wp_interp_languages_read(&file, &found, &version, &err), -ENOTSUP);
    wp_elf_file_close(&file);
}

static void test_php(void **state)
{
    struct wp_interp_file found;
    (void)state;
    check_file("/usr/bin/php8.2", WP_INTERP_VERSION(WP_INTERP_PHP, 8, 2), &found);
    assert_true(found.loop_end - found.loop > 10000);
}

static void test_perl(void **state)
{
    struct wp_interp_file found;
    (void)state;
    check_file("/usr/bin/perl", WP_INTERP_VERSION(WP_INTERP_PERL, 5, 36), &found);
    assert_true(found.inner && found.inner_end - found.inner < 4096); /* docatch, which has no symbol */
}

static void test_java(void **state)
{
    static const char path[] = "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so";
    struct wp_interp_file found;
    uint32_t version;
    (void)state;
    if (access(path, R_OK))
        WP_SKIP(path);
    assert_int_equal(read_path(path, &found, &version), 0);
    assert_int_equal(version, WP_INTERP_VERSION(WP_INTERP_JAVA, 17, 0));
    assert_int_equal(found.version, version);
    assert_true(found.runtime && !found.loop);                       /* that is where a process has it */
    assert_true(found.java.at[WP_JAVA_CODE_PLACES] & WP_JAVA_ENTRY); /* as a process has the offset */
    assert_int_equal(found.java.at[WP_JAVA_CODE_IMMUTABLE], 0);      /* nor does 17 have one */
    assert_int_equal(found.java.const_bytes, 48);
    assert_int_equal(found.java.pool_bytes, 72);
    assert_int_equal(found.java.block_head, 16);
    assert_int_equal(found.java.thread_name, 0); /* it has no virtual threads */
}

static void test_node(void **state)
{
    static const char path[] = "/usr/bin/node";
    struct wp_interp_file found;
    uint32_t version;
    (void)state;
    if (access(path, R_OK))
        WP_SKIP(path);
    int rc = read_path(path, &found, &version);
    if (rc == -ENOENT) /* Debian's has it in a library */
        WP_SKIP(path);
    assert_int_equal(WP_INTERP_LANGUAGE(version), WP_INTERP_V8);
    assert_int_equal(rc, wp_v8_offsets(version) ? 0 : -ENOTSUP);
    if (!rc)
        assert_true(found.runtime && found.v8.bytecode_at);
}

/* A file with an interpreter's symbols and whatever it says of its version. */
static int read_made(const char *names, size_t size, const char *text, uint32_t *version)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Shdr sections[3];
        char names[64], text[16];
        Elf64_Sym symbols[3];
    } image = {.head = {.e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(image.head),
                   .e_shoff = sizeof(image.head) + sizeof(image.segment),
                   .e_ehsize = sizeof(image.head),
                   .e_phentsize = sizeof(image.segment),
                   .e_phnum = 1,
                   .e_shentsize = sizeof(*image.sections),
                   .e_shnum = 3,
                   .e_shstrndx = 2},
        .segment = {.p_type = PT_LOAD, .p_filesz = sizeof(image), .p_memsz = sizeof(image)},
        .sections = {{0},
            {.sh_type = SHT_DYNSYM,
                .sh_offset = offsetof(__typeof__(image), symbols),
                .sh_size = sizeof(image.symbols),
                .sh_link = 2,
                .sh_entsize = sizeof(*image.symbols)},
            {.sh_type = SHT_STRTAB, .sh_offset = offsetof(__typeof__(image), names), .sh_size = sizeof(image.names)}},
        .symbols = {{0}, {1, 0, 0, 1, 8, 64},
            {(Elf64_Word)(2 + strlen(names + 1)), 0, 0, 1, offsetof(__typeof__(image), text), 6}}};
    struct wp_elf_file file;
    struct wp_interp_file found;
    struct wp_error err;
    memcpy(image.head.e_ident, ELFMAG "\2\1\1", 7);
    memcpy(image.names, names, size);
    memcpy(image.text, text, strlen(text));
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
    assert_int_equal(wp_elf_file_open(&file, fd, &err), 0);
    int rc = wp_interp_languages_read(&file, &found, version, &err);
    wp_elf_file_close(&file);
    return rc;
}

static void test_versions(void **state)
{
    static const char names[] = "\0rb_vm_exec\0ruby_version";
    uint32_t version;
    (void)state;
    assert_int_equal(read_made(names, sizeof(names), "3.3.1", &version), -ENOTSUP);
    assert_int_equal(version, WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 3));
    assert_int_equal(
        read_made(names, sizeof(names), "3.1.1", &version), -ENOTSUP); /* its threads' states are nowhere */
    assert_int_equal(version, WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 1));
    assert_int_equal(read_made(names, sizeof(names), "999.9", &version), -ENOTSUP);
    assert_int_equal(WP_INTERP_LANGUAGE(version), WP_INTERP_RUBY);
    assert_int_equal(read_made(names, sizeof(names), "\xff\xff", &version), -ENOTSUP);
    assert_int_equal(
        read_made("\0gHotSpotVMStructs\0JNI_CreateJavaVM", 36, "", &version), -ENOTSUP); /* nothing says where */
    assert_int_equal(version, WP_INTERP_VERSION(WP_INTERP_JAVA, 0, 0));
    assert_int_equal(read_made("\0v8dbg_off_fp_function\0v", 25, "", &version), -ENOTSUP);
    assert_int_equal(version, WP_INTERP_VERSION(WP_INTERP_V8, 0, 0));
    assert_int_equal(read_made("\0execute_ex\0executor_globals", 29, "8.2", &version), -ENOENT); /* it has no .rodata */
}

static void check_ruby(const struct wp_ruby_offsets *ruby)
{
    assert_true(ruby->encoded + 8u <= WP_INTERP_BODY_BYTES && ruby->path + 8u <= WP_INTERP_BODY_BYTES);
    assert_true(ruby->label + 8u <= WP_INTERP_BODY_BYTES && ruby->first_line + 8u <= WP_INTERP_BODY_BYTES);
    assert_true(ruby->lines + 8u <= WP_INTERP_BODY_BYTES && ruby->line_index + 8u <= WP_INTERP_BODY_BYTES);
    assert_true(ruby->line_count + 4u <= WP_INTERP_BODY_BYTES && ruby->encoded_words + 4u <= WP_INTERP_BODY_BYTES);
}

static void test_bounds(void **state)
{
    const struct wp_php_offsets *php = wp_php_offsets(WP_INTERP_VERSION(WP_INTERP_PHP, 8, 4));
    (void)state;
    check_ruby(wp_ruby_offsets(WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 1)));
    check_ruby(wp_ruby_offsets(WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 3)));
    assert_true(php->file + 8u <= WP_INTERP_BODY_BYTES && php->first_line + 4u <= WP_INTERP_BODY_BYTES);
    assert_null(wp_ruby_offsets(WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 2)));
    assert_null(wp_ruby_offsets(0x0301));
    assert_null(wp_php_offsets(WP_INTERP_VERSION(WP_INTERP_PHP, 8, 3)));
    assert_non_null(wp_perl_offsets(WP_INTERP_VERSION(WP_INTERP_PERL, 5, 36)));
    assert_non_null(wp_perl_offsets(WP_INTERP_VERSION(WP_INTERP_PERL, 5, 42)));
    assert_ptr_equal(wp_perl_offsets(WP_INTERP_VERSION(WP_INTERP_PERL, 5, 38)),
        wp_perl_offsets(WP_INTERP_VERSION(WP_INTERP_PERL, 5, 36)));
    assert_null(wp_perl_offsets(WP_INTERP_VERSION(WP_INTERP_PERL, 5, 34)));
    for (uint32_t version = 0; version < 8u << 16; version += 1u << 16)
        assert_true(wp_interp_language(version)->line || wp_interp_language(version)->put_table);
    assert_non_null(wp_v8_offsets(WP_INTERP_VERSION(WP_INTERP_V8, 11, 3)));
    assert_null(wp_v8_offsets(WP_INTERP_VERSION(WP_INTERP_V8, 11, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_none), cmocka_unit_test(test_python),
        cmocka_unit_test(test_asyncio), cmocka_unit_test(test_ruby), cmocka_unit_test(test_ruby_of_other_tables),
        cmocka_unit_test(test_php), cmocka_unit_test(test_perl), cmocka_unit_test(test_java),
        cmocka_unit_test(test_node), cmocka_unit_test(test_versions), cmocka_unit_test(test_bounds)};
    return wp_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
