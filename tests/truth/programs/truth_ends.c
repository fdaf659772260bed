/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth_ends OUT HOW TURNS: a client waits for what a server tells it by other means than data.
 *   half    it says that it has no more to send; the acknowledgement of that wakes it before the answer does
 *   reset   the server works and then resets the connection
 *   room    it sends without blocking and waits in epoll until a slow reader has made room
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

static char bytes[65536];

static void work(struct truth *truth, unsigned busy_us, unsigned sleep_us)
{
    truth_settle();
    truth_busy(truth, CHAIN, busy_us);
    truth_sleep(truth, CHAIN, sleep_us);
}

/* The kernel delays the acknowledgement of an end by 40 ms when it has nothing to send with it. */
static void answer_half(struct truth *truth, int fd)
{
    while (read(fd, bytes, sizeof(bytes)) > 0)
        ;
    work(truth, 2000, 60000);
    truth_put(fd, "done", 4);
}

static void answer_reset(struct truth *truth, int fd)
{
    struct linger hard = {.l_onoff = 1};
    truth_get(fd, bytes, 8);
    work(truth, 5000, 5000);
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)))
        truth_die("linger");
}

static void answer_room(struct truth *truth, int fd)
{
    while (read(fd, bytes, 16384) > 0)
        work(truth, 1000, 1000);
}

static void serve(struct truth *truth, int door, const char *how)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    truth_name("server");
    truth_pin(1);
    for (;;) {
        int fd = accept(door, NULL, NULL);
        if (fd < 0)
            truth_die("accept");
        (*how == 'h' ? answer_half : !strcmp(how, "reset") ? answer_reset : answer_room)(truth, fd);
        close(fd);
    }
}

static void send_all(int fd)
{
    struct epoll_event event = {.events = EPOLLOUT};
    int epoll = epoll_create1(0);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) || fcntl(fd, F_SETFL, O_NONBLOCK))
        truth_die("epoll");
    for (unsigned sent = 0; sent < LOAD;) {
        ssize_t n = write(fd, bytes, LOAD - sent < sizeof(bytes) ? LOAD - sent : sizeof(bytes));
        if (n > 0)
            sent += (unsigned)n;
        else if (epoll_wait(epoll, &event, 1, -1) < 0)
            truth_die("epoll_wait");
    }
    close(epoll);
    fcntl(fd, F_SETFL, 0);
}

static void ask(const struct sockaddr_in *door, const char *how)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = SMALL_BUFFER;
    if (*how == 'r' && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)))
        truth_die("buffer");
    if (connect(fd, (const struct sockaddr *)door, sizeof(*door)))
        truth_die("connect");
    if (!strcmp(how, "room"))
        send_all(fd);
    else
        truth_put(fd, bytes, 8);
    if (strcmp(how, "reset") && shutdown(fd, SHUT_WR))
        truth_die("shutdown");
    if (read(fd, bytes, 8) < 0 && strcmp(how, "reset"))
        truth_die("read");
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct truth *truth = truth_create();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int door = socket(AF_INET, SOCK_STREAM, 0), small = SMALL_BUFFER;
    setsockopt(door, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    if (bind(door, (struct sockaddr *)&address, size) || listen(door, 1) || getsockname(door, (struct sockaddr *)&address, &size))
        truth_die("listen");
    pid_t server = fork();
    if (!server)
        serve(truth, door, argv[2]);
    truth_pin(0);
    usleep(100000);
    struct truth_mark begin = truth_base_begin();
    for (unsigned i = 0; i < strtoul(argv[3], NULL, 10); i++) {
        truth_busy(truth, TRUTH_BASE, 200);
        ask(&address, argv[2]);
    }
    truth_base_end(truth, begin);
    kill(server, SIGKILL);
    wait(NULL);
    truth_write(truth, argv[1]);
    return 0;
}
