/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects by process, and stacks in which their frames take the place of the interpreter's loop. */
#include "collector/interp/interp_codes.h"

#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_splice.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PLACE ((uint64_t)0x7fa000001238)

static struct wp_fact_text latin(const char *text)
{
    return (struct wp_fact_text){(const uint8_t *)text, (uint32_t)strlen(text), 1, false};
}

static struct wp_fact_code code_of(uint32_t pid, const char *name)
{
    static const uint8_t lines[] = {0xd8, 0x00, 0xd8, 0x08}; /* two one-line entries: +1, then +1 */
    return (struct wp_fact_code){.pid = pid,
        .version = 0x030b,
        .address = PLACE,
        .first_line = 10,
        .name = latin(name),
        .file = latin("/srv/shop.py"),
        .lines = lines,
        .lines_size = sizeof(lines)};
}

static void expect(struct wp_interp_codes *codes, uint64_t word, const char *function, uint32_t line)
{
    struct wp_interp_place place;
    assert_true(wp_interp_codes_places(codes, 7, word, &place, 1));
    assert_string_equal(place.function, function);
    assert_string_equal(place.file, "/srv/shop.py");
    assert_int_equal(place.line, line);
}

static void test_codes(void **state)
{
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code a = code_of(7, "Till.settle"), b = code_of(8, "Till.settle"), other = code_of(7, "sweep");
    struct wp_interp_place place;
    (void)state;
    const struct wp_fact_interp process = {7, WP_INTERP_VERSION(WP_INTERP_RUBY, 3, 1), 100, 200, 300, 310, 400, 450};
    assert_int_equal(wp_interp_codes_process(codes, &process), 0);
    assert_int_equal(wp_interp_codes_part(codes, 7, 100), WP_INTERP_LOOP);
    assert_int_equal(wp_interp_codes_part(codes, 7, 200), WP_INTERP_NO_PART);
    assert_int_equal(wp_interp_codes_part(codes, 7, 309), WP_INTERP_LOOP);
    assert_int_equal(wp_interp_codes_part(codes, 7, 449), WP_INTERP_INNER);
    assert_int_equal(wp_interp_codes_part(codes, 7, 450), WP_INTERP_NO_PART);
    assert_int_equal(wp_interp_codes_part(codes, 8, 150), WP_INTERP_NO_PART);
    assert_int_equal(wp_interp_codes_add(codes, &a), 0);
    assert_int_equal(wp_interp_codes_add(codes, &b), 0);
    assert_int_equal(wp_interp_codes_counts(codes).held, 1); /* equal in both */
    expect(codes, WP_INTERP_WORD(PLACE, 0), "Till.settle", 10);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till.settle", 11);
    expect(codes, WP_INTERP_WORD(PLACE, 2) | WP_INTERP_ENTRY, "Till.settle", 12);
    expect(codes, WP_INTERP_WORD(PLACE, 3), "Till.settle", 0);
    expect(codes, WP_INTERP_WORD(PLACE, WP_INTERP_UNIT_MOST), "Till.settle", 0);
    assert_false(wp_interp_codes_places(codes, 7, WP_INTERP_WORD(PLACE + 8, 1), &place, 1));
    uint64_t generation = wp_interp_codes_generation(codes, 7), of_other = wp_interp_codes_generation(codes, 8);
    assert_int_not_equal(generation, of_other);
    assert_int_equal(wp_interp_codes_add(codes, &other), 0);
    assert_int_not_equal(wp_interp_codes_generation(codes, 7), generation);
    assert_int_equal(wp_interp_codes_generation(codes, 8), of_other);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "sweep", 10);
    wp_interp_codes_forget(codes, 7);
    wp_interp_codes_forget(codes, 7);
    assert_int_equal(wp_interp_codes_generation(codes, 7), 0);
    assert_int_equal(wp_interp_codes_counts(codes).held, 1);
    wp_interp_codes_forget(codes, 8);
    assert_int_equal(wp_interp_codes_counts(codes).held, 0);
    wp_interp_codes_destroy(codes);
}

