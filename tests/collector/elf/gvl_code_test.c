/* SPDX-License-Identifier: Apache-2.0 */
/* Code that calls as libruby's does: the function that takes the lock is told from the one that is called beside it. */
#include "collector/elf/gvl_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESS 0x1000u
#define BYTES 256u
#define CALLER 0u
#define TAKES 64u     /* waits on a condition */
#define RELEASES 128u /* does not */
#define RET 0xc3u
#define WAIT (ADDRESS + 4096u) /* a stub, of another section */

static uint8_t code[BYTES];

static void call(size_t at, uint64_t target)
{
    int32_t distance = (int32_t)((int64_t)target - (int64_t)(ADDRESS + at + 5));
    code[at] = 0xe8;
    memcpy(code + at + 1, &distance, sizeof(distance));
}

static struct wp_gvl_search made(void)
{
    memset(code, 0x90, sizeof(code));
    call(CALLER + 8, ADDRESS + RELEASES);
    call(CALLER + 20, WAIT);
    call(CALLER + 30, ADDRESS + TAKES);
    code[CALLER + 40] = RET;
    call(TAKES + 10, WAIT);
    code[TAKES + 30] = RET;
    call(RELEASES + 10, WAIT + 16);
    code[RELEASES + 30] = RET;
    return (struct wp_gvl_search){code, BYTES, ADDRESS, ADDRESS + CALLER, 41, {0, WAIT}};
}

static void the_one_that_waits(void **state)
{
    struct wp_gvl_search search = made();
    uint64_t address;
    size_t size;
    (void)state;
    assert_true(wp_gvl_code_find(&search, &address, &size));
    assert_int_equal(address, ADDRESS + TAKES);
    assert_int_equal(size, 31);
}

static void none_where_nothing_waits(void **state)
{
    struct wp_gvl_search search = made();
    uint64_t address;
    size_t size;
    (void)state;
    search.waits[1] = WAIT + 64;
    assert_false(wp_gvl_code_find(&search, &address, &size));
    search.waits[1] = 0;
    assert_false(wp_gvl_code_find(&search, &address, &size));
}

static void nothing_beyond_the_section(void **state)
{
    struct wp_gvl_search search = made();
    uint64_t address;
    size_t size;
    (void)state;
    search.caller_size = BYTES + 1;
    assert_false(wp_gvl_code_find(&search, &address, &size));
    search.caller = ADDRESS - 1;
    search.caller_size = 41;
    assert_false(wp_gvl_code_find(&search, &address, &size));
    search.caller = UINT64_MAX;
    assert_false(wp_gvl_code_find(&search, &address, &size));
    search = made();
    call(CALLER + 30, ADDRESS + BYTES);
    assert_false(wp_gvl_code_find(&search, &address, &size));
    search.size = 3;
    search.caller_size = 3;
    assert_false(wp_gvl_code_find(&search, &address, &size));
}

/* However many calls a hostile object has, each to code without an end. */
static void no_more_than_a_function_has(void **state)
{
    struct wp_gvl_search search = made();
    static uint8_t many[8192];
    uint64_t address;
    size_t size;
    (void)state;
    memcpy(many, code, sizeof(code));
    search.code = many;
    search.size = sizeof(many);
    assert_true(wp_gvl_code_find(&search, &address, &size));
    search.caller_size = sizeof(many);
    assert_false(wp_gvl_code_find(&search, &address, &size));
}

/* As rb_thread_check_ints: the last call is a jump. Its call to a stub is to another section. */
static void the_one_that_yields(void **state)
{
    struct wp_gvl_search search = made();
    uint64_t address;
    size_t size;
    (void)state;
    memset(code, 0x90, RELEASES);
    call(CALLER + 8, WAIT);
    call(CALLER + 30, ADDRESS + RELEASES);
    code[CALLER + 30] = 0xe9; /* jmp */
    assert_true(wp_gvl_code_yield(&search, &address, &size));
    assert_int_equal(address, ADDRESS + RELEASES);
    assert_int_equal(size, 31);
    call(CALLER + 20, ADDRESS + TAKES); /* another one */
    assert_false(wp_gvl_code_yield(&search, &address, &size));
    memset(code, 0x90, RELEASES);
    assert_false(wp_gvl_code_yield(&search, &address, &size));
    search.caller_size = BYTES + 1;
    assert_false(wp_gvl_code_yield(&search, &address, &size));
    search.caller = ADDRESS - 1;
    search.caller_size = 41;
    assert_false(wp_gvl_code_yield(&search, &address, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_one_that_waits), cmocka_unit_test(none_where_nothing_waits),
        cmocka_unit_test(nothing_beyond_the_section), cmocka_unit_test(no_more_than_a_function_has),
        cmocka_unit_test(the_one_that_yields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
