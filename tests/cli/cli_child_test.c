/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: held, released, refused, ended, waited for together with signals. */
#include "cli/base/child.h"
#include "cli/base/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t plain_mask(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return mask;
}

static int start(
    struct wp_child *child, const char *script, enum wp_child_kind kind, bool is_held, struct wp_error *err)
{
    sigset_t mask = plain_mask();
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    int rc = wp_child_start(child,
        &(struct wp_child_options){.name = "sh",
            .path = "/bin/sh",
            .argv = argv,
            .kind = kind,
            .mask = &mask,
            .log_fd = null,
            .keep_fd = -1,
            .is_held = is_held},
        err);
    close(null);
    return rc;
}

static void await(struct wp_child *child)
{
    struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 10000), 1);
    assert_true(wp_child_reap(child));
}

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void exit_codes(void **state)
{
    struct wp_child child;
    unsigned before = open_files();
    (void)state;
    assert_int_equal(start(&child, "exit 7", WP_CHILD_COMMAND, false, NULL), 0);
    await(&child);
    assert_int_equal(wp_child_exit_code(&child), 7);
    wp_child_fini(&child);
    assert_int_equal(start(&child, "kill -TERM $$", WP_CHILD_PART, false, NULL), 0);
    await(&child);
    assert_int_equal(wp_child_exit_code(&child), 128 + SIGTERM);
    wp_child_fini(&child);
    signal(SIGPIPE, SIG_IGN); /* ours, and not that of what we start */
    assert_int_equal(start(&child, "kill -PIPE $$", WP_CHILD_PART, false, NULL), 0);
    signal(SIGPIPE, SIG_DFL);
    await(&child);
    assert_int_equal(wp_child_exit_code(&child), 128 + SIGPIPE);
    wp_child_fini(&child);
    assert_int_equal(open_files(), before);
}

static void held_until_released(void **state)
{
    struct wp_child child;
    char marker[] = "/tmp/wp-child-XXXXXX", script[64];
    int fd = mkstemp(marker);
    (void)state;
    close(fd);
    snprintf(script, sizeof(script), "rm %s", marker);
    assert_int_equal(start(&child, script, WP_CHILD_COMMAND, true, NULL), 0);
    assert_true(child.pid > 0);
    assert_int_equal(poll(&(struct pollfd){.fd = child.pidfd, .events = POLLIN}, 1, 100), 0);
    assert_int_equal(access(marker, F_OK), 0);
    assert_int_equal(wp_child_release(&child, NULL), 0);
    await(&child);
    assert_int_equal(access(marker, F_OK), -1);
    wp_child_fini(&child);
}

/* Given up before its exec: it must go away without having run, at once, and without a signal to us. */
static void held_and_dropped(void **state)
{
    struct wp_child child;
    (void)state;
    assert_int_equal(start(&child, "exit 0", WP_CHILD_COMMAND, true, NULL), 0);
    wp_child_end(&child, 0);
    assert_false(child.running);
    assert_int_not_equal(wp_child_exit_code(&child), 0);
    wp_child_fini(&child);
    assert_int_equal(start(&child, "exit 0", WP_CHILD_COMMAND, true, NULL), 0);
    kill(child.pid, SIGKILL);
    poll(&(struct pollfd){.fd = child.pidfd, .events = POLLIN}, 1, 10000);
    wp_child_release(&child, NULL); /* nobody reads: no SIGPIPE */
    assert_true(wp_child_reap(&child));
    wp_child_fini(&child);
}

static void failed_exec(void **state)
{
    struct wp_child child;
    struct wp_error err = {0};
    sigset_t mask = plain_mask();
    char *argv[] = {"nowhere", NULL};
    struct wp_child_options options = {.name = "nowhere",
        .path = "/no/such/program",
        .argv = argv,
        .kind = WP_CHILD_COMMAND,
        .mask = &mask,
        .log_fd = -1,
        .keep_fd = -1};
    (void)state;
    assert_int_equal(wp_child_start(&child, &options, &err), -ENOENT);
    assert_non_null(strstr(err.text, "nowhere"));
    assert_false(child.running);
    assert_int_equal(wp_child_exit_code(&child), 127);
    wp_child_fini(&child);
    options.path = "/etc/passwd";
    assert_int_equal(wp_child_start(&child, &options, &err), -EACCES);
    assert_int_equal(wp_child_exit_code(&child), 126);
    wp_child_fini(&child);
}

static void a_deaf_child_is_killed(void **state)
{
    struct wp_child child;
    (void)state;
    assert_int_equal(start(&child, "trap '' TERM; while :; do sleep 1; done", WP_CHILD_PART, false, NULL), 0);
    usleep(200000); /* the trap is set by then; if not, SIGTERM ends it and the code below says so */
    wp_child_end(&child, 200);
    assert_int_equal(wp_child_exit_code(&child), 128 + SIGKILL);
    wp_child_fini(&child);
}

