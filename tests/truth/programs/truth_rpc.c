/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_rpc OUT FOLDER HOPS CLIENTS REQUESTS THREADS SLOW [WORK_US]: a chain of HOPS servers over loopback TCP. Each hop
 * works, sleeps and (the last one) writes to the disk for a request, and asks the next hop in between. CLIENTS threads each
 * ask REQUESTS times over a connection of their own; hop SLOW works five times as long, or WORK_US instead of 1000. With one
 * hop and THREADS threads the requests queue: what a client waits before its request is read is the others' time.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOPS 8
#define SIZE 200u

struct request {
    uint64_t served_ns;         /* taken by the server for it */
    struct truth_request known; /* by the last server that had it */
    char rest[SIZE - 8 - sizeof(struct truth_request)];
};

struct plan {
    struct truth *truth;
    unsigned hops, clients, requests, threads, slow, slow_us;
    const char *folder;
    int listeners[HOPS];
    struct sockaddr_in addresses[HOPS];
};

struct server {
    const struct plan *plan;
    unsigned hop;
    int epoll;
    char chain[160];
};

static void chain_of(unsigned hop, char *chain, size_t size)
{
    size_t used = (size_t)snprintf(chain, size, "%s", TRUTH_BASE);
    for (unsigned i = 1; i <= hop; i++)
        used += (size_t)snprintf(chain + used, size - used, ";hop%u", i);
}

static int dial(const struct plan *plan, unsigned hop)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (const struct sockaddr *)&plan->addresses[hop - 1], sizeof(plan->addresses[0])))
        truth_die("connect");
    return fd;
}

static void listen_on(struct plan *plan, unsigned hop)
{
    struct sockaddr_in *address = &plan->addresses[hop - 1];
    socklen_t size = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)address, size) || listen(fd, 64) || getsockname(fd, (struct sockaddr *)address, &size))
        truth_die("listen");
    plan->listeners[hop - 1] = fd;
}

/* --- a hop --- */

static void serve(const struct server *server, int next, int disk, struct request *request, struct truth_mark taken)
{
    const struct plan *plan = server->plan;
    uint64_t start = truth_now().wall_ns;
    truth_busy(plan->truth, server->chain, server->hop == plan->slow ? plan->slow_us : 1000);
    struct truth_mark done = truth_now();
    unsigned sleep_us = 1000 + 200 * server->hop;
    truth_sleep(plan->truth, server->chain, sleep_us);
    struct truth_mark woken = truth_now();
    uint64_t *ns = request->known.ns, worked = done.cpu_ns - taken.cpu_ns, about = woken.cpu_ns - done.cpu_ns;
    request->known.taken_ns = taken.wall_ns;
    request->known.asked_ns = sleep_us * (uint64_t)1000;
    ns[TRUTH_CPU] = worked + about;
    ns[TRUTH_PREEMPTED] = done.wall_ns - taken.wall_ns > worked ? done.wall_ns - taken.wall_ns - worked : 0;
    ns[TRUTH_SLEEP] = woken.wall_ns - done.wall_ns - about;
    if (next >= 0) {
        truth_put(next, request, SIZE);
        if (!truth_get(next, request, SIZE))
            truth_die("the next hop went away");
    } else if (disk >= 0) {
        truth_disk(plan->truth, server->chain, disk, 64);
    }
    request->known.answered_ns = truth_now().wall_ns;
    request->served_ns = request->known.answered_ns - start;
}

