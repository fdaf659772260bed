/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_fixture deep|paths|brief N: sleeps at known places, compiled without frame pointers. `paths` comes to one
 * place by two ways of equal depth and equal frames, in turns. `brief` ends after one sleep of a millisecond.
 */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__ /* it makes no copies of functions */
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

static volatile int sink;

static APART void inner(int i)
{
    struct timespec pause = {0, 2000000};
    char *room = alloca(100 + (size_t)i % 7); /* a frame whose size is known only then */
    memset(room, i, 100);
    nanosleep(&pause, NULL);
    sink += room[3];
}

static APART void middle(int i)
{
    inner(i);
    sink++;
}

static APART int compare(const void *a, const void *b)
{
    middle(*(const char *)a & 7);
    return *(const char *)a - *(const char *)b;
}

static APART void outer(void)
{
    char letters[8] = "hgfedcb";
    qsort(letters, 7, 1, compare); /* through the C library and back */
    sink += letters[0];
}

static APART void left(int i)
{
    middle(i);
    sink += 2;
}

static APART void right(int i)
{
    middle(i);
    sink += 2;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 1;
    const char *what = argc > 1 ? argv[1] : "";
    for (int i = 0; i < n; i++) {
        if (!strcmp(what, "deep"))
            outer();
        else if (!strcmp(what, "paths"))
            i % 2 ? left(1) : right(1);
        else
            middle(i);
    }
    return 0;
}
