/* SPDX-License-Identifier: Apache-2.0 */
/* Each step is one thread's, and wakes all of them. */
#include "zoo.h"

#define THREADS 24
#define STEPS 3000

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_moved = PTHREAD_COND_INITIALIZER;
static long step;

static __attribute__((noinline)) void wait_turn(long own)
{
    pthread_mutex_lock(&queue_lock);
    while (step % THREADS != own && step < STEPS)
        pthread_cond_wait(&has_moved, &queue_lock);
    step++;
    pthread_cond_broadcast(&has_moved);
    pthread_mutex_unlock(&queue_lock);
}

static void *worker(void *arg)
{
    while (step < STEPS)
        wait_turn((long)arg);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