static void part_has_its_own_group(void **state)
{
    struct wp_child part, command;
    (void)state;
    assert_int_equal(start(&part, "sleep 10", WP_CHILD_PART, false, NULL), 0);
    assert_int_equal(start(&command, "sleep 10", WP_CHILD_COMMAND, false, NULL), 0);
    assert_int_equal(getpgid(part.pid), part.pid);
    assert_int_equal(getpgid(command.pid), getpgid(0));
    wp_child_end(&part, 1000);
    wp_child_end(&command, 1000);
    wp_child_fini(&part);
    wp_child_fini(&command);
}

static int start_build(struct wp_child *child, const char *script, const char *dir, struct wp_error *err)
{
    sigset_t mask = plain_mask();
    int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    int rc = wp_child_start(child,
        &(struct wp_child_options){.name = "build",
            .path = "/bin/sh",
            .argv = argv,
            .kind = WP_CHILD_PART,
            .mask = &mask,
            .log_fd = log,
            .dir = dir,
            .is_build = true,
            .keep_fd = -1},
        err);
    close(log);
    return rc;
}

static void a_build_takes_what_it_left_running_with_it(void **state)
{
    struct wp_child child;
    (void)state;
    assert_int_equal(start_build(&child, "sleep 100 & sleep 100 & exit 3", "/tmp", NULL), 0);
    pid_t group = child.pid;
    await(&child);
    assert_int_equal(kill(-group, 0), 0);
    wp_child_end(&child, 5000);
    assert_int_equal(wp_child_exit_code(&child), 3);
    assert_int_equal(kill(-group, 0), -1);
    wp_child_fini(&child);
    assert_int_equal(start_build(&child, "(trap '' TERM; sleep 100; sleep 100) & wait", "/tmp", NULL), 0);
    group = child.pid;
    wp_child_end(&child, 50);
    assert_int_equal(kill(-group, 0), -1);
    wp_child_fini(&child);
}

static void a_build_is_of_who_owns_its_folder_or_not_run(void **state)
{
    struct wp_child child;
    struct wp_error err;
    char dir[] = "/tmp/wakepath-test-XXXXXX", link[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(link, sizeof(link), "%s.link", dir);
    assert_int_equal(symlink(dir, link), 0);
    assert_int_equal(start_build(&child, "exit 0", link, &err), -ENOTDIR);
    wp_child_fini(&child);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(start_build(&child, "exit 0", link, &err), -ENOENT);
    wp_child_fini(&child);
    if (!geteuid()) {
        assert_int_equal(chown(dir, 65534, 65534), 0);
        assert_int_equal(start_build(&child,
                             "test \"$(id -u)\" = 65534 && test \"$USER\" = \"$(id -un)\" && "
                             "test \"$HOME\" = \"$(getent passwd 65534 | cut -d: -f6)\"",
                             dir, &err),
            0);
        await(&child);
        assert_int_equal(wp_child_exit_code(&child), 0);
        wp_child_end(&child, 0);
        wp_child_fini(&child);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void supervisor_tells_what_came(void **state)
{
    struct wp_supervisor supervisor;
    struct wp_child child;
    struct wp_wake wake;
    int fds[2];
    (void)state;
    assert_int_equal(wp_supervisor_init(&supervisor, NULL), 0);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(start(&child, "exit 3", WP_CHILD_PART, false, NULL), 0);
    wp_supervisor_add(&supervisor, &child);
    assert_int_equal(wp_supervisor_wait(&supervisor, -1, wp_supervisor_now() + 10000000000u, &wake, NULL), 0);
    assert_int_equal(wake.kind, WP_WAKE_CHILD);
    assert_ptr_equal(wake.child, &child);
    kill(getpid(), SIGTERM);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(wp_supervisor_wait(&supervisor, fds[0], 0, &wake, NULL), 0);
    assert_int_equal(wake.kind, WP_WAKE_SIGNAL);
    assert_int_equal(wake.signal, SIGTERM);
    assert_false(wake.is_from_terminal);
    assert_int_equal(wp_supervisor_wait(&supervisor, fds[0], 0, &wake, NULL), 0);
    assert_int_equal(wake.kind, WP_WAKE_READABLE);
    assert_int_equal(wp_supervisor_wait(&supervisor, -1, wp_supervisor_now() + 20000000, &wake, NULL), 0);
    assert_int_equal(wake.kind, WP_WAKE_DEADLINE);
    kill(getpid(), SIGTERM); /* never read: fini swallows it, else this test ends here */
    wp_supervisor_fini(&supervisor);
    wp_child_fini(&child);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exit_codes), cmocka_unit_test(held_until_released),
        cmocka_unit_test(held_and_dropped), cmocka_unit_test(failed_exec), cmocka_unit_test(a_deaf_child_is_killed),
        cmocka_unit_test(part_has_its_own_group), cmocka_unit_test(a_build_takes_what_it_left_running_with_it),
        cmocka_unit_test(a_build_is_of_who_owns_its_folder_or_not_run), cmocka_unit_test(supervisor_tells_what_came)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
