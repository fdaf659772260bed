/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of this program, which exports its own: they stand in both its tables, and are kept once. */
#include "collector/elf/elf_symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SPARE_BYTES 1024u /* at least: names that stand in both */

static void kept_once(void **state)
{
    struct wp_elf_file file;
    struct wp_elf_symbols *symbols;
    GElf_Ehdr head;
    (void)state;
    assert_int_equal(elf_version(EV_CURRENT), EV_CURRENT);
    assert_int_equal(wp_elf_file_open(&file, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), NULL), 0);
    assert_int_equal(wp_elf_symbols_read(&symbols, &file, NULL, NULL), 0);
    size_t bytes = wp_elf_symbols_bytes(symbols);
    wp_elf_symbols_trim(symbols);
    assert_true(wp_elf_symbols_bytes(symbols) + SPARE_BYTES < bytes);
    assert_non_null(gelf_getehdr(file.elf, &head));
    const char *entry = wp_elf_symbols_find(symbols, head.e_entry);
    assert_non_null(entry);
    assert_string_equal(entry, "_start");
    wp_elf_symbols_destroy(symbols);
    wp_elf_file_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