static void *run_worker(void *context)
{
    const struct server *server = context;
    const struct plan *plan = server->plan;
    char name[16];
    snprintf(name, sizeof(name), "hop%u", server->hop);
    truth_name(name);
    truth_pin(server->hop);
    int next = server->hop < plan->hops ? dial(plan, server->hop + 1) : -1;
    int disk = server->hop == plan->hops && plan->threads == 1 ? truth_file(plan->folder) : -1;
    uint64_t done_ns = truth_now().wall_ns, free_ns = done_ns;
    for (;;) {
        struct epoll_event event;
        struct request request;
        if (epoll_wait(server->epoll, &event, 1, -1) != 1)
            continue;
        struct truth_mark taken = truth_now();
        if (!truth_get(event.data.fd, &request, SIZE)) {
            close(event.data.fd);
            continue;
        }
        request.known.done_ns = done_ns;
        request.known.free_ns = free_ns;
        serve(server, next, disk, &request, taken);
        done_ns = request.known.answered_ns;
        truth_put(event.data.fd, &request, SIZE);
        free_ns = truth_now().wall_ns;
        if (request.known.slot)
            truth_back(plan->truth, request.known.slot - 1);
        event.events = EPOLLIN | EPOLLONESHOT;
        epoll_ctl(server->epoll, EPOLL_CTL_MOD, event.data.fd, &event);
    }
    return NULL;
}

/* Takes connections for ever; its parent ends it. */
static void run_hop(const struct plan *plan, unsigned hop)
{
    struct server server = {.plan = plan, .hop = hop, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    chain_of(hop, server.chain, sizeof(server.chain));
    for (unsigned i = 0; i < plan->threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_worker, &server))
            truth_die("pthread_create");
    }
    for (;;) {
        int one = 1, fd = accept4(plan->listeners[hop - 1], NULL, NULL, SOCK_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        epoll_ctl(server.epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

/* --- a client --- */

struct client {
    const struct plan *plan;
    pthread_barrier_t *barrier;
};

static void *run_client(void *context)
{
    const struct client *client = context;
    const struct plan *plan = client->plan;
    struct request request = {0};
    int fd = dial(plan, 1);
    truth_pin(0);
    pthread_barrier_wait(client->barrier);
    struct truth_mark begin = truth_base_begin();
    bool is_logged = plan->clients > 1 && plan->hops == 1;
    for (unsigned i = 0; i < plan->requests; i++) {
        request.known.slot = is_logged ? 1 + truth_slot(plan->truth) : 0;
        uint64_t sent = truth_now().wall_ns;
        truth_put(fd, &request, SIZE);
        uint64_t written = truth_now().wall_ns;
        if (!truth_get(fd, &request, SIZE))
            truth_die("the server went away");
        request.known.sent_ns = sent;
        request.known.written_ns = written;
        request.known.received_ns = truth_now().wall_ns;
        request.known.tid = (uint32_t)syscall(SYS_gettid);
        if (plan->clients > 1)
            truth_add(plan->truth, TRUTH_BASE, TRUTH_QUEUE, request.known.received_ns - sent - request.served_ns);
        if (is_logged)
            truth_log(plan->truth, &request.known);
        if (plan->clients == 1)
            truth_busy(plan->truth, TRUTH_BASE, 500);
    }
    truth_base_end(plan->truth, begin);
    return NULL;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc != 8 && argc != 9)
        return 2;
    struct plan plan = {truth_create(), number(argv[3]), number(argv[4]), number(argv[5]), number(argv[6]), number(argv[7]),
        argc > 8 ? number(argv[8]) : 5000, argv[2], {0}, {{0}}};
    pid_t children[HOPS];
    if (!plan.hops || plan.hops > HOPS || !plan.clients || plan.clients > 256)
        return 2;
    for (unsigned hop = 1; hop <= plan.hops; hop++)
        listen_on(&plan, hop);
    for (unsigned hop = 1; hop <= plan.hops; hop++)
        if (!(children[hop - 1] = fork()))
            run_hop(&plan, hop);
    pthread_t threads[256];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, plan.clients);
    struct client client = {&plan, &barrier};
    usleep(200000);
    for (unsigned i = 0; i < plan.clients; i++)
        if (pthread_create(&threads[i], NULL, run_client, &client))
            truth_die("pthread_create");
    for (unsigned i = 0; i < plan.clients; i++)
        pthread_join(threads[i], NULL);
    for (unsigned hop = 0; hop < plan.hops; hop++)
        kill(children[hop], SIGKILL);
    while (wait(NULL) > 0)
        ;
    truth_write(plan.truth, argv[1]);
    return 0;
}
