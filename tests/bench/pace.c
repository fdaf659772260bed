/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace SECONDS ROUND_TRIPS_PER_MS: two processes on one processor pass a byte to and fro through pipes at a given pace,
 * so that a cost can be measured at a known rate of scheduler events (four a round trip: two switches, two wakings).
 * Prints the number of round trips that it made.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void echo(int in, int out)
{
    char byte;
    while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
        ;
    _exit(0);
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static unsigned long run(int out, int in, unsigned ms, unsigned trips)
{
    struct timespec next;
    unsigned long made = 0;
    char byte = 0;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned i = 0; i < ms; i++) {
        for (unsigned trip = 0; trip < trips; trip++, made++)
            if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
                return made;
        next.tv_nsec += 1000000;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
            ;
    }
    return made;
}

int main(int argc, char **argv)
{
    int there[2], back[2];
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 0, trips = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (!seconds || !trips || pipe(there) || pipe(back)) {
        fprintf(stderr, "usage: pace SECONDS ROUND_TRIPS_PER_MS\n");
        return 64;
    }
    pin(1);
    if (fork() == 0) {
        close(there[1]);
        close(back[0]);
        echo(there[0], back[1]);
    }
    printf("%lu\n", run(there[1], back[0], seconds * 1000, trips));
    return 0;
}
