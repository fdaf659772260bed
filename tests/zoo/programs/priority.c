/* SPDX-License-Identifier: Apache-2.0 */
/* Priority inversion: main waits for a lock, whose holder has no CPU: a thread of a higher priority computes there. */
#define _GNU_SOURCE
#include <sched.h>

#include "zoo.h"

static pthread_mutex_t bus_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held, is_busy;

static void share_cpu(int policy, int priority)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(1, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    pthread_setschedparam(pthread_self(), policy, &(struct sched_param){priority});
}

static __attribute__((noinline)) void burn_ms(long ms)
{
    struct timespec at;
    long end = 0;
    do {
        zoo_burn(10000);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
        end = end ? end : at.tv_sec * 1000 + at.tv_nsec / 1000000 + ms;
    } while (at.tv_sec * 1000 + at.tv_nsec / 1000000 < end);
}

static void *telemetry(void *arg)
{
    share_cpu(SCHED_OTHER, 0);
    pthread_mutex_lock(&bus_lock);
    is_held = 1;
    burn_ms(20);
    pthread_mutex_unlock(&bus_lock);
    return arg;
}

static void *video(void *arg)
{
    share_cpu(SCHED_FIFO, 20);
    while (!is_held)
        usleep(1000);
    is_busy = 1;
    burn_ms(300);
    return arg;
}

static __attribute__((noinline)) void use_bus(void)
{
    pthread_mutex_lock(&bus_lock);
    pthread_mutex_unlock(&bus_lock);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t threads[2];
        is_held = is_busy = 0;
        if (pthread_create(&threads[0], NULL, telemetry, NULL) || pthread_create(&threads[1], NULL, video, NULL))
            abort();
        while (!is_busy)
            usleep(1000);
        use_bus();
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
    return 0;
}
