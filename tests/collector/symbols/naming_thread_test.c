/* SPDX-License-Identifier: Apache-2.0 */
/* What the naming thread does first, and its end while it has much to do. */
#include "collector/symbols/naming_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#define OBJECTS 300u
#define PIPE 4096

struct end {
    struct wp_naming_thread *thread;
    pid_t tid; /* of who ends it */
};

static void *end_it(void *context)
{
    struct end *end = context;
    __atomic_store_n(&end->tid, gettid(), __ATOMIC_RELEASE);
    wp_naming_thread_destroy(end->thread);
    return NULL;
}

/* Whether the thread waits for another: in futex(2), which pthread_join is. */
static bool is_waiting(pid_t tid)
{
    char path[64], text[16] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    char *got = fgets(text, sizeof(text), file);
    fclose(file);
    return got && !strncmp(text, "202 ", 4);
}

static void add_file(struct wp_naming_thread *thread, const char *path, const char *name)
{
    struct wp_elf_file file;
    assert_int_equal(wp_elf_file_open_path(&file, path, NULL), 0);
    assert_int_not_equal(wp_naming_thread_object(thread, &file, -1, name), UINT32_MAX);
}

static void add_object(struct wp_naming_thread *thread)
{
    add_file(thread, "/bin/true", "/bin/true");
}

/* A pipe without room: who writes a line of the log into it is held. */
static void make_full_pipe(int pipe_fd[2])
{
    char bytes[PIPE];
    assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
    assert_int_equal(fcntl(pipe_fd[1], F_SETPIPE_SZ, PIPE), PIPE);
    memset(bytes, ' ', sizeof(bytes));
    assert_int_equal(write(pipe_fd[1], bytes, PIPE), PIPE);
}

/* Large ones were asked for before it. */
static void a_small_file_is_read_first(void **state)
{
    (void)state;
    static const char *const wanted[] = {"file=held", "file=small", "file=large", "file=large"};
    int pipe_fd[2];
    char text[4 * PIPE] = "", *at = text;
    size_t size = 0;
    make_full_pipe(pipe_fd);
    struct wp_logger logger = {"test", WP_LOG_DEBUG, pipe_fd[1]};
    struct wp_naming_thread *thread = wp_naming_thread_create(NULL, NULL, &logger);
    add_file(thread, "/bin/true", "held");
    while (!wp_naming_thread_counts(thread).held_bytes) /* it is read, and its line does not fit */
        sched_yield();
    add_file(thread, "/bin/bash", "large");
    add_file(thread, "/bin/bash", "large");
    add_file(thread, "/bin/true", "small");
    for (unsigned lines = 0; lines < 4;) {
        ssize_t got = read(pipe_fd[0], text + size, sizeof(text) - 1 - size);
        assert_true(got > 0);
        for (ssize_t i = 0; i < got; i++)
            lines += text[size + (size_t)i] == '\n';
        size += (size_t)got;
        text[size] = 0;
    }
    for (size_t i = 0; i < 4; i++) {
        at = strstr(at, "file=");
        assert_non_null(at);
        assert_memory_equal(at, wanted[i], strlen(wanted[i]));
        at++;
    }
    wp_naming_thread_destroy(thread);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

/* It writes a line an object, into a pipe that is full: it is held in the middle of what it has taken up. */
static void the_end_does_not_wait_for_all_objects(void **state)
{
    (void)state;
    int pipe_fd[2], there = 0;
    char bytes[PIPE];
    unsigned lines = 0;
    make_full_pipe(pipe_fd);
    struct wp_logger logger = {"test", WP_LOG_DEBUG, pipe_fd[1]};
    struct end end = {.thread = wp_naming_thread_create(NULL, NULL, &logger)};
    for (unsigned i = 0; i < OBJECTS; i++)
        add_object(end.thread);
    assert_int_equal(read(pipe_fd[0], bytes, PIPE), PIPE);
    while (there < PIPE / 2) {
        assert_int_equal(ioctl(pipe_fd[0], FIONREAD, &there), 0);
        sched_yield();
    }
    pthread_t ending;
    assert_int_equal(pthread_create(&ending, NULL, end_it, &end), 0);
    while (!__atomic_load_n(&end.tid, __ATOMIC_ACQUIRE) || !is_waiting(end.tid))
        sched_yield();
    fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK);
    while (is_waiting(end.tid) || there) {
        ssize_t got = read(pipe_fd[0], bytes, PIPE);
        for (ssize_t i = 0; i < got; i++)
            lines += bytes[i] == '\n';
        sched_yield();
        assert_int_equal(ioctl(pipe_fd[0], FIONREAD, &there), 0);
    }
    pthread_join(ending, NULL);
    assert_in_range(lines, 1, OBJECTS / 2);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_is_read_first), cmocka_unit_test(the_end_does_not_wait_for_all_objects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
