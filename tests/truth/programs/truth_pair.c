/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_pair OUT HOW TURNS: two parties that take turns. The client asks, the other works and sleeps a little and answers,
 * over a pipe, a unix socket, an eventfd, a pipe behind epoll, UDP, TCP, a futex between threads, or signals.
 */
#include "truth.h"

#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHAIN TRUTH_BASE ";server"

struct pair {
    struct truth *truth;
    unsigned turns;
    int ask[2], answer[2];      /* read and write end; the same twice for sockets */
    int epoll;                  /* of the client, or -1 */
    _Atomic int *turn;          /* futex word: 1 the server's, 0 the client's */
    pid_t client, server;
    void (*send)(struct pair *pair, bool is_client);
    void (*receive)(struct pair *pair, bool is_client);
};

/* --- ways --- */

static void send_fd(struct pair *pair, bool is_client)
{
    const uint64_t one = 1;
    truth_put(is_client ? pair->ask[1] : pair->answer[1], &one, sizeof(one));
}

static void receive_fd(struct pair *pair, bool is_client)
{
    uint64_t one;
    struct epoll_event event;
    if (is_client && pair->epoll >= 0)
        while (epoll_wait(pair->epoll, &event, 1, -1) != 1)
            ;
    if (!truth_get(is_client ? pair->answer[0] : pair->ask[0], &one, sizeof(one)))
        exit(0);
}

static void send_futex(struct pair *pair, bool is_client)
{
    *pair->turn = is_client;
    syscall(SYS_futex, pair->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void receive_futex(struct pair *pair, bool is_client)
{
    while (*pair->turn != !is_client)
        syscall(SYS_futex, pair->turn, FUTEX_WAIT, is_client, NULL, NULL, 0);
}

static void send_signal(struct pair *pair, bool is_client)
{
    kill(is_client ? pair->server : pair->client, SIGUSR1);
}

static void receive_signal(struct pair *pair, bool is_client)
{
    (void)pair;
    (void)is_client;
    int got;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (sigwait(&set, &got))
        truth_die("sigwait");
}

/* --- making them --- */

static void make_udp(struct pair *pair)
{
    int fd[2];
    struct sockaddr_in address[2];
    for (int i = 0; i < 2; i++) {
        socklen_t size = sizeof(address[i]);
        address[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (bind(fd[i], (struct sockaddr *)&address[i], size) || getsockname(fd[i], (struct sockaddr *)&address[i], &size))
            truth_die("bind");
    }
    for (int i = 0; i < 2; i++)
        if (connect(fd[i], (struct sockaddr *)&address[!i], sizeof(address[i])))
            truth_die("connect");
    pair->ask[0] = pair->answer[1] = fd[1];
    pair->ask[1] = pair->answer[0] = fd[0];
}

static void make_tcp(struct pair *pair)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int door = socket(AF_INET, SOCK_STREAM, 0), here = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&address, size) || listen(door, 1) ||
        getsockname(door, (struct sockaddr *)&address, &size) || connect(here, (struct sockaddr *)&address, size))
        truth_die("connect");
    pair->ask[0] = pair->answer[1] = accept(door, NULL, NULL);
    pair->ask[1] = pair->answer[0] = here;
}

static void make(struct pair *pair, const char *how)
{
    pair->send = send_fd;
    pair->receive = receive_fd;
    pair->epoll = -1;
    if (!strcmp(how, "udp")) {
        make_udp(pair);
    } else if (!strcmp(how, "tcp")) {
        make_tcp(pair);
    } else if (!strcmp(how, "unix")) {
        int fd[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
            truth_die("socketpair");
        pair->ask[0] = pair->answer[1] = fd[1];
        pair->ask[1] = pair->answer[0] = fd[0];
    } else if (!strcmp(how, "eventfd")) {
        pair->ask[0] = pair->ask[1] = eventfd(0, 0);
        pair->answer[0] = pair->answer[1] = eventfd(0, 0);
    } else if (!strcmp(how, "futex")) {
        pair->turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pair->send = send_futex;
        pair->receive = receive_futex;
    } else if (!strcmp(how, "signal")) {
        pair->send = send_signal;
        pair->receive = receive_signal;
    } else if (pipe(pair->ask) || pipe(pair->answer)) {
        truth_die("pipe");
    }
    if (!strcmp(how, "epoll")) {
        struct epoll_event event = {.events = EPOLLIN};
        pair->epoll = epoll_create1(0);
        epoll_ctl(pair->epoll, EPOLL_CTL_ADD, pair->answer[0], &event);
    }
}

static void serve(struct pair *pair)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("server");
    truth_pin(1);
    for (;;) {
        pair->receive(pair, false);
        truth_settle();
        truth_busy(pair->truth, CHAIN, 500);
        truth_sleep(pair->truth, CHAIN, 500);
        pair->send(pair, false);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct pair pair = {.truth = truth_create(), .turns = (unsigned)strtoul(argv[3], NULL, 10), .client = getpid()};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    make(&pair, argv[2]);
    pair.server = fork();
    if (!pair.server)
        serve(&pair);
    truth_pin(0);
    usleep(100000);
    struct truth_mark begin = truth_base_begin();
    for (unsigned i = 0; i < pair.turns; i++) {
        truth_busy(pair.truth, TRUTH_BASE, 200);
        pair.send(&pair, true);
        pair.receive(&pair, true);
    }
    truth_base_end(pair.truth, begin);
    kill(pair.server, SIGKILL);
    wait(NULL);
    truth_write(pair.truth, argv[1]);
    return 0;
}
