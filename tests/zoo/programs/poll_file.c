/* SPDX-License-Identifier: Apache-2.0 */
/* A file is looked for again and again. */
#include "zoo.h"

static __attribute__((noinline)) void wait_until_ready(const char *path)
{
    while (access(path, F_OK))
        usleep(10000);
}

int main(void)
{
    unlink("ready");
    if (!fork()) {
        sleep(2);
        close(open("ready", O_CREAT | O_WRONLY, 0600));
        return 0;
    }
    wait_until_ready("ready");
    wait(NULL);
    return 0;
}
