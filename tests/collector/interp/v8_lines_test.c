/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of V8's interpreted, baseline and optimised code, from tables as a process has them. */
#include "collector/bpf/interp_row.h"
#include "collector/interp/interp_codes.h"
#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define VERSION WP_INTERP_VERSION(WP_INTERP_V8, 11, 3)
enum { SCRIPT = 0x1000, OUTER = 0x2000, INNER = 0x3000, CODE = 0x4000 };

static const char text[] = "line 1\nline 2\r\nline 3\nline 4\n"; /* they begin at 0, 7, 15, 22, 29 */

struct fixture {
    struct wp_interp_codes *codes;
    uint8_t table[WP_INTERP_LINES];
};

static void add(struct fixture *f, uint64_t address, uint32_t part, const struct wp_v8_head *head, uint32_t size)
{
    const char *name = address == OUTER ? "outer" : address == INNER ? "inner" : "";
    memcpy(f->table, head, sizeof(*head));
    const struct wp_fact_code code = {.pid = 1,
        .version = VERSION,
        .address = address,
        .part = part,
        .name = {(const uint8_t *)name, (uint32_t)strlen(name), WP_INTERP_UTF8, false},
        .file = {(const uint8_t *)"a.js", 4, 1, false},
        .lines = f->table,
        .lines_size = size};
    assert_int_equal(wp_interp_codes_add(f->codes, &code), 0);
}

/* Bytecode 0 is of line 1; from 4 on, line 3. */
static void add_function(struct fixture *f, uint64_t address)
{
    static const uint8_t positions[] = {0, 2, 2, 2, 8, 64}; /* the first: at the function's entry */
    memcpy(f->table + WP_V8_HEAD, positions, sizeof(positions));
    add(f, address, 0, &(struct wp_v8_head){.kind = WP_V8_SHARED, .third = sizeof(positions), .owner = SCRIPT},
        WP_V8_HEAD + sizeof(positions));
}

static void add_text(struct fixture *f, uint32_t part, const char *bytes, uint32_t size)
{
    memcpy(f->table + WP_V8_HEAD, bytes, size);
    add(f, SCRIPT, part, &(struct wp_v8_head){.kind = WP_V8_SOURCE, .second = 1, .third = size}, WP_V8_HEAD + size);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.codes = wp_interp_codes_create();
    add_function(&fixture, OUTER);
    add_function(&fixture, INNER);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wp_interp_codes_destroy(f->codes);
    return 0;
}

static void check(struct fixture *f, uint64_t word, uint32_t count, const char *function, uint32_t line)
{
    struct wp_interp_place places[4];
    assert_int_equal(wp_interp_codes_places(f->codes, 1, word, places, 4), count);
    if (!count)
        return;
    assert_string_equal(places[0].function, function);
    assert_string_equal(places[0].file, "a.js");
    assert_int_equal(places[0].line, line);
}

static void test_interpreted(void **state)
{
    struct fixture *f = *state;
    check(f, WP_INTERP_WORD(OUTER, 5), 1, "outer", 0); /* the text has not come */
    add_text(f, 1, text, sizeof(text) - 1);
    check(f, WP_INTERP_WORD(OUTER, 1), 1, "outer", 1);
    check(f, WP_INTERP_WORD(OUTER, 4), 1, "outer", 1);
    check(f, WP_INTERP_WORD(OUTER, 5), 1, "outer", 3);
    check(f, WP_INTERP_WORD(OUTER, 0), 1, "outer", 0); /* what is not told where it is */
    check(f, WP_INTERP_WORD(OUTER, WP_INTERP_UNIT_MOST), 1, "outer", 0);
    check(f, WP_INTERP_WORD(0x9000, 1), 0, NULL, 0);
}

/* Lines are counted through all pieces of the text, and not without one. */
static void test_pieces(void **state)
{
    struct fixture *f = *state;
    add_text(f, 2, text + 10, sizeof(text) - 11);
    check(f, WP_INTERP_WORD(OUTER, 5), 1, "outer", 0);
    add_text(f, 1, text, 10);
    check(f, WP_INTERP_WORD(OUTER, 5), 1, "outer", 3);
}

