/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of lines and names of methods as HotSpot has them, and as a hostile process has them. */
#include "collector/interp/java_lines.h"
#include "collector/interp/java_names.h"

#include "collector/bpf/interp_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint32_t line_in(struct wp_line_table table, uint32_t bytecode)
{
    uint32_t line = 0;
    return wp_java_line(&table, bytecode, &line) ? line : 0;
}

static uint32_t line_of(const uint8_t *bytes, size_t size, uint32_t bytecode)
{
    return line_in((struct wp_line_table){.bytes = bytes, .size = size}, bytecode);
}

/* Bytecode 0: line 7; 5: line 8; 36: line 4 (a loop's end); 40: line 1000. */
static const uint8_t lines[] = {
    0x07, 5 << 3 | 1, 0xff, 62, 7, 0xff, 8, 0xc0 + (1992 - 192) % 64, (1992 - 192 - (1992 - 192) % 64) / 64, 0};

static void test_lines(void **state)
{
    (void)state;
    assert_int_equal(line_of(lines, sizeof(lines), 0), 7);
    assert_int_equal(line_of(lines, sizeof(lines), 4), 7);
    assert_int_equal(line_of(lines, sizeof(lines), 5), 8);
    assert_int_equal(line_of(lines, sizeof(lines), 35), 8);
    assert_int_equal(line_of(lines, sizeof(lines), 36), 4);
    assert_int_equal(line_of(lines, sizeof(lines), 40), 1000);
    assert_int_equal(line_of(lines, sizeof(lines), 65535), 1000);
}

/* Since 20 a byte of a number is one more, so that none is 0. */
static void test_lines_without_zero(void **state)
{
    enum { REST = 1992 - 191 };
    static const uint8_t newer[] = {0x07, 5 << 3 | 1, 0xff, 63, 8, 0xff, 9, 0xc0 + REST % 64, 1 + REST / 64, 0};
    struct wp_line_table table = {
        .bytes = newer, .size = sizeof(newer), .version = WP_INTERP_VERSION(WP_INTERP_JAVA, 21, 0)};
    (void)state;
    assert_int_equal(line_in(table, 5), 8);
    assert_int_equal(line_in(table, 36), 4);
    assert_int_equal(line_in(table, 40), 1000);
    table.version = WP_INTERP_VERSION(WP_INTERP_JAVA, 17, 0);
    assert_int_not_equal(line_in(table, 40), 1000);
}

/* As Method::line_number_from_bci: the first one of the bytecode itself, the last one of a bytecode before. */
static void test_several_lines_of_a_bytecode(void **state)
{
    static const uint8_t twice[] = {0x07, 0x01, 5 << 3 | 1, 0};
    (void)state;
    assert_int_equal(line_of(twice, sizeof(twice), 0), 7);
    assert_int_equal(line_of(twice, sizeof(twice), 3), 8);
    assert_int_equal(line_of(twice, sizeof(twice), 5), 9);
}

static void test_cut_lines(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(lines); size++) {
        const struct wp_line_table table = {.bytes = lines, .size = size, .is_cut = true};
        uint32_t last = line_in(table, 40), before = line_in(table, 4);
        assert_true(last == 0 || last == 1000);
        assert_int_equal(before, size > 1 ? 7 : 0);
        assert_int_equal(line_in(table, 41), 0);
    }
}

static void test_hostile_lines(void **state)
{
    static const uint8_t wraps[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    (void)state;
    assert_int_equal(line_of(lines, 0, 0), 0);
    for (size_t size = 0; size < sizeof(lines); size++)
        assert_true(line_of(lines, size, 40) <= 1000);
    assert_int_equal(line_of(wraps, sizeof(wraps), 0), 0);
    assert_int_equal(line_of((const uint8_t[]){0x08, 0}, 2, 3), 0); /* no line at all */
}

static struct wp_fact_code code_of(const char *name, const char *file)
{
    return (struct wp_fact_code){.version = WP_INTERP_VERSION(WP_INTERP_JAVA, 21, 0),
        .name = {(const uint8_t *)name, (uint32_t)strlen(name), WP_INTERP_UTF8, false},
        .file = {(const uint8_t *)file, (uint32_t)strlen(file), WP_INTERP_UTF8, false}};
}

static void expect_put(const struct wp_fact_code *code, const char *function, const char *path)
{
    struct wp_buffer out = {0};
    wp_buffer_puts(&out, "x");
    size_t at = wp_java_names_put(&out, code);
    assert_string_equal((const char *)out.data + 1, function);
    assert_string_equal((const char *)out.data + at, path);
    assert_int_equal(out.size, at + strlen(path) + 1);
    wp_buffer_fini(&out);
}

static void expect_names(const char *name, const char *file, const char *function, const char *path)
{
    const struct wp_fact_code code = code_of(name, file);
    expect_put(&code, function, path);
}

/* By their names, by what they were started with, by neither. */
static void test_virtual_threads(void **state)
{
    static const char file[] = "java/lang/VirtualThread.java";
    static const uint8_t name[WP_INTERP_TASK_NAME] = "L\xe4ufer-\1\1/\1";
    struct wp_fact_code code = code_of("shop/Till.lambda$main$0", "Till.java");
    (void)state;
    code.part = WP_INTERP_TASK_PART;
    expect_put(&code, "task shop.Till.lambda$main$0", "shop/Till.java");
    code.name = (struct wp_fact_text){name, sizeof(name), 1, false};
    expect_put(&code, "task L\u00e4ufer-N/N", file);
    code.name.size = 0;
    expect_put(&code, "task virtual thread", file);
}

static void test_names(void **state)
{
    (void)state;
    expect_names("shop/eu/Till.settle", "Till.java", "shop.eu.Till.settle", "shop/eu/Till.java");
    expect_names("Main.main", "Main.java", "Main.main", "Main.java");
    expect_names("shop/Till$$Lambda$14+0x0000000800c03000.run", "", "shop.Till$$Lambda$14.run", "");
    expect_names("settle", "Till.java", "settle", "Till.java");
    expect_names("+0x", "", "", "");
    expect_names("", "/", "", "/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_lines_without_zero),
        cmocka_unit_test(test_several_lines_of_a_bytecode), cmocka_unit_test(test_cut_lines),
        cmocka_unit_test(test_hostile_lines), cmocka_unit_test(test_names), cmocka_unit_test(test_virtual_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
