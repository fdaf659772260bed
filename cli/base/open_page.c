/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/open_page.h"

#include "cli/base/program.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 10u

static int find_browser(char *path, size_t size)
{
    const char *const names[] = {getenv("BROWSER"), "xdg-open", "x-www-browser", "www-browser"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i] && *names[i] && !wp_program_resolve(names[i], path, size, NULL))
            return 0;
    return -ENOENT;
}

int wp_open_page(const char *page, pid_t *pid, struct wp_error *err)
{
    char path[PATH_MAX];
    *pid = 0;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    if (find_browser(path, sizeof(path)))
        return wp_error_set(err, -ENOENT, "no program that opens a page was found: set BROWSER to one");
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int fd = 0; fd < 3; fd++) /* it outlives us, and its words are not ours */
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    char *argv[] = {path, (char *)(uintptr_t)page, NULL};
    int rc = posix_spawn(pid, path, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (rc)
        *pid = 0;
    return rc ? wp_error_errno(err, -rc, "cannot run '%s'", path) : 0;
}

bool wp_open_page_failed(pid_t *pid, unsigned wait_ms, struct wp_error *err)
{
    int status;
    pid_t ended;
    if (!*pid)
        return false;
    for (unsigned waited_ms = 0; !(ended = waitpid(*pid, &status, WNOHANG)) && waited_ms < wait_ms;
         waited_ms += STEP_MS)
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * WP_NS_PER_MS}, NULL);
    if (ended != *pid)
        return false;
    *pid = 0;
    if (!WIFEXITED(status) || !WEXITSTATUS(status))
        return false;
    wp_error_set(err, -ENOENT, "the page was not opened: what opens pages here ended with %d; set BROWSER to a browser",
        WEXITSTATUS(status));
    return true;
}
