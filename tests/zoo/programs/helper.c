/* SPDX-License-Identifier: Apache-2.0 */
/* A pause in a helper of another file. */
#include "zoo.h"

static __attribute__((noinline)) void rebuild_index(void)
{
    zoo_nap(60);
}

int main(void)
{
    for (int i = 0; i < 20; i++)
        rebuild_index();
    return 0;
}
