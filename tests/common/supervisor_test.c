/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor's socket is, and what is no socket of ours. */
#include "common/service.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void what_was_not_begun_closes_nothing(void **state)
{
    (void)state;
    struct wp_service service = {0};
    int own = dup(0), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(null, 0), 0);
    wp_service_fini(&service);
    assert_true(is_open(0));
    unsetenv("NOTIFY_SOCKET");
    wp_service_init(&service);
    wp_service_fini(&service);
    service.fd = 0; /* a second end, after another file got the number */
    wp_service_fini(&service);
    assert_true(is_open(0));
    dup2(own, 0);
    close(own);
    close(null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_not_begun_closes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
