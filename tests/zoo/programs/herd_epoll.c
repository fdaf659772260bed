/* SPDX-License-Identifier: Apache-2.0 */
/* Each connection wakes all workers that sleep for the one socket; one of them gets it. */
#include "zoo.h"

#include <sys/epoll.h>

#define WORKERS 48
#define CONNECTIONS 1500

static int listening;

static void serve(int connection)
{
    char byte;
    if (read(connection, &byte, 1) == 1 && write(connection, &byte, 1) != 1)
        abort();
    close(connection);
}

static __attribute__((noinline)) void wait_connection(int queue)
{
    struct epoll_event event;
    epoll_wait(queue, &event, 1, -1);
    int connection = accept(listening, NULL, NULL);
    if (connection >= 0)
        serve(connection);
}

static void work(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int queue = epoll_create1(0);
    epoll_ctl(queue, EPOLL_CTL_ADD, listening, &event);
    while (1)
        wait_connection(queue);
}

static __attribute__((noinline)) void ask_worker(const struct sockaddr_in *at)
{
    char byte = 0;
    int connection = zoo_connect(at);
    if (write(connection, &byte, 1) != 1 || read(connection, &byte, 1) != 1)
        abort();
    close(connection);
}

int main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    pid_t pids[WORKERS];
    listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listening, (struct sockaddr *)&at, size) || listen(listening, 64) ||
        getsockname(listening, (struct sockaddr *)&at, &size))
        abort();
    for (int i = 0; i < WORKERS; i++)
        if (!(pids[i] = fork()))
            work();
    for (int i = 0; i < CONNECTIONS; i++)
        ask_worker(&at);
    for (int i = 0; i < WORKERS; i++)
        kill(pids[i], SIGKILL);
    return 0;
}
