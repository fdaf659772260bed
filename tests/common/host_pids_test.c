/* SPDX-License-Identifier: Apache-2.0 */
#include "common/host_pids.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void *wait_for_end(void *fd)
{
    char byte;
    return read(*(int *)fd, &byte, 1) ? NULL : fd;
}

/* A process whose first thread ends before the other one, which lasts until a pipe is closed. */
static void run_child(int first)
{
    static int fd; /* the first thread's stack is gone */
    pthread_t thread;
    fd = first;
    if (pthread_create(&thread, NULL, wait_for_end, &fd))
        _exit(1);
    pthread_exit(NULL);
}

static void a_first_thread_may_end_before_the_others(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_false(wp_host_has_threads((uint32_t)getpid()));
    pid_t child = fork();
    if (!child) {
        close(fds[1]);
        run_child(fds[0]);
    }
    bool has_threads = false;
    for (int i = 0; i < 1000 && !has_threads; i++, usleep(10000))
        has_threads = wp_host_has_threads((uint32_t)child);
    close(fds[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(has_threads);
    assert_false(wp_host_has_threads((uint32_t)child));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_first_thread_may_end_before_the_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
