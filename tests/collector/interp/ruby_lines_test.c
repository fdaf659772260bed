/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of lines as CRuby 3.1 makes them (iseq.c, succ_index_table_create), and as a hostile process has them. */
#include "collector/interp/ruby_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PLACES 1400u
#define HEAD 8u
#define FIRST 54u
#define ENTRIES_MOST 700u

struct sample {
    uint8_t bytes[HEAD + 48 + 3 * 80 + ENTRIES_MOST * 12];
    size_t size;
    uint32_t lines[PLACES]; /* what each place has */
};

static void put(uint8_t *bytes, uint64_t word)
{
    memcpy(bytes, &word, sizeof(word));
}

static uint64_t word_of(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Sets what a place says of how many entries begin at or before it; is_first: one begins here. */
static void put_rank(uint8_t *index, uint32_t place, uint32_t rank, bool is_first)
{
    if (place < FIRST) {
        put(index + place / 9 * 8, word_of(index + place / 9 * 8) | (uint64_t)rank << 7 * (place % 9));
        return;
    }
    uint32_t in = (place - FIRST) % 512, part = in / 64;
    uint8_t *block = index + 48 + (size_t)(place - FIRST) / 512 * 80;
    if (!in)
        put(block, rank - is_first);
    if (part && !(in % 64))
        put(block + 8, word_of(block + 8) | (uint64_t)(rank - is_first - (uint32_t)word_of(block)) << 9 * (part - 1));
    put(block + 16 + 8 * (size_t)part, word_of(block + 16 + 8 * (size_t)part) | (uint64_t)is_first << in % 64);
}

/* An entry each 2, 3, 4 ... places and again, with lines that go to and fro. */
static void fill(struct sample *s)
{
    uint32_t rank = 0, next = 0;
    memset(s, 0, sizeof(*s));
    put(s->bytes, 48 + 3 * 80);
    uint8_t *entries = s->bytes + HEAD + 48 + 3 * 80;
    for (uint32_t place = 0; place < PLACES; place++) {
        bool is_first = place == next;
        uint32_t line = 10 + rank * 7 % 50;
        if (is_first) {
            memcpy(entries + (size_t)rank * 12, &line, sizeof(line));
            rank++;
            next += 2 + rank % 5;
        }
        s->lines[place] = is_first ? line : s->lines[place - 1];
        put_rank(s->bytes + HEAD, place, rank, is_first);
    }
    s->size = HEAD + 48 + 3 * 80 + (size_t)rank * 12;
}

static bool find(const uint8_t *bytes, size_t size, uint32_t unit, uint32_t *line)
{
    return wp_ruby_line(&(struct wp_line_table){.bytes = bytes, .size = size}, unit, line);
}

static void test_places(void **state)
{
    static struct sample s;
    uint32_t line;
    (void)state;
    fill(&s);
    for (uint32_t place = 0; place < PLACES; place++) {
        assert_true(find(s.bytes, s.size, place, &line));
        assert_int_equal(line, s.lines[place]);
    }
    assert_false(find(s.bytes, s.size, FIRST + 3 * 512, &line));
    assert_true(find(s.bytes, s.size - 12 * 100, 0, &line)); /* the end of the table was cut off */
    assert_false(find(s.bytes, s.size - 12 * 100, PLACES - 1, &line));
}

/* A sequence of one line has no index. */
static void test_one(void **state)
{
    uint8_t bytes[HEAD + 12] = {0};
    uint32_t line;
    (void)state;
    assert_false(find(bytes, sizeof(bytes), 0, &line)); /* line 0 */
    bytes[HEAD] = 42;
    assert_true(find(bytes, sizeof(bytes), 100000, &line));
    assert_int_equal(line, 42);
    assert_false(find(bytes, sizeof(bytes) - 1, 0, &line));
    assert_false(find(bytes, HEAD, 0, &line));
    memset(bytes + HEAD, 0xff, 4);
    assert_false(find(bytes, sizeof(bytes), 0, &line));
}

/* Whatever the table says, nothing outside of it is read. */
static void test_hostile(void **state)
{
    static struct sample s;
    uint32_t line;
    (void)state;
    fill(&s);
    for (size_t size = 0; size < HEAD + 48 + 80; size++)
        find(s.bytes, size, 60, &line);
    memset(s.bytes + HEAD, 0xff, 48 + 3 * 80);
    for (uint32_t place = 0; place < PLACES; place += 11)
        if (find(s.bytes, s.size, place, &line))
            assert_true(line && line < 100);
    assert_false(find(s.bytes, s.size, 600, &line)); /* rank 2^32 and more */
    put(s.bytes, UINT64_MAX);
    assert_false(find(s.bytes, s.size, 0, &line));
    put(s.bytes, s.size - HEAD + 1);
    assert_false(find(s.bytes, s.size, 0, &line));
    put(s.bytes, 47);
    assert_false(find(s.bytes, s.size, 0, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places), cmocka_unit_test(test_one), cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
