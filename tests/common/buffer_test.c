/* SPDX-License-Identifier: Apache-2.0 */
/* What a builder that checks once at its end must learn then; digits of bytes. */
#include "common/buffer.h"
#include "common/hex.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <wchar.h>
#include <cmocka.h>

static void what_cannot_be_printed_is_a_failure(void **state)
{
    (void)state;
    struct wp_buffer buffer = {0};
    assert_int_equal(wp_buffer_printf(&buffer, "%d", 7), 0);
    assert_int_equal(wp_buffer_printf(&buffer, "%ls", (const wchar_t[]){0x10ffff, 0}), -EINVAL); /* in locale C */
    assert_true(buffer.failed);
    assert_string_equal((const char *)buffer.data, "7");
    wp_buffer_clear(&buffer);
    assert_false(buffer.failed);
    wp_buffer_fini(&buffer);
}

static void digits_stand_for_bytes(void **state)
{
    (void)state;
    char text[] = "kept kept";
    wp_hex(text, (const uint8_t[]){0x00, 0x7f, 0xa9, 0xff}, 4);
    assert_string_equal(text, "007fa9ff");
    wp_hex(text, NULL, 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_printed_is_a_failure), cmocka_unit_test(digits_stand_for_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
