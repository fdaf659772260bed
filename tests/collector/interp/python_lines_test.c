/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of one function as each version of CPython made them, with the lines that the same version says itself. */
#include "collector/interp/python_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct run {
    uint32_t line, units; /* line 0: they have none */
};

struct sample {
    uint32_t version, first_line;
    const char *table; /* in hex */
    struct run runs[80];
};

static const struct sample samples[] = {
    {0x0309, 2,
        "0001040104010a01080104010201080102ff2a02040102ff0c0208011a02060106ff0e0106ff087f007f003104010a0200ff"
        "0a04040102ff",
        {{3, 2}, {4, 2}, {5, 5}, {6, 4}, {7, 2}, {8, 1}, {9, 4}, {10, 1}, {9, 21}, {11, 2}, {12, 1}, {11, 6}, {13, 4},
            {14, 13}, {16, 3}, {17, 3}, {16, 7}, {17, 3}, {16, 4}, {319, 2}, {320, 5}, {321, 5}, {325, 2}, {326, 1},
            {325, 2}}},
    {0x030a, 2,
        "040104010a010801040102010801020108ff02fd1cff0480040602010cff08020201088002fd0280060506010eff060108ff"
        "007f007f0431080104ff02030aff0404020104ff",
        {{3, 2}, {4, 2}, {5, 5}, {6, 4}, {7, 2}, {8, 1}, {9, 4}, {10, 1}, {9, 4}, {6, 1}, {5, 14}, {0, 2}, {11, 2},
            {12, 1}, {11, 6}, {13, 4}, {14, 1}, {0, 4}, {11, 1}, {0, 1}, {16, 3}, {17, 3}, {16, 7}, {17, 3}, {16, 4},
            {319, 2}, {320, 4}, {319, 2}, {322, 1}, {321, 5}, {325, 2}, {326, 1}, {325, 2}}},
    {0x030b, 2,
        "8000d80c0d8045f0020e0517dd0d119024895a8c5af0000509169834d8181cf000040d16f000040d169004d8171bf0000111"
        "1dd8141cd810159d13985499199c19d81415f103011a16f10001111690059005f007040d16f003050916f000050916f00005"
        "0916f100050916f400050916f000050916f000050916f000050916f000050916f000050916f000050916f8f8f8f000050916"
        "f000050916f000050916f000050916f8f8f50c000d14dd0c16f003010c18f00003050ef00003050ef00003050ee5080d8865"
        "890c8c0c880cd8080df8f8f8f8f00703050ef8f8f8f00a021117f000021117dd1a1fa00199289c28f003021117f100021117"
        "f40002111788058805f8f000021117f000021117dd1a1fa00199289c28f003021117f100021117f4000211178805f0000209"
        "17f000020917f000020917f000020917f05e09000b0cf00001050fd80809885189068801f003000b0cf00001050ff0060011"
        "12f00303050ef00003050ef00003050ef00003050ef008000c1188359015d81112f103010c14f400010c14f000010514",
        {{2, 1}, {3, 2}, {4, 1}, {5, 16}, {6, 4}, {7, 2}, {8, 1}, {9, 15}, {10, 1}, {9, 6}, {6, 1}, {5, 16}, {0, 3},
            {5, 4}, {0, 2}, {11, 6}, {12, 6}, {11, 4}, {13, 15}, {14, 1}, {0, 4}, {11, 1}, {0, 3}, {16, 2}, {17, 14},
            {16, 10}, {0, 1}, {16, 2}, {17, 14}, {16, 13}, {319, 2}, {320, 5}, {319, 2}, {322, 1}, {321, 4}, {325, 3},
            {326, 1}, {325, 8}}},
    {0x030c, 2,
        "8000d80c0d8045f0020e0517dc0d1190248b5af0000509169834d8181cf200040d169004d9171bd8141cd810159c1398549b"
        "19d81415f103011a16f1000111169105f107040d16f703050916f418001b20a0019b28f603021117d81516d91415f0050012"
        "1390519315f0000211178805f000021117f15e09000b0cd80809885189068801f203000b0cf006001112f30303050ef10800"
        "0c119015d81112f303010c14f000010514f7410a050916f000050916fbf40c000d14dc0c16f003010c18f20003050ee4080d"
        "88658c0cd8080dfbf00703050efcf20a021117f8dc1a1fa0019b28f603021117d81516d91415f00500121390519315f00002"
        "11178805f100021117f9f200021117fa",
        {{2, 1}, {3, 2}, {4, 1}, {5, 12}, {6, 5}, {7, 2}, {8, 1}, {9, 11}, {10, 1}, {9, 6}, {6, 2}, {5, 8}, {17, 10},
            {16, 7}, {17, 1}, {18, 2}, {16, 9}, {319, 2}, {320, 5}, {319, 3}, {322, 1}, {321, 4}, {325, 3}, {326, 1},
            {325, 5}, {5, 9}, {0, 4}, {11, 5}, {12, 5}, {11, 4}, {13, 11}, {14, 1}, {0, 4}, {11, 1}, {0, 5}, {16, 3},
            {0, 1}, {17, 10}, {16, 7}, {17, 1}, {18, 2}, {16, 10}, {0, 2}, {16, 3}, {0, 3}}},
    {0x030d, 2,
        "8000d80c0d8045f0020e0517dc0d1190248c5a9834db181c9004de171bd9141cd810159c1398549b19d81415f103011a16f1"
        "000111169205f10700191df703000e18f418001b20a0019c28f303021117d91a229051dc1415f305001217901190519415d9"
        "1a22f00300090ef000021117f65e09000b0cd80809885189068801f703000b0c8821f006001112f40303050ef108000c1190"
        "15d81112f303010c14f000010514f7410a000e188d5afbf40c000d14dc0c16f003010c18f30003050ee4080d88658c0cd808"
        "0dfbf00703050efcf20a021117f8dc1a1fa0019c28f303021117d91a229051dc1415f305001217901190519415d91a22f003"
        "00090ef0000211178805f9f200021117fa",
        {{2, 1}, {3, 2}, {4, 1}, {5, 12}, {6, 5}, {7, 7}, {8, 2}, {9, 11}, {10, 1}, {9, 7}, {6, 2}, {5, 8}, {17, 11},
            {16, 4}, {17, 3}, {18, 5}, {16, 11}, {17, 2}, {16, 2}, {319, 7}, {320, 5}, {319, 9}, {322, 1}, {321, 5},
            {325, 3}, {326, 1}, {325, 5}, {5, 14}, {0, 4}, {11, 5}, {12, 5}, {11, 5}, {13, 11}, {14, 1}, {0, 4},
            {11, 1}, {0, 5}, {16, 3}, {0, 1}, {17, 11}, {16, 4}, {17, 3}, {18, 5}, {16, 11}, {17, 2}, {16, 3}, {0, 2},
            {16, 3}, {0, 3}}},
};

