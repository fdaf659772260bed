/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader no longer takes is not told again. */
#include "common/standard_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <unistd.h>

/* `wakepath top | head -5`: who reads has enough. */
static void a_closed_pipe_is_dropped(void **state)
{
    int ends[2];
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    FILE *out = fdopen(ends[1], "w");
    assert_non_null(out);
    close(ends[0]);
    assert_true(fputs("a row", out) >= 0);
    assert_int_not_equal(fflush(out), 0);
    assert_true(ferror(out));
    wp_standard_output_drop(out);
    assert_false(ferror(out));
    assert_int_equal(fflush(out), 0);
    assert_int_equal(fclose(out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_closed_pipe_is_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
