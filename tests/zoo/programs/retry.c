/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody answers, and it is asked again. */
#include "zoo.h"

static __attribute__((noinline)) int ask_peer(int fd)
{
    char byte;
    if (write(fd, "q", 1) != 1)
        abort();
    return read(fd, &byte, 1) == 1;
}

int main(void)
{
    struct sockaddr_in at;
    struct timeval patience = {.tv_usec = 300000};
    int silent = zoo_listen(&at, SOCK_STREAM), fd = zoo_connect(&at);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    for (int i = 0; i < 7; i++)
        if (ask_peer(fd))
            return 1;
    return close(silent);
}
