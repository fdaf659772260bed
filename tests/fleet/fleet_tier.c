/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tier of a service whose every wait is known: for a request it computes (--busy), sleeps (--sleep), writes to a
 * file and waits for the disk (--sync FILE), asks the next tiers (--next, all at once, waits for all) and answers. As
 * the first tier
 * (--requests) it asks so many times and prints what each request took. One thread a connection, connections are kept.
 *   fleet_tier --name api --listen 10.9.0.2:7000 [--busy US] [--sleep US] [--next 10.9.0.3:7000 ...] [--sync FILE]
 *   fleet_tier --name web --requests 100 --next 10.9.0.2:7000 [--pause US] [--bytes N]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NEXTS 8
#define MESSAGE 1048576

struct tier {
    const char *name, *sync;
    long busy_us, sleep_us, pause_us, requests, bytes;
    struct sockaddr_in listen, next[NEXTS];
    int nexts, has_listen, reconnects;
};

struct served {
    struct tier *tier;
    int fd;
};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_in address(const char *text)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    int port;
    if (sscanf(text, "%63[^:]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &to.sin_addr) != 1)
        die(text);
    to.sin_port = htons((uint16_t)port);
    return to;
}

/* So much of the processor's own time. */
static void __attribute__((noinline)) fleet_busy_work(long us)
{
    uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)us * 1000;
    while (us && now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        continue;
}

static int all(int fd, char *bytes, long size, int is_write)
{
    for (long done = 0; done < size;) {
        ssize_t n =
            is_write ? write(fd, bytes + done, (size_t)(size - done)) : read(fd, bytes + done, (size_t)(size - done));
        if (n <= 0)
            return -1;
        done += n;
    }
    return 0;
}

static int dial(const struct sockaddr_in *to)
{
    for (int tries = 0; tries < 200; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!connect(fd, (const struct sockaddr *)to, sizeof(*to)))
            return fd;
        close(fd);
        usleep(20000);
    }
    die("connect");
    return -1;
}

static void ask_all(struct tier *tier, int *fds, char *bytes)
{
    for (int i = 0; i < tier->nexts; i++)
        if (all(fds[i], bytes, tier->bytes, 1))
            die("ask");
    for (int i = 0; i < tier->nexts; i++)
        if (all(fds[i], bytes, tier->bytes, 0))
            die("hear");
}

static void *serve(void *context)
{
    struct served *served = context;
    struct tier *tier = served->tier;
    char *bytes = calloc(1, MESSAGE);
    int fds[NEXTS], file = tier->sync ? open(tier->sync, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    for (int i = 0; i < tier->nexts; i++)
        fds[i] = dial(&tier->next[i]);
    while (!all(served->fd, bytes, tier->bytes, 0)) {
        fleet_busy_work(tier->busy_us);
        if (tier->sleep_us)
            usleep((useconds_t)tier->sleep_us);
        if (file >= 0 && (pwrite(file, bytes, 4096, 0) != 4096 || fdatasync(file)))
            die(tier->sync);
        ask_all(tier, fds, bytes);
        if (all(served->fd, bytes, tier->bytes, 1))
            break;
    }
    for (int i = 0; i < tier->nexts; i++)
        close(fds[i]);
    close(served->fd);
    free(bytes);
    free(served);
    return NULL;
}

static void serve_all(struct tier *tier)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&tier->listen, sizeof(tier->listen)) || listen(fd, 128))
        die("listen");
    printf("listening\n");
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        struct served *served = calloc(1, sizeof(*served));
        *served = (struct served){tier, accept(fd, NULL, NULL)};
        if (served->fd < 0)
            die("accept");
        pthread_create(&thread, NULL, serve, served);
        pthread_detach(thread);
    }
}

static int ask(struct tier *tier)
{
    char *bytes = calloc(1, MESSAGE);
    int fds[NEXTS];
    for (int i = 0; i < tier->nexts; i++)
        fds[i] = dial(&tier->next[i]);
    printf("connected\n");
    fflush(stdout);
    getchar(); /* until told to begin */
    for (long i = 0; i < tier->requests; i++) {
        uint64_t start = now_ns(CLOCK_MONOTONIC);
        ask_all(tier, fds, bytes);
        printf("%llu\n", (unsigned long long)(now_ns(CLOCK_MONOTONIC) - start));
        for (int j = 0; tier->reconnects && j < tier->nexts; j++) {
            close(fds[j]);
            fds[j] = dial(&tier->next[j]);
        }
        if (tier->pause_us)
            usleep((useconds_t)tier->pause_us);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"name", 1, 0, 'n'}, {"listen", 1, 0, 'l'}, {"next", 1, 0, 'x'},
        {"busy", 1, 0, 'b'}, {"sleep", 1, 0, 's'}, {"pause", 1, 0, 'p'}, {"sync", 1, 0, 'y'}, {"requests", 1, 0, 'r'},
        {"bytes", 1, 0, 'B'}, {"reconnect", 0, 0, 'R'}, {0}};
    struct tier tier = {.name = "tier", .bytes = 64};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'n':
            tier.name = optarg;
            break;
        case 'l':
            tier.listen = address(optarg);
            tier.has_listen = 1;
            break;
        case 'x':
            tier.next[tier.nexts++ % NEXTS] = address(optarg);
            break;
        case 'b':
            tier.busy_us = atol(optarg);
            break;
        case 's':
            tier.sleep_us = atol(optarg);
            break;
        case 'p':
            tier.pause_us = atol(optarg);
            break;
        case 'y':
            tier.sync = optarg;
            break;
        case 'r':
            tier.requests = atol(optarg);
            break;
        case 'B':
            tier.bytes = atol(optarg);
            break;
        case 'R':
            tier.reconnects = 1;
            break;
        default:
            return 64;
        }
    }
    if (tier.nexts > NEXTS || tier.bytes < 1 || tier.bytes > MESSAGE)
        return 64;
    prctl(PR_SET_NAME, tier.name);
    if (tier.has_listen)
        serve_all(&tier);
    return ask(&tier);
}
