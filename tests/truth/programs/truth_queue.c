/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_queue OUT HOW TURNS: two clients of one server that serves one after the other. The base waits now for its own
 * request alone, now behind the rival's. HOW they ask: over unix sockets, through one pipe, with eventfds (each in
 * epoll), or through a list under a lock with condition variables. The server writes down what it did for the base, and
 * when it was done with whom it served before: what the base waited until then is queue.
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHAIN TRUTH_BASE ";server"
#define CLIENTS 2 /* the base is 0 */

struct desk { /* shared by all */
    pthread_mutex_t lock;
    pthread_cond_t wanted, ready[CLIENTS];
    unsigned queue[CLIENTS], queued;
    bool is_ready[CLIENTS];
};

struct office {
    struct truth *truth;
    struct desk *desk;
    char how;
    int ask[CLIENTS][2], answer[CLIENTS][2]; /* read and write end */
    int epoll;
};

/* --- fds --- */

static void join_ends(struct office *office, unsigned client)
{
    int fd[2];
    switch (office->how) {
    case 'u':
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
            truth_die("socketpair");
        office->ask[client][0] = office->answer[client][1] = fd[0];
        office->ask[client][1] = office->answer[client][0] = fd[1];
        break;
    case 'e':
        office->ask[client][0] = office->ask[client][1] = eventfd(0, 0);
        office->answer[client][0] = office->answer[client][1] = eventfd(0, 0);
        break;
    default:
        if (client)
            memcpy(office->ask[client], office->ask[0], sizeof(office->ask[0]));
        else if (pipe(office->ask[0]))
            truth_die("pipe");
        if (pipe(office->answer[client]))
            truth_die("pipe");
    }
}

static unsigned take_fd(struct office *office)
{
    uint64_t word;
    struct epoll_event event;
    if (office->how == 'p') {
        truth_get(office->ask[0][0], &word, sizeof(word));
        return word == 2;
    }
    while (epoll_wait(office->epoll, &event, 1, -1) != 1)
        ;
    truth_get(office->ask[event.data.u32][0], &word, sizeof(word));
    return event.data.u32;
}

/* --- a list under a lock --- */

static void share_desk(struct desk *desk)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&desk->lock, &mutex);
    pthread_cond_init(&desk->wanted, &cond);
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_cond_init(&desk->ready[i], &cond);
}

static unsigned take_listed(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    while (!desk->queued)
        pthread_cond_wait(&desk->wanted, &desk->lock);
    unsigned client = desk->queue[0];
    desk->queue[0] = desk->queue[1];
    desk->queued--;
    pthread_mutex_unlock(&desk->lock);
    return client;
}

static void put_listed(struct desk *desk, unsigned client)
{
    pthread_mutex_lock(&desk->lock);
    desk->queue[desk->queued++] = client;
    pthread_cond_signal(&desk->wanted);
    pthread_mutex_unlock(&desk->lock);
}

static void done_listed(struct desk *desk, unsigned client)
{
    pthread_mutex_lock(&desk->lock);
    desk->is_ready[client] = true;
    pthread_cond_signal(&desk->ready[client]);
    pthread_mutex_unlock(&desk->lock);
}

static void get_listed(struct desk *desk, unsigned client)
{
    pthread_mutex_lock(&desk->lock);
    while (!desk->is_ready[client])
        pthread_cond_wait(&desk->ready[client], &desk->lock);
    desk->is_ready[client] = false;
    pthread_mutex_unlock(&desk->lock);
}

/* --- both sides --- */

static void serve(struct office *office)
{
    uint64_t one = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("server");
    truth_pin(1);
    struct truth_party party = truth_join(office->truth, CHAIN);
    for (;;) {
        struct truth_mark mark = truth_now(&party);
        unsigned client = office->how == 'f' ? take_listed(office->desk) : take_fd(office);
        party.owner = client;
        truth_taken(&party, mark);
        truth_busy(&party, 1500);
        truth_sleep(&party, 500);
        truth_busy(&party, 500);
        mark = truth_now(&party);
        if (office->how == 'f')
            done_listed(office->desk, client);
        else
            truth_put(office->answer[client][1], &one, sizeof(one));
        truth_answered(&party, mark);
    }
}

/* The server's diary is the first. */
static void ask(struct office *office, const struct truth_party *party)
{
    unsigned client = party->owner;
    uint64_t word = client + 1;
    if (office->how == 'f') {
        put_listed(office->desk, client);
        struct truth_mark mark = truth_now(party);
        get_listed(office->desk, client);
        truth_waited(party, 1, mark);
    } else {
        truth_put(office->ask[client][1], &word, sizeof(word));
        struct truth_mark mark = truth_now(party);
        truth_get(office->answer[client][0], &word, sizeof(word));
        truth_waited(party, 1, mark);
    }
}

/* Both clients come here by the same way: the rival until its parent ends it. */
static void converse(struct office *office, const struct truth_party *party, unsigned turns)
{
    unsigned client = party->owner;
    for (unsigned i = 0; i < turns; i++) {
        truth_busy(party, client ? 20 : 200);
        if (i % 4 == client)
            truth_sleep(party, client ? 2300 : 3000); /* so that they meet at every part of a service */
        ask(office, party);
    }
}

static void open_office(struct office *office)
{
    office->desk = mmap(NULL, sizeof(*office->desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (office->desk == MAP_FAILED)
        truth_die("mmap");
    share_desk(office->desk);
    office->epoll = epoll_create1(0);
    for (unsigned i = 0; office->how != 'f' && i < CLIENTS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        join_ends(office, i);
        if (office->how != 'p' && epoll_ctl(office->epoll, EPOLL_CTL_ADD, office->ask[i][0], &event))
            truth_die("epoll_ctl");
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct office office = {.truth = truth_create(NULL), .how = *argv[2]};
    unsigned turns = (unsigned)strtoul(argv[3], NULL, 10);
    open_office(&office);
    pid_t server = fork();
    if (!server)
        serve(&office);
    truth_await_diaries(office.truth, 1);
    pid_t rival = fork();
    struct truth_mark begin = {0};
    if (!rival) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        truth_name("rival");
        turns = UINT32_MAX;
    }
    truth_pin(0);
    struct truth_party party = truth_join(office.truth, rival ? TRUTH_BASE : "rival");
    party.owner = !rival;
    party.is_unix = office.how == 'u';
    if (rival) {
        truth_await(office.truth, 2);
        begin = truth_base_begin(&party);
    }
    converse(&office, &party, turns);
    truth_base_end(&party, begin);
    truth_relax(office.truth);
    kill(server, SIGKILL);
    kill(rival, SIGKILL);
    while (wait(NULL) > 0)
        ;
    truth_write(office.truth, argv[1]);
    return 0;
}
