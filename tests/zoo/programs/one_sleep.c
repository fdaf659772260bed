/* SPDX-License-Identifier: Apache-2.0 */
/* A pause before it goes on. */
#include "zoo.h"

static __attribute__((noinline)) void back_off(void)
{
    sleep(2);
}

int main(void)
{
    back_off();
    return 0;
}
