/* SPDX-License-Identifier: Apache-2.0 */
/* Readers wait for a lock whose holder pauses. */
#include "zoo.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void publish(void)
{
    usleep(5000);
}

static __attribute__((noinline)) void insert_row(void)
{
    pthread_mutex_lock(&table);
    publish();
    pthread_mutex_unlock(&table);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 100; i++)
        insert_row();
    return arg;
}

int main(void)
{
    zoo_threads(4, worker);
    return 0;
}
