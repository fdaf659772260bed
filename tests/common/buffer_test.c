/* SPDX-License-Identifier: Apache-2.0 */
/* What a builder that checks once at its end must learn then. */
#include "common/buffer.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_cannot_be_printed_is_a_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
