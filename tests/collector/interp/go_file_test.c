/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of runtime.timeSleepUntil says, as Go 1.19 and 1.23 make it, and what no code of it could. */
#include "collector/interp/go_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESS 0x450000u
#define ROOM 256u

struct code {
    uint8_t bytes[ROOM];
    size_t size;
};

static void put(struct code *c, const void *bytes, size_t size)
{
    memcpy(c->bytes + c->size, bytes, size);
    c->size += size;
}

static void put_place(struct code *c, const char *instruction, int32_t place)
{
    put(c, instruction, 3);
    put(c, &place, sizeof(place));
}

/* mov rcx or rdx, [rip + ...]: what lies at that address. */
static void load_beside(struct code *c, bool is_second, uint64_t address)
{
    put_place(c, is_second ? "\x48\x8b\x15" : "\x48\x8b\x0d", (int32_t)(address - (ADDRESS + c->size + 7)));
}

/* mov rdi, [rsi + place], then nop; test rdi, rdi; je */
static void load_of_p(struct code *c, int32_t place)
{
    put_place(c, "\x48\x8b\xbe", place);
    put(c, "\x90\x48\x85\xff\x74\x05", 6);
}

/* lea rax, [allpLock]; call lock2; the slice; xor eax, eax; movabs rbx; mov rsi, [rcx + rax * 8]; two loads of a P */
static struct code made(uint64_t slice, int32_t first, int32_t second)
{
    struct code c = {.size = 0};
    put_place(&c, "\x48\x8d\x05", 4096);
    put(&c, "\xe8\0\0\0\0", 5);
    load_beside(&c, false, slice);
    load_beside(&c, true, slice + 8);
    put(&c, "\x31\xc0\x48\xbb\xff\xff\xff\xff\xff\xff\xff\x7f\x48\x8b\x34\xc1", 16);
    load_of_p(&c, first);
    load_of_p(&c, second);
    put(&c, "\xc3", 1);
    return c;
}

static bool find(const struct code *c, uint64_t *all, struct wp_go_offsets *at)
{
    return wp_go_file_find(c->bytes, c->size, ADDRESS, all, at);
}

static void test_versions(void **state)
{
    struct wp_go_offsets at;
    uint64_t all;
    (void)state;
    struct code c = made(0x8bd760, 0x1208, 0x1210);
    assert_true(find(&c, &all, &at));
    assert_int_equal(all, 0x8bd760);
    assert_int_equal(at.when, 0x1208);
    assert_int_equal(at.heap, 8840);
    assert_false(at.has_when);
    c = made(0x554a60, 0x22c0, 0x22b8); /* that of those that changed is read first */
    assert_true(find(&c, &all, &at));
    assert_int_equal(at.when, 8888);
    assert_int_equal(at.heap, 8848);
    assert_true(at.has_when);
}

static void test_others(void **state)
{
    struct wp_go_offsets at;
    uint64_t all;
    static const int32_t places[][2] = {
        {0x1208, 0x1218}, {0x1208, 0x1208}, {-8, 0}, {0x1204, 0x120c}, {16, 8}, {1 << 20, (1 << 20) + 8}};
    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        struct code c = made(0x8bd760, places[i][0], places[i][1]);
        assert_false(find(&c, &all, &at));
    }
    struct code whole = made(0x8bd760, 0x1208, 0x1210);
    for (size_t size = 0; size + 14 < whole.size; size++) { /* cut anywhere */
        struct code c = whole;
        c.size = size;
        memset(c.bytes + size, 0, ROOM - size);
        find(&c, &all, &at);
        c.size = ROOM;
        find(&c, &all, &at);
    }
    struct code apart = {.size = 0}; /* no slice */
    load_beside(&apart, false, 0x8bd760);
    load_beside(&apart, true, 0x8bd770);
    load_of_p(&apart, 0x1208);
    load_of_p(&apart, 0x1210);
    assert_false(find(&apart, &all, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_versions), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