static size_t unhex(const char *text, uint8_t *bytes)
{
    size_t count = 0;
    for (unsigned high, low; text[2 * count]; count++) {
        high = (unsigned)(strchr("0123456789abcdef", text[2 * count]) - "0123456789abcdef");
        low = (unsigned)(strchr("0123456789abcdef", text[2 * count + 1]) - "0123456789abcdef");
        bytes[count] = (uint8_t)(high << 4 | low);
    }
    return count;
}

static void test_lines(void **state)
{
    uint8_t bytes[1024];
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
        struct wp_line_table lines = {
            bytes, unhex(samples[i].table, bytes), samples[i].version, samples[i].first_line, false};
        uint32_t unit = 0;
        for (const struct run *run = samples[i].runs; run->units; run++)
            for (uint32_t end = unit + run->units; unit < end; unit++) {
                uint32_t line = 0;
                bool has_line = wp_python_line(&lines, unit, &line);
                assert_int_equal(has_line ? line : 0, run->line);
            }
    }
}

/* What lies behind the end of a table has no line, but for the oldest form, whose last line goes on unless it is cut.
 */
static void test_cut(void **state)
{
    uint8_t bytes[1024];
    uint32_t line;
    (void)state;
    struct wp_line_table oldest = {
        bytes, unhex(samples[0].table, bytes), samples[0].version, samples[0].first_line, false};
    assert_true(wp_python_line(&oldest, 100000, &line));
    oldest.is_cut = true; /* another line may follow */
    assert_false(wp_python_line(&oldest, 100000, &line));
    assert_true(wp_python_line(&oldest, 0, &line));
    for (size_t i = 1; i < sizeof(samples) / sizeof(*samples); i++) {
        struct wp_line_table lines = {
            bytes, unhex(samples[i].table, bytes), samples[i].version, samples[i].first_line, false};
        assert_false(wp_python_line(&lines, 100000, &line));
        lines.size = 4;
        assert_false(wp_python_line(&lines, 40, &line));
        lines.size = 0;
        assert_false(wp_python_line(&lines, 0, &line));
    }
}

/* Lines before the first one, entries that do not begin as they must, numbers without an end. */
static void test_nonsense(void **state)
{
    static const uint8_t below[] = {0xe8, 0x4f, 0x40, 0x40, 0x40, 0x40}, headless[] = {0x12, 0x00},
                         endless[] = {0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
    uint32_t line;
    (void)state;
    assert_false(wp_python_line(&(struct wp_line_table){below, sizeof(below), 0x030b, 3, false}, 0, &line));
    assert_false(wp_python_line(&(struct wp_line_table){headless, sizeof(headless), 0x030b, 3, false}, 0, &line));
    wp_python_line(&(struct wp_line_table){endless, sizeof(endless), 0x030b, 3, false}, 0, &line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines), cmocka_unit_test(test_cut), cmocka_unit_test(test_nonsense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
