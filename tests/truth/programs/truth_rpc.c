/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_rpc OUT FOLDER HOPS CLIENTS REQUESTS THREADS SLOW [WORK_US [unix]]: a chain of HOPS servers over loopback TCP
 * or unix sockets. Each hop works, sleeps and (the last one) writes to the disk for a request, and asks the next hop in
 * between. CLIENTS threads each ask REQUESTS times over a connection of their own; hop SLOW works five times as long,
 * or WORK_US instead of 1000. With one hop and THREADS threads the requests queue: what a client waits before its
 * request is read is the others' time.
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
    uint32_t owner;             /* the client */
    uint32_t diary;             /* of who served it */
    struct truth_request known; /* by the last server that had it */
    char rest[SIZE - 8 - sizeof(struct truth_request)];
};

struct plan {
    struct truth *truth;
    unsigned hops, clients, requests, threads, slow, slow_us;
    const char *folder;
    bool is_unix;
    int listeners[HOPS];
    struct sockaddr_storage addresses[HOPS];
    socklen_t sizes[HOPS];
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
    int one = 1, fd = socket(plan->is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (const struct sockaddr *)&plan->addresses[hop - 1], plan->sizes[hop - 1]))
        truth_die("connect");
    return fd;
}

static void listen_on(struct plan *plan, unsigned hop)
{
    struct sockaddr_storage *address = &plan->addresses[hop - 1];
    socklen_t *size = &plan->sizes[hop - 1];
    *address = (struct sockaddr_storage){.ss_family = plan->is_unix ? AF_UNIX : AF_INET};
    *size = plan->is_unix ? sizeof(sa_family_t)
                          : sizeof(struct sockaddr_in); /* a unix socket's name is the kernel's choice */
    if (!plan->is_unix)
        ((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)address, *size) || listen(fd, 64))
        truth_die("listen");
    *size = sizeof(*address);
    if (getsockname(fd, (struct sockaddr *)address, size))
        truth_die("getsockname");
    plan->listeners[hop - 1] = fd;
}

/* --- a hop --- */

struct taken {
    struct truth_party party;
    int next, disk;
    struct truth_mark mark;
};

static void serve(const struct server *server, const struct taken *taken, struct request *request)
{
    const struct plan *plan = server->plan;
    const struct truth_party *party = &taken->party;
    truth_busy(party, server->hop == plan->slow ? plan->slow_us : 1000);
    struct truth_mark done = truth_now(party);
    unsigned sleep_us = 1000 + 200 * server->hop;
    truth_sleep(party, sleep_us);
    struct truth_mark woken = truth_now(party);
    uint64_t worked = done.cpu_ns - taken->mark.cpu_ns, about = woken.cpu_ns - done.cpu_ns,
             took = done.wall_ns - taken->mark.wall_ns;
    request->known.taken_ns = taken->mark.wall_ns;
    request->known.asked_ns = sleep_us * (uint64_t)1000;
    request->known.cpu_ns = worked + about;
    request->known.preempted_ns = took > worked ? took - worked : 0;
    request->known.sleep_ns = woken.wall_ns - done.wall_ns - about;
    if (taken->next >= 0) {
        truth_put(taken->next, request, SIZE);
        truth_sent(party, woken);
        struct truth_mark mark = truth_now(party);
        if (!truth_get(taken->next, request, SIZE))
            truth_die("the next hop went away");
        truth_waited(party, request->diary, mark);
    } else if (taken->disk >= 0) {
        truth_disk(party, taken->disk, 64);
    }
    request->known.answered_ns = truth_now(party).wall_ns;
    request->diary = party->diary;
}

