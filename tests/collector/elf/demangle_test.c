/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *mangled, *name; /* NULL: stays */
} names[] = {
    {"main", NULL},
    {"", NULL},
    {"_", NULL},
    {"_Z", NULL},
    {"_ZN", NULL},
    {"_Rust_is_fine", NULL},
    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
    {"_ZN4deep3FooIiE3barEv", "deep::Foo<int>::bar"},
    {"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run"},
    {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"},
    {"_ZN3foo3barEv.cold", "foo::bar"},
    {"_ZTv0_n24_N1C1fEv", "virtual thunk to C::f()"},
    /* rustc 1.63, legacy */
    {"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"},
    {"_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
        "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
    /* RFC 2603's own examples */
    {"_RNvC6_123foo3bar", "123foo::bar"},
    {"_RNvMs_Cs4Cv8Wi1oAIB_3Foo3bar", NULL},
    {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
    {"_RNvNtNtC5crate4mod14mod23foo", "crate::mod1::mod2::foo"},
    {"_RNCNvC5alloc3run0", "alloc::run::{closure#0}"},
    {"_RNvC5cratau7gdel_b4a", NULL},
};

static void known_names(void **state)
{
    (void)state;
    char name[4096];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        enum wp_demangled rc = wp_demangle(names[i].mangled, name, sizeof(name));
        assert_int_equal(rc, names[i].name ? WP_DEMANGLE_DONE : WP_DEMANGLE_PLAIN);
        if (names[i].name)
            assert_string_equal(name, names[i].name);
    }
}

static void room_is_kept(void **state)
{
    (void)state;
    for (size_t room = 0; room < 30; room++) {
        char *name = malloc(room + 1);
        name[room] = 'x';
        enum wp_demangled rc = wp_demangle("_ZN4deep3FooIiE3barEv", name, room);
        assert_int_equal(name[room], 'x');
        if (rc == WP_DEMANGLE_DONE && room < 20 && room > 4)
            assert_string_equal(name + room - 4, "...");
        free(name);
    }
}

/* Each type is two of the one before: some kilobytes that unfold to 2^n. */
static void bombs(void **state)
{
    (void)state;
    char text[4096], out[4096];
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    int at = snprintf(text, sizeof(text), "_RINvC1a1bTmmE"), last = 8; /* places count behind "_R" */
    for (int i = 0; i < 60; i++) {
        char back[8];
        int value = last - 1;
        last = at - 2;
        if (value < 62)
            snprintf(back, sizeof(back), "B%c_", digits[value < 10 ? value : value < 36 ? value + 26 : value - 26]);
        else
            snprintf(back, sizeof(back), "B%c%c_", digits[value / 62 < 10 ? value / 62 : value / 62 + 26],
                digits[value % 62 < 10    ? value % 62
                        : value % 62 < 36 ? value % 62 + 26
                                          : value % 62 - 26]);
        at += snprintf(text + at, sizeof(text) - (size_t)at, "T%s%sE", back, back);
    }
    snprintf(text + at, sizeof(text) - (size_t)at, "E");
    assert_int_equal(wp_demangle(text, out, sizeof(out)), WP_DEMANGLE_BOMB);

    at = snprintf(text, sizeof(text), "_Z1fI1AIiiE");
    for (int i = 2; i < 36; i++) {
        char back = digits[i - 2];
        at += snprintf(text + at, sizeof(text) - (size_t)at, "1BIS%c_S%c_E", back, back);
    }
    snprintf(text + at, sizeof(text) - (size_t)at, "EvT_");
    wp_demangle(text, out, sizeof(out)); /* must come back, whatever it says */
}

static void noise(void **state)
{
    (void)state;
    uint64_t random = 11;
    char text[512], out[1024];
    for (int i = 0; i < 20000; i++) {
        const char *base = names[(unsigned)i % (sizeof(names) / sizeof(names[0]))].mangled;
        size_t size = strlen(base);
        memcpy(text, base, size + 1);
        for (int flips = 0; size > 3 && flips < 1 + i % 5; flips++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[2 + (random >> 33) % (size - 2)] = (char)(33 + (random >> 20) % 90);
        }
        wp_demangle(text, out, sizeof(out));
    }
    memset(text, 'P', sizeof(text));
    memcpy(text, "_Z1f", 4);
    text[sizeof(text) - 2] = 'i';
    text[sizeof(text) - 1] = 0;
    assert_int_equal(wp_demangle(text, out, sizeof(out)), WP_DEMANGLE_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_names), cmocka_unit_test(room_is_kept),
        cmocka_unit_test(bombs), cmocka_unit_test(noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
