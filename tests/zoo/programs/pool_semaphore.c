/* SPDX-License-Identifier: Apache-2.0 */
/* Eight workers share two connections, counted by a semaphore. */
#include "zoo.h"

static sem_t slots;

static __attribute__((noinline)) void run_query(void)
{
    usleep(10000);
}

static __attribute__((noinline)) void acquire_slot(void)
{
    sem_wait(&slots);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 40; i++) {
        acquire_slot();
        run_query();
        sem_post(&slots);
    }
    return arg;
}

int main(void)
{
    sem_init(&slots, 0, 2);
    zoo_threads(8, worker);
    return 0;
}
