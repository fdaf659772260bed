/* SPDX-License-Identifier: Apache-2.0 */
#include "common/standard_output.h"

#include "common/version.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_output(void)
{
    bool has_failed = ferror(stdout);
    if (!fflush(stdout) && !has_failed)
        return;
    fprintf(stderr, "%s: cannot write to standard output%s%s\n", program_invocation_short_name, has_failed ? "" : ": ",
        has_failed ? "" : strerror(errno));
    _exit(WP_EXIT_FAILURE); /* an exit() within exit() is not allowed */
}

void wp_standard_output_check_at_exit(void)
{
    atexit(check_output);
}

void wp_standard_output_drop(FILE *out)
{
    __fpurge(out);
    clearerr(out);
}
