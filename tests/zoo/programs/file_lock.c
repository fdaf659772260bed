/* SPDX-License-Identifier: Apache-2.0 */
/* A file's lock is held by a child. */
#include "zoo.h"

#include <sys/file.h>

static __attribute__((noinline)) void lock_state(int fd)
{
    flock(fd, LOCK_EX);
}

int main(void)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        abort();
    if (!fork()) {
        prctl(PR_SET_NAME, "backup");
        int fd = open("state.lock", O_RDWR | O_CREAT, 0600);
        flock(fd, LOCK_EX);
        if (write(ends[1], "x", 1) != 1)
            abort();
        usleep(1800000);
        return 0;
    }
    if (read(ends[0], &byte, 1) != 1)
        abort();
    int fd = open("state.lock", O_RDWR | O_CREAT, 0600);
    lock_state(fd);
    wait(NULL);
    return 0;
}
