/* SPDX-License-Identifier: Apache-2.0 */
/* posix_spawn returns when its child has executed: that opens a pipe first, whose writer is late. */
#include "zoo.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static __attribute__((noinline)) void late_feed(const char *path)
{
    zoo_nap(400);
    int fd = open(path, O_WRONLY);
    close(fd);
}

static __attribute__((noinline)) void start_tool(const char *path)
{
    posix_spawn_file_actions_t actions;
    char *words[] = {"true", NULL};
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0);
    if (!posix_spawn(&child, "/bin/true", &actions, NULL, words, environ))
        waitpid(child, NULL, 0);
    posix_spawn_file_actions_destroy(&actions);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof(path), "zoo-fifo.%d", (int)getpid());
    if (mkfifo(path, 0600))
        return 1;
    for (int i = 0; i < 3; i++) {
        pid_t feeder = fork();
        if (!feeder) {
            prctl(PR_SET_NAME, "feeder");
            late_feed(path);
            _exit(0);
        }
        start_tool(path);
        waitpid(feeder, NULL, 0);
    }
    return unlink(path);
}
