/* SPDX-License-Identifier: Apache-2.0 */
/* What is told once, and no more often for memory that was not there. */
#include "collector/batch/standing.h"
#include "tests/no_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static int count_up(void *context, struct wp_event *event)
{
    (void)event;
    ++*(unsigned *)context;
    return 0;
}

/* Each event finds memory for so many things of what a new thread or connection takes. */
static void each_stands_once(void **state)
{
    (void)state;
    for (long given = 0; given < 8; given++) {
        struct wp_standing *standing = wp_standing_create();
        unsigned told = 0;
        for (unsigned i = 0; i < 3; i++) {
            no_memory_after(given);
            wp_standing_take(standing, &(struct wp_event){.kind = WP_EVENT_FORK, .other = 7});
            no_memory_after(given);
            wp_standing_take(standing, &(struct wp_event){.kind = WP_EVENT_SOCK_STATE, .a = 1, .c = 1, .d = 9});
            no_memory_after(-1);
        }
        wp_standing_take(standing, &(struct wp_event){.kind = WP_EVENT_FORK, .other = 7});
        wp_standing_take(standing, &(struct wp_event){.kind = WP_EVENT_SOCK_STATE, .a = 1, .c = 1, .d = 9});
        wp_standing_tell(standing, 1, count_up, &told);
        assert_int_equal(told, 2);
        wp_standing_destroy(standing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_stands_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