/* Frames that were made before a piece came are made again. */
static void test_piece_renews(void **state)
{
    struct fixture *f = *state;
    uint64_t before = wp_interp_codes_generation(f->codes, 1), after;
    add_function(f, OUTER);
    assert_int_equal(wp_interp_codes_generation(f->codes, 1), before);
    add_text(f, 1, text, sizeof(text) - 1);
    after = wp_interp_codes_generation(f->codes, 1);
    assert_int_not_equal(after, before);
    add_text(f, 1, text, sizeof(text) - 1);
    assert_int_equal(wp_interp_codes_generation(f->codes, 1), after);
}

/* Eight bytes of code before the first bytecode; 10 for that, of two bytes; 10 for a wide one, of four; 10 for the
 * last.
 */
static void test_baseline(void **state)
{
    static const uint8_t places[] = {8, 10, 10, 10}, bytecode[] = {5, 0, 0, 5, 0, 0, 5, 0};
    struct fixture *f = *state;
    add_text(f, 1, text, sizeof(text) - 1);
    memset(f->table, 0, sizeof(f->table));
    memcpy(f->table + WP_V8_HEAD, places, sizeof(places));
    memcpy(f->table + WP_V8_BYTECODE_AT, bytecode, sizeof(bytecode));
    const struct wp_v8_head head = {WP_V8_BASELINE, 0, sizeof(places), sizeof(bytecode), OUTER};
    add(f, CODE, 0, &head, WP_V8_BYTECODE_AT + sizeof(bytecode));
    check(f, WP_INTERP_WORD(CODE, 1 + 7), 1, "outer", 1);
    check(f, WP_INTERP_WORD(CODE, 1 + 17), 1, "outer", 1);
    check(f, WP_INTERP_WORD(CODE, 1 + 27), 1, "outer", 1); /* bytecode 2, which is wide */
    check(f, WP_INTERP_WORD(CODE, 1 + 28), 1, "outer", 3); /* bytecode 6 */
    check(f, WP_INTERP_WORD(CODE, 1 + 38), 1, "outer", 0); /* behind all */
}

static void put_inlining(struct fixture *f, unsigned i, uint64_t position, uint64_t function)
{
    uint64_t words[] = {position, function};
    memcpy(f->table + WP_V8_HEAD + 8 * WP_V8_INLINED + i * sizeof(words), words, sizeof(words));
}

static void add_optimised(struct fixture *f, uint64_t call)
{
    static const uint64_t functions[] = {INNER | 1};
    static const uint8_t positions[] = {2 + 16, 4, 32, 0xf4, 0x80, 0x80, 0x80, 0x10}; /* 8: offset 1; 24: inlined 0 */
    memset(f->table, 0, sizeof(f->table));
    memcpy(f->table + WP_V8_HEAD, functions, sizeof(functions));
    memcpy(f->table + WP_V8_POSITIONS_AT, positions, sizeof(positions));
    put_inlining(f, 0, call, 0);
    const struct wp_v8_head head = {WP_V8_OPTIMISED, 1, 1, sizeof(positions), OUTER};
    add(f, CODE, 0, &head, WP_V8_POSITIONS_AT + sizeof(positions));
}

/* What was inlined is a frame of its own, and so is its caller. */
static void test_optimised(void **state)
{
    struct fixture *f = *state;
    struct wp_interp_place places[4];
    add_text(f, 1, text, sizeof(text) - 1);
    add_optimised(f, (7 + 1) << 1);
    check(f, WP_INTERP_WORD(CODE, 1 + 8), 1, "outer", 1);
    check(f, WP_INTERP_WORD(CODE, 1 + 24), 2, "inner", 5);
    assert_int_equal(wp_interp_codes_places(f->codes, 1, WP_INTERP_WORD(CODE, 1 + 24), places, 4), 2);
    assert_string_equal(places[1].function, "outer");
    assert_int_equal(places[1].line, 2);
}

/* A task is called by its function, and is where that begins. */
static void test_task(void **state)
{
    struct fixture *f = *state;
    add_text(f, 1, text, sizeof(text) - 1);
    check(f, WP_INTERP_WORD(OUTER, WP_INTERP_UNIT_TASK), 1, "task outer", 1);
    add_optimised(f, (7 + 1) << 1);
    check(f, WP_INTERP_WORD(CODE, WP_INTERP_UNIT_TASK), 0, NULL, 0);
}

