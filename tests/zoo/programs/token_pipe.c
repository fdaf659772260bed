/* SPDX-License-Identifier: Apache-2.0 */
/* As a job server's: two tokens in a pipe, eight threads that need one each. */
#include "zoo.h"

#define TOKENS 2
#define THREADS 8

static int tokens[2];

static __attribute__((noinline)) void take_token(void)
{
    char token;
    if (read(tokens[0], &token, 1) != 1)
        abort();
}

static __attribute__((noinline)) void compile_unit(void)
{
    usleep(20000);
}

static void *build(void *unused)
{
    for (int i = 0; i < 12; i++) {
        take_token();
        compile_unit();
        if (write(tokens[1], "t", 1) != 1)
            abort();
    }
    return unused;
}

int main(void)
{
    if (pipe(tokens) || write(tokens[1], "tt", TOKENS) != TOKENS)
        abort();
    zoo_threads(THREADS, build);
    return 0;
}
