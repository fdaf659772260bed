/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message unix|tcp: nanoseconds of processor time that a thread takes to send a hundred bytes to itself and to read
 * them, without a switch. Prints the least and the median of 400 stretches of 500 messages: the least is what a busy
 * machine disturbs least.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STRETCHES = 400, MESSAGES = 500 };

static double cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int connect_tcp(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        return -1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (ends[0] < 0 || connect(ends[0], (struct sockaddr *)&address, size))
        return -1;
    ends[1] = accept(listener, NULL, NULL);
    return ends[1] < 0 ? -1 : 0;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    static double each[STRETCHES];
    char bytes[100] = {0};
    int ends[2];
    if (argc != 2 || (strcmp(argv[1], "tcp") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : connect_tcp(ends))) {
        fprintf(stderr, "usage: %s unix|tcp\n", argv[0]);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < STRETCHES; i++) {
        double begun = cpu_ns();
        for (int j = 0; j < MESSAGES; j++)
            if (write(ends[0], bytes, sizeof(bytes)) != sizeof(bytes) ||
                read(ends[1], bytes, sizeof(bytes)) != sizeof(bytes))
                return EXIT_FAILURE;
        each[i] = (cpu_ns() - begun) / MESSAGES;
    }
    qsort(each, STRETCHES, sizeof(each[0]), by_size);
    printf("%.0f %.0f\n", each[0], each[STRETCHES / 2]);
    return 0;
}
