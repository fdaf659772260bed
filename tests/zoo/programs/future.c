/* SPDX-License-Identifier: Apache-2.0 */
/* A result is waited for that another thread takes its time for. */
#include "zoo.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static int done;

static __attribute__((noinline)) void fetch_exchange_rate(void)
{
    usleep(1500000);
}

static void *fetcher(void *arg)
{
    fetch_exchange_rate();
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_signal(&is_done);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fetcher, NULL);
    pthread_mutex_lock(&lock);
    while (!done)
        pthread_cond_wait(&is_done, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
