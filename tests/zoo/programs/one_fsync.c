/* SPDX-License-Identifier: Apache-2.0 */
/* Few calls of fsync, each of a file with many pages to write, and many sleeps in each. */
#include "zoo.h"

#define PAGES 24000
#define PAGE 4096

static __attribute__((noinline)) void save_snapshot(int file)
{
    for (off_t i = 0; i < PAGES; i++)
        if (pwrite(file, "page", 4, i * PAGE) != 4)
            abort();
    if (fsync(file))
        abort();
}

int main(void)
{
    int file = open("snapshot", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 8; i++)
        save_snapshot(file);
    return close(file);
}