static void test_texts(void **state)
{
    static const uint8_t wide[] = {'p', 0, 0xe9, 0, 0, 0xd8, 0x42, 0x04, 'x'}; /* p, é, half a pair, т, half a unit */
    static const uint8_t widest[] = {0x00, 0xf6, 0x01, 0x00, 0xff, 0xff, 0xff, 0x7f};
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code code = code_of(7, "");
    (void)state;
    code.name = (struct wp_fact_text){wide, sizeof(wide), 2, true};
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "p\xc3\xa9\xef\xbf\xbd\xd1\x82...", 10);
    code.name = (struct wp_fact_text){widest, sizeof(widest), 4, false};
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "\xf0\x9f\x98\x80\xef\xbf\xbd", 10);
    code.name = (struct wp_fact_text){widest, sizeof(widest), 3, false};
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "", 10);
    code.name = (struct wp_fact_text){(const uint8_t *)"gr\xc3\xbc\xff\xc3", 6, WP_INTERP_UTF8, true};
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "gr\xc3\xbc\xef\xbf\xbd\xef\xbf\xbd...", 10);
    code.name = (struct wp_fact_text){(const uint8_t *)"a\0b", 3, WP_INTERP_UTF8, false};
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "a", 10);
    wp_interp_codes_destroy(codes);
}

/* PHP's frames come with their lines, and a file's own code has no name. */
static void test_without_tables(void **state)
{
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code code = code_of(7, "Till::settle");
    (void)state;
    code.version = WP_INTERP_VERSION(WP_INTERP_PHP, 8, 2);
    code.lines_size = 0;
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1 + 99), "Till::settle", 99);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till::settle", 0);
    code.name = (struct wp_fact_text){(const uint8_t *)"", 0, WP_INTERP_UTF8, false};
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1 + 7), "{main}", 7);
    assert_int_equal(wp_interp_codes_counts(codes).unread, 0);
    wp_interp_codes_destroy(codes);
}

/* A task is said at an address of its own, which a code object may have as well; only CPython has tasks. */
static void test_tasks(void **state)
{
    static const uint8_t name[WP_INTERP_TASK_NAME] = "till-\1\1/\1";
    static const uint8_t endless[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
    const uint64_t word = WP_INTERP_WORD(PLACE, WP_INTERP_UNIT_TASK);
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code code = code_of(7, "Till.settle"), task = code;
    struct wp_interp_place place;
    (void)state;
    task.part = WP_INTERP_TASK_PART;
    task.lines_size = 0;
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    assert_false(wp_interp_codes_places(codes, 7, word, &place, 1));
    assert_int_equal(wp_interp_codes_add(codes, &task), 0);
    expect(codes, word, "task Till.settle", 10);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till.settle", 11);
    task.name = (struct wp_fact_text){name, sizeof(name), WP_INTERP_UTF8, false};
    assert_int_equal(wp_interp_codes_add(codes, &task), 0);
    expect(codes, word, "task till-N/N", 10);
    assert_int_equal(wp_interp_codes_counts(codes).unread, 0);
    task.name = (struct wp_fact_text){endless, sizeof(endless) - 1, WP_INTERP_UTF8, false};
    assert_int_equal(wp_interp_codes_add(codes, &task), 0);
    expect(codes, word, "task 0123456789012345678901234567890123456789012345678901234567890123", 10);
    task.name.unit = 0;
    assert_int_equal(wp_interp_codes_add(codes, &task), 0);
    assert_int_equal(wp_interp_codes_counts(codes).unread, 1);
    wp_interp_codes_forget(codes, 7);
    code.version = WP_INTERP_VERSION(WP_INTERP_PHP, 8, 2);
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, word, "Till.settle", WP_INTERP_UNIT_TASK - 1);
    wp_interp_codes_destroy(codes);
}

/* What could not be read this time takes nothing away, unless the rest says that it is another code object. */
static void test_unread(void **state)
{
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code whole = code_of(7, "Till.settle"), part = whole, other = code_of(7, "sweep");
    (void)state;
    part.name.unit = part.lines_size = other.lines_size = 0;
    assert_int_equal(wp_interp_codes_add(codes, &whole), 0);
    assert_int_equal(wp_interp_codes_add(codes, &part), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till.settle", 11);
    assert_int_equal(wp_interp_codes_add(codes, &other), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "sweep", 0);
    assert_int_equal(wp_interp_codes_counts(codes).unread, 2);
    other.first_line = 0x80000000u;
    assert_int_equal(wp_interp_codes_add(codes, &other), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 0), "sweep", 0);
    wp_interp_codes_destroy(codes);
}

