/* SPDX-License-Identifier: Apache-2.0 */
/* truth_ring THREADS ROUNDS: so many threads of one process pass a token round, each does a little work with it. The
 * main thread waits for them, and prints for how long, and how long it was awake meanwhile by the scheduler's
 * account, in ns. */
#include "truth.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct station {
    sem_t token;
    struct station *next;
    unsigned long rounds;
};

__attribute__((noinline)) static void carry(void)
{
    for (volatile unsigned i = 0; i < 20000; i++)
        ;
}

static void *run_station(void *context)
{
    struct station *station = context;
    truth_name("station");
    for (unsigned long i = 0; i < station->rounds; i++) {
        while (sem_wait(&station->token))
            ;
        carry();
        sem_post(&station->next->token);
    }
    return NULL;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static unsigned long long awake_ns(void)
{
    unsigned long long on_cpu = 0, runnable = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%llu %llu", &on_cpu, &runnable) != 2)
        truth_die("schedstat");
    fclose(file);
    return on_cpu + runnable;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000,
                  rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
    struct station *stations = calloc(count, sizeof(*stations));
    pthread_t *threads = calloc(count, sizeof(*threads));
    pthread_attr_t attr;
    if (!stations || !threads || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 65536))
        truth_die("memory");
    for (unsigned long i = 0; i < count; i++) {
        stations[i] = (struct station){.next = &stations[(i + 1) % count], .rounds = rounds};
        if (sem_init(&stations[i].token, 0, 0))
            truth_die("sem_init");
    }
    for (unsigned long i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attr, run_station, &stations[i]))
            truth_die("pthread_create");
    uint64_t begun_ns = now_ns(), was_awake_ns = awake_ns();
    sem_post(&stations[0].token);
    for (unsigned long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("passed in %lu ns, awake %llu ns\n", now_ns() - begun_ns, awake_ns() - was_awake_ns);
    free(stations);
    free(threads);
    return 0;
}
