/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/display/number_column.h"

#include <string.h>

static uint64_t at(const void *context, uint32_t row)
{
    return ((const uint64_t *)context)[row];
}

static void assert_column(const uint64_t *numbers, uint32_t count, const char *wanted)
{
    struct wp_buffer out = {0};
    wp_number_column_put(&out, "x", count, at, numbers);
    assert_int_equal(out.size, strlen(wanted));
    assert_memory_equal(out.data, wanted, out.size);
    wp_buffer_fini(&out);
}

/* Digits as the encoders of source maps write them: 0 A, 1 C, -1 D, 15 e, 16 gB, 1200 grC. */
static void differences_are_written_as_in_source_maps(void **state)
{
    (void)state;
    assert_column(NULL, 0, "\"x\":wakepath.column(0,\"\"),\n");
    assert_column((const uint64_t[]){0, 1, 0, 15, 31, 1231}, 6, "\"x\":wakepath.column(6,\"ACDegBgrC\"),\n");
}

/* 53 bits, all of them set: four in the first digit, four in the last of eleven. What is larger is the same to a
 * reader. */
static void what_a_script_cannot_count_stays_its_largest(void **state)
{
    (void)state;
    assert_column((const uint64_t[]){9007199254740991u, UINT64_MAX, 0}, 3,
        "\"x\":wakepath.column(3,\"+/////////PA//////////P\"),\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_written_as_in_source_maps),
        cmocka_unit_test(what_a_script_cannot_count_stays_its_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
