/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_ZOO_ZOO_H
#define WP_TESTS_ZOO_ZOO_H
/* What programs of the zoo share: servers on the loopback in children, and work on the CPU. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int zoo_listen(struct sockaddr_in *at, int kind)
{
    socklen_t size = sizeof(*at);
    int fd = socket(AF_INET, kind, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) || (kind == SOCK_STREAM && listen(fd, 64)) ||
        getsockname(fd, (struct sockaddr *)at, &size))
        abort();
    return fd;
}

static inline int zoo_connect(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof(*at)))
        abort();
    return fd;
}

/* A child of that name that answers each message of `bytes` of one client at a time by one byte, after `answer`. */
static inline pid_t zoo_server(const char *name, struct sockaddr_in *at, size_t bytes, void (*answer)(void))
{
    int fd = zoo_listen(at, SOCK_STREAM);
    pid_t pid = fork();
    if (pid) {
        close(fd);
        return pid;
    }
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        char text[256];
        int client = accept(fd, NULL, NULL);
        while (recv(client, text, bytes, MSG_WAITALL) == (ssize_t)bytes) {
            answer();
            if (write(client, "k", 1) != 1)
                abort();
        }
        close(client);
    }
}

static inline void zoo_threads(unsigned count, void *(*work)(void *))
{
    pthread_t threads[32];
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            abort();
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static inline void zoo_nap(long ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest))
        continue;
}

static __attribute__((noinline, unused)) uint64_t zoo_burn(unsigned rounds)
{
    volatile uint64_t value = 1;
    for (unsigned i = 0; i < rounds; i++)
        value = value * 6364136223846793005u + 1;
    return value;
}

#endif