static void *run_worker(void *context)
{
    const struct server *server = context;
    const struct plan *plan = server->plan;
    char name[16];
    snprintf(name, sizeof(name), "hop%u", server->hop);
    truth_name(name);
    truth_pin(server->hop);
    struct taken taken = {.party = truth_join(plan->truth, server->chain),
        .next = server->hop < plan->hops ? dial(plan, server->hop + 1) : -1,
        .disk = server->hop == plan->hops && plan->threads == 1 ? truth_file(plan->folder) : -1};
    taken.party.is_unix = plan->is_unix;
    uint64_t done_ns = truth_now(&taken.party).wall_ns, free_ns = done_ns;
    for (;;) {
        struct epoll_event event;
        struct request request;
        struct truth_mark mark = truth_now(&taken.party);
        if (epoll_wait(server->epoll, &event, 1, -1) != 1)
            continue;
        taken.mark = truth_now(&taken.party);
        if (!truth_get(event.data.fd, &request, SIZE)) {
            close(event.data.fd);
            continue;
        }
        taken.party.owner = request.owner;
        truth_taken(&taken.party, mark);
        request.known.done_ns = done_ns;
        request.known.free_ns = free_ns;
        serve(server, &taken, &request);
        done_ns = request.known.answered_ns;
        mark = truth_now(&taken.party);
        truth_put(event.data.fd, &request, SIZE);
        truth_answered(&taken.party, mark);
        free_ns = truth_now(&taken.party).wall_ns;
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
    _Atomic uint32_t count; /* of clients that have begun */
};

static void ask(struct truth_party *base, int fd, struct request *request, bool is_logged)
{
    request->known.slot = is_logged ? 1 + truth_slot(base->truth) : 0;
    uint64_t sent = truth_now(base).wall_ns;
    truth_put(fd, request, SIZE);
    struct truth_mark written = truth_now(base);
    if (!truth_get(fd, request, SIZE))
        truth_die("the server went away");
    truth_waited(base, request->diary, written);
    request->known.sent_ns = sent;
    request->known.written_ns = written.wall_ns;
    request->known.received_ns = truth_now(base).wall_ns;
    request->known.tid = (uint32_t)syscall(SYS_gettid);
    if (is_logged)
        truth_log(base->truth, &request->known);
}

static void *run_client(void *context)
{
    struct client *client = context;
    const struct plan *plan = client->plan;
    struct request request = {.owner = client->count++};
    int fd = dial(plan, 1);
    truth_pin(0);
    struct truth_party base = truth_join(plan->truth, TRUTH_BASE);
    base.owner = request.owner;
    base.is_unix = plan->is_unix;
    truth_put(fd, &request, SIZE); /* its connection is taken before it counts */
    if (!truth_get(fd, &request, SIZE))
        truth_die("the server went away");
    pthread_barrier_wait(client->barrier);
    pthread_barrier_wait(client->barrier);
    struct truth_mark begin = truth_base_begin(&base);
    for (unsigned i = 0; i < plan->requests; i++) {
        ask(&base, fd, &request, plan->clients > 1 && plan->hops == 1);
        if (plan->clients == 1)
            truth_busy(&base, 500);
    }
    truth_base_end(&base, begin);
    return NULL;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc < 8 || argc > 10)
        return 2;
    struct plan plan = {.truth = truth_create(NULL),
        .hops = number(argv[3]),
        .clients = number(argv[4]),
        .requests = number(argv[5]),
        .threads = number(argv[6]),
        .slow = number(argv[7]),
        .slow_us = argc > 8 ? number(argv[8]) : 5000,
        .folder = argv[2],
        .is_unix = argc > 9};
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
    pthread_barrier_init(&barrier, NULL, plan.clients + 1);
    struct client client = {&plan, &barrier, 0};
    for (unsigned i = 0; i < plan.clients; i++)
        if (pthread_create(&threads[i], NULL, run_client, &client))
            truth_die("pthread_create");
    pthread_barrier_wait(&barrier);
    truth_await(plan.truth, plan.hops * plan.threads);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < plan.clients; i++)
        pthread_join(threads[i], NULL);
    truth_relax(plan.truth);
    for (unsigned hop = 0; hop < plan.hops; hop++)
        kill(children[hop], SIGKILL);
    while (wait(NULL) > 0)
        ;
    truth_write(plan.truth, argv[1]);
    return 0;
}
