/* SPDX-License-Identifier: Apache-2.0 */
/* A broadcast wakes all, and there is work for one. */
#include "zoo.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static int work, is_over;

static __attribute__((noinline)) int next_job(void)
{
    pthread_mutex_lock(&queue_lock);
    while (!work && !is_over)
        pthread_cond_wait(&has_work, &queue_lock);
    zoo_burn(40000);
    int found = work > 0;
    work -= found;
    pthread_mutex_unlock(&queue_lock);
    return found;
}

static void *worker(void *arg)
{
    while (next_job())
        ;
    return arg;
}

int main(void)
{
    pthread_t threads[24];
    for (int i = 0; i < 24; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 400; i++) {
        pthread_mutex_lock(&queue_lock);
        work++;
        pthread_cond_broadcast(&has_work);
        pthread_mutex_unlock(&queue_lock);
        usleep(2000);
    }
    pthread_mutex_lock(&queue_lock);
    is_over = 1;
    pthread_cond_broadcast(&has_work);
    pthread_mutex_unlock(&queue_lock);
    for (int i = 0; i < 24; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
