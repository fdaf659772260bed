/* SPDX-License-Identifier: Apache-2.0 */
/* A row at a time is asked for, of who computes it. */
#include "zoo.h"

static void find_row(void)
{
    zoo_burn(1500000);
}

static __attribute__((noinline)) void load_price(int db)
{
    char byte;
    if (write(db, "q", 1) != 1 || read(db, &byte, 1) != 1)
        abort();
}

int main(void)
{
    struct sockaddr_in at;
    pid_t pid = zoo_server("db", &at, 1, find_row);
    int db = zoo_connect(&at);
    for (int i = 0; i < 400; i++)
        load_price(db);
    return kill(pid, SIGKILL);
}
