/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads a pipe waits for a child that pauses before each line. */
#include "zoo.h"

static __attribute__((noinline)) void render_line(int to)
{
    usleep(20000);
    if (write(to, "x", 1) != 1)
        abort();
}

static __attribute__((noinline)) void consume(int from)
{
    char byte;
    while (read(from, &byte, 1) == 1)
        ;
}

int main(void)
{
    int ends[2];
    if (pipe(ends))
        abort();
    if (!fork()) {
        prctl(PR_SET_NAME, "renderer");
        for (int i = 0; i < 90; i++)
            render_line(ends[1]);
        return 0;
    }
    close(ends[1]);
    consume(ends[0]);
    wait(NULL);
    return 0;
}