/* What a child has not touched since its fork is as its parent has it. */
static void test_child(void **state)
{
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code whole = code_of(8, "Till.settle"), part = code_of(7, "");
    (void)state;
    part.name.unit = 0;
    assert_int_equal(wp_interp_codes_add(codes, &whole), 0);
    assert_int_equal(wp_interp_codes_add(codes, &part), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "", 11);
    wp_interp_codes_forget(codes, 7);
    part.parent = 8;
    part.first_line = 20; /* another one */
    assert_int_equal(wp_interp_codes_add(codes, &part), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "", 21);
    wp_interp_codes_forget(codes, 7);
    part.first_line = whole.first_line;
    assert_int_equal(wp_interp_codes_add(codes, &part), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till.settle", 11);
    wp_interp_codes_forget(codes, 8);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till.settle", 11);
    wp_interp_codes_destroy(codes);
}

/* A process that has code objects without end leaves room for the others. */
static void test_share(void **state)
{
    static uint8_t lines[16384];
    struct wp_interp_codes *codes = wp_interp_codes_create();
    struct wp_fact_code greedy = code_of(8, "greedy"), code = code_of(7, "Till.settle");
    int rc = 0;
    (void)state;
    greedy.lines = lines;
    greedy.lines_size = sizeof(lines);
    for (uint32_t i = 0; i < 10000 && !rc; i++) {
        memcpy(lines, &i, sizeof(i));
        greedy.address = PLACE + (uint64_t)8 * i;
        rc = wp_interp_codes_add(codes, &greedy);
    }
    assert_int_equal(rc, -ENOSPC);
    assert_int_equal(wp_interp_codes_add(codes, &code), 0);
    expect(codes, WP_INTERP_WORD(PLACE, 1), "Till.settle", 11);
    assert_true(wp_interp_codes_counts(codes).held < 2000);
    wp_interp_codes_destroy(codes);
}

/* Native frames as letters, L the loop, I what it calls for its work, A what it goes on in; words as digits. Innermost
 * first. */
static void check_splice(const char *native, const uint64_t *words, uint32_t word_count, const char *expected)
{
    uint8_t parts[32];
    char text[64] = "";
    struct wp_spliced_frame frames[64];
    uint32_t count = (uint32_t)strlen(native);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = native[i] == 'L' ? WP_INTERP_LOOP
            : native[i] == 'I'      ? WP_INTERP_INNER
            : native[i] == 'A'      ? WP_INTERP_AGAIN
                                    : WP_INTERP_NO_PART;
    const struct wp_interp_stack stack = {parts, count, words, word_count};
    uint32_t made = wp_interp_splice(&stack, frames);
    for (uint32_t i = 0; i < made; i++)
        text[i] = frames[i].is_word ? (char)('1' + frames[i].index) : native[frames[i].index];
    assert_string_equal(text, expected);
}

static void test_splice(void **state)
{
    const uint64_t in = WP_INTERP_WORD(PLACE, 5), last = in | WP_INTERP_ENTRY, empty = WP_INTERP_ENTRY;
    (void)state;
    check_splice("aLbLc", (const uint64_t[]){in, last, last}, 3, "a12b3c");
    check_splice("aLb", (const uint64_t[]){in, last, last}, 3, "a12b3"); /* the native walk ended early */
    check_splice("aLbLc", (const uint64_t[]){in, in}, 2, "a12bLc");      /* the other one did */
    check_splice("LbLc", (const uint64_t[]){in, last}, 2, "Lb12c");      /* before its first frame */
    check_splice("aLbLc", (const uint64_t[]){empty, last}, 2, "ab2c");
    check_splice("ab", (const uint64_t[]){in, last}, 2, "ab12");
    check_splice("aLb", NULL, 0, "aLb");
    check_splice("aILbILc", (const uint64_t[]){in, last, last}, 3, "a12b3c");
    check_splice("aILbLc", (const uint64_t[]){last}, 1, "a1bLc");
    check_splice("aIbILc", (const uint64_t[]){last}, 1, "aIb1c"); /* not for the loop */
    check_splice("ILbILc", (const uint64_t[]){in, last}, 2, "ILb12c");
    check_splice("aIL", NULL, 0, "aIL");
    check_splice("aLALbLc", (const uint64_t[]){in, last, last}, 3, "a12b3c");
    check_splice("aLALAL", (const uint64_t[]){last, last}, 2, "a12");
    check_splice("LALbL", (const uint64_t[]){last}, 1, "LALb1");
    check_splice("aLAb", (const uint64_t[]){last}, 1, "a1Ab"); /* the native walk ended early */
    check_splice("aLAL", NULL, 0, "aLAL");
    check_splice("aLAbLcL", (const uint64_t[]){in, last, last}, 3, "a12c3"); /* by a function between both */
    check_splice("aLAbcL", (const uint64_t[]){last, last}, 2, "a1Abc2");
    check_splice("aI", (const uint64_t[]){last}, 1, "aI1");
    check_splice("", (const uint64_t[]){last}, 1, "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_without_tables), cmocka_unit_test(test_tasks), cmocka_unit_test(test_unread),
        cmocka_unit_test(test_child), cmocka_unit_test(test_share), cmocka_unit_test(test_splice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
