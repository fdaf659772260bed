/* SPDX-License-Identifier: Apache-2.0 */
/* A table is mapped that is not in memory, and is touched here and there. */
#include "zoo.h"

#include <sys/mman.h>

#define PAGES 16384u

static int make_table(void)
{
    static char page[4096];
    int fd = open("table.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (unsigned i = 0; i < PAGES; i++)
        if (write(fd, page, sizeof(page)) != sizeof(page))
            abort();
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return fd;
}

static __attribute__((noinline)) unsigned load_table(const volatile char *table)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < PAGES / 2; i++)
        sum += (unsigned char)table[(size_t)(i * 7919u % PAGES) * 4096];
    return sum;
}

int main(void)
{
    int fd = make_table();
    char *table = mmap(NULL, (size_t)PAGES * 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED)
        abort();
    madvise(table, (size_t)PAGES * 4096, MADV_RANDOM);
    return load_table(table) != 0;
}
