/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_pair OUT HOW TURNS [others]: two parties that take turns. The client asks, the other works and sleeps a little
 * and answers, over a pipe, a unix socket, an eventfd, a pipe behind epoll, UDP, TCP, a futex between threads, or
 * signals. With others a second client asks the same server, which takes either's request from its epoll.
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
    int ask[2], answer[2]; /* read and write end; the same twice for sockets */
    int epoll;             /* of the client, or -1 */
    _Atomic int *turn;     /* futex word: 1 the server's, 0 the client's */
    pid_t client, server;
    bool is_unix;
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
        if (bind(fd[i], (struct sockaddr *)&address[i], size) ||
            getsockname(fd[i], (struct sockaddr *)&address[i], &size))
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
        pair->is_unix = true;
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

/* --- the parties --- */

/* The pair whose request is there. */
static unsigned next_request(int epoll)
{
    struct epoll_event event;
    while (epoll_wait(epoll, &event, 1, -1) != 1)
        ;
    return event.data.u32;
}

static void serve(struct pair *pairs, unsigned count)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("server");
    truth_pin(1);
    struct truth_party party = truth_join(pairs->truth, CHAIN);
    int epoll = count > 1 ? epoll_create1(0) : -1;
    for (unsigned i = 0; epoll >= 0 && i < count; i++)
        epoll_ctl(epoll, EPOLL_CTL_ADD, pairs[i].ask[0], &(struct epoll_event){.events = EPOLLIN, .data.u32 = i});
    for (;;) {
        struct truth_mark mark = truth_now(&party);
        unsigned who = epoll < 0 ? 0 : next_request(epoll);
        pairs[who].receive(&pairs[who], false);
        party.owner = who;
        truth_taken(&party, mark);
        truth_busy(&party, 500);
        truth_sleep(&party, 500);
        mark = truth_now(&party);
        pairs[who].send(&pairs[who], false);
        truth_answered(&party, mark);
    }
}

/* The first diary is the server's. */
static void ask(struct pair *pair, const struct truth_party *party)
{
    truth_busy(party, 200);
    pair->send(pair, true);
    struct truth_mark mark = truth_now(party);
    pair->receive(pair, true);
    truth_waited(party, 1, mark);
}

static void ask_for_ever(struct pair *pair)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("other");
    truth_pin(0);
    struct truth_party party = truth_join(pair->truth, "other");
    party.is_unix = pair->is_unix;
    for (party.owner = 1;;)
        ask(pair, &party);
}

static pid_t start(struct pair *pairs, unsigned count, bool is_server)
{
    pid_t child = fork();
    if (child)
        return child;
    if (is_server)
        serve(pairs, count);
    ask_for_ever(&pairs[1]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        return 2;
    struct truth *truth = truth_create(NULL);
    unsigned count = argc == 5 ? 2 : 1;
    struct pair pairs[2];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (unsigned i = 0; i < count; i++) {
        pairs[i] = (struct pair){.truth = truth, .turns = (unsigned)strtoul(argv[3], NULL, 10), .client = getpid()};
        make(&pairs[i], argv[2]);
    }
    pairs->server = start(pairs, count, true);
    truth_pin(0);
    if (count > 1)
        truth_await_diaries(truth, 1);
    pid_t other = count > 1 ? start(pairs, count, false) : 0;
    truth_await(truth, count);
    struct truth_party base = truth_join(truth, TRUTH_BASE);
    base.is_unix = pairs->is_unix;
    struct truth_mark begin = truth_base_begin(&base);
    for (unsigned i = 0; i < pairs->turns; i++)
        ask(pairs, &base);
    truth_base_end(&base, begin);
    truth_relax(truth);
    kill(pairs->server, SIGKILL);
    if (other)
        kill(other, SIGKILL);
    while (wait(NULL) > 0)
        ;
    truth_write(truth, argv[1]);
    return 0;
}
