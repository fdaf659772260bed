/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of this program, which exports its own: they stand in both its tables, and are kept once. */
#include "collector/elf/elf_symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ENTRY_BYTES 24u  /* of what is kept of a symbol beside its name */
#define REST_BYTES 6144u /* where its segments lie, and stubs */

/* Names and entries of what the full table defines. */
static size_t bytes_of_table(const struct wp_elf_file *file)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    GElf_Sym symbol;
    size_t bytes = 0;
    while ((section = elf_nextscn(file->elf, section)) && gelf_getshdr(section, &header))
        for (int i = 0; header.sh_type == SHT_SYMTAB && gelf_getsym(elf_getdata(section, NULL), i, &symbol); i++)
            if (symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) <= STT_FUNC)
                bytes += strlen(elf_strptr(file->elf, header.sh_link, symbol.st_name)) + 1 + ENTRY_BYTES;
    return bytes;
}

static void kept_once(void **state)
{
    struct wp_elf_file file;
    struct wp_elf_symbols *symbols;
    GElf_Ehdr head;
    (void)state;
    assert_int_equal(elf_version(EV_CURRENT), EV_CURRENT);
    assert_int_equal(wp_elf_file_open(&file, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), NULL), 0);
    assert_int_equal(wp_elf_symbols_read(&symbols, &file, NULL, NULL), 0);
    wp_elf_symbols_trim(symbols);
    assert_non_null(gelf_getehdr(file.elf, &head));
    const char *entry = wp_elf_symbols_find(symbols, head.e_entry);
    assert_non_null(entry);
    assert_string_equal(entry, "_start");
    assert_true(wp_elf_symbols_bytes(symbols) <= bytes_of_table(&file) + REST_BYTES);
    wp_elf_symbols_destroy(symbols);
    wp_elf_file_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
