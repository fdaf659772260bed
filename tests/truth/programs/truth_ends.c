/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_ends OUT HOW TURNS [unix]: a client waits for what a server tells it by other means than data.
 *   half    it says that it has no more to send; the acknowledgement of that wakes it before the answer does
 *   reset   the server works and then resets the connection
 *   room    it sends without blocking and waits in epoll until a slow reader has made room
 * Over TCP, or a unix socket in the kernel's own name space.
 */
#include "truth.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#define CHAIN TRUTH_BASE ";server"
#define SMALL_BUFFER 32768
#define LOAD 1000000u
#define LATE_ACKNOWLEDGEMENT_US 40000u /* include/net/tcp.h, TCP_DELACK_MIN: of an end, with nothing to send */

static char bytes[65536];

static ssize_t take(const struct truth_party *party, int fd, size_t size)
{
    struct truth_mark mark = truth_now(party);
    ssize_t n = read(fd, bytes, size);
    truth_taken(party, mark);
    return n;
}

static void work(const struct truth_party *party, unsigned busy_us, unsigned sleep_us)
{
    truth_busy(party, busy_us);
    truth_sleep(party, sleep_us);
}

static void answer_half(const struct truth_party *party, int fd)
{
    while (take(party, fd, sizeof(bytes)) > 0)
        ;
    work(party, 2000, 60000);
    struct truth_mark mark = truth_now(party);
    truth_put(fd, "done", 4);
    truth_answered(party, mark);
}

static void answer_reset(const struct truth_party *party, int fd)
{
    struct linger hard = {.l_onoff = 1};
    take(party, fd, 8);
    work(party, 5000, 5000);
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)))
        truth_die("linger");
}

static void answer_room(const struct truth_party *party, int fd)
{
    while (take(party, fd, 16384) > 0)
        work(party, 1000, 1000);
}

static void serve(struct truth *truth, int door, const char *how)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("server");
    truth_pin(1);
    struct truth_party party = truth_join(truth, CHAIN);
    for (;;) {
        struct truth_mark mark = truth_now(&party);
        int fd = accept(door, NULL, NULL);
        if (fd < 0)
            truth_die("accept");
        truth_taken(&party, mark);
        (*how == 'h' ? answer_half : !strcmp(how, "reset") ? answer_reset : answer_room)(&party, fd);
        mark = truth_now(&party);
        close(fd);
        truth_answered(&party, mark);
    }
}

/* The first diary is the server's. */
static void send_all(const struct truth_party *party, int fd)
{
    struct epoll_event event = {.events = EPOLLOUT};
    int epoll = epoll_create1(0);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) || fcntl(fd, F_SETFL, O_NONBLOCK))
        truth_die("epoll");
    for (unsigned sent = 0; sent < LOAD;) {
        ssize_t n = write(fd, bytes, LOAD - sent < sizeof(bytes) ? LOAD - sent : sizeof(bytes));
        struct truth_mark mark = truth_now(party);
        if (n > 0)
            sent += (unsigned)n;
        else if (epoll_wait(epoll, &event, 1, -1) < 0)
            truth_die("epoll_wait");
        else
            truth_read_diary(party, 1, truth_slept(party, mark));
    }
    close(epoll);
    fcntl(fd, F_SETFL, 0);
}

static void ask(const struct truth_party *party, const struct sockaddr_storage *door, socklen_t size, const char *how)
{
    int fd = socket(door->ss_family, SOCK_STREAM, 0), small = SMALL_BUFFER;
    if (*how == 'r' && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)))
        truth_die("buffer");
    struct truth_mark mark = truth_now(party);
    if (connect(fd, (const struct sockaddr *)door, size))
        truth_die("connect");
    truth_waited(party, 1, mark);
    if (!strcmp(how, "room"))
        send_all(party, fd);
    else
        truth_put(fd, bytes, 8);
    if (strcmp(how, "reset") && shutdown(fd, SHUT_WR))
        truth_die("shutdown");
    mark = truth_now(party);
    if (read(fd, bytes, 8) < 0 && strcmp(how, "reset"))
        truth_die("read");
    truth_waited_on(party, 1, mark, *how == 'h' && door->ss_family == AF_INET ? LATE_ACKNOWLEDGEMENT_US : 0);
    close(fd);
}

static int open_door(struct sockaddr_storage *address, socklen_t *size, bool is_unix)
{
    *address = (struct sockaddr_storage){.ss_family = is_unix ? AF_UNIX : AF_INET};
    *size = is_unix ? sizeof(sa_family_t) : sizeof(struct sockaddr_in);
    if (!is_unix)
        ((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int door = socket(address->ss_family, SOCK_STREAM, 0), small = SMALL_BUFFER;
    setsockopt(door, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    if (bind(door, (struct sockaddr *)address, *size))
        truth_die("bind");
    *size = sizeof(*address);
    if (listen(door, 1) || getsockname(door, (struct sockaddr *)address, size))
        truth_die("listen");
    return door;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        return 2;
    struct truth *truth = truth_create(NULL);
    struct sockaddr_storage address;
    socklen_t size;
    int door = open_door(&address, &size, argc == 5);
    pid_t server = fork();
    if (!server)
        serve(truth, door, argv[2]);
    truth_pin(0);
    truth_await(truth, 1);
    struct truth_party base = truth_join(truth, TRUTH_BASE);
    struct truth_mark begin = truth_base_begin(&base);
    for (unsigned i = 0; i < strtoul(argv[3], NULL, 10); i++) {
        truth_busy(&base, 200);
        ask(&base, &address, size, argv[2]);
    }
    truth_base_end(&base, begin);
    truth_relax(truth);
    kill(server, SIGKILL);
    wait(NULL);
    truth_write(truth, argv[1]);
    return 0;
}
