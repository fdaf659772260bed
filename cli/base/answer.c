/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES ((size_t)1 << 20)

static void read_all(int fd, struct wp_buffer *text)
{
    char part[4096];
    ssize_t got;
    while ((got = read(fd, part, sizeof(part))) > 0)
        if (text->size < TEXT_BYTES)
            wp_buffer_append(text, part, (size_t)got);
    wp_buffer_puts(text, "");
}

int wp_answer_read(const char *path, char *const argv[], struct wp_buffer *text)
{
    posix_spawn_file_actions_t actions;
    int pipes[2], status = 0;
    pid_t pid;
    if (pipe2(pipes, O_CLOEXEC))
        return -errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
    int rc = -posix_spawn(&pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    if (!rc)
        read_all(pipes[0], text);
    close(pipes[0]);
    while (!rc && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            rc = -errno;
    return rc ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
