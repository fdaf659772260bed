/* SPDX-License-Identifier: Apache-2.0 */
/* Six threads take turns at a counter under one lock, and compute under it. */
#include "zoo.h"

static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void count_hit(void)
{
    pthread_mutex_lock(&stats_lock);
    zoo_burn(300000);
    pthread_mutex_unlock(&stats_lock);
}

static void *worker(void *arg)
{
    for (int i = 0; i < 500; i++)
        count_hit();
    return arg;
}

int main(void)
{
    zoo_threads(6, worker);
    return 0;
}
