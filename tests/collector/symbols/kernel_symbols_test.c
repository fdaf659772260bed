/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/kernel_symbols.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int read_text(struct wp_kernel_symbols **symbols, const char *text, struct wp_error *err)
{
    char path[] = "/tmp/kallsyms.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    int rc = wp_kernel_symbols_read(symbols, path, err);
    unlink(path);
    return rc;
}

static void assert_found(
    const struct wp_kernel_symbols *s, uint64_t address, const char *name, const char *module, uint64_t offset)
{
    struct wp_kernel_function function;
    assert_int_equal(wp_kernel_symbols_find(s, address, &function), 0);
    assert_string_equal(function.name, name);
    assert_string_equal(function.module, module);
    assert_int_equal(function.offset, offset);
}

static void known_lines(void **state)
{
    (void)state;
    struct wp_kernel_symbols *s;
    struct wp_kernel_function none;
    struct wp_error err = {0};
    assert_int_equal(read_text(&s,
                         "ffffffff81000000 T _text\n"
                         "ffffffff81000100 t schedule\n"
                         "ffffffff81000100 T another_name\n"
                         "ffffffff81000080 W weak_one\n"
                         "ffffffff81000200 D some_data\n"
                         "ffffffff81000300 T _etext\n"
                         "ffffffffc0000000 t read\t[ext4]\n"
                         "ffffffffc0000040 t write\t[ext4]\n"
                         "ffffffffc0100000 t read\t[xfs]\n"
                         "0000000000000000 T zero\n"
                         "rubbish\n\nffffffff8100010\nffffffff81000120 \nffffffff81000130 T\n",
                         &err),
        0);
    assert_found(s, 0xffffffff81000000, "_text", "", 0);
    assert_found(s, 0xffffffff810000ff, "weak_one", "", 0xff);
    assert_found(s, 0xffffffff81000100, "schedule", "", 0x100);
    assert_found(s, 0xffffffff810002ff, "schedule", "", 0x2ff);
    assert_found(s, 0xffffffffc000003f, "read", "[ext4]", 0x3f);
    assert_found(s, 0xffffffffc0000041, "write", "[ext4]", 1);
    assert_found(s, 0xffffffffc0100004, "read", "[xfs]", 4);
    assert_int_equal(wp_kernel_symbols_address(s, "read"), 0xffffffffc0000000); /* of two, the lower one */
    assert_int_equal(wp_kernel_symbols_address(s, "some_data"), 0);
    assert_int_equal(wp_kernel_symbols_find(s, 0xffffffff80ffffff, &none), -ENOENT);
    assert_int_equal(wp_kernel_symbols_find(s, 0xffffffff81000100 + (2 << 20), &none), -ENOENT);
    assert_int_equal(wp_kernel_symbols_find(s, 0, &none), -ENOENT);
    assert_int_equal(wp_kernel_symbols_find(s, UINT64_MAX, &none), -ENOENT);
    wp_kernel_symbols_destroy(s);
}

static void hidden_or_missing(void **state)
{
    (void)state;
    struct wp_kernel_symbols *s = NULL;
    struct wp_error err = {0};
    assert_int_equal(read_text(&s, "0000000000000000 T _text\n0000000000000000 T schedule\n", &err), -EACCES);
    assert_non_null(strstr(err.text, "kptr_restrict"));
    assert_int_equal(read_text(&s, "", &err), -EACCES);
    assert_int_equal(wp_kernel_symbols_read(&s, "/nonexistent/kallsyms", &err), -ENOENT);
    assert_null(s);
    wp_kernel_symbols_destroy(NULL);
}

static void long_lines(void **state)
{
    (void)state;
    struct wp_kernel_symbols *s;
    char *text = malloc(100000);
    strcpy(text, "ffffffff81000000 T ");
    memset(text + strlen(text), 'x', 90000);
    strcpy(text + 90000, "\nffffffff81000100 T after\n");
    assert_int_equal(read_text(&s, text, NULL), 0);
    assert_found(s, 0xffffffff81000104, "after", "", 0xffffffff81000104);
    wp_kernel_symbols_destroy(s);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_lines), cmocka_unit_test(hidden_or_missing), cmocka_unit_test(long_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
