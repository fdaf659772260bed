/* SPDX-License-Identifier: Apache-2.0 */
/* Four services are asked, one after the other. */
#include "zoo.h"

#define SERVICES 4

static void answer(void)
{
    usleep(20000);
}

static __attribute__((noinline)) void gather_quotes(const int *services)
{
    for (int i = 0; i < SERVICES; i++) {
        char byte;
        if (write(services[i], "q", 1) != 1 || read(services[i], &byte, 1) != 1)
            abort();
    }
}

int main(void)
{
    static const char *const names[SERVICES] = {"tax", "stock", "price", "rates"};
    struct sockaddr_in at;
    pid_t pids[SERVICES];
    int services[SERVICES];
    for (int i = 0; i < SERVICES; i++) {
        pids[i] = zoo_server(names[i], &at, 1, answer);
        services[i] = zoo_connect(&at);
    }
    for (int i = 0; i < 20; i++)
        gather_quotes(services);
    for (int i = 0; i < SERVICES; i++)
        kill(pids[i], SIGKILL);
    return 0;
}
