/* SPDX-License-Identifier: Apache-2.0 */
/* A poller asks a server over a unix socket at each tick of its timer, with hardly any work of its own: its time is the
 * timer's. */
#include "zoo.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int events, timer_ms = 150;

__attribute__((noinline)) static int next_event(int fd)
{
    struct pollfd ready = {fd, POLLIN, 0};
    return poll(&ready, 1, timer_ms);
}

static void serve(int fd)
{
    char byte;
    while (read(fd, &byte, 1) == 1) {
        usleep(4000);
        if (write(fd, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

int main(void)
{
    int pair[2];
    char byte = 'q';
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    if (!fork()) {
        close(pair[0]);
        serve(pair[1]);
    }
    close(pair[1]);
    while (events < 7)
        if (next_event(pair[0]))
            events += read(pair[0], &byte, 1) == 1;
        else if (write(pair[0], &byte, 1) != 1)
            return 1;
    close(pair[0]);
    wait(NULL);
    return 0;
}
