/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over loopback and processes that come and go, so many a second each: churn CONNECTIONS FORKS SECONDS.
 * Prints how many it made. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS 100      /* a second */
#define ADDRESSES 200u /* 127.0.0.1 and on: one has too few ports */

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *serve(void *context)
{
    int listener = *(int *)context;
    for (;;) {
        char byte;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        if (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) != 1)
            perror("write");
        close(fd);
    }
    return NULL;
}

/* A question and an answer; it ends by a reset, so that no port is kept. */
static int connect_once(uint32_t number, uint16_t port)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + number % ADDRESSES)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
    struct linger hard = {1, 0};
    char byte = 'x';
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    int is_done = !bind(fd, (struct sockaddr *)&from, sizeof(from)) &&
        !connect(fd, (struct sockaddr *)&to, sizeof(to)) && write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1;
    close(fd);
    return is_done;
}

static int fork_once(void)
{
    pid_t child = fork();
    if (!child)
        _exit(0);
    return child > 0 && waitpid(child, NULL, 0) == child;
}

int main(int argc, char **argv)
{
    long connections = argc > 1 ? atol(argv[1]) : 5000, forks = argc > 2 ? atol(argv[2]) : 200,
         seconds = argc > 3 ? atol(argv[3]) : 10;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(any);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t server;
    if (bind(listener, (struct sockaddr *)&any, size) || listen(listener, 4096) ||
        getsockname(listener, (struct sockaddr *)&any, &size) || pthread_create(&server, NULL, serve, &listener)) {
        perror("churn");
        return 1;
    }
    uint64_t start = now_ns(), made = 0, forked = 0, step = 0;
    for (; now_ns() - start < (uint64_t)seconds * 1000000000; step++) {
        uint64_t due = start + step * (1000000000 / STEPS), now = now_ns();
        if (due > now)
            usleep((useconds_t)((due - now) / 1000));
        for (long i = 0; i < connections / STEPS; i++)
            made += (uint64_t)connect_once((uint32_t)(made + 1), any.sin_port);
        for (long i = 0; i < forks / STEPS; i++)
            forked += (uint64_t)fork_once();
    }
    double took = (double)(now_ns() - start) / 1e9;
    printf("{\"connections\": %llu, \"forks\": %llu, \"seconds\": %.1f}\n", (unsigned long long)made,
        (unsigned long long)forked, took);
    return 0;
}