/* More functions were inlined than are sent, or there is no room for their frames: the outermost one, without a line.
 */
static void test_too_many(void **state)
{
    struct fixture *f = *state;
    struct wp_interp_place place;
    add_text(f, 1, text, sizeof(text) - 1);
    add_optimised(f, (7 + 1) << 1);
    assert_int_equal(wp_interp_codes_places(f->codes, 1, WP_INTERP_WORD(CODE, 1 + 24), &place, 1), 1);
    assert_string_equal(place.function, "outer");
    assert_int_equal(place.line, 0);
    const struct wp_v8_head head = {WP_V8_OPTIMISED, 0, 1, 8, OUTER};
    add(f, CODE, 0, &head, WP_V8_POSITIONS_AT + head.third);
    check(f, WP_INTERP_WORD(CODE, 1 + 24), 1, "outer", 0);
}

/* What lies in a record's room that is not used is of other ones, and makes no difference. */
static void test_other_bytes(void **state)
{
    struct fixture *f = *state;
    add_optimised(f, (7 + 1) << 1);
    uint64_t held = wp_interp_codes_counts(f->codes).held, generation = wp_interp_codes_generation(f->codes, 1);
    memset(f->table + WP_V8_HEAD + 8, 7, 8 * (WP_V8_INLINED - 1));
    const struct wp_v8_head head = {WP_V8_OPTIMISED, 1, 1, 8, OUTER};
    add(f, CODE, 0, &head, WP_V8_POSITIONS_AT + head.third);
    assert_int_equal(wp_interp_codes_counts(f->codes).held, held);
    assert_int_equal(wp_interp_codes_generation(f->codes, 1), generation);
}

/* A call that is inlined in itself is nonsense, of which no frame is made. */
static void test_circle(void **state)
{
    struct fixture *f = *state;
    add_optimised(f, (uint64_t)1 << 31 | 2);
    check(f, WP_INTERP_WORD(CODE, 1 + 24), 0, NULL, 0);
}

/* V8 moves its objects: a process that has had too many begins anew, at most once in ten seconds. */
static void test_moved(void **state)
{
    struct fixture *f = *state;
    static uint8_t lines[WP_INTERP_LINES];
    struct wp_fact_code code = {.pid = 1, .version = VERSION, .lines = lines, .lines_size = sizeof(lines)};
    code.name = code.file = (struct wp_fact_text){(const uint8_t *)"f", 1, 1, false};
    uint64_t generation = wp_interp_codes_generation(f->codes, 1), s = WP_NS_PER_S;
    unsigned before = 0, after = 0;
    code.time_ns = 100 * s;
    for (; before < 4096 && !wp_interp_codes_lack(f->codes); before++) {
        code.address = 0x100000 + 64 * (uint64_t)before;
        memcpy(lines + WP_V8_HEAD, &before, sizeof(before));
        assert_int_equal(wp_interp_codes_add(f->codes, &code), 0);
    }
    assert_in_range(before, 500, 4000);
    assert_int_not_equal(wp_interp_codes_generation(f->codes, 1), generation);
    check(f, WP_INTERP_WORD(OUTER, 0), 0, NULL, 0);
    assert_int_equal(wp_interp_codes_counts(f->codes).held, 1);
    wp_interp_codes_retold(f->codes);
    assert_false(wp_interp_codes_lack(f->codes));
    for (code.time_ns += 10 * s - 1; after < 4096; after++) {
        code.address = 0x900000 + 64 * (uint64_t)after;
        memcpy(lines + WP_V8_HEAD, &after, sizeof(after));
        if (wp_interp_codes_add(f->codes, &code))
            break;
    }
    assert_in_range(after, 500, 4000);
    assert_false(wp_interp_codes_lack(f->codes));
    code.time_ns++;
    assert_int_equal(wp_interp_codes_add(f->codes, &code), 0);
    assert_true(wp_interp_codes_lack(f->codes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_interpreted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_piece_renews, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_baseline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_optimised, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_circle, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
