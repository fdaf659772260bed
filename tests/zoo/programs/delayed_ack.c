/* SPDX-License-Identifier: Apache-2.0 */
/* A request leaves in two writes: the second one waits for the acknowledgement of the first. */
#include "zoo.h"

static void answer(void)
{
}

static __attribute__((noinline)) void send_request(int service)
{
    static const char head[100], body[100];
    char byte;
    if (write(service, head, sizeof(head)) != sizeof(head) || write(service, body, sizeof(body)) != sizeof(body) ||
        read(service, &byte, 1) != 1)
        abort();
}

int main(void)
{
    struct sockaddr_in at;
    pid_t pid = zoo_server("api", &at, 200, answer);
    int service = zoo_connect(&at);
    for (int i = 0; i < 50; i++)
        send_request(service);
    return kill(pid, SIGKILL);
}
