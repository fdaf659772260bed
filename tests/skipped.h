/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_SKIPPED_H
#define WP_TESTS_SKIPPED_H
/*
 * A case that the machine refuses is told and counted: where all others pass its program ends with 77, and ctest names
 * it among the tests that were skipped. Behind cmocka.h; one thread.
 */
#include <stdbool.h>

static bool wp_has_skipped;

#define WP_SKIP(why)                                                                                                   \
    do {                                                                                                               \
        print_error("SKIPPED: %s\n", why);                                                                             \
        wp_has_skipped = true;                                                                                         \
        skip();                                                                                                        \
    } while (0)

/* What main returns for the number of cases that failed. */
static inline int wp_exit_status(int failed)
{
    return failed ? failed : wp_has_skipped ? 77 : 0;
}

#endif
